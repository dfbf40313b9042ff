"""The log of one session: every entry, written before any processing.

An entry is screened once, when it is appended. What policy keeps out of memory is struck out, so
readers need not screen it. Recent entries stay in memory (:mod:`simonides.session`). All others
come from the store, so a log that another process continued or ended is read correctly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from simonides.domain.codecs.session import decode_entry, encode_entry
from simonides.domain.conversation.session import Entry, Logged, LoggedEntry, SessionRules
from simonides.domain.memory import Origin
from simonides.domain.scope import Scope
from simonides.domain.trust import Label
from simonides.domain.value import from_us
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.core import Runtime
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.engine.screening import cleaned_for_log, look
from simonides.policy import Policy

PAGE = 1_000
"""Entries per page; the port's own limit."""


class Cleaned(NamedTuple):
    """A screened entry.

    Attributes:
        entry: Without what policy keeps out, and with marks of the findings.
        reasons: The action taken on each finding.
    """

    entry: Entry
    reasons: tuple[str, ...] = ()


class SessionLog:
    """Appends to the log of one session and reads it.

    Attributes:
        owner: Owner of the session.
        session: Its name.
    """

    def __init__(
        self, runtime: Runtime, owner: Scope, session: str, rules: SessionRules | None = None
    ) -> None:
        """Open the log.

        Args:
            runtime: The open simonides.
            owner: Owner of the session.
            session: Name of the session.
            rules: None for those of the settings.
        """
        self._runtime = runtime
        self._hot = runtime.part(WarmSessions)
        self._rules = rules or runtime.part(SessionRules)
        self.owner = owner
        self.session = session

    @property
    def patience_us(self) -> int:
        """Microseconds after the last entry until the session counts as abandoned."""
        return self._rules.idle_us

    async def append(
        self, entries: Sequence[Entry], *, at: int | None = None, first: int | None = None
    ) -> int:
        """Append entries, all or none; they are durable when it returns.

        Args:
            entries: In order, as observed; see :meth:`add` for how they are kept.
            at: When they were observed, µs; None for now.
            first: As for the port.

        Returns:
            The number of the first.

        Raises:
            StoreError: If the store failed; nothing was written.
        """
        begin, _ = await self._append([self._cleaned(entry) for entry in entries], at, first)
        return begin

    async def add(
        self, entry: Entry, *, at: int | None = None, first: int | None = None
    ) -> LoggedEntry:
        """Append one entry and return it as stored, with the actions taken on it.

        Raises:
            StoreError: If the store failed; nothing was written.
        """
        cleaned = self._cleaned(entry)
        number, now = await self._append([cleaned], at, first)
        return LoggedEntry(number, from_us(now), cleaned.entry, cleaned.reasons)

    async def entries(self, *, after: int = -1) -> tuple[Logged, ...]:
        """Return all entries after a number, by number rising.

        Raises:
            StoreCorrupt: If one cannot be read.
            StoreError: If the store failed.
        """
        hot, now = self._hot.of(self.owner, self.session), self._runtime.clock.now_us()
        tail = hot.tail(now, after)
        if not tail or tail[0].number > after + 1:
            # One query returns the entries before the tail and confirms the tail.
            found = await self._stored(after)
            if tail and (not found or found[-1].number < tail[-1].number or _differs(found, tail)):
                hot.clear()
            hot.put(found, now)
        else:
            # The last known entry is read again: it differs if the session has ended and a new one
            # of the same name has begun.
            last = tail[-1]
            newer = await self._stored(last.number - 1)
            if not newer or newer[0] != last:
                hot.clear()
                newer = found = await self._stored(after)
            else:
                found = (*tail, *newer[1:])
            hot.put(newer, now)
        self._hot.settle(self.owner)
        return found

    async def newer(self, last: Logged | None) -> tuple[Logged, ...] | None:
        """Return the entries after a known one, by number rising.

        None if that entry is of an earlier session of the same name. Only this entry is checked,
        because logs are long and polled often.

        Args:
            last: The last known entry; None for the whole log.

        Raises:
            StoreError: As for :meth:`entries`.
        """
        if last is None:
            return await self.entries()
        again = await self.entries(after=last.number - 1)
        return again[1:] if again and again[0] == last else None

    def forget(self) -> None:
        """Drop the cached entries, because the session has ended."""
        self._hot.forget(self.owner, self.session)

    async def _append(
        self, cleaned: Sequence[Cleaned], at: int | None, first: int | None
    ) -> tuple[int, int]:
        now = self._runtime.clock.now_us()
        time = now if at is None else at
        if at is None and first is not None:
            time = await self._time_of_first_attempt(cleaned, first, now)
        due_at = now + self.patience_us
        written = [encode_entry(each.entry, time) for each in cleaned]
        begin = await self._runtime.sessions.append(
            self.owner, self.session, written, now=now, due_at=due_at, first=first
        )
        hot = self._hot.of(self.owner, self.session)
        if first is None and begin <= hot.newest:
            hot.clear()  # The session was ended elsewhere; this is a new one of the same name.
        hot.put([Logged(begin + n, time, each.entry) for n, each in enumerate(cleaned)], now)
        self._hot.settle(self.owner)
        return begin, time

    async def _time_of_first_attempt(self, cleaned: Sequence[Cleaned], first: int, now: int) -> int:
        """Return the time of the first attempt to append entries; the port compares times too."""
        stored = await self._runtime.sessions.entries(
            self.owner, self.session, after=first - 1, limit=1
        )
        same = stored and encode_entry(cleaned[0].entry, now).body == stored[0].body
        return stored[0].at if same else now

    async def _stored(self, after: int) -> tuple[Logged, ...]:
        store, found = self._runtime.sessions, list[Logged]()
        while page := await store.entries(self.owner, self.session, after=after, limit=PAGE):
            found += [decode_entry(row, store.location) for row in page]
            after = page[-1].number
            if len(page) < PAGE:
                break
        return tuple(found)

    def _cleaned(self, entry: Entry) -> Cleaned:
        return cleaned(entry, self.owner, self._runtime.policies.policy_for(self.owner.org))


