"""A recall is given again from its receipt, hit for hit and byte for byte."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from conftest import World
from principals import principal_of
from simonides import (
    Draft,
    NotReplayable,
    Recall,
    Receipt,
    ScopeDenied,
)
from simonides.domain.canonical_json import canonical_json
from simonides.domain.value import from_us
from simonides.retrieval.ranking import ranker
from simonides.types import Made

THINGS = ["harbour", "coffee", "invoice", "release", "garden", "train"]


def bytes_of(found: Recall) -> list[bytes]:
    return [canonical_json(hit.to_dict()) for hit in found]


def played(world: World, seed: int, recalls: int, *, forget: bool) -> list[Recall]:
    """Recalls that were made while the store went on changing."""
    chance, given = random.Random(seed), list[Recall]()
    ana = world.store.memory(user="ana", org="acme").session("monday")
    while len(given) < recalls:
        text = f"Ana saw the {chance.choice(THINGS)} {chance.randrange(40)} times"
        memories, step = ana.list(), chance.random()
        if step < 0.4 or not memories:
            key = chance.choice([None, None, "region", "tone"])
            ana.remember(Draft(text, key=key, confidence=chance.choice([0.6, 1.0])))
        elif step < 0.5:
            ana.correct(chance.choice(memories).id, text)
        elif step < 0.55:
            ana.confirm(chance.choice(memories).id)
        elif step < 0.57 and forget:
            ana.forget(chance.choice(memories).id)
        else:
            past = from_us(world.clock.now_us()) - timedelta(days=chance.randrange(1, 5))
            found = ana.recall(
                f"what about the {chance.choice(THINGS)}?",
                limit=chance.choice([1, 3, 10]),
                min_relevance=chance.choice([None, 0.2]),
                known_at=chance.choice([None, None, past]),
                valid_at=chance.choice([None, None, past]),
                filter=chance.choice([None, {"confidence": {"$gte": 0.7}}]),
            )
            given.append(found)
        world.clock.advance(seconds=chance.choice([0.001, 60.0, 43_200.0]))
    return given


def test_whatever_was_written_since_it_is_ranked_again(world: World) -> None:
    given = played(world, 1, 60, forget=False)
    ana = world.reopen().memory(user="ana", org="acme").session("monday")

    for found in given:
        again = ana.receipts.replay(
            Receipt.from_dict(json.loads(json.dumps(found.receipt.to_dict())))
        )

        assert bytes_of(again) == bytes_of(found)
        assert (again.made, again.receipt, again.degraded) == (
            Made.RANKED, found.receipt, found.degraded,
        )  # fmt: skip


def test_what_was_returned_and_erased_is_named_and_the_rest_is_the_same_bytes(
    world: World,
) -> None:
    given = played(world, 2, 150, forget=True)
    ana, store = world.store.memory(user="ana", org="acme").session("monday"), world.store
    counted: Counter[str] = Counter()

    for found in given:
        ids = [hit.record.id for hit in found]
        kept = {row.id for row in asyncio.run(store.runtime.store.get(principal_of(ana).home, ids))}
        if set(ids) <= kept:
            again = ana.receipts.replay(found.receipt)
            assert bytes_of(again) == bytes_of(found)
            counted[again.made] += 1
        else:
            with pytest.raises(NotReplayable) as refused:
                ana.receipts.replay(found.receipt)
            assert set(refused.value.ids) == set(ids) - kept
            counted["refused"] += 1

    assert counted["refused"] > 0
    assert counted[Made.RANKED] > 0


def test_another_ranker_or_policy_renders_the_same_hits(
    new_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: one\n")
    world = new_world(policy=str(policy))
    world.store.memory(user="ana").remember("Deploy to Dublin", key="region")
    found = world.store.memory(user="ana").recall("deploy")

    monkeypatch.setattr(ranker, "RANKER", "another")
    other = world.store.memory(user="ana").receipts.replay(found.receipt)
    monkeypatch.undo()
    ana = world.store.memory(user="ana")

    assert (other.made, bytes_of(other)) == (Made.RENDERED, bytes_of(found))
    assert ana.receipts.replay(found.receipt).made is Made.RANKED
    assert ana.receipts.replay(replace(found.receipt, policy="0" * 64)).made is Made.RENDERED


def test_each_verb_takes_its_own_receipts_and_its_own_reader(world: World) -> None:
    ana = world.store.memory(user="ana", org="acme", agent="bot")
    ana.remember("Deploy to Dublin")
    found = ana.recall("deploy")

    for other in (
        world.store.memory(user="bob", org="acme", agent="bot"),
        world.store.memory(user="ana", org="acme", agent="spy"),
    ):
        with pytest.raises(ScopeDenied):
            other.receipts.replay(found.receipt)
