"""What one read looks at: the columns of its owners at one moment."""

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
        owners: Whose memories.
        frozen: Columns of each owner, in their order.
        now: The clock of the read.
        clock: Time to rank at: the system time that was asked for, or else ``now``.
        degraded: Names of what could not be reached.
        documents: Columns of the passages that are read beside memories.
        off: Those of the owners who have switched recall off.
        overridden: Ids of stored memories that a statement of the reader's session replaces, or
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
        """All that is ranked: the columns of the owners, then those of documents."""
        return [*self.frozen, *self.documents] if self.documents else self.frozen

    @property
    def rows(self) -> int:
        """How many rows are ranked."""
        return sum(len(segment) for frozen in self.columns for segment in frozen.segments)

    def seen(self, cue: Cue, pool: Pool) -> tuple[Seen, ...]:
        """Return up to which change each owner was seen.

        Only changes that the reader may see count: the owner's own position would reveal a
        sibling's writes.

        Args:
            cue: What this is read for.
            pool: The rows of it that the cue asks for.
        """
        if cue.kinds or cue.filter is not None:
            pool = gather(self.columns, unfiltered(cue), self.clock, pool.levels.home)
        # Documents have no such time: they are read as they are.
        known = newest(pool, self.columns)[: len(self.owners)]
        times = zip(self.owners, known, strict=True)
        return tuple(Seen(owner, from_us(time)) for owner, time in times if time is not None)
