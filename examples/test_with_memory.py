"""Tests of an agent that has a memory: no file, no network, no sleep.

`simonides.testing.open` opens a store in memory. A manual clock makes days pass, and a scripted
model gives the answers of the language model.

    pytest test_with_memory.py
"""

import sys
from collections.abc import Iterator

import pytest

from simonides import Memory, Store, testing
from simonides.testing import ManualClock, ScriptedModel


class ParkingAgent:
    """The agent under test."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def park(self, place: str) -> None:
        """Remember the place for one day."""
        self._memory.remember(f"The car is on {place}", key="parking", ttl_days=1)

    def find(self) -> str:
        """Return where the car is."""
        parked = self._memory.get("parking")
        return "I do not know." if parked is None else parked.content


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> Iterator[Store]:
    with testing.open(clock=clock) as opened:
        yield opened


def test_the_car_is_found_where_it_was_parked_last(store: Store) -> None:
    agent = ParkingAgent(store.memory(user="ana"))

    agent.park("level 2")
    agent.park("level 3")

    assert agent.find() == "The car is on level 3"


def test_the_place_is_forgotten_after_a_day(store: Store, clock: ManualClock) -> None:
    agent = ParkingAgent(store.memory(user="ana"))
    agent.park("level 3")

    clock.advance(days=2)

    assert not store.memory(user="ana").recall("Where is the car?")


def test_a_place_that_the_model_read_out_of_the_talk_is_recalled() -> None:
    quote = "My home these days is Porto"
    model = ScriptedModel({"items": [{"key": "location", "value": "Porto", "quote": quote}]})
    with testing.open(model=model) as store:
        memory = store.memory(user="ana")

        memory.add(quote, wait=True)

        assert memory.recall("Where does Ana live?")[0].content == "Porto"


def main() -> None:
    sys.exit(pytest.main([__file__, "-q", "-W", "default"]))


if __name__ == "__main__":
    main()
