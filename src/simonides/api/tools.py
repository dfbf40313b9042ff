"""Stub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simonides.api.memory import AsyncMemory


class AsyncTools:
    """Stub."""

    def __init__(self, memory: AsyncMemory, names: Sequence[str]) -> None:
        self._memory = memory
        self._names = names

    def definitions(self, kind: str) -> Sequence[dict[str, Any]]:
        """Stub."""
        return ()
