"""The verb `digest`: what always stands, the catch-up, and what bears on the question.

A digest is made in five acts: read, what always stands, the catch-up, what was found, told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simonides.capture.messages import read_messages
from simonides.capture.segments import Whose, fragments_of
from simonides.conversations.parts import last_part
from simonides.core.clock import to_datetime
from simonides.core.engine import Engine
from simonides.core.policy import DigestRules
from simonides.core.record import id_text
from simonides.core.results import Digest, Hit, Receipt
from simonides.core.scope import Principal
from simonides.core.validation import between
from simonides.govern.rights import may_see, readable
from simonides.prompt.core_block import core_block
from simonides.prompt.found import Limits, found_part
from simonides.prompt.lines import (
    LINE_CHARS,
    PromptSection,
    assembled,
    estimated_tokens,
    hash_of,
    item_of,
)
from simonides.prompt.receipts import floor_of, keep_receipt, question_digest
from simonides.recall.changes import NOTHING, changes_since
from simonides.recall.lookup import MAX_LISTED, list_memories
from simonides.recall.recall import MAX_QUERY_CHARS, ask_of, core_records, recall
from simonides.recall.view import is_paused, unrefused
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import latest_of, record_of
from simonides.text.analyse import query_terms

FOUND = 12
"""Memories that recall is asked for: of them those are shown that most likely bear on the question,
and that say something new."""

SUMMARY_CHARS = 1_300
"""Maximum number of characters of the catch-up: a whole summary."""

MOST_SUMMARIES = 64
"""Summaries among which one may be shown, the last ones: of others the user refused the topic, or
an agent may not see them. Set by judgement."""


def digest(
    engine: Engine,
    who: Principal,
    about: object = None,
    *,
    filter: Mapping[str, Any] | None = None,
    kinds: Sequence[str] | None = None,
    scopes: Sequence[str] | None = None,
    max_items: int | None = None,
    max_chars: int | None = None,
    max_tokens: int | None = None,
    floor: float | None = None,
    shown: Sequence[str] = (),
    has_core: bool = True,
    receipt: bool = True,
) -> Digest:
    """Return the part of a prompt that the memory fills, and its receipt.

    Args:
        engine: The store.
        who: The reader.
        about: What the prompt is about: a text, or messages, of which the user's last one counts;
            None shows the core block alone.
        filter: As for `recall`; the core block has no filter.
        kinds: As for `recall`.
        scopes: As for `recall`.
        max_items: Maximum number of lines beside the core block; None means as many as fit.
        max_chars: Maximum number of characters of these lines.
        max_tokens: Maximum number of tokens of the whole text, the core block apart.
        floor: Minimum relevance of a memory; None means the reader's.
        shown: Ids that the prompt shows already.
        has_core: Whether the core block is shown; else the prompt has it already, and a rule of it
            that bears on the question is found like any memory that `shown` does not name.
        receipt: Whether the receipt is kept.

    Raises:
        InvalidInput: If an argument is out of range.
        ScopeDenied: If a scope may not be read.
        StoreError: If the store cannot be read.
    """
    policy = engine.policies.for_org(who.home.org, who.agent)
    rules = policy.digest
    given = {"max_items": max_items, "max_chars": max_chars, "max_tokens": max_tokens}
    for name, value in given.items():
        if value is not None:
            between(name, value, 0, 1_000_000)
    limits = Limits(max_items, max_chars, max_tokens, engine.tokens or estimated_tokens)
    question = question_of(about)
    options: dict[str, Any] = {"filter": filter, "kinds": kinds, "scopes": scopes}
    ask = ask_of(engine, who, "", **options)
    hits: Sequence[Hit] = []
    if rules.enabled and question is not None and not _is_sum(question):
        hits = recall(engine, who, question, limit=FOUND, **options)
    with engine.db.read(who.owner, *(each.owner for each in ask.reach)) as connection:
        code = question_digest(connection, who, question)
        if not rules.enabled or is_paused(connection, who):
            return _told(engine, who, code, [], floor=0.0, is_kept=receipt)
        records = core_records(engine, who, scopes, connection)
        last = _catch_up(engine, who, rules, connection) if has_core else PromptSection()
        changes = changes_since(engine, who, ask, hits, connection) if hits else NOTHING
        least = floor_of(engine, who, connection) if floor is None else floor
    block = core_block(records, policy)
    stands = {id: record for id, record in block.by_id.items() if has_core or id in shown}
    in_prompt = {**dict.fromkeys((*shown, *last.by_id)), **stands}
    section = found_part(hits, changes, in_prompt, who, rules, least, limits)
    parts = [block, last, section] if has_core else [section]
    return _told(engine, who, code, parts, floor=least if question else 0.0, is_kept=receipt)


def question_of(about: object) -> str | None:
    """Return the text that a digest is about: of messages, the user's own words in the last one.

    If these say nothing to search for ("And his?"), the user's message before stands with them.

    Raises:
        InvalidInput: If a message is malformed.
    """
    if about is None or isinstance(about, str):
        return about
    asked = [message for message in read_messages(about) if message.role == "user"]
    own = [_own_words(each.text) if each.said is None else each.said.strip() for each in asked]
    own = [each for each in own if each][-2:]
    return "\n".join(own if own and not query_terms(own[-1]) else own[-1:])[:MAX_QUERY_CHARS]


def _own_words(text: str) -> str:
    own = (part.text for part in fragments_of(text) if part.whose is not Whose.OTHER)
    return "".join(own).strip()


def _is_sum(about: str) -> bool:
    """Whether a question names nothing but small numbers, as "What is 2+2?" does."""
    terms = query_terms(about)
    return bool(terms) and all(term.isdigit() and len(term) < 4 for term in terms)


def _catch_up(
    engine: Engine, who: Principal, rules: DigestRules, connection: Connection
) -> PromptSection:
    """Return the line of the latest summary where a conversation begins.

    However old it is, it is shown; only what the reader may see, and nothing of a refused topic.
    """
    now, idle = engine.clock.now_ms(), engine.settings.idle_minutes
    part = last_part(connection, who)
    if who.home.task is not None or (part is not None and not part.is_over(now, idle)):
        return PromptSection()
    [reach] = [each for each in readable(engine, who) if each.owner == who.owner]
    named = {"owner": who.owner, "purpose": who.apart, "limit": MOST_SUMMARIES}
    roots = [root for (root,) in connection.rows(statements.LAST_SUMMARIES, named)]
    rows = latest_of(connection, who.owner, roots)
    shown = (row for row in rows if unrefused(connection, who, [row]))
    records = (record_of(row).as_of(to_datetime(now)) for row in shown)
    for record in records:
        is_shown = record.is_current and record.sensitivity in rules.sensitivities
        if is_shown and may_see(who, reach, record.partition):
            return PromptSection([item_of(record, "last", SUMMARY_CHARS)], [record])
    return PromptSection()


def profile(engine: Engine, who: Principal, *, receipt: bool = True) -> Digest:
    """Return what is known of the user: all that always stands, then facts by key, newest first.

    Args:
        engine: The store.
        who: The reader.
        receipt: Whether the receipt is kept.

    Raises:
        StoreError: If the store cannot be read.
    """
    policy = engine.policies.for_org(who.home.org, who.agent)
    owners = (who.owner, *(each.owner for each in ask_of(engine, who, "").reach))
    with engine.db.read(*owners) as connection:
        if is_paused(connection, who):
            return _told(engine, who, "", [], floor=0.0, is_kept=receipt)
        block = core_block(core_records(engine, who, None, connection), policy, is_whole=True)
    keyed = list_memories(engine, who, filter={"key": {"$exists": True}}, limit=MAX_LISTED)
    more = [record for record in keyed if record.id not in block.by_id]
    named = [record for record in more if record.sensitivity in policy.digest.sensitivities]
    named.sort(key=lambda each: each.said_at, reverse=True)
    facts = PromptSection([item_of(each, "relevant", LINE_CHARS) for each in named], named)
    return _told(engine, who, "", [block, facts], floor=0.0, is_kept=receipt)


def _told(
    engine: Engine,
    who: Principal,
    code: str,
    parts: Sequence[PromptSection],
    *,
    floor: float,
    is_kept: bool,
) -> Digest:
    """Put parts together, and keep the receipt and the echoes of what is shown.

    Without a part, digests are switched off: there is not text. The code is of the question.
    """
    now = engine.clock.now_ms()
    items = [item for part in parts for item in part.items]
    items.sort(key=lambda item: item.part == "possible")
    hidden = {kind: n for part in parts for kind, n in part.hidden.items()}
    text = assembled(items, hidden) if parts else ""
    receipt = Receipt(
        id=id_text(engine.ids.new(now)),
        at=to_datetime(now),
        reader=who.home.path,
        purpose=who.purpose,
        question_digest=code,
        floor=floor,
        items=tuple(items),
        left_out=tuple(each for part in parts for each in part.left_out),
        hidden=hidden,
        digest=hash_of(text),
    )
    if items:
        shown = {id for item in items for id in item.ids}
        seen = [record for part in parts for record in part.records if record.id in shown]
        keep_receipt(engine, who, receipt if is_kept else None, seen)
    return Digest(text=text, receipt=receipt)
