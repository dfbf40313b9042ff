"""One thread of linear algebra while texts are encoded or rows are ranked.

The library's own threads gain little on such small matrices, and those of many calls at once would
fight for the cores. Their number is one for the whole process, so it is put back afterwards.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class OneThread:
    """Lets the library of linear algebra use one thread inside a ``with`` block. Thread-safe."""

    def __init__(self) -> None:
        self._libraries: list[Any] | None = None
        self.after_fork()

    def after_fork(self) -> None:
        """Forget which threads of the parent were inside."""
        self._lock, self._inside, self._before = threading.Lock(), 0, list[int]()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Return the block; blocks of several threads may overlap."""
        with self._lock:
            if self._libraries is None:
                from threadpoolctl import ThreadpoolController

                self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            if not self._inside:
                self._before = [each.num_threads for each in self._libraries]
                self._set([1] * len(self._before))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._set(self._before)

    def _set(self, threads: Sequence[int]) -> None:
        for each, number in zip(self._libraries or (), threads, strict=True):
            # The setting follows the thread that set it first, unless that one lets go of it.
            let_go = getattr(each, "clear_controlling_thread", lambda **_: None)
            let_go(force=True)
            each.set_num_threads(number)
            let_go(force=True)


one_thread = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_thread.after_fork)
