"""Base of the groups of verbs on a memory."""

from __future__ import annotations

from simonides.api.bound import Bound


class AsyncGroup:
    """Verbs about one subject, for one principal."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def __repr__(self) -> str:
        return f"<{type(self).__name__.removeprefix('Async')} of {self._bound.principal.home.path}>"
