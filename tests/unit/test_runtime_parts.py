"""The registry of the packages' parts."""

from __future__ import annotations

import pytest
from tests.conftest import World

from simonides.engine.core.counters import Counters
from simonides.engine.core.periodic import PeriodicJob
from simonides.engine.core.runtime import MissingPart, Parts
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.write.quotas import Rates
from simonides.transfer.sync.replica import Replica


class _Failing(PeriodicJob):
    def __init__(self) -> None:
        super().__init__(name="failing", first_s=1.0, every_s=1.0)
        self._problem = "StoreUnavailable"


def test_a_part_is_found_by_its_class() -> None:
    parts, rates = Parts(), Rates()
    parts.add(rates)
    assert parts.get(Rates) is rates
    assert parts.get(Counters) is None


def test_a_part_is_found_by_the_base_class_that_it_is_registered_under() -> None:
    parts, house = Parts(), DailyGc()
    parts.add_as(PeriodicJob, house)
    assert parts.get(PeriodicJob) is house
    assert parts.get(DailyGc) is None


def test_a_missing_part_is_named(world: World) -> None:
    with pytest.raises(MissingPart, match="no Replica is registered"):
        world.store.runtime.part(Replica)


def test_a_part_is_registered_once_and_under_a_class_of_its_own() -> None:
    parts = Parts()
    parts.add(Rates())
    with pytest.raises(ValueError, match="Rates is registered already"):
        parts.add(Rates())
    with pytest.raises(TypeError, match="a Rates is no DailyGc"):
        parts.add_as(DailyGc, Rates())


def test_replacing_leaves_the_original_alone() -> None:
    parts, first, second = Parts(), Rates(), Rates()
    parts.add(first)
    assert parts.replacing(Rates, second).get(Rates) is second
    assert parts.get(Rates) is first


def test_problems_are_told_once_for_a_part_under_two_classes() -> None:
    parts, failing = Parts(), _Failing()
    parts.add(Rates(), failing)
    parts.add_as(PeriodicJob, failing)
    assert parts.problems() == ["failing:StoreUnavailable"]
