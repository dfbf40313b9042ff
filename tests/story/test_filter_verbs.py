"""One filter for every verb: recall, list and forget."""

from typing import Any

import pytest

from conftest import World
from simonides import Draft, InvalidInput
from simonides.api.sync import Memory


@pytest.fixture
def ana(world: World) -> Memory:
    ana = world.store.memory(user="ana", org="acme").session("monday")
    ana.remember(
        Draft("Deploy the service to Dublin", key="region", confidence=0.9, tags=["ops", "eu"])
    )
    ana.remember("Deploy the website on Fridays", tags=["ops"], metadata={"cost": {"eur": 40}})
    ana.remember(Draft("The deploy of May failed", kind="episodic", sensitivity="sensitive"))
    ana.remember("Deploy nothing in December", importance="critical", at="2025-12-01", pinned=True)
    return ana


def contents(found: Any) -> set[str]:
    return {memory.content.split()[-1] for memory in found}


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"kind": "episodic"}, {"failed"}),
        ({"tags": {"$in": ["eu", "us"]}}, {"Dublin"}),
        ({"metadata.cost.eur": {"$gte": 40}}, {"Fridays"}),
        ({"confidence": {"$lt": 1}}, {"Dublin"}),
        ({"at": {"$lt": "2026-01-01"}}, {"December"}),
        ({"sensitivity": {"$gt": "private"}}, {"failed"}),
        ({"$or": [{"pinned": True}, {"key": {"$exists": True}}]}, {"Dublin", "December"}),
        ({"scope": "user", "session": "monday", "importance": {"$gte": "high"}}, {"December"}),
        ({"scope": "org"}, set()),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_recall_list_and_forget_mean_the_same(
    ana: Memory, filter: dict[str, Any], found: set[str]
) -> None:
    assert contents(ana.list(filter=filter)) == found
    assert contents(hit.record for hit in ana.recall("deploy", filter=filter)) == found

    outcome = ana.forget_many(filter=filter)
    assert (outcome.kind == "forgotten") is bool(found)
    assert len(ana.list()) == 4 - len(found)


def test_a_filter_orders_as_a_store_of_what_remains_would(world: World) -> None:
    here, there = world.store.memory(user="here"), world.store.memory(user="there")
    for number in range(30):
        text = f"deploy note {number} " + "about the release " * (number % 5)
        here.remember(text, tags=["keep"] if number % 3 else ["other"])
        if number % 3:
            there.remember(text, tags=["keep"])

    filtered = here.recall("deploy of the release", limit=50, filter={"tags": "keep"})
    alone = there.recall("deploy of the release", limit=50)

    assert [hit.record.content for hit in filtered] == [hit.record.content for hit in alone]
    assert [hit.score for hit in filtered] == [hit.score for hit in alone]


def test_forgetting_by_a_filter_that_asks_nothing_is_refused(ana: Memory) -> None:
    for asked in ({}, {"$or": [{}]}, {"$and": []}, {"key": None}, {"metadata.x": None}):
        with pytest.raises(InvalidInput):
            ana.forget_many(filter=asked)

    assert len(ana.list()) == 4
