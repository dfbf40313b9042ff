"""Rebuilds stale index entries in the background: when it starts, how fast it goes, when it
retries.

Loading an owner's rows reports entries of another recipe and continues. Some time later these are
rebuilt in batches with a pause after each. The reported entries come first, then the owner's other
rows, which only queries about past times read. A short-lived process never starts this.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from weakref import WeakSet

from simonides.domain.errors import StoreError
from simonides.domain.scope import Scope
from simonides.engine.core import PeriodicTask, ReindexQueue
from simonides.engine.maintenance.reindex import FAILURES_IN_A_ROW, Reindexer, Tally
from simonides.ports import Alarm
from simonides.retrieval.index import OwnerIndex

START_S = 5.0
"""Delay from the first stale entry to the first batch. A process that answers one question ends
before that, and a starting program has other work. Chosen; as long as the journal's delay."""

BATCH_ROWS = 64
"""Entries built and written at once; measured: some 20 ms with the embedded model, of which the
owner's turn is held for 2."""

PAUSE_S = 0.05
"""Pause between batches, so that at most about a third of one core is busy. Chosen."""

RETRY_S = 60.0
"""Delay after a failure; doubled each time, up to :data:`LONGEST_RETRY_S`. Chosen."""

LONGEST_RETRY_S = 600.0


class ReindexWorker(PeriodicTask, ReindexQueue):
    """Reindexing queue of one process; safe to share between threads."""

    def __init__(self, reindexer: Reindexer, alarm: Alarm | None = None) -> None:
        """Build it.

        Args:
            reindexer: Rebuilds entries.
            alarm: Timer for the batches; None disables the background work.
        """
        super().__init__(alarm)
        self.reindexer = reindexer
        self._lock = threading.Lock()
        # Owners, each with the row id after which the sweep continues. None: only the entries that
        # its index knows to be stale.
        self._waiting: dict[Scope, str | None] = {}
        self._postponed: dict[Scope, str | None] = {}
        self._failed: set[str] = set()
        self._swept: WeakSet[OwnerIndex] = WeakSet()
        self._has_written = False
        self._is_noted = False
        self._is_armed = False
        self._failed_batches = 0
        self._retry_s = RETRY_S

    @property
    def problems(self) -> tuple[str, ...]:
        """Errors of the last attempts, for ``status``; without content or scope."""
        return () if self._problem is None else (f"reindexing:{self._problem}",)

    def notice(self, owner: Scope, index: OwnerIndex) -> None:
        """Queue an owner whose index holds stale entries, and set the alarm; returns at once."""
        with self._lock:
            if owner in self._waiting or owner in self._postponed:
                return
            self._waiting[owner] = None if index in self._swept else ""
        self._arm(START_S)

    def wrote(self, owner: Scope, index: OwnerIndex) -> None:
        """Register that this process has written entries; returns at once."""
        if not self._is_noted:
            self._has_written = True
            self._arm(START_S)
        if index.stale:
            self.notice(owner, index)

    async def step(self) -> None:
        """Rebuild one batch, of the owner that has waited longest.

        Raises:
            StoreError: If the store failed; the owner is postponed.
        """
        if self._has_written and not self._is_noted:
            await self._note()
        with self._lock:
            owner = next(iter(self._waiting), None)
        if owner is None:
            return
        try:
            self._settle(owner, await self._batch(owner))
        except StoreError:
            self._postpone(owner)
            raise

    async def _note(self) -> None:
        # If it fails, the next write tries again. The note only decides which of two models is the
        # newer, and a journal that cannot be written reports its own error.
        with suppress(StoreError):
            await self.reindexer.note_seen()
            self._is_noted = True

    async def _batch(self, owner: Scope) -> Tally | None:
        """Rebuild some entries of an owner; return None if none are left to examine."""
        store, index = self.reindexer.store, self.reindexer.indexes.warm(owner)
        ids = () if index is None else index.some_stale(BATCH_ROWS, but=self._failed)
        if index is not None and ids:
            rows = await store.get(owner, ids)
            tally = await self.reindexer.remade(owner, rows)
            index.gone(set(ids) - {row.id for row in rows})
            return tally
        after = self._waiting[owner]
        if after is None:
            return None
        rows = await store.rows(owner, after=after, limit=BATCH_ROWS)
        tally = await self.reindexer.remade(owner, [r for r in rows if r.id not in self._failed])
        if not _is_broken(tally) and tally.newer is None:
            self._waiting[owner] = rows[-1].id if len(rows) == BATCH_ROWS else None
            if index is not None and len(rows) < BATCH_ROWS:
                self._swept.add(index)
        return tally

    def _settle(self, owner: Scope, tally: Tally | None) -> None:
        if tally is None:
            if self._failed:
                self._postpone(owner)
            else:
                self._problem = None
                with self._lock:
                    del self._waiting[owner]
            return
        if tally.newer is not None:
            self._problem = f"left_to:{tally.newer}"
            self._postpone(owner)
            self._postpone_others()
            return
        self._failed.update(tally.failed)
        if tally.remade:
            self._retry_s = RETRY_S
        if tally.problem is not None:
            self._problem = tally.problem
        elif not self._failed:
            self._problem = None
        self._failed_batches = self._failed_batches + 1 if _is_broken(tally) else 0
        if _is_broken(tally):
            self._postpone(owner)
        if tally.is_over or self._failed_batches >= FAILURES_IN_A_ROW:
            self._postpone_others()

    def _postpone(self, owner: Scope) -> None:
        """Postpone an owner until the failed part may work again."""
        with self._lock:
            is_first = not self._postponed
            self._postponed[owner] = self._waiting.pop(owner, None)
        if is_first:
            self._wake_in(self._retry_s, self._resume)
            self._retry_s = min(2 * self._retry_s, LONGEST_RETRY_S)

    def _postpone_others(self) -> None:
        with self._lock:
            # Ahead of the owners that failed, so that a repeated failure cannot starve them.
            self._postponed = {**self._waiting, **self._postponed}
            self._waiting.clear()

    def _resume(self) -> None:
        with self._lock:
            self._waiting.update(self._postponed)
            self._postponed.clear()
            self._failed.clear()

    # -- scheduling ------------------------------------------------------------------------

    def _arm(self, seconds: float) -> None:
        with self._lock:
            arm, self._is_armed = not self._is_armed, True
        if arm:
            self._wake_in(seconds, self._disarm)

    def _disarm(self) -> None:
        self._is_armed = False

    async def _woken(self) -> None:
        if self._is_closed:
            return
        if self._task is not None:
            # Two alarms may coincide; only one batch runs at a time.
            self._arm(PAUSE_S)
            return
        self._note_task()
        try:
            await self.step()
        except StoreError as error:
            self._problem = type(error).__name__
        finally:
            self._task = None
        if self._waiting:
            self._arm(PAUSE_S)


def _is_broken(tally: Tally) -> bool:
    """Whether the embedder seems to be broken."""
    return tally.is_over or bool(tally.failed and not tally.remade)
