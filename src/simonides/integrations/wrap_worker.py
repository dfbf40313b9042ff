"""Threads that capture what wrapped clients said: a few for the process, each in order.

A stream that is dropped tells of it from within the garbage collector, which may run anywhere, also
where a lock is held. So a job is handed over through a queue that takes no lock of ours, and
threads are started and ended elsewhere. At the end of the process what is left is done first.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from itertools import cycle
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TypeAlias

WORKERS = 4
"""Threads at most; chosen: capture waits for a language model, or takes milliseconds."""

Job: TypeAlias = Callable[[], None]
"""What is to be done. One that raises is told of by :func:`threading.excepthook`, as of a thread
that ends by it; the others are done all the same."""


class Worker:
    """One thread that does what it is given, in order."""

    def __init__(self, number: int) -> None:
        """Start it."""
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._has_ended = False
        self._thread = threading.Thread(
            target=self._work, name=f"simonides-wrap-{number}", daemon=True
        )
        self._thread.start()

    def put(self, job: Job) -> None:
        """Have a job done after those before; when the process ends, at once."""
        if self._has_ended:
            _do(job)
        else:
            self._jobs.put(job)

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until what was put is done; returns whether it is. A job that waits for those
        before it has nothing to wait for.
        """
        if threading.current_thread() is self._thread:
            return True
        done = threading.Event()
        self.put(done.set)
        return done.wait(timeout_s)

    def end(self) -> None:
        """Wait until all is done, and stop the thread."""
        self._jobs.put(None)
        self._thread.join()
        self._has_ended = True
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            if job is not None:
                _do(job)

    def _work(self) -> None:
        while self._one():
            continue

    def _one(self) -> bool:
        """Do the next job; returns whether there is one. No reference to it outlives it: it holds
        a client's memory.
        """
        job = self._jobs.get()
        if job is not None:
            _do(job)
        return job is not None


def _do(job: Job) -> None:
    with _ToldOf():
        job()


class _ToldOf:
    """Lets a thread outlive the fault of a job, which is told of."""

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if kind is None or not issubclass(kind, Exception):
            return False
        thread = threading.current_thread()
        threading.excepthook(threading.ExceptHookArgs((kind, error, trace, thread)))
        return True


class _Crew:
    """The workers of one process, started as they are wanted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: int | None = None
        self._workers: list[Worker] = []
        self._turns = cycle(range(WORKERS))

    def next(self) -> Worker:
        """Return the worker whose turn it is."""
        with self._lock:
            if self._process != os.getpid():
                # A forked child has not inherited the threads, and their jobs are the parent's.
                self._process, self._workers = os.getpid(), []
                self._turns = cycle(range(WORKERS))
                atexit.register(self._end, os.getpid())
            turn = next(self._turns)
            if turn == len(self._workers):
                self._workers.append(Worker(turn))
            return self._workers[turn]

    def _end(self, process: int) -> None:
        if process == os.getpid() == self._process:
            for worker in self._workers:
                worker.end()


CREW = _Crew()
"""Of this process."""
