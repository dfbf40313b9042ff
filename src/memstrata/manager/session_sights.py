"""The log of a session as columns, so that it is searched as memories are (SE-3).

Each entry is analysed and embedded once, when somebody first searches, and stays so for as long as
its session is hot.
"""

from __future__ import annotations

from typing import NamedTuple

from memstrata.domain.change import StoredRow
from memstrata.domain.cue import Cue
from memstrata.domain.scope import Principal
from memstrata.domain.session import Logged
from memstrata.domain.value import from_us
from memstrata.manager.services import Services
from memstrata.manager.session_log import SessionLog, goes_on
from memstrata.manager.session_rows import entry_memory, rows_of
from memstrata.manager.sights import VECTOR, Sight
from memstrata.retrieval.overlaying import above
from memstrata.retrieval.owner_index import Frozen


class _Filed(NamedTuple):
    """A log as far as it was filed.

    Attributes:
        last: The last entry that was; None for an empty log.
        rows: Of all of them.
        frozen: Their columns.
        is_whole: Whether each has its vector, where there are any.
    """

    last: Logged | None
    rows: tuple[StoredRow, ...]
    frozen: Frozen
    is_whole: bool


class SessionSights:
    """Brings the log of the session that a principal is in; writes nothing."""

    def __init__(self, services: Services, principal: Principal) -> None:
        self._services = services
        self._owner = principal.home.owner
        self._session = principal.session

    async def sight(self, cue: Cue) -> Sight:
        """Return the log's columns as they stand now.

        Args:
            cue: What is asked of them.

        Raises:
            StoreError: If the log cannot be read.
        """
        del cue
        now = from_us(self._services.clock.now_us())
        filed = await self._filed(str(self._session))
        degraded = () if filed.is_whole else (VECTOR,)
        return Sight([self._owner], [filed.frozen], now, now, degraded)

    async def _filed(self, session: str) -> _Filed:
        entries = await SessionLog(self._services, self._owner, session).entries()
        make = self._services.indexes.indexer
        hot = self._services.hot.of(self._owner, session)
        name = (_Filed, make.recipe)
        known: _Filed | None = hot.derived.get(name)
        if known is not None and not (known.is_whole and goes_on(entries, known.last)):
            known = None
        begin = 0 if known is None or known.last is None else known.last.number + 1
        if known is not None and begin == len(entries):
            return known
        new = [entry_memory(one, self._owner, session) for one in entries[begin:]]
        rows = (*(known.rows if known else ()), *await rows_of(self._services, new))
        whole = all(make.made(row.entry) for row in rows)
        last = entries[-1] if entries else None
        filed = _Filed(last, rows, above(None, rows, make.dimensions), whole)
        hot.derived[name] = filed
        return filed
