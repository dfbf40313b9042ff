"""Telling an anchor how far owners have come, at most once a second, and asking it."""

from __future__ import annotations

import hashlib
import threading

from simonides.domain.errors import StoreError
from simonides.domain.writing.change import Head
from simonides.ports import Alarm, Anchor, Anchored

EVERY_S = 1.0
"""Shortest time between two notes, seconds: what an older copy may lack without being noticed."""

_STORE_BYTES = 16


class Anchoring:
    """One store's use of an anchor; any thread may call.

    Args:
        anchor: Where it is noted.
        salt: Of the store: it names the store, and goes with its rows where they are moved.
        alarm: Wakes it; None notes every commit at once.
        is_own: Whether :meth:`close` closes the anchor too.
    """

    def __init__(
        self, anchor: Anchor, salt: bytes, alarm: Alarm | None, *, is_own: bool = False
    ) -> None:
        self._anchor = anchor
        self._is_own = is_own
        self._store = hashlib.blake2b(salt, person=b"anchor", digest_size=_STORE_BYTES).digest()
        self._alarm = alarm
        self._lock = threading.Lock()
        self._waiting: dict[bytes, Anchored] = {}
        self._is_set = False
        self._failed: str | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """Why nothing could be noted when it was last tried."""
        return () if self._failed is None else (f"anchor: {self._failed}",)

    def is_behind(self, owner: bytes, head: Head | None) -> bool:
        """Whether an owner stands where it stood before what was noted last.

        Raises:
            StoreError: If the anchor cannot be asked.
        """
        last = self._anchor.last(self._store, owner)
        if last is None:
            return False
        if head is None or last.incarnation != head.incarnation:
            return True
        return (last.epoch, last.revision) > (head.epoch, head.revision)

    def note(self, owner: bytes, head: Head, *, is_new: bool) -> None:
        """Note where an owner stands after a commit, within :data:`EVERY_S`; at once if it begins
        anew, for of two incarnations nobody can tell the later one.
        """
        with self._lock:
            self._waiting[owner] = Anchored(*head[:3])
            is_due = self._alarm is None or is_new
            wakes = not is_due and not self._is_set
            self._is_set = self._is_set or wakes
        if is_due:
            self.flush()
        elif wakes and self._alarm is not None:
            self._alarm.after(EVERY_S, self._ring)

    def accept(self, owner: bytes, head: Head) -> None:
        """Note where an owner stands though it was farther on."""
        self._anchor.put(self._store, {owner: Anchored(*head[:3])})

    def flush(self) -> None:
        """Note what waits; what cannot be noted waits on, and :attr:`problems` says so."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        try:
            self._anchor.advance(self._store, waiting)
        except StoreError as error:
            with self._lock:
                self._waiting = {**waiting, **self._waiting}
            self._failed = str(error)
        else:
            self._failed = None

    def close(self) -> None:
        """Note what waits."""
        self.flush()
        if self._is_own:
            self._anchor.close()

    def _ring(self) -> None:
        with self._lock:
            self._is_set = False
        self.flush()
