"""A call's way to the server: one connection, statements in one go, so much time and no more."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import zip_longest
from types import TracebackType
from typing import Any, Self, TypeAlias

from simonides.domain.errors import StoreError, StoreUnavailable
from simonides.storage.postgres.errors import Translating
from simonides.storage.postgres.schema import SQL, shut_down
from simonides.storage.postgres.wire.protocol import Row, Sent, Take, Wire

Statement: TypeAlias = tuple[str, dict[str, Any] | None]
"""Name of a statement and the values bound to it."""

LAST_S = 0.05
"""Seconds that a connection is given to roll back when its call has no more time."""

_LONG = ("live_rows", "rows_as_of", "rows_page")
_CODED = (*(f"coded_{name}" for name in _LONG), "codes", "coded_states")
LONG = frozenset({*_LONG, *_CODED, "live_entries"})
"""Statements whose rows are read while the server sends them: all of an owner's, or many."""


class Line:
    """One connection for the length of one call.

    Args:
        wire: Of the connection that is held for the call.
        location: Of the database.
        opening: Token of the store.
        ends_at: When the call has to have ended, by the loop's clock.

    Attributes:
        wire: The same.
        is_hung_up: Whether the server did not answer in time and was not waited for.
    """

    def __init__(self, wire: Wire, location: str, opening: str, ends_at: float) -> None:
        self.is_hung_up = False
        self._ends_at = ends_at
        # What every transaction begins with names it: bind, bind_operator, heads and take_turn.
        self._named = {"opening": opening}
        self._location = location
        self._translating = Translating(location)
        self.wire = wire

    @property
    def is_done(self) -> bool:
        """Whether all is answered and no transaction open: there is nothing to give up."""
        return self.wire.is_done

    async def run(
        self,
        *statements: Statement,
        timeout_s: float,
        pausing: bool = False,
        takes: Sequence[Take | None] = (),
    ) -> list[list[Row]]:
        """Send statements in one go and return the rows of each.

        Args:
            statements: In their order; the first that fails ends all.
            timeout_s: Seconds after which the connection is given up.
            pausing: Whether to give others a turn when they are sent, answered or not.
            takes: Of the first so many statements, what takes in their rows.

        Raises:
            StoreError: As the server says, or if it says nothing in time.
            ValueError: If a value does not fit.
        """
        asked = [self._sent(*each) for each in zip_longest(statements, takes)]
        with _InTime(self, timeout_s) as limit, self._translating:
            return await self.wire.run(asked, pausing=pausing, waiting=limit.begin)

    def send(self, *statements: Statement) -> None:
        """Send statements and let the server begin. Their rows come first with the next
        :meth:`run`; they are a transaction of their own unless they begin one that goes on.

        Raises:
            StoreError: If the connection is gone.
            ValueError: If a value does not fit.
        """
        with self._translating:
            self.wire.send([self._sent(each) for each in statements])

    def _sent(self, statement: Statement, take: Take | None = None) -> Sent:
        name, bound = statement
        if take is None and name in LONG:
            take = list
        return SQL[name], None if bound is None else self._named | bound, take

    async def give_up(self, timeout_s: float) -> None:
        """Roll back what is open, if the connection still can; else it goes with it."""
        try:
            with self._translating:
                self.wire.end()
            if not self.wire.is_idle:
                await self.run(("rollback", None), timeout_s=timeout_s)
        except (StoreError, ValueError):
            # What went wrong was told when it did.
            await self.wire.connection.close()

    def time_left_s(self, most_s: float) -> float:
        """Return for how long an answer may be waited for: no longer than the call may last."""
        now = asyncio.get_running_loop().time()
        return max(min(most_s, self._ends_at - now), LAST_S)

    def unanswered(self, within_s: float) -> StoreUnavailable:
        """Return the error of a server that has said nothing in time."""
        return StoreUnavailable(self._location, f"no answer within {within_s:.3g} s")

    def hang_up(self) -> None:
        """Make whoever waits for an answer see the end of the connection, now."""
        self.is_hung_up = True
        shut_down(self.wire.connection)


class _InTime:
    """Context manager that hangs up on a server that lets a line wait for too long, and tells of
    it. What comes at once needs no timer.

    Args:
        line: What waits.
        most_s: For so many seconds.
    """

    def __init__(self, line: Line, most_s: float) -> None:
        self._line = line
        self._most_s = most_s
        self._hanging_up: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Count from now."""
        self._most_s = self._line.time_left_s(self._most_s)
        loop = asyncio.get_running_loop()
        self._hanging_up = loop.call_later(self._most_s, self._line.hang_up)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._hanging_up is None:
            return
        self._hanging_up.cancel()
        if self._line.is_hung_up and isinstance(error, StoreUnavailable):
            raise self._line.unanswered(self._most_s) from None


MakeLine: TypeAlias = Callable[[Wire, str, str, float], Line]