def cleaned(entry: Entry, owner: Scope, policy: Policy) -> Cleaned:
    """Return an entry without what policy keeps out of memory, whoever the speaker is.

    A tool's output that looks like an attack is kept and marked. The log is a record, and the
    entry's label has it quoted as data.
    """
    source = entry.role.source
    if _is_text_alone(entry) and not look(entry.text, source.trust):
        return Cleaned(entry)  # The usual case; the full screening would find no more.
    said = Candidate(
        content=entry.text,
        scope=owner,
        source=source,
        proposer=Proposer.CALLER,
        label=Label(source.trust),
        speaker=entry.speaker,
        metadata=entry.details,
        origin=Origin(name=entry.tool),
        tags=tuple(name for name in (entry.key, entry.task) if name is not None),
    )
    clean, reasons = cleaned_for_log(said, policy)
    if not reasons:
        return Cleaned(entry)
    tags = iter(clean.tags)
    kept = replace(
        entry,
        text=clean.content,
        speaker=clean.speaker,
        details=clean.metadata,
        tool=clean.origin.name,
        key=None if entry.key is None else next(tags),
        task=None if entry.task is None else next(tags),
        marks=tuple(dict.fromkeys((*entry.marks, *clean.marks))),
    )
    return Cleaned(kept, reasons)


def _is_text_alone(entry: Entry) -> bool:
    named = entry.speaker, entry.tool, entry.key, entry.task
    return not entry.details and named == (None, None, None, None)


def _differs(found: Sequence[Logged], tail: Sequence[Logged]) -> bool:
    known = {each.number: each for each in tail}
    return any(each.number in known and known[each.number] != each for each in found)
