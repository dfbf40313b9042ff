"""Records what was put into prompts, as fingerprints in the journal of the reader's owner.

A read leaves the memories it showed in a dictionary; the journal writes them with its other notes.
The ledger is bounded: the newest entries are searched, and the oldest are deleted.
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import Record
from simonides.domain.scope import Scope
from simonides.domain.writing.change import JournalEntry
from simonides.ports import MemoryStore
from simonides.text.similarity import fingerprint, terms_of, whole_text_id

ECHO = "echo"
"""Kind of the journal entry with what was shown in a session."""

LEDGER = 256
"""Newest entries of an owner that are searched, and about the number that is kept; chosen. Each
covers five seconds of one session, so this is a few hundred digests.
"""

MAX_WAITING = 4_096
"""Most queued memories while writing fails; chosen: some MB."""

FEW = 8
"""Entries that are read if the earlier ones are known; chosen."""

TRIMMED_AFTER = 64
"""Writes by a process for an owner between two checks of the ledger's length; chosen."""

Said: TypeAlias = Mapping[tuple[str | None, str], tuple[str | None, str, int]]
"""Shown memories: by session and id (a text without a memory behind a space), the key, the text and
the time in µs.
"""


class Item(NamedTuple):
    """One memory or text that was shown.

    Attributes:
        id: Of the memory; empty for one of another owner, and for a text without a memory.
        key: Of the memory.
        terms: Hashes of its words; see :mod:`simonides.text.similarity.fingerprint`.
    """

    id: str
    key: str | None
    terms: frozenset[int]


class Shown(NamedTuple):
    """An entry of the ledger.

    Attributes:
        session: In which it was shown, or None.
        at: When it was shown last, µs.
        items: The memories and texts.
        terms: Hashes of the words of all items.
    """

    session: str | None
    at: int
    items: tuple[Item, ...]
    terms: frozenset[int]


class Ledger:
    """The written and searchable entries of what an owner's readers were shown.

    If two threads update it at once, an entry may be indexed twice; that changes no result.

    Attributes:
        read_at: When it was read, µs.
        last: The newest entry, as in the journal; None if there is none.
    """

    __slots__ = ("_count", "_filed", "last", "read_at")

    def __init__(self, read_at: int) -> None:
        self.read_at = read_at
        self.last: JournalEntry | None = None
        self._count = 0
        self._filed: dict[int, list[Shown]] = {}

    @property
    def is_full(self) -> bool:
        """Whether the ledger is due to be read again, without the oldest entries."""
        return self._count >= 2 * LEDGER

    def add(self, entries: Iterable[JournalEntry], location: str) -> None:
        """Index newer entries by the words of their items.

        Raises:
            StoreCorrupt: If one cannot be read.
        """
        for entry in entries:
            shown = _read(entry, location)
            for term in shown.terms:
                self._filed.setdefault(term, []).append(shown)
            self._count += 1
            self.last = entry

    def near(self, terms: Iterable[int], enough: int) -> list[Shown]:
        """Return the entries that have at least ``enough`` of some words."""
        hits: dict[int, int] = {}
        found: dict[int, Shown] = {}
        for term in terms:
            for shown in self._filed.get(term, ()):
                name = id(shown)
                hits[name] = hits.get(name, 0) + 1
                if hits[name] == enough:
                    found[name] = shown
        return [*found.values()]


