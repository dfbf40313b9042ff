"""How often memories were read, aggregated from the read journal.

Readers append their reads every few seconds. Folding aggregates these entries into one: per memory
the total reads, the last read, and reads per day. The result is stored in the journal of the
memories' owner. Reads of another owner's memories, such as the org's, are passed on as counts that
do not identify the reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simonides.domain.ageing import DAY_US, MONTH_US, UNREAD, Access
from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import InvalidScope, StoreCorrupt
from simonides.domain.scope import Scope
from simonides.domain.value import from_us
from simonides.domain.writing.change import JournalEntry
from simonides.engine.recall import ACCESS, DIGEST, ECHO, FEEDBACK
from simonides.ports import MemoryStore

AT_ONCE = 500
"""Entries folded in one transaction. Chosen: some milliseconds."""

RECEIPTS_AT_ONCE = 50
"""Receipts examined and dropped at once; each is some 10 kB."""

FOLDED = "folded"
"""Key in the body of a folded entry. By memory id: total reads, last read in µs, and reads by day
since 1970."""


class Folded(NamedTuple):
    """Aggregated journal entries.

    Attributes:
        reads: By id: total reads, last read (µs), reads by day.
        other_owners: Counts by id for other owners, by their paths, with the time of the last read.
        entries: How many unfolded entries, appended by readers, were aggregated.
    """

    reads: Mapping[str, tuple[int, int, Mapping[int, int]]]
    other_owners: Mapping[str, tuple[int, Mapping[str, int]]]
    entries: int

    def access(self, id: str, now_us: int) -> Access:
        """Return how a memory was read."""
        if id not in self.reads:
            return UNREAD
        count, last, days = self.reads[id]
        since = (now_us - MONTH_US) // DAY_US
        month = sum(times for day, times in days.items() if day > since)
        # The oldest day began before the thirty days and is left out; the last read covers it.
        return Access(count, from_us(last), max(month, int(last > now_us - MONTH_US)))

    def entry(self, now_us: int) -> JournalEntry:
        """Return it as one entry, without days older than a month."""
        since = (now_us - MONTH_US) // DAY_US
        body = {
            id: [count, last, {str(day): n for day, n in days.items() if day > since}]
            for id, (count, last, days) in self.reads.items()
        }
        newest = max((last for _, last, _ in self.reads.values()), default=now_us)
        return JournalEntry(newest, ACCESS, canonical_json({FOLDED: body}))

    def passed_on(self) -> dict[Scope, list[JournalEntry]]:
        """Return the entries to append to the journals of other owners."""
        return {
            Scope.parse(path).owner: [
                JournalEntry(at, ACCESS, canonical_json({"memories": {path: dict(counts)}}))
            ]
            for path, (at, counts) in self.other_owners.items()
        }


def folded(owner: Scope, entries: Iterable[JournalEntry], location: str) -> Folded:
    """Fold entries of an owner's journal.

    Raises:
        StoreCorrupt: If one of them cannot be read.
    """
    reads: dict[str, tuple[int, int, dict[int, int]]] = {}
    other_owners: dict[str, tuple[int, dict[str, int]]] = {}
    fresh = 0
    for entry in entries:
        body = _read(entry, location)
        fresh += FOLDED not in body
        for id, count, last, days in _counts(owner, entry, body):
            known, latest, by_day = reads.get(id, (0, 0, {}))
            for day, times in days.items():
                by_day[day] = by_day.get(day, 0) + times
            reads[id] = (known + count, max(latest, last), by_day)
        for path, counts in body.get("memories", {}).items():
            if path != owner.path:
                at, others = other_owners.get(path, (0, {}))
                for id, times in counts.items():
                    others[id] = others.get(id, 0) + times
                other_owners[path] = (max(at, entry.at), others)
    return Folded(reads, other_owners, fresh)


def _counts(
    owner: Scope, entry: JournalEntry, body: Mapping[str, Any]
) -> Iterator[tuple[str, int, int, Mapping[int, int]]]:
    for id, (count, last, days) in body.get(FOLDED, {}).items():
        yield id, count, last, {int(day): times for day, times in days.items()}
    for id, count in body.get("memories", {}).get(owner.path, {}).items():
        yield id, count, entry.at, {entry.at // DAY_US: count}


def _read(entry: JournalEntry, location: str) -> Mapping[str, Any]:
    try:
        body: Mapping[str, Any] = json.loads(entry.body)
        for path, counts in body.get("memories", {}).items():
            Scope.parse(path)
            sum(counts.values())
        for count, last, days in body.get(FOLDED, {}).values():
            sum([count, last, *days.values()])
    except (ValueError, TypeError, AttributeError, InvalidScope) as error:
        raise StoreCorrupt(location, f"an entry of a journal cannot be read: {error}") from error
    return body


async def fold(store: MemoryStore, owner: Scope, now_us: int) -> Folded:
    """Fold an owner's read journal in the store and return the result.

    Entries are folded in batches, each all or nothing. If two workers fold at once, one succeeds.
    The result of either counts each read once.
    """
    fresh = 0
    while True:
        entries = await store.journaled(owner, kind=ACCESS, limit=AT_ONCE, oldest=True)
        found = folded(owner, entries, store.location)
        if not found.entries:
            # Only folded entries remain, from one run or from several that stopped early.
            if len(entries) > 1:
                await store.condense(owner, ACCESS, entries, {owner: [found.entry(now_us)]})
            return found._replace(entries=fresh)
        into = {**found.passed_on(), owner: [found.entry(now_us)]}
        if await store.condense(owner, ACCESS, entries, into):
            fresh += found.entries


async def preview_fold(
    store: MemoryStore, owner: Scope, more: Sequence[JournalEntry], limit: int = 100_000
) -> Folded:
    """Return what folding would give, without writing.

    Args:
        store: Store with the journal.
        owner: Owner of the journal.
        more: Entries that folding other owners' journals would have passed on.
        limit: Most entries to read, the newest.
    """
    entries = await store.journaled(owner, kind=ACCESS, limit=limit)
    return folded(owner, [*entries, *more], store.location)


async def keep_only(
    store: MemoryStore, owner: Scope, found: Folded, ids: frozenset[str], now_us: int
) -> None:
    """Drop the counts of memories that do not exist any more."""
    left = {id: reads for id, reads in found.reads.items() if id in ids}
    if len(left) < len(found.reads):
        was = await store.journaled(owner, kind=ACCESS, limit=1, oldest=True)
        if was and folded(owner, was, store.location).reads == found.reads:
            into = [found._replace(reads=left).entry(now_us)] if left else []
            await store.condense(owner, ACCESS, was, {owner: into})


async def drop_old(store: MemoryStore, owner: Scope, before_us: int, *, dry_run: bool) -> int:
    """Drop receipts and shown records from before a time, and relevance floors that newer ones
    replaced.

    Returns:
        How many receipts and floors were dropped.
    """
    counted = 0
    for kind, kept in ((DIGEST, 0), (ECHO, 0), (FEEDBACK, 1)):
        limit, size, gone = RECEIPTS_AT_ONCE, kept + 1, 0
        while True:
            found = await store.journaled(owner, kind=kind, limit=size, oldest=True)
            old = [entry for entry in found[: len(found) - kept] if kept or entry.at < before_us]
            if dry_run and len(old) == len(found) - kept and len(found) == size:
                size *= 2
                continue
            if not old or dry_run:
                gone += len(old)
                break
            if not await store.condense(owner, kind, old, {}):
                break
            gone, size = gone + len(old), limit
        counted += gone if kind != ECHO else 0
    return counted
