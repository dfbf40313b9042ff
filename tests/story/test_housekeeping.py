"""A long-lived process collects by itself, once a day, and nobody waits for it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from simonides import AsyncStore, Draft, StoreUnavailable
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.scope import Scope
from simonides.engine.maintenance.daily_gc import EVERY_S, FIRST_S, DailyGc
from simonides.settings import Settings
from simonides.testing import ManualClock
from simonides.testing.store_contract import drive

TOOL = {"source": "tool_verified", "category": "tool_result", "ttl_days": 0.001}
ANA = Scope.of_user("default", "ana")


def made(clock: ManualClock, target: str = IN_MEMORY, **given: Any) -> AsyncStore:
    """An open simonides whose housekeeping the clock wakes."""
    chosen = {"inline": True, "settings": Settings(embedder="none"), "sweeps": clock}
    return assemble(target, clock=clock, **chosen | given)


def say(store: Store, text: str) -> None:
    store.memory(user="ana").remember(Draft(text, **TOOL))


def evictions(opened: Store) -> int:
    store = opened.runtime.store
    links = drive(store, store.links(ANA))
    return sum(b'"type":"evicted"' in (link.payload or b"") for link in links)


def test_it_collects_what_the_process_reads_once_a_day() -> None:
    clock = ManualClock()
    with Store(made(clock)) as store:
        say(store, "The build is green")
        clock.advance(seconds=FIRST_S - 1)
        assert evictions(store) == 0

        clock.advance(seconds=1)
        assert evictions(store) == 1

        say(store, "The build is red")
        for _ in range(23):
            clock.advance(seconds=EVERY_S)
        assert evictions(store) == 1
        clock.advance(seconds=EVERY_S)
        assert evictions(store) == 2
        assert store.memory(user="ana").status()["problems"] == []


def test_of_several_processes_one_collects_an_owner_each_day(tmp_path: Path) -> None:
    target, one, two = str(tmp_path / "m.db"), ManualClock(), ManualClock()
    with Store(made(one, target)) as first, Store(made(two, target)) as second:
        say(first, "The build is green")
        one.advance(seconds=FIRST_S)
        assert evictions(first) == 1
        say(first, "The build is red")
        assert second.memory(user="ana").list() != ()

        two.advance(seconds=FIRST_S + 600)
        assert evictions(second) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "incognito", "sweeps": None},
        {"sweeps": None},
        {"sweeps": None, "alarm": ManualClock()},
        {"settings": Settings(embedder="none", gc="manual"), "sweeps": None, "clock": None},
    ],
    ids=["incognito", "a clock of one's own", "an alarm of one's own", "manual"],
)
def test_nothing_is_collected_by_surprise(given: dict[str, Any]) -> None:
    made_of = {"inline": True, "settings": Settings(embedder="none"), "clock": ManualClock()}
    store = assemble(IN_MEMORY, **made_of | given)

    assert store.runtime.part(DailyGc)._alarm is None


def test_on_an_event_loop_it_works_beside_the_others_and_ends_with_the_store() -> None:
    clock = ManualClock()

    async def live() -> int:
        async with made(clock, inline=False) as opened:
            await opened.memory(user="ana").remember(Draft("The build is green", **TOOL))
            clock.advance(seconds=FIRST_S)
            store = opened.runtime.store
            for _ in range(1_000):
                await asyncio.sleep(0)
                links = await store.links(ANA)
                if len(links) > 1:
                    break
            await opened.memory(user="ana").remember(Draft("The build is red", **TOOL))
            clock.advance(days=1)
            return len(links)

    assert asyncio.run(live()) == 2
    clock.advance(days=2)


def test_what_fails_is_said_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    with Store(made(clock)) as opened:
        say(opened, "The build is green")
        store = opened.runtime.store

        async def fail(*_: object, **__: object) -> bool:
            raise StoreUnavailable("somewhere", "not now")

        monkeypatch.setattr(store, "lease", fail)
        clock.advance(seconds=FIRST_S)
        told = opened.memory(user="ana").status()["problems"]
        assert told == ["gc:StoreUnavailable"]

        monkeypatch.undo()
        clock.advance(seconds=EVERY_S)
        assert evictions(opened) == 1
        assert opened.memory(user="ana").status()["problems"] == []
