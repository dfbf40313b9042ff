"""Background threads that capture what users said, each in order; a few for the process.

A dropped stream queues its capture from the garbage collector, which may run anywhere, even while a
lock is held. Jobs therefore go through a queue without locks of this module, and threads start and
end elsewhere. Pending jobs run before the process ends.
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
"""A queued call. An exception in it is reported by :func:`threading.excepthook`; later jobs still
run.
"""


class Worker:
    """One thread that runs jobs in order."""

    def __init__(self, number: int) -> None:
        """Start it."""
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._has_ended = False
        self._thread = threading.Thread(
            target=self._work, name=f"simonides-wrap-{number}", daemon=True
        )
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queue a job; while the process ends, run it at once."""
        if self._has_ended:
            _do(job)
        else:
            self._jobs.put(job)

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until all queued jobs are done; returns whether they are.

        A call from within a job returns at once, because it cannot wait for itself.
        """
        if threading.current_thread() is self._thread:
            return True
        done = threading.Event()
        self.put(done.set)
        return done.wait(timeout_s)

    def end(self) -> None:
        """Wait until all jobs are done, and stop the thread."""
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
        """Run the next job; returns whether there was one.

        No reference to the job outlives it: it holds a client's memory.
        """
        job = self._jobs.get()
        if job is not None:
            _do(job)
        return job is not None


def _do(job: Job) -> None:
    with _ErrorReporting():
        job()


class _ErrorReporting:
    """Reports an exception of a job; the thread continues."""

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


class _WorkerPool:
    """The worker threads of one process, started on demand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: int | None = None
        self._workers: list[Worker] = []
        self._turns = cycle(range(WORKERS))

    def next(self) -> Worker:
        """Return the next worker, in rotation."""
        with self._lock:
            if self._process != os.getpid():
                # A forked child has no copy of the threads, and their jobs are the parent's.
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


CREW = _WorkerPool()
"""Of this process."""
