"""The verb `digest`: the core block, then what bears on the question, within strict budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

from simonides.capture.clauses import clauses_of
from simonides.capture.frames import parts_of
from simonides.capture.messages import read_messages
from simonides.capture.slots import is_for_now, was_for_then
from simonides.core.clock import DAY_MS, to_datetime, to_ms
from simonides.core.engine import Engine
from simonides.core.policy import DigestRules
from simonides.core.record import SUMMARY, TURN, Record, Trust, id_text
from simonides.core.results import Digest, DigestItem, Hit, Receipt
from simonides.core.scope import Principal
from simonides.core.validation import between
from simonides.models.embedder import TokenCounter
from simonides.prompt.catch_up import catch_up
from simonides.prompt.core_block import core_block
from simonides.prompt.lines import (
    LINE_CHARS,
    assembled,
    estimated_tokens,
    hash_of,
    item_of,
    line_of,
)
from simonides.prompt.receipts import floor_of, keep, question_digest
from simonides.recall.changes import changes_since
from simonides.recall.lookup import MAX_LISTED, list_memories
from simonides.recall.recall import MAX_QUERY_CHARS, recall, standing
from simonides.text.analyse import query_terms
from simonides.text.changes import Cue, cue_of
from simonides.text.statement import fingerprint
from simonides.write.statement import is_whole

Spans = tuple[tuple[int, int], ...]

FOUND = 12
"""Memories that recall is asked for: of them those are shown that most likely bear on the question,
and that say something new."""

FEW = 2
"""Terms of the words that taught a fact which its line may leave out; chosen."""

PASSING_DAYS = 14
"""Days after which what was said of "this week" or "for now" has passed; chosen."""

OVERHEAD = 40
"""Characters of a line's id, date and marks, about."""

SHORT = 120
"""Characters that a memory keeps, however many there are."""

