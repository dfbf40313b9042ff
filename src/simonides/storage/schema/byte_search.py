"""Looking for many byte strings in files and rows at once.

A needle is known by its first eight bytes: the numbers that stand at every place of a text are
looked up in a table of bits, then in a sorted list, and only where both know one are bytes
compared. That takes some 30 ns a byte however many needles there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

LEAST_BYTES = 8
"""Shorter needles are not looked for: they stand everywhere by chance."""

CHUNK_BYTES = 4 * 1024 * 1024
"""Bytes looked at in one go; chosen, some 100 MB of memory at the most."""

_TABLE_BITS = 20
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, for spreading


class Needles:
    """Byte strings to be looked for; each once, those that are too short left out."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._of: dict[int, list[bytes]] = {}
        for needle in {each for each in needles if len(each) >= LEAST_BYTES}:
            first = int.from_bytes(needle[:8], "little")
            self._of.setdefault(first, []).append(needle)
        self.longest = max((len(n) for n in chain(*self._of.values())), default=0)
        self._known = np.array(sorted(self._of), dtype=np.uint64)
        self._table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
        self._table[_slots(self._known)] = True

    def __bool__(self) -> bool:
        return bool(self._of)

    def found_in(self, text: bytes, *, upto: int | None = None) -> Counter[bytes]:
        """Return how often each needle stands in a text, beginning before a place."""
        found: Counter[bytes] = Counter()
        for place, first in self._places(text):
            if upto is not None and place >= upto:
                continue
            for needle in self._of[first]:
                if text.startswith(needle, place):
                    found[needle] += 1
        return found

    def found_by(self, read: Callable[[int, int], bytes], size: int) -> Counter[bytes]:
        """Return how often each needle stands in what ``read(place, length)`` gives."""
        found: Counter[bytes] = Counter()
        for start in range(0, size, CHUNK_BYTES):
            text = read(start, CHUNK_BYTES + self.longest)
            found += self.found_in(text, upto=CHUNK_BYTES)
        return found

    def _places(self, text: bytes) -> Iterator[tuple[int, int]]:
        for offset in range(8):
            count = (len(text) - offset) // 8
            if count <= 0 or not self._of:
                return
            numbers = np.frombuffer(text, dtype="<u8", count=count, offset=offset)
            likely = np.flatnonzero(self._table[_slots(numbers)])
            if not len(likely):
                continue
            at = np.searchsorted(self._known, numbers[likely])
            at[at == len(self._known)] = 0
            sure = likely[self._known[at] == numbers[likely]]
            for index in sure.tolist():
                yield offset + 8 * index, int(numbers[index])


def _slots(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    slots: NDArray[np.uint64] = (numbers * _MULTIPLIER) >> np.uint64(64 - _TABLE_BITS)
    return slots
