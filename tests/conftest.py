"""Fixtures of the stories: a world with a clock, ids and a store of its own, over each store."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memstrata.blocking import Strata
from memstrata.settings import Settings
from memstrata.testing import CountingIds, ManualClock
from memstrata.wiring import IN_MEMORY, assemble


class World:
    """One store with time and ids under the test's control.

    Attributes:
        target: ``:memory:`` or a path.
        clock: Stands still until it is moved.
        strata: The open memstrata.
    """

    def __init__(self, target: str, settings: Settings) -> None:
        self.target = target
        self.clock = ManualClock()
        self._ids = CountingIds()
        self._settings = settings
        self.strata = self._open()

    @property
    def is_durable(self) -> bool:
        return self.target != IN_MEMORY

    def reopen(self) -> Strata:
        """Close and open again, with cold indexes; a store in memory stays open."""
        if self.is_durable:
            self.strata.close()
            self.strata = self._open()
        return self.strata

    def _open(self) -> Strata:
        made = assemble(
            self.target, settings=self._settings, inline=True, clock=self.clock, ids=self._ids
        )
        return Strata(made)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on the environment, nor can it reach a real model by accident."""
    for name in list(os.environ):
        if name.startswith(("MEMSTRATA_", "OPENAI_")):
            monkeypatch.delenv(name)


@pytest.fixture(params=["memory", "sqlite"])
def new_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., World]]:
    """A maker of empty worlds over one kind of store; ``settings`` may be given by name."""
    made: list[World] = []

    def make(**settings: object) -> World:
        path = tmp_path / f"world-{len(made)}.db"
        target = IN_MEMORY if request.param == "memory" else str(path)
        made.append(World(target, Settings(**settings)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for world in made:
        world.strata.close()


@pytest.fixture
def world(new_world: Callable[..., World]) -> World:
    """An empty world."""
    return new_world()
