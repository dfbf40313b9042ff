"""A lock that serves threads strictly in the order in which they came.

``threading.Lock`` lets whoever happens to run next barge in. Here a thread first takes a place in
line and then waits at it; who leaves opens the gate of the next.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Place:
    """One thread's place in a line."""

    __slots__ = ("gate", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.gate = threading.Lock()
        self.gate.acquire()


class FifoLock:
    """First come, first served; held by the head of the line."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._line: deque[Place] = deque()

    def stand(self) -> Place:
        """Take the next place in line.

        Raises:
            ValueError: If this thread holds the lock: it would wait for itself for ever.
        """
        place = Place()
        with self._mutex:
            if not self._line:
                place.gate.release()
            elif self._line[0].thread == place.thread:
                raise ValueError("a write turn is being decided: decide must not call the store")
            self._line.append(place)
        return place

    def wait(self, place: Place, timeout_s: float = -1) -> bool:
        """Wait until ``place`` is at the head; False if the time ran out, the place then stays.

        Args:
            place: What :meth:`stand` gave.
            timeout_s: Seconds; -1 waits for ever.
        """
        return place.gate.acquire(timeout=timeout_s)

    def leave(self, place: Place) -> None:
        """Leave the line, from its head or from anywhere, and let in who is now at the head."""
        with self._mutex:
            was_head = self._line[0] is place
            self._line.remove(place)
            if was_head and self._line:
                self._line[0].gate.release()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the length of a block, waiting as long as it takes."""
        place = self.stand()
        try:
            self.wait(place)
            yield
        finally:
            self.leave(place)
