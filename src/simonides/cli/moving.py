"""Moving a store with progress shown."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import cast

import typer

from simonides.domain.errors import MoveRefused
from simonides.ports import Capability, MemoryStore, MovableStore
from simonides.transfer.migrate import Migration, Progress, migrate
from simonides.transfer.sampling import recalls
from simonides.wiring import open_for_move

TOLD_EVERY_S = 1.0
"""Where no bar can be drawn each new label is a line of the log."""


def move(source: str, target: str) -> Migration:
    """Move one store to another, or go on with it, and compare answers.

    Raises:
        ConfigurationError: If one of the stores is not named well.
        MoveRefused: See :func:`simonides.transfer.migrate.migrate`.
        StoreError: If a store could not; running it again goes on from there.
    """
    return asyncio.run(_move(source, target))


async def _move(source: str, target: str) -> Migration:
    async with open_for_move(source, target) as (one, other):
        with typer.progressbar(length=1, label="moving", file=sys.stderr) as bar:
            told_at = time.monotonic()

            def show(progress: Progress) -> None:
                nonlocal told_at
                if time.monotonic() - told_at >= TOLD_EVERY_S:
                    told_at = time.monotonic()
                    bar.label = f"moving {progress.owner} ({progress.rows:,} rows so far)"
                bar.length = max(progress.of, 1)
                bar.update(progress.owners - bar.pos)

            return await migrate(
                _movable(one.services.store),
                _movable(other.services.store),
                recalls=recalls(one, other),
                progress=show,
            )


def _movable(store: MemoryStore) -> MovableStore:
    if Capability.MOVABLE not in store.capabilities:
        raise MoveRefused("unsupported", store.location, "this kind of store cannot be moved")
    return cast("MovableStore", store)
