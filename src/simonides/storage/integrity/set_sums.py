"""Following the set of an owner's memories, so that one that goes missing is missed.

A process keeps, of owners that it has read, every memory's code and the sum of their elements. Of
what has changed since it reads the codes, and compares the new sum with the one that the owner is
sealed with: so a refresh looks at what changed only. A process that knows nothing of an owner reads
the codes of all of its memories once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from simonides.domain.writing.change import Head
from simonides.storage.integrity.codes import CODE_BYTES, RowMacs, added

MOST_WATCHED = 500_000
"""Memories whose codes are kept, over all owners; some 250 bytes each. Chosen: more than the warm
indexes of the default budget hold."""


class Mark(NamedTuple):
    """What is kept of one memory.

    Attributes:
        mac: Codes of its content and its state.
        revision: Of the state.
    """

    mac: bytes
    revision: int


class Move(NamedTuple):
    """From one set of an owner's memories to the next.

    Attributes:
        base: Head of the set that it starts from; None if ``marks`` are all there are.
        head: Head of the next.
        marks: Of the memories that changed; None for those that are gone.
        total: The set sum then.
        key_id: Name of the key of the codes.
    """

    base: Head | None
    head: Head
    marks: Mapping[str, Mark | None]
    total: int
    key_id: str


class _Watch:
    def __init__(self, head: Head, marks: dict[str, Mark], total: int, key_id: str) -> None:
        self.head, self.marks, self.total, self.key_id = head, marks, total, key_id


class SetHashes:
    """The sets of many owners, the longest unused let go of first; any thread may ask.

    Sets are those of commits: what is written in a transaction is taken in when that has ended.
    """

    def __init__(self, most: int = MOST_WATCHED) -> None:
        self._most = most
        self._held = 0
        self._lock = threading.Lock()
        self._watches: OrderedDict[bytes, _Watch] = OrderedDict()

    def head(self, owner: bytes) -> Head | None:
        """Return where an owner stood whose set is known; None for another."""
        with self._lock:
            watch = self._watches.get(owner)
            return None if watch is None else watch.head

    def is_past(self, owner: bytes, head: Head) -> bool:
        """Whether an owner's set is known at a later head of the same life."""
        known = self.head(owner)
        return known is not None and _is_past(known, head)

    def moved(
        self,
        owner: bytes,
        codes: RowMacs,
        since: Head | None,
        head: Head,
        marks: Mapping[str, Mark],
    ) -> Move | None:
        """Return how the known set moves to a head; None if what has changed does not tell.

        Args:
            owner: Its digest.
            codes: The owner's.
            since: From where on everything that has changed is known; None for nowhere.
            head: Where it stands.
            marks: Of all memories that changed since then.
        """
        if since is None or since[:2] != head[:2]:
            return None
        with self._lock:
            watch = self._watches.get(owner)
            if watch is None or watch.head[:2] != head[:2] or watch.key_id != codes.key_id:
                # All codes were made anew by another key: the owner stands as it did.
                return None
            if not since.revision <= watch.head.revision <= head.revision:
                return None
            self._watches.move_to_end(owner)
            old = {id: watch.marks.get(id) for id in marks}
            base, total = watch.head, watch.total
        return Move(base, head, marks, _changed(codes, total, old, marks), codes.key_id)

    def marks(self, owner: bytes, head: Head, ids: Iterable[str]) -> dict[str, Mark] | None:
        """Return what is kept of those of some memories that are there at a head; None if the set
        at that head is not known.
        """
        with self._lock:
            watch = self._watches.get(owner)
            if watch is None or watch.head != head:
                return None
            return {id: watch.marks[id] for id in ids if id in watch.marks}

    def take_in(self, owner: bytes, move: Move) -> None:
        """Follow a move that has been checked, or committed; one that comes too late is ignored."""
        with self._lock:
            watch = self._watches.get(owner)
            if move.base is None:
                if watch is None or not _is_past(watch.head, move.head):
                    marks = {id: mark for id, mark in move.marks.items() if mark is not None}
                    self._put(owner, _Watch(move.head, marks, move.total, move.key_id))
            elif watch is not None and watch.head == move.base:
                self._held -= len(watch.marks)
                for id, mark in move.marks.items():
                    if mark is None:
                        watch.marks.pop(id, None)
                    else:
                        watch.marks[id] = mark
                watch.head, watch.total = move.head, move.total
                self._held += len(watch.marks)
                self._watches.move_to_end(owner)

    def drop(self, owner: bytes) -> None:
        """Let go of what is known of an owner."""
        with self._lock:
            gone = self._watches.pop(owner, None)
            self._held -= 0 if gone is None else len(gone.marks)

    def _put(self, owner: bytes, watch: _Watch) -> None:
        old = self._watches.pop(owner, None)
        self._held += len(watch.marks) - (0 if old is None else len(old.marks))
        self._watches[owner] = watch
        while self._held > self._most and len(self._watches) > 1:
            _, coldest = self._watches.popitem(last=False)
            self._held -= len(coldest.marks)


def written(
    codes: RowMacs,
    before: Head | None,
    total: int,
    old: Mapping[str, Mark],
    head: Head,
    marks: Mapping[str, Mark | None],
) -> Move:
    """Return how a set moves by a change of this process's own.

    Args:
        codes: The owner's.
        before: Where it stood; None for a new owner.
        total: The set sum there.
        old: What was kept there of the memories that the change is about.
        head: Where it stands then.
        marks: Of the memories added or restated; None for the forgotten.
    """
    return Move(before, head, marks, _changed(codes, total, old, marks), codes.key_id)


def whole(codes: RowMacs, head: Head, marks: Mapping[str, Mark]) -> Move:
    """Return how to begin with all of an owner's memories."""
    total = added(0, *(codes.element(mark.mac) for mark in marks.values()))
    return Move(None, head, marks, total, codes.key_id)


def content_half(mac: bytes) -> bytes:
    """Return the code of the content out of the two of a memory."""
    return mac[:CODE_BYTES]


def state_half(mac: bytes) -> bytes:
    """Return the code of the state out of the two of a memory."""
    return mac[CODE_BYTES:]


def _changed(
    codes: RowMacs, total: int, old: Mapping[str, Mark | None], new: Mapping[str, Mark | None]
) -> int:
    gone = (-codes.element(mark.mac) for mark in old.values() if mark is not None)
    come = (codes.element(mark.mac) for mark in new.values() if mark is not None)
    return added(total, *gone, *come)


def _is_past(known: Head, head: Head) -> bool:
    same = known.incarnation == head.incarnation
    return same and (known.epoch, known.revision) > (head.epoch, head.revision)
