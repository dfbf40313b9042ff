"""The parts of the blocking face that are written by hand: opening and closing a store.

An event loop does periodic work in tasks of its own. Without one the same work runs on threads, and
several threads may close one store. The generator copies neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from simonides.api.prompting import AsyncPrompting
from simonides.api.store import AsyncStore
from simonides.api.sync.driver import Driver, Flushable
from simonides.domain.writing.decision import CaptureReport
from simonides.engine.capture import turn_of, turns_before
from simonides.engine.maintenance import DailyGc, ReindexWorker
from simonides.engine.recall import ReadJournal
from simonides.engine.sessions import BackgroundExtraction, IdleSessionEnder
from simonides.transfer.backup.create import Backups
from simonides.transfer.sync.replica import Replica

if TYPE_CHECKING:
    from simonides.api.sync.memory import Memory


class StoreContext:
    """Base of :class:`simonides.Store`: builds its driver, and closes it once."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._driver = Driver(store.runtime)
        # Background work also runs on threads that have no event loop.
        runtime, run = store.runtime, self._driver.run
        ask = partial(run, asks_model=True)
        runtime.part(ReadJournal).driven_by(run)
        runtime.part(ReindexWorker).driven_by(run)
        runtime.part(DailyGc).driven_by(ask)
        runtime.part(IdleSessionEnder).driven_by(ask)
        runtime.part(Backups).driven_by(run)
        replica = runtime.parts.get(Replica)
        if replica is not None:
            replica.driven_by(run)
        runtime.part(BackgroundExtraction).driven_by(ask)

    def close(self) -> None:
        """End the sessions that are to end with this process, write down what readers did, and
        close the store and the models.

        A second call does nothing. Of several threads that close one store, one does the work and
        the others wait for it.
        """
        self._driver.flush()
        with self._driver.closing:
            if self._driver.is_closing:
                return  # A signal handler interrupted this thread's own close, which then goes on.
            self._driver.is_closing = True
            try:
                self._driver.run(self._store.close(), asks_model=True)
                self._driver.stop()
            finally:
                self._driver.is_closing = False

    def __enter__(self) -> Self:
        self._driver.run(self._store.deliver_outbox())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class PromptingContext:
    """Base of :class:`simonides.prompting.Prompting`: takes a blocking memory."""

    def __init__(self, memory: Memory) -> None:
        """Use a memory, or a session.

        Args:
            memory: Whose memories are shown.
        """
        self._prompting = AsyncPrompting(memory._memory)
        self._driver = memory._driver


def flush_on_close(memory: Memory, worker: Flushable) -> None:
    """Have a background worker flushed before a memory's store closes, while the worker lives."""
    memory._driver.flushed.add(worker)


def unless_erased(memory: Memory) -> Memory:
    """Return a memory that stores nothing once its user was erased, from this call on.

    For what is heard now and stored later, such as a queue. It costs one small read.

    Raises:
        StoreError: If the store could not.
    """
    bound = memory._driver.run(memory._memory._bound.unless_erased())
    return type(memory)(type(memory._memory)(bound), memory._driver)


def capture_turn(
    memory: Memory, text: str, *, speaker: str | None = None, before: Sequence[str] = ()
) -> CaptureReport:
    """Find what is worth remembering in a user's turn, and store it as policy allows.

    Args:
        memory: Whose turn it is.
        text: What the user said.
        speaker: Name of the user.
        before: What the user said before, oldest first; nothing is stored of it.

    Raises:
        InvalidInput: If a value is not storable.
        StoreError: If the store could not.
    """
    bound = memory._memory._bound
    turn = turn_of(text, bound.principal, speaker=speaker)
    earlier = turns_before(before, bound.principal)
    return memory._driver.run(bound.capture(turn, earlier), asks_model=True)
