"""The verb about sources of documents (KN-1)."""

from __future__ import annotations

from simonides.domain.errors import InvalidInput
from simonides.domain.knowledge import SourceReport
from simonides.domain.scope import Principal
from simonides.manager.library import Library
from simonides.manager.services import Services

MAX_WAIT_S = 3_600.0
"""Longest wait for sources that are asked to come up to date."""


class AsyncKnowledgeVerbs:
    """What a manager says of documents; see :class:`simonides.AsyncMemoryManager`, which has this
    verb.
    """

    _services: Services
    _principal: Principal

    async def knowledge(self, *, within_s: float = 0.0) -> tuple[SourceReport, ...]:
        """Return how the sources of documents stand that this principal may read, by name (KN-1).

        Args:
            within_s: Have catalogues read what has changed, and wait so many seconds at most until
                they have; 0 tells how they stand.

        Raises:
            InvalidInput: If the time is out of range.
        """
        if not _is_time(within_s):
            raise InvalidInput("within_s", f"must be a number from 0 to {MAX_WAIT_S:,.0f}")
        library, scopes = self._services.part(Library), self._principal.home.lineage
        if within_s:
            begun = library.begin("", scopes, within_s=within_s, remote=False)
            await library.end(begun)
        return library.reports(scopes)


def _is_time(raw: object) -> bool:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return False
    return 0 <= raw <= MAX_WAIT_S
