"""Lets a fork wait for native code that takes locks of its own.

RE2 and onnxruntime let other threads run while they work. A child that is forked meanwhile would
inherit a lock whose holder does not exist there, and wait for it for ever. So each thread holds a
lock while such code runs, and a fork takes the locks of all threads.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakSet

WAIT_S = 10.0
"""How long a fork waits for a thread. Set by judgement: a run takes some milliseconds."""


class _Own(threading.local):
    """The lock of a thread; an exception anywhere in a plain ``with`` leaves it free."""

    def __init__(self, mutex: Any, locks: WeakSet[Any]) -> None:
        self.lock = threading.RLock()
        with mutex:
            locks.add(self.lock)


class _Forks:
    def __init__(self) -> None:
        self.after_in_child()

    def after_in_child(self) -> None:
        """Begin anew: the locks are those of threads that do not exist here."""
        self._mutex, self._taken = threading.RLock(), list[Any]()
        self._locks = WeakSet[Any]()
        self._own = _Own(self._mutex, self._locks)

    def held_off(self) -> AbstractContextManager[bool]:
        """Return what a thread holds while native code runs; its block must not yield."""
        return self._own.lock

    def before(self) -> None:
        """Wait until no thread runs native code, and keep new runs waiting."""
        self._mutex.acquire()
        self._taken = [each for each in list(self._locks) if each.acquire(timeout=WAIT_S)]

    def after_in_parent(self) -> None:
        """Let all threads go on."""
        while self._taken:
            self._taken.pop().release()
        self._mutex.release()


_forks = _Forks()
held_off = _forks.held_off
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_forks.before,
        after_in_parent=_forks.after_in_parent,
        after_in_child=_forks.after_in_child,
    )