class Showing:
    """Unwritten records of what the readers of one owner were shown.

    Attributes:
        ledger: The written entries, as last read; None before the first search.
        written: Number of writes.
    """

    __slots__ = ("_said", "ledger", "written")

    def __init__(self) -> None:
        self._said: dict[tuple[str | None, str], tuple[str | None, str, int]] = {}
        self.ledger: Ledger | None = None
        self.written = 0

    def __bool__(self) -> bool:
        return bool(self._said)

    def add(
        self, session: str | None, shown: Iterable[Record] | str, owner: Scope, at: int
    ) -> None:
        """Queue what was shown; a microsecond for each memory, on any thread.

        Memories of another user are not recorded, because the record would outlive their erasure.
        """
        if isinstance(shown, str):
            self._said[session, f" {shown}"] = (None, shown, at)
            return
        for memory in shown:
            theirs = memory.scope.owner
            if theirs == owner or theirs.user is None:
                is_own = theirs == owner and not memory.is_passage
                name = memory.id if is_own else f" {memory.id}"
                self._said[session, name] = (memory.key, memory.content, at)

    def taken(self) -> Said:
        """Return the queued records and empty the queue."""
        said, self._said = self._said, {}
        return said

    def put_back(self, said: Said) -> None:
        """Queue taken records again; beyond ``MAX_WAITING`` the oldest are dropped."""
        waiting = {**said, **self._said}
        self._said = dict(list(waiting.items())[-MAX_WAITING:])

    async def trimmed(self, store: MemoryStore, owner: Scope) -> None:
        """Delete an owner's oldest entries, on every ``TRIMMED_AFTER``-th call.

        Raises:
            StoreError: If the store failed.
        """
        self.written += 1
        if self.written % TRIMMED_AFTER:
            return
        found = await store.journaled(owner, limit=4 * LEDGER, kind=ECHO, oldest=True)
        if len(found) > LEDGER:
            await store.condense(owner, ECHO, found[:-LEDGER], {})


def entries_of(said: Said) -> list[JournalEntry]:
    """Return the journal entries of what was shown, one for each session."""
    sessions: dict[str | None, list[dict[str, Any]]] = {}
    last: dict[str | None, int] = {}
    for (session, name), (key, text, at) in said.items():
        id = "" if name.startswith(" ") else name
        item = {"id": id, "key": key, "terms": _written(key, text)}
        sessions.setdefault(session, []).append(item)
        last[session] = max(last.get(session, at), at)
    return [
        JournalEntry(last[session], ECHO, canonical_json({"items": items, "session": session}))
        for session, items in sessions.items()
    ]


# Cached because the same memories are shown again and again.
@lru_cache(maxsize=4096)
def _written(key: str | None, text: str) -> str:
    """Return the word hashes of a statement and its key, each in four bytes, as Base64."""
    terms = terms_of(fingerprint(text)) | terms_of(fingerprint(key or ""))
    number = whole_text_id(text)
    terms |= frozenset() if number is None else {number}
    return b64encode(struct.pack(f">{len(terms)}I", *sorted(terms))).decode()


async def ledger(store: MemoryStore, owner: Scope, known: Ledger | None, now: int) -> Ledger:
    """Return the ledger of what an owner's readers were shown, up to date with the journal.

    Known entries are not read again, so a running conversation reads only a few.

    Args:
        store: Where the journal is.
        owner: Owner of the readers.
        known: The ledger of an earlier call.
        now: The clock, µs.

    Raises:
        StoreError: If it cannot be read.
    """
    entries = await store.journaled(owner, limit=FEW, kind=ECHO)
    if known is not None and not known.is_full and known.last in entries:
        known.read_at = now
        known.add(entries[entries.index(known.last) + 1 :], store.location)
        return known
    if len(entries) == FEW:
        entries = await store.journaled(owner, limit=LEDGER, kind=ECHO)
    read = Ledger(now)
    read.add(entries, store.location)
    return read


def _read(entry: JournalEntry, location: str) -> Shown:
    try:
        body = json.loads(entry.body)
        items = tuple(
            Item(item["id"], item["key"], _numbers(item["terms"])) for item in body["items"]
        )
        terms = frozenset[int]().union(*(item.terms for item in items))
        return Shown(body["session"], entry.at, items, terms)
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise StoreCorrupt(location, f"a journal entry cannot be read: {error}") from error


def _numbers(written: str) -> frozenset[int]:
    raw = b64decode(written)
    return frozenset(struct.unpack(f">{len(raw) // 4}I", raw))
