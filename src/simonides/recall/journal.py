"""Counts reads in memory and writes them in batches, so that recall writes nothing on its path."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simonides.core.clock import DAY_MS, Clock, Ids
from simonides.core.errors import StoreError
from simonides.storage import statements
from simonides.storage.database import Database
from simonides.storage.transaction import summing

FLUSH_EVERY_S = 5.0
"""Longest time that a read stays uncounted."""

CLOSE_WAIT_S = 5.0
"""How long closing waits for the thread. Set by judgement."""


class Journal:
    """Reads that wait to be counted, and the thread that counts them. Thread-safe.

    The thread begins with the first read and ends with `close`. A crash loses the counts of the
    last seconds, and nothing else.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        ids: Ids,
        key: bytes,
        *,
        timed: bool,
        receipt_days: float,
    ) -> None:
        """Begin empty.

        Args:
            db: Where counts are written.
            clock: Decides the day of a read.
            ids: Source of salts.
            key: Of the audit chain.
            timed: Whether a thread flushes; without one, only `flush` does.
            receipt_days: Days after which receipts are deleted.
        """
        self._db, self._clock, self._timed = db, clock, timed
        self._ids, self._key = ids, key
        self._receipt_ms = round(receipt_days * DAY_MS)
        self.after_fork()

    def after_fork(self) -> None:
        """Begin empty: what waits, the lock and the thread are the parent's."""
        # Re-entrant: a signal handler may close the store while its thread notes a read.
        self._lock, self._stop = threading.RLock(), threading.Event()
        self._waiting: dict[tuple[str, bytes, int], tuple[int, int]] = {}
        self._rows: list[tuple[str, str, Sequence[Mapping[str, Any]]]] = []
        self._thread: threading.Thread | None = None

    def keep(self, owner: str, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Note changes of an owner that are made with the counts: receipts, echoes."""
        with self._lock:
            self._rows.append((owner, sql, rows))
            self._begin()

    def note(self, reads: Iterable[tuple[str, bytes]]) -> None:
        """Note that memories, by owner and root, were read now."""
        now = self._clock.now_ms()
        with self._lock:
            for owner, root in reads:
                count, _ = self._waiting.get((owner, root, now // DAY_MS), (0, 0))
                self._waiting[owner, root, now // DAY_MS] = (count + 1, now)
            if self._waiting:
                self._begin()

    def _begin(self) -> None:
        if self._timed and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="simonides-journal", daemon=True)
            self._thread.start()

    def flush(self) -> None:
        """Write what waits, one transaction an owner.

        Raises:
            StoreError: If it could not; what was not written waits on.
        """
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            kept, self._rows = self._rows, []
        owners = sorted({owner for owner, _, _ in (*waiting, *kept)})
        for position, owner in enumerate(owners):
            counts = [
                {"owner": owner, "memory": root, "day": day, "count": count, "last": last}
                # In one order, so that two processes do not wait for each other's rows.
                for (each, root, day), (count, last) in sorted(waiting.items())
                if each == owner
            ]
            try:
                now = self._clock.now_ms()
                # Under the owner's lock: what is forgotten meanwhile is not kept.
                with summing(self._db, self._key, owner, now, self._ids.salt()) as connection:
                    if counts:
                        connection.run_many(statements.COUNT_READ, counts)
                    changes = [(sql, rows) for each, sql, rows in kept if each == owner]
                    if changes:
                        before = max(now - self._receipt_ms, 0) << 80
                        old = {"owner": owner, "before": before.to_bytes(16, "big")}
                        connection.run(statements.FORGET_OLD_RECEIPTS, old)
                    for sql, rows in changes:
                        connection.run_many(sql, rows)
            except BaseException:  # counts wait on after an interrupt, too; raised again
                with self._lock:
                    self._rows += [each for each in kept if each[0] in owners[position:]]
                    for key, (count, last) in waiting.items():
                        if key[0] in owners[position:]:
                            more, later = self._waiting.get(key, (0, 0))
                            self._waiting[key] = (count + more, max(last, later))
                raise

    def close(self) -> None:
        """End the thread and write what waits; counts that cannot be written are lost."""
        self._stop.set()
        thread = self._thread
        # An interrupt may have come before it was started; then it is not alive.
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(timeout=CLOSE_WAIT_S)
        try:
            self.flush()
        except StoreError as error:
            self._waiting, self._rows = {}, []
            logging.getLogger("simonides.recall").warning("reads not counted: %s", error)

    def _run(self) -> None:
        while not self._stop.wait(FLUSH_EVERY_S):
            try:
                self.flush()
            except Exception:  # outermost loop of a worker: logged; counts wait for the next round
                logging.getLogger("simonides.recall").warning("reads not counted", exc_info=True)
