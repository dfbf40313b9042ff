"""The background work of a store: jobs that must not slow an answer, in one thread."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from simonides.core.engine import Engine
from simonides.core.scope import Principal

TICK_S = 15.0
"""How often the thread looks for work that time has made due. Set by judgement."""

QUIET_S, MOST_S = 0.05, 5.0
"""Time without new work after which the thread begins, and longest time that it waits for that;
chosen: it does not compete with a program that sends one request after the other."""

CLOSE_WAIT_S = 10.0
"""How long closing waits for a job that runs. Set by judgement."""

Task = Callable[[], object]


class Worker:
    """Runs jobs one after the other; the failure of one is logged. Thread-safe.

    The thread begins with the first job. A store with a clock of its caller's has none: there, jobs
    run in `flush`.

    Attributes:
        engine: The store; set once, when both are made.
        tends: Whether it does what time makes due; another process may.
        at_close: What closing does, by name.
        begun: The latest conversations that this program began, by owner and name: the principal
            of each.
    """

    def __init__(self, *, timed: bool) -> None:
        """Begin without work.

        Args:
            timed: Whether a thread runs the jobs.
        """
        self._timed, self.tends = timed, True
        self.engine: Engine
        self.begun: OrderedDict[tuple[str, str], Principal]
        self.at_close: dict[str, Task]
        self.after_fork()

    def after_fork(self) -> None:
        """Begin without work: what waits and the thread are the parent's."""
        # Re-entrant: a job may be submitted by a finalizer, which interrupts its thread anywhere.
        self._lock, self._wakes = threading.RLock(), threading.Event()
        self._works = threading.RLock()
        self._ended = threading.Condition(self._lock)
        self._jobs: dict[str, tuple[Task, bool]] = {}
        self._running: str | None = None
        self._hurries = False
        self.begun, self.at_close = OrderedDict(), {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, job: str, owner: str, argument: Any = None) -> None:
        """Let a job of `JOBS` be run soon by this process."""
        from simonides.life.jobs import JOBS

        self.submit(f"{job} {owner} {argument}", partial(JOBS[job], self.engine, owner, argument))

    def submit(self, name: str, job: Task, *, at_close: bool = False) -> None:
        """Let a job be run soon; one of the same name that waits already is replaced.

        Args:
            name: Of the job.
            job: What is to be done.
            at_close: Whether closing runs it; else the next process finds the work again.
        """
        with self._lock:
            self._jobs[name] = job, at_close
        self.begin()
        self._wakes.set()

    def wait(self, prefix: str, seconds: float) -> bool:
        """Wait until no job whose name begins so waits or runs; return whether there is none.

        A worker without a thread runs its jobs here; a job does not wait for others.
        """

        def is_done() -> bool:
            names = [*self._jobs, self._running or ""]
            return not any(name.startswith(prefix) for name in names)

        with self._lock:
            if is_done() or self._closed or self._thread is threading.current_thread():
                return is_done()
            if self._timed:
                self._hurries = True
                self._wakes.set()
                return self._ended.wait_for(is_done, seconds)
        self.flush()
        return is_done()

    @property
    def waiting(self) -> int:
        """How many jobs of this process wait or run."""
        with self._lock:
            return len(self._jobs) + (self._running is not None)

    def begin(self) -> None:
        """Begin to look for work that time makes due."""
        with self._lock:
            is_alive = self._thread is not None and self._thread.is_alive()
            if self._timed and not self._closed and not is_alive:
                self._thread = threading.Thread(
                    target=self._run, name="simonides-worker", daemon=True
                )
                self._thread.start()

    def flush(self) -> Counter[str]:
        """Run all jobs that wait, and what is due, in this thread; return `run_due`'s counts."""
        from simonides.life.jobs import attempt, run_due

        with self._works:
            while not self._closed and (entry := self._next()) is not None:
                name, job = entry
                try:
                    attempt(" ".join(name.split(" ")[:2]), job)  # the rest may be content
                finally:
                    with self._lock:
                        self._running = None
                        self._ended.notify_all()
            if not self.tends:
                return Counter()
            return run_due(self.engine, lambda: not self._closed)

    def stop(self) -> None:
        """Begin no other job that is due; a signal handler may call it."""
        self._closed = True

    def close(self) -> None:
        """End the thread, and run the jobs that no other process would find."""
        with self._lock:
            self._closed, thread = True, self._thread
        self._wakes.set()
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(CLOSE_WAIT_S)
        for name in [name for name, (_, at_close) in list(self._jobs.items()) if at_close]:
            if (taken := self._jobs.pop(name, None)) is not None:  # a late thread may have it
                taken[0]()
        for job in list(self.at_close.values()):
            job()

    def _next(self) -> tuple[str, Task] | None:
        with self._lock:
            self._running = name = next(iter(self._jobs), None)
            return None if name is None else (name, self._jobs.pop(name)[0])

    def _run(self) -> None:
        while self._rests():
            try:
                self.flush()
            except Exception:  # outermost loop of a worker: logged; the work is found again
                logging.getLogger("simonides.life").warning("background work failed", exc_info=True)

    def _rests(self) -> bool:
        """Wait for work, and for a quiet moment; return whether the store is still open."""
        self._wakes.wait(TICK_S)
        latest = time.monotonic() + MOST_S
        while self._wakes.is_set() and time.monotonic() < latest:
            if self._closed or self._hurries:
                break
            self._wakes.clear()
            self._wakes.wait(QUIET_S)
        self._wakes.clear()
        self._hurries = False
        return not self._closed
