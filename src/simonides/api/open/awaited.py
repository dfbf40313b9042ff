"""What opens a store when it is awaited: a part of the composition root."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simonides.api.store import AsyncStore


class StoreOpening:
    """A store that is about to be opened: await it, or use it as an async context manager.

    ``store = await simonides.aopen("memory.db")`` is closed by ``await store.close()``;
    ``async with simonides.aopen("memory.db") as store`` closes it at the end of the block. Either
    happens once. The files and connections are opened on a thread, so no event loop waits for them.
    """

    def __init__(self, assembled: Callable[[], AsyncStore]) -> None:
        """Open nothing yet.

        Args:
            assembled: Opens the store.
        """
        self._assembled: Callable[[], AsyncStore] | None = assembled
        self._store: AsyncStore | None = None

    def __await__(self) -> Generator[Any, None, AsyncStore]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncStore:
        self._store = await self._open()
        return self._store

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._store is not None:
            await self._store.close()

    async def _open(self) -> AsyncStore:
        assembled, self._assembled = self._assembled, None
        if assembled is None:
            raise RuntimeError("this store was opened already; call aopen again for another")
        opening = asyncio.ensure_future(asyncio.to_thread(assembled))
        try:
            store = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread goes on; nobody else would close what it opens.
            await (await opening).close()
            raise
        is_entered = False
        try:
            await store.__aenter__()
            is_entered = True
        finally:
            if not is_entered:
                await store.close()
        return store
