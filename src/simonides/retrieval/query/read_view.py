"""The input of one read: the columns of its owners at one time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from simonides.domain.reading.cue import Cue
from simonides.domain.reading.receipt import Seen
from simonides.domain.scope import Scope
from simonides.domain.value import from_us
from simonides.retrieval.index.segment import Frozen
from simonides.retrieval.query.pool import Pool, gather, newest, unfiltered


class ReadView(NamedTuple):
    """The columns that one read ranks.

    Attributes:
        owners: Owners of the memories.
        frozen: Columns of each owner, in the order of ``owners``.
        now: Time of the read.
        clock: Time to rank at: the requested system time, or ``now``.
        degraded: Names of the parts that could not be reached.
        documents: Columns of the document passages that are ranked with the memories.
        off: The owners that switched recall off.
        overridden: Ids of stored memories that a statement of the reader's session replaces or
            asks to forget.
    """

    owners: Sequence[Scope]
    frozen: Sequence[Frozen]
    now: datetime
    clock: datetime
    degraded: tuple[str, ...]
    documents: Sequence[Frozen] = ()
    off: frozenset[Scope] = frozenset()
    overridden: tuple[str, ...] = ()

    @property
    def columns(self) -> Sequence[Frozen]:
        """Columns of the owners, then of the documents."""
        return [*self.frozen, *self.documents] if self.documents else self.frozen

    @property
    def rows(self) -> int:
        """Number of ranked rows."""
        return sum(len(segment) for frozen in self.columns for segment in frozen.segments)

    def seen(self, cue: Cue, pool: Pool) -> tuple[Seen, ...]:
        """Return the time of the last change seen of each owner.

        Only changes visible to the reader count: the owner's own position would reveal the writes
        of other scopes.

        Args:
            cue: The query.
            pool: The rows that the query selects.
        """
        if cue.kinds or cue.filter is not None:
            pool = gather(self.columns, unfiltered(cue), self.clock, pool.levels.home)
        # Documents have no such time.
        known = newest(pool, self.columns)[: len(self.owners)]
        times = zip(self.owners, known, strict=True)
        return tuple(Seen(owner, from_us(time)) for owner, time in times if time is not None)