NEAR = timedelta(minutes=30)
"""Most time between two turns of one line; chosen."""


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
        max_items: Most lines beside the core block; None means as many as fit.
        max_chars: Most characters of these lines.
        max_tokens: Most tokens of the whole text, the core block apart.
        floor: Least relevance of a memory; None means the reader's.
        shown: Ids that the prompt shows already.
        has_core: Whether the core block is shown; else the prompt has it already, and a rule of it
            that bears on the question is found like any memory that `shown` does not name.
        receipt: Whether the receipt is kept.

    Raises:
        InvalidInput: If an argument is out of range.
        ScopeDenied: If a scope may not be read.
        StoreError: If the store cannot be read.
    """
    rules = engine.policies.for_org(who.home.org).digest
    limits = {"max_items": max_items, "max_chars": max_chars, "max_tokens": max_tokens}
    for name, value in limits.items():
        if value is not None:
            between(name, value, 0, 1_000_000)
    about = question_of(about)
    if not rules.enabled:
        return _digest(engine, who, about, [], Choice(rules), 0.0, 0, [], is_kept=receipt)
    records = standing(engine, who, scopes)
    core, hidden = core_block(records, rules)
    last, summary = catch_up(engine, who, rules) if has_core else ([], [])
    choice, least = Choice(rules, max_items, max_chars, max_tokens, engine.tokens), 0.0
    if about is not None and not _is_sum(about):
        options = {"filter": filter, "kinds": kinds, "scopes": scopes}
        hits = recall(engine, who, about, limit=FOUND, **options)
        least = floor_of(engine, who) if floor is None else floor
        standing_ids = {id for item in core for id in item.ids}
        pinned = standing_ids if has_core else standing_ids.intersection(shown)
        choice.note(record for record in records if record.id in pinned)
        given = pinned.union(shown, (record.id for record in summary))
        chosen = choice.passing(hits, least, given)
        # Nothing newer stands before what was said on the day that is asked for.
        bears = [hit for hit in chosen if hit.relevance >= rules.relevant]
        sure = {hit.id for hit in bears if not hit.why.get("date")}
        changes = changes_since(engine, who, [hit.record for hit in chosen], sure, **options)
        fit = {k: r for k, r in changes.newer.items() if r.sensitivity in rules.sensitivities}
        fit = _of_change(chosen, sure) | fit
        ordered = _newer_first(chosen, fit, given)
        past = {hit.id for hit in ordered if _is_over(hit.record, who, engine.clock.now_ms())}
        choice.fill(ordered, changes.ended, past)
        records += [hit.record for hit in ordered]
    core, hidden = (core, hidden) if has_core else ([], 0)
    found = [*records, *summary]
    core = [*core, *last]
    return _digest(engine, who, about, core, choice, least, hidden, found, is_kept=receipt)


def question_of(about: object) -> str | None:
    """Return the text that a digest is about: of messages, the user's own words in the last one.

    If these say nothing to search for ("And his?"), the user's message before stands with them.

    Raises:
        InvalidInput: If a message is malformed.
    """
    if about is None or isinstance(about, str):
        return about
    said = [message.text for message in read_messages(about) if message.role == "user"]
    own = ["".join(part.text for part in parts_of(each) if part.is_own).strip() for each in said]
    own = [each for each in own if each][-2:]
    return "\n".join(own if own and not query_terms(own[-1]) else own[-1:])[:MAX_QUERY_CHARS]


def _is_sum(about: str) -> bool:
    """Whether a question names nothing but small numbers, as "What is 2+2?" does."""
    terms = query_terms(about)
    return bool(terms) and all(term.isdigit() and len(term) < 4 for term in terms)


def profile(engine: Engine, who: Principal, *, receipt: bool = True) -> Digest:
    """Return what is known of the user: the core block, then all facts under a key, newest first.

    Args:
        engine: The store.
        who: The reader.
        receipt: Whether the receipt is kept.

    Raises:
        StoreError: If the store cannot be read.
    """
    rules = engine.policies.for_org(who.home.org).digest
    records = standing(engine, who)
    core, hidden = core_block(records, rules)
    pinned = {id for item in core for id in item.ids}
    named = list_memories(engine, who, filter={"key": {"$exists": True}}, limit=MAX_LISTED)
    choice = Choice(rules)
    choice.items = [
        item_of(record, "relevant", LINE_CHARS)
        for record in named
        if record.id not in pinned and record.sensitivity in rules.sensitivities
    ]
    found = [*records, *named]
    return _digest(engine, who, None, core, choice, 0.0, hidden, found, is_kept=receipt)


def _digest(
    engine: Engine,
    who: Principal,
    about: str | None,
    core: list[DigestItem],
    choice: Choice,
    floor: float,
    hidden: int,
    found: Sequence[Record],
    *,
    is_kept: bool,
) -> Digest:
    now = engine.clock.now_ms()
    items = (*core, *sorted(choice.items, key=lambda item: item.part == "possible"))
    lines = [(item.part, item.line) for item in items]
    text = assembled(lines, hidden) if choice.rules.enabled else ""
    receipt = Receipt(
        id=id_text(engine.ids.new(now)), at=to_datetime(now), reader=who.home.path,
        purpose=who.purpose, question_digest=question_digest(engine, who, about), floor=floor,
        items=items, left_out=tuple(choice.left_out), hidden=hidden, digest=hash_of(text),
    )  # fmt: skip
    if items:
        shown = {id for item in items for id in item.ids}
        seen = [record for record in found if record.id in shown]
        keep(engine, who, receipt if is_kept else None, seen)
    return Digest(text=text, receipt=receipt)


class Choice:
    """Chooses lines within budgets.

    Attributes:
        rules: The policy's rules.
        items: The chosen lines.
        left_out: Ids that were found and not chosen, with the reason.
    """

    def __init__(
        self,
        rules: DigestRules,
        max_items: int | None = None,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        tokens: TokenCounter | None = None,
    ) -> None:
        self.rules = rules
        self._tokens = tokens or estimated_tokens
        self.items: list[DigestItem] = []
        self.left_out: list[tuple[str, str]] = []
        self._said: set[bytes] = set()
        self._items = self._chars = 0
        self._max_items, self._max_tokens = max_items, max_tokens
        self._max_chars = rules.chars if max_chars is None else max_chars

    def note(self, records: Iterable[Record]) -> None:
        """Note what the core block says; it is not said twice."""
        for record in records:
            self._said |= _says(record)

    def passing(self, hits: Sequence[Hit], floor: float, shown: set[str]) -> list[Hit]:
        """Return what may be shown of what recall found, the most relevant first.

        Args:
            hits: Best first.
            floor: Least relevance.
            shown: Ids that the core block shows.
        """
        best = max((hit.relevance for hit in hits), default=0.0)
        chosen: list[Hit] = []
        found = {hit.id for hit in hits}
        for hit in sorted(hits, key=lambda hit: -hit.relevance):
            if hit.id in shown:
                continue
            said = _says(hit.record)
            # A turn says more than the fact that it taught, or the summary that quotes it.
            is_quoted = hit.record.quote or hit.record.category == SUMMARY
            if said <= self._said or (is_quoted and found.intersection(hit.record.parents)):
                self.left_out.append((hit.id, "repeated"))
            elif hit.record.sensitivity not in self.rules.sensitivities:
                self.left_out.append((hit.id, "sensitivity"))
            elif best < self.rules.least or hit.relevance < floor:
                self.left_out.append((hit.id, "below_floor"))
            elif len(chosen) >= self.rules.lines:
                self.left_out.append((hit.id, "budget"))
            else:
                chosen.append(hit)
                self._said |= said
        return chosen

    def fill(self, hits: Sequence[Hit], ended: Mapping[str, Spans], over: Set[str]) -> None:
        """Take what there is room for.

        Args:
            hits: In the order of the lines.
            ended: By id, which clauses of a memory have ended.
            over: Ids of what held for a while that has passed.
        """
        room = max(self.rules.chars // max(len(hits), 1) - OVERHEAD, SHORT)
        for run in _runs(hits, {*ended, *over}):
            spans = ended.get(run[0].id, ())
            whole = run[0].id in over or (spans and is_whole(run[0].record, spans))
            self._take(run, min(room, LINE_CHARS), () if whole else spans, is_over=bool(whole))

    def _take(self, run: Sequence[Hit], chars: int, earlier: Spans, *, is_over: bool) -> None:
        best = max(run, key=lambda hit: hit.relevance)
        marks = run[0].record.warnings(run[0].at) if len(run) == 1 else ()
        if is_over:
            marks = (*marks, "earlier")
        records = [hit.record for hit in run]
        line = line_of(records, marks, chars, earlier)
        if not self._fits(len(run), line):
            self.left_out += [(record.id, "budget") for record in records]
            return
        item = DigestItem(
            ids=tuple(record.id for record in records), owner=records[0].owner,
            part="relevant" if best.relevance >= self.rules.relevant else "possible", marks=marks,
            earlier=earlier, score=best.score, relevance=best.relevance, chars=chars, line=line,
        )  # fmt: skip
        self.items.append(item)

    def _fits(self, items: int, line: str) -> bool:
        """Whether a line fits all budgets; if so, it is counted."""
        count, chars = self._items + items, self._chars + len(line)
        if self._max_items is not None and count > self._max_items:
            return False
        lines = [*(item.line for item in self.items), line]
        if self._max_tokens is not None and self._tokens("\n".join(lines)) > self._max_tokens:
            return False
        if chars > self._max_chars:
            return False
        self._items, self._chars = count, chars
        return True


def _says(record: Record) -> set[bytes]:
    told = {*query_terms(f"{record.key} {record.content}".replace("_", " "))}
    if record.key and len(set(query_terms(record.quote or "")) - told) > FEW:
        return {fingerprint(record.content)}  # its line says less than the words that taught it
    return {fingerprint(clause) for clause in clauses_of(record.quote or record.content)}


def _is_over(record: Record, who: Principal, now: int) -> bool:
    """Whether a turn held for its conversation or for some days only, and these have passed."""
    if record.category != TURN or record.role != "user" or len(record.content) > LINE_CHARS:
        return False
    if was_for_then(record.content):
        return record.session != who.conversation
    days = (now - to_ms(record.said_at)) / DAY_MS
    return days > PASSING_DAYS and is_for_now(record.content)


def _of_change(hits: Sequence[Hit], sure: Set[str]) -> dict[str, Record]:
    """Return for what surely bears on a question the last newer hit of its speaker that has words
    of change: "I've moved to Monzo" stands before "I bank with Lloyds".
    """
    changed = [hit.record for hit in hits if cue_of(hit.record.content) >= Cue.CHANGES]
    newer = {}
    for hit in hits if changed else ():
        same = [each for each in changed if _speaker(each) == _speaker(hit.record)]
        last = max(same, key=_said, default=hit.record)
        if hit.id in sure and _said(last) > _said(hit.record):
            newer[hit.id] = last
    return newer


def _speaker(record: Record) -> tuple[str, str | None]:
    return record.owner, record.speaker or (record.role if record.role != "user" else None)


def _said(record: Record) -> datetime:
    return record.said_at


def _newer_first(hits: Sequence[Hit], newer: Mapping[str, Record], shown: set[str]) -> list[Hit]:
    """Put before each memory the newer one that changes it, or may; that one is as relevant."""
    found = {hit.id: hit for hit in hits}
    order: dict[str, Hit] = {}
    begun: set[str] = set()

    def put(hit: Hit) -> None:
        by = newer.get(hit.id)
        begun.add(hit.id)
        if by is not None and by.id not in shown and by.id not in begun - order.keys():
            pulled = hit.model_copy(update={"record": by, "terms": ()})
            first = order.get(by.id) or found.get(by.id) or pulled
            relevance = max(first.relevance, hit.relevance)
            put(first.model_copy(update={"relevance": relevance}))
        order[hit.id] = hit

    for hit in hits:
        if hit.id not in order:
            put(hit)
    return list(order.values())


def _runs(hits: Sequence[Hit], ended: Set[str]) -> list[list[Hit]]:
    """Join turns that follow each other soon in a session, oldest first, at the rank of the best.

    What has ended stands alone, after what ended it.
    """
    turns = [hit for hit in hits if hit.record.position is not None and hit.id not in ended]
    at = {_position(hit.record): hit for hit in turns}
    runs: list[list[Hit]] = []
    done: set[str] = set()
    for hit in hits:
        if hit.id in done:
            continue
        run = [hit]
        if hit.record.position is not None and hit.id not in ended:
            for step in (-1, 1):
                near = at.get(_position(hit.record, step))
                if near and near.id not in done and _is_soon(near.record, hit.record):
                    run.append(near)
        done |= {each.id for each in run}
        runs.append(sorted(run, key=lambda each: each.record.position or 0))
    return runs


def _is_soon(near: Record, record: Record) -> bool:
    """Whether two turns were said on one day, and one soon after the other."""
    one, other = near.said_at, record.said_at
    return one.date() == other.date() and abs(one - other) <= NEAR


def _position(record: Record, step: int = 0) -> tuple[Any, ...]:
    at = (record.position or 0) + step
    is_foreign = record.trust is Trust.EXTERNAL
    return (record.owner, record.place, is_foreign, record.session, at)
