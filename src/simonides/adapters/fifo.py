"""A lock that serves threads strictly in the order in which they came.

``threading.Lock`` goes to the thread that happens to run next. Here a thread first stands in line
and then waits; the thread that leaves wakes the next one.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Waiter:
    """One thread in a line."""

    __slots__ = ("gate", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.gate = threading.Lock()
        self.gate.acquire()


class FifoLock:
    """First come, first served; held by the head of the line."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._line: deque[Waiter] = deque()

    def stand(self) -> Waiter:
        """Join the end of the line.

        Raises:
            ValueError: If this thread holds the lock: it would wait for itself for ever.
        """
        waiter = Waiter()
        with self._mutex:
            if not self._line:
                waiter.gate.release()
            elif self._line[0].thread == waiter.thread:
                raise ValueError("a write turn is being decided: decide must not call the store")
            self._line.append(waiter)
        return waiter

    def wait(self, waiter: Waiter, timeout_s: float = -1) -> bool:
        """Wait until ``waiter`` is at the head; False if the time ran out, it then stays in line.

        Args:
            waiter: What :meth:`stand` returned.
            timeout_s: Seconds; -1 waits for ever.
        """
        return waiter.gate.acquire(timeout=timeout_s)

    def leave(self, waiter: Waiter) -> None:
        """Leave the line, from its head or from anywhere, and wake the new head."""
        with self._mutex:
            was_head = self._line[0] is waiter
            self._line.remove(waiter)
            if was_head and self._line:
                self._line[0].gate.release()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the length of a block, waiting as long as it takes."""
        waiter = self.stand()
        try:
            self.wait(waiter)
            yield
        finally:
            self.leave(waiter)
