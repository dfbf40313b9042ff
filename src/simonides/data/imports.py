"""Imports what other programs export: conversations become turns, statements become memories.

Every item has an outcome. What was imported before is known by its conversation and message, or by
its idempotency key, so an import that was interrupted is run again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from simonides.capture.messages import Message, read_messages
from simonides.core.clock import DAY_MS, parse_moment
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.outcome import Outcome, OutcomeKind
from simonides.core.record import Draft
from simonides.core.scope import Principal, in_session
from simonides.data.formats.items import Item, Left, Statement, Turn
from simonides.data.formats.known import read_export
from simonides.data.results import ImportReport
from simonides.hygiene.secrets import no_secret
from simonides.prompt.lines import TITLE
from simonides.sessions.imported import Kept, keep_turns, known_messages, read_soon
from simonides.storage import statements
from simonides.write.candidate import candidate_of
from simonides.write.judge import Drop, Hold, judge
from simonides.write.remember import remember

SLICE = 64
"""Maximum items of one transaction, as of one call of `add`."""

MOST_PROBLEMS = 1_000
"""Problems that a report names one by one. Chosen: it bounds the report."""

_KINDS = {
    OutcomeKind.HELD: "held", OutcomeKind.REVIEW: "held", OutcomeKind.BLOCKED: "refused",
    OutcomeKind.DROPPED: "refused", OutcomeKind.REFRESHED: "known", OutcomeKind.TOUCHED: "known",
    OutcomeKind.BUMPED: "known",
}  # fmt: skip
_BEST = ("stored", "known", "held", "refused", "unreadable", "left")


def import_from(
    engine: Engine,
    who: Principal,
    path: str | Path,
    *,
    format: str | None = None,
    of: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], object] | None = None,
) -> ImportReport:
    """Import an export of another program, and say what became of each item.

    Args:
        engine: The store.
        who: The user.
        path: A file, a ZIP or a folder of this machine; or the address of a LangGraph store in
            PostgreSQL.
        format: Name of its format; None recognises it.
        of: Name of the user in the export, if it is another one there.
        dry_run: Only say what would be done; repeats within the export count as stored.
        progress: Called with the number of items so far, after each transaction.

    Raises:
        InvalidInput: If the path cannot be read, or the format is not known.
        QuotaExceeded: If an organisation writes too much; what came before is stored.
        StoreError: If the store, or that of LangGraph, could not; what came before is stored.
    """
    run = _Import(engine, who, of, dry_run=dry_run)
    for name, batch in _batches(read_export(path, format)):
        run.formats[name] = None
        run.keep(name, batch)
        if progress is not None:
            progress(run.counts.total())
    if not dry_run:
        for session in run.sessions:
            read_soon(engine, session)
        engine.worker.ask("embed", who.owner)
    return run.report()


def _batches(items: Iterable[tuple[str, Item]]) -> Iterator[tuple[str, list[Item]]]:
    """Yield items of one format that follow each other, as many as are kept at once."""
    for format, group in groupby(items, key=itemgetter(0)):
        while batch := [item for _, item in islice(group, SLICE)]:
            yield format, batch


@dataclass
class _Import:
    """An import as it goes on: what it has counted, and what it knows of the conversations."""

    engine: Engine
    who: Principal
    of: str | None
    dry_run: bool
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    formats: dict[str, None] = field(default_factory=dict)
    sessions: dict[Principal, None] = field(default_factory=dict)
    known: set[tuple[str, str]] | None = None
    unnamed: Counter[tuple[str, str]] = field(default_factory=Counter)
    said: dict[str, datetime | None] = field(default_factory=dict)

    def keep(self, format: str, batch: Sequence[Item]) -> None:
        """Store a batch, and count what became of each item."""
        turns = [item for item in batch if isinstance(item, Turn)]
        stated = [item for item in batch if isinstance(item, Statement)]
        for item in batch:
            if isinstance(item, Left):
                kind = "unreadable" if item.reason == "unreadable" else "left"
                self._count(item, Kept(kind, (item.reason,)))
        for turn, kept in self._turns(format, turns) if turns else ():
            self._count(turn, kept)
        for statement, kept in self._statements(format, stated):
            self._count(statement, kept)

    def report(self) -> ImportReport:
        """Return what was counted."""
        return ImportReport(
            format=", ".join(self.formats),
            conversations=len(self.sessions),
            reasons=dict(self.reasons),
            problems=tuple(self.problems),
            dry_run=self.dry_run,
            **self.counts,
        )

    def _count(self, item: Item, kept: Kept) -> None:
        self.counts[kept.outcome] += 1
        self.reasons.update(f"{kept.outcome}:{reason}" for reason in kept.reasons)
        is_problem = kept.outcome in ("refused", "unreadable")
        if is_problem and len(self.problems) < MOST_PROBLEMS:
            self.problems.append((item.place, ", ".join(kept.reasons)))

    def _is_users(self, names: Sequence[str]) -> bool:
        return (self.of or self.who.home.user) in names

    def _turns(self, format: str, turns: Sequence[Turn]) -> Iterator[tuple[Turn, Kept]]:
        became: list[list[Kept]] = [[] for _ in turns]
        fresh: dict[Principal, list[tuple[int, Message]]] = {}
        for number, turn in enumerate(turns):
            if turn.users and not self._is_users(turn.users):
                became[number].append(Kept("left", ("other_user",)))
                continue
            session = _session(self.who, f"{format}:{turn.conversation}")
            self.sessions[session] = None
            for message in self._messages(session.conversation, turn):
                if isinstance(message, Kept):
                    became[number].append(message)
                else:
                    fresh.setdefault(session, []).append((number, message))
        new = {who: [message for _, message in pairs] for who, pairs in fresh.items()}
        kept = keep_turns(self.engine, new, dry_run=self.dry_run)
        numbers = (number for pairs in fresh.values() for number, _ in pairs)
        for number, each in zip(numbers, kept, strict=True):
            became[number].append(each)
        for turn, parts in zip(turns, became, strict=True):
            yield turn, min(parts, key=lambda part: _BEST.index(part.outcome))

    def _messages(self, conversation: str, turn: Turn) -> Iterator[Message | Kept]:
        """Yield the new messages of a turn, and what became of the others."""
        if self.known is None:
            self.known = known_messages(self.engine, self.who)
        try:
            messages = read_messages([self._message(conversation, turn)])
        except InvalidInput as error:
            yield Kept("unreadable", (error.field,))
            return
        for message in messages:
            # A message without a time was said after the one before it.
            said = self.said[conversation] = message.at or self.said.get(conversation)
            named = (conversation, message.id or "")
            if message.role == "tool":
                yield Kept("left", ("tool",))
            elif named in self.known:
                yield Kept("known")
            else:
                self.known.add(named)
                yield message._replace(at=said)

    def _message(self, conversation: str, turn: Turn) -> dict[str, object]:
        id = turn.id
        if id is None or len(id) > 128:
            id = _digest(turn.role, turn.at, turn.content, turn.id)
            self.unnamed[conversation, id] += 1  # the same may be said twice
            id = f"{id}-{self.unnamed[conversation, id]}"
        named = {"role": turn.role, "content": turn.content, "id": id, "name": turn.name}
        return {**named, "created_at": turn.at}

    def _statements(
        self, format: str, stated: Sequence[Statement]
    ) -> Iterator[tuple[Statement, Kept]]:
        drafts: list[tuple[Statement, Draft]] = []
        keys = set[str | None]()
        for item in stated:
            drafted = self._draft(format, item)
            if isinstance(drafted, Kept):
                yield item, drafted
            elif drafted.idempotency_key in keys:
                yield item, Kept("known")
            else:
                keys.add(drafted.idempotency_key)
                drafts.append((item, drafted))
        if self.dry_run:
            yield from ((item, self._judged(item, draft)) for item, draft in drafts)
            return
        for who, pairs in groupby(drafts, key=lambda pair: self._writer(pair[0])):
            items, every = zip(*pairs, strict=True)
            outcomes = remember(self.engine, who, every, atomic=False, lifts=False)
            yield from zip(items, map(_became, outcomes), strict=True)

    def _draft(self, format: str, item: Statement) -> Draft | Kept:
        """Return the draft of a statement, or what became of one that is not to be written."""
        if not item.content.strip() or TITLE in item.content:
            return Kept("left", ("echo" if item.content.strip() else "empty",))
        if item.users and not self._is_users(item.users):
            return Kept("left", ("other_user",))
        marks = (item.content, str(item.at), item.key, item.tags, item.is_own)
        more = () if item.draft is None else (repr((item.draft, item.until, item.task)),)
        key = f"{format}:{_digest(item.id, *marks, *more)}"
        try:
            days = self._days_until(item.until)
            if days is not None and days <= 0:
                return Kept("left", ("ended",))
            fields = _fields(format, item) if item.draft is None else self._exact(item)
            draft = Draft(
                key=item.key, tags=item.tags, ttl_days=days, idempotency_key=key, **fields
            )
            candidate_of(self.engine, self._writer(item), draft)
        except InvalidInput as error:
            return Kept("refused", (f"invalid:{error.field}",))
        with self.engine.db.read(self.who.owner) as connection:
            params = {"owner": self.who.owner, "key": key}
            known = connection.one(statements.IDEMPOTENT, params)
        if known is None:
            return draft
        if _KINDS.get(OutcomeKind(known[1])) != "refused":
            return Kept("known")
        judged = self._judged(item, draft)
        return judged if judged.outcome == "refused" else Kept("refused", ("refused_before",))

    def _writer(self, item: Statement) -> Principal:
        """Return the user, or the user in the task that a statement belongs to."""
        home = replace(self.who.home, task=item.task) if item.task else self.who.home
        return replace(self.who, home=home)

    def _days_until(self, moment: object) -> float | None:
        """Return how many days are left until a moment; None if there is none."""
        until = parse_moment("until", moment)
        return None if until is None else (until - self.engine.clock.now_ms()) / DAY_MS

    def _exact(self, item: Statement) -> dict[str, Any]:
        """Return the fields of a draft that an export names; a category is one of the policy."""
        fields = {"content": item.content, "at": item.at, **(item.draft or {})}
        policy = self.engine.policies.for_org(self.who.home.org, self.who.agent)
        is_known = fields.get("category") in policy.categories
        return fields if is_known else {**fields, "category": None}

    def _judged(self, item: Statement, draft: Draft) -> Kept:
        match judge(candidate_of(self.engine, self._writer(item), draft)):
            case Drop(_, reasons):
                return Kept("refused", reasons)
            case Hold(_, reasons):
                return Kept("held", reasons)
            case _:
                return Kept("stored")


def _fields(format: str, item: Statement) -> dict[str, Any]:
    """Return the fields of a draft that follow from a statement of another program."""
    [message] = read_messages([{"role": "user", "content": item.content, "date": item.at}])
    return {
        "content": message.text.strip(),
        "at": message.at,
        "source": "user_stated" if item.is_own else "external",
        "origin": f"{format}:{item.id}" if item.id else format,
    }


def _became(outcome: Outcome) -> Kept:
    return Kept(_KINDS.get(outcome.kind, "stored"), outcome.reasons)


def _session(who: Principal, name: str) -> Principal:
    try:
        return in_session(who, no_secret("session", name))
    except InvalidInput:  # a title may be long, or hold a secret or a sign that a name may not
        return in_session(who, f"{name.partition(':')[0]}:{_digest(name)}")


def _digest(*parts: object) -> str:
    text = json.dumps(parts, default=str, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
