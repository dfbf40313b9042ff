"""Receipts: what was shown can be shown again, or it is said that it cannot."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import World
from principals import principal_of
from simonides import (
    Digest,
    Draft,
    InvalidInput,
    NotReplayable,
    Receipt,
    ScopeDenied,
)
from simonides.api.sync import Memory
from simonides.domain.value import from_us
from simonides.retrieval.ranking import ranker
from simonides.types import Made

THINGS = ["harbour", "coffee", "invoice", "release", "garden", "train", "piano", "lecture"]
VERBS = ["painted", "repaired", "forgot", "described", "sold", "missed", "praised"]
KEYS = ["region", "tone", "team", "city"]


def through_json(receipt: Receipt) -> Receipt:
    return Receipt.from_dict(json.loads(json.dumps(receipt.to_dict())))


class Script:
    """A store that goes on changing, and the digests that were given meanwhile."""

    def __init__(self, world: World, seed: int) -> None:
        self._chance = random.Random(seed)
        self._world = world
        self.ana = world.store.memory(user="ana", org="acme").session("monday")
        self.given: list[Digest] = []

    def play(self, digests: int) -> None:
        while len(self.given) < digests:
            self._chance.choice([self._write] * 4 + [self._change] * 2 + [self._ask] * 4)()
            if self._chance.random() < 0.03:
                self._forget()
            if self._chance.random() < 0.7:
                self._world.clock.advance(seconds=self._chance.choice([0.001, 60.0, 86_400.0]))

    def _sentence(self) -> str:
        return (
            f"Ana {self._chance.choice(VERBS)} the {self._chance.choice(THINGS)} "
            f"{self._chance.randrange(40)} times"
        )

    def _write(self) -> None:
        kind = self._chance.choice(["semantic", "episodic", "procedural"])
        self.ana.remember(
            Draft(
                self._sentence(),
                kind=kind,
                key=self._chance.choice([None, None, None, *KEYS]),
                confidence=self._chance.choice([0.6, 0.9, 1.0]),
                pinned=self._chance.random() < 0.05,
                ttl_days=self._chance.choice([None, None, 2]),
            )
        )

    def _change(self) -> None:
        memories = self.ana.list()
        if memories:
            chosen = self._chance.choice(memories)
            if self._chance.random() < 0.5:
                self.ana.correct(chosen.id, self._sentence())
            else:
                self.ana.confirm(chosen.id)

    def _forget(self) -> None:
        memories = self.ana.list()
        if memories:
            self.ana.forget(self._chance.choice(memories).id)

    def _kept(self, ids: set[str]) -> set[str]:
        store, owner = self._world.store.runtime.store, principal_of(self.ana).home
        return {row.id for row in asyncio.run(store.get(owner, sorted(ids)))}

    def _ask(self) -> None:
        now = from_us(self._world.clock.now_us())
        past = now - timedelta(days=self._chance.randrange(1, 5))
        digest = self.ana.digest(
            f"what about the {self._chance.choice(THINGS)} and {self._chance.choice(KEYS)}?",
            min_relevance=self._chance.choice([None, 0, 0.3]),
            known_at=self._chance.choice([None, None, None, past]),
            valid_at=self._chance.choice([None, None, None, past]),
            preference_bias=self._chance.random() < 0.3,
            max_chars=self._chance.choice([None, 600]),
            filter=self._chance.choice([None, None, {"confidence": {"$gte": 0.7}}]),
        )
        self.given.append(digest)

    def replayed(self) -> Counter[str]:
        """Replay all digests; every one is the same bytes or refused for what is erased."""
        found: Counter[str] = Counter()
        for digest in self.given:
            shown = {item.record.id for item in digest.items}
            erased = shown - self._kept(shown)
            if erased:
                with pytest.raises(NotReplayable) as refusal:
                    self.ana.receipts.replay(through_json(digest.receipt))
                assert set(refusal.value.ids) == erased
                found["refused"] += 1
                continue
            again = self.ana.receipts.replay(through_json(digest.receipt))
            assert again.text == digest.text
            assert [i.line for i in again.items] == [i.line for i in digest.items]
            assert again.receipt == digest.receipt
            found[again.made] += 1
        return found


@pytest.mark.parametrize("seed", [2, 5])
def test_two_hundred_digests_of_a_changing_store_are_given_again_or_refused(
    world: World, seed: int
) -> None:
    script = Script(world, seed)
    script.play(100)
    script._forget()
    script.play(200)
    world.reopen()
    script.ana = world.store.memory(user="ana", org="acme").session("monday")

    found = script.replayed()

    assert found.total() == 200
    # What had gone by the end was not shown in these, or was, or only moved the statistics.
    assert found[Made.RANKED] > 30
    assert found["refused"] > 5
    assert found[Made.RENDERED] > 0


def test_while_nothing_is_erased_all_are_ranked_again(world: World) -> None:
    script = Script(world, 3)
    script._forget = lambda: None  # type: ignore[method-assign]
    script.play(60)

    assert script.replayed() == {Made.RANKED: 60}


@pytest.fixture
def ana(world: World) -> Memory:
    ana = world.store.memory(user="ana", org="acme", agent="bot", purpose="care")
    ana.remember("Deploy to Dublin", key="region")
    ana.remember("Deploy on Fridays only", pinned=True)
    ana.remember("The website is deployed by Bob")
    return ana


def test_what_was_superseded_is_shown_as_it_was(world: World, ana: Memory) -> None:
    digest = ana.digest("where to deploy?", min_relevance=0)
    world.clock.advance(seconds=60)
    ana.correct("region", "Deploy to Oslo")
    ana.remember("Deploying needs a ticket")

    again = ana.receipts.replay(digest.receipt)

    assert (again.text, again.made) == (digest.text, Made.RANKED)
    assert "Dublin" in again.text
    assert "Oslo" in ana.digest("where to deploy?", min_relevance=0).text


def test_another_ranker_or_policy_renders_and_says_so(
    new_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: one\n")
    world = new_world(policy=str(policy))
    ana = world.store.memory(user="ana")
    ana.remember("Deploy to Dublin", key="region")
    digest = ana.digest("deploy", min_relevance=0)

    monkeypatch.setattr(ranker, "RANKER", "another")
    ana = world.store.memory(user="ana")
    assert (ana.receipts.replay(digest.receipt).made, ana.receipts.replay(digest.receipt).text) == (
        Made.RENDERED,
        digest.text,
    )
    monkeypatch.undo()
    ana = world.store.memory(user="ana")
    assert ana.receipts.replay(digest.receipt).made is Made.RANKED
    changed = replace(digest.receipt, policy="0" * 64)
    assert ana.receipts.replay(changed).made is Made.RENDERED
    assert ana.receipts.replay(changed).text == digest.text


def test_what_went_that_was_not_shown_does_no_harm(ana: Memory) -> None:
    for number in range(12):
        ana.remember(f"Deploy note {number} says little about deploying")
    digest = ana.digest("where to deploy?", min_relevance=0, max_items=2)
    shown = {item.record.id for item in digest.items}
    ana.forget(next(m.id for m in ana.list() if m.id not in shown))

    again = ana.receipts.replay(digest.receipt)

    assert again.text == digest.text
    assert again.made in (Made.RANKED, Made.RENDERED)


def test_what_went_that_was_shown_is_named(ana: Memory) -> None:
    digest = ana.digest("where to deploy?", min_relevance=0)
    ana.forget("region")

    with pytest.raises(NotReplayable) as refused:
        ana.receipts.replay(digest.receipt)

    assert refused.value.ids == tuple(
        shown.id for shown in digest.receipt.returned if shown.key == "region"
    )


def test_a_receipt_is_its_readers(world: World, ana: Memory) -> None:
    receipt = ana.digest("where to deploy?", min_relevance=0).receipt
    others = [
        world.store.memory(user="bob", org="acme", agent="bot", purpose="care"),
        world.store.memory(user="ana", org="acme", agent="spy", purpose="care"),
        world.store.memory(user="ana", org="acme", agent="bot", purpose="sales"),
    ]

    for other in others:
        with pytest.raises(ScopeDenied):
            other.receipts.replay(receipt)
    bob = others[0]
    forged = replace(receipt, reader=principal_of(bob).home)
    with pytest.raises(ScopeDenied):
        bob.receipts.replay(forged)
    stolen = replace(forged, cue=replace(receipt.cue, scopes=(principal_of(bob).home,)))
    with pytest.raises(InvalidInput, match="seen"):
        bob.receipts.replay(stolen)
    with pytest.raises(NotReplayable):
        bob.receipts.replay(replace(stolen, seen=()))
    with pytest.raises(ScopeDenied):
        bob.receipts.verify("", receipt)


def test_an_answer_may_cite_what_was_shown_only(world: World, ana: Memory) -> None:
    digest = ana.digest("where to deploy?", min_relevance=0, filter={"key": "region"})
    (shown,) = digest.receipt.returned
    other = next(memory.id for memory in ana.list() if memory.id != shown.id)

    honest = ana.receipts.verify(f"To Dublin [{shown.id}].", digest.receipt)
    lying = ana.receipts.verify(f"On Fridays ({other}), to Dublin ({shown.id}).", digest.receipt)
    by_name = ana.receipts.verify(["region", "tone", shown.id], digest.receipt)

    assert honest.ok
    assert honest.cited == (shown.id,)
    assert not lying.ok
    assert lying.unshown == (other,)
    assert by_name.unshown == ("tone",)
    assert ana.receipts.verify("Nothing is cited.", digest.receipt).ok


def test_a_receipt_is_compared_with_the_store(ana: Memory) -> None:
    receipt = ana.recall("where to deploy?", filter={"key": "region"}).receipt
    (shown,) = receipt.returned
    forged = replace(receipt, returned=(replace(shown, version=7),))
    invented = replace(receipt, returned=(replace(shown, id=shown.id[:-1] + "0"),))

    assert ana.receipts.verify(shown.id, forged).mismatched == (shown.id,)
    assert not ana.receipts.verify(invented.returned[0].id, invented).ok
    ana.correct("region", "Deploy to Oslo")
    assert ana.receipts.verify(shown.id, receipt).superseded == (shown.id,)
    assert ana.receipts.verify(shown.id, receipt).ok
    ana.forget("region")
    assert ana.receipts.verify(shown.id, receipt).gone == (shown.id,)


def test_the_receipt_of_a_recall_tells_what_the_limit_cut(ana: Memory) -> None:
    receipt = ana.recall("deploy the website", limit=1).receipt

    assert len(receipt.returned) == 1
    assert receipt.returned[0].why["relevance"] > 0
    assert {dropped.reason for dropped in receipt.dropped} == {"limit"}
    assert receipt == through_json(receipt)
    assert ana.receipts.replay(receipt).receipt == receipt


def test_what_is_no_receipt_is_refused_with_its_place(ana: Memory) -> None:
    good = ana.digest("deploy", min_relevance=0, filter={"$not": {"key": "x"}}).receipt.to_dict()

    def changed(*path: Any, value: Any) -> Any:
        data = json.loads(json.dumps(good))
        inner = data
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        return data

    for raw, where in [
        (5, "receipt"),
        ({}, "receipt.cue"),
        ({**good, "x": 1}, "receipt"),
        (changed("at", value="soon"), "receipt.at"),
        (changed("cue", "filter", value={"$xor": 1}), "receipt.cue.filter"),
        (changed("cue", "kinds", value=["dream"]), "receipt.cue.kinds[0]"),
        (changed("cue", "limit", value="5"), "receipt.cue.limit"),
        (changed("cue", "limit", value=True), "receipt.cue.limit"),
        (changed("reader", value="nobody"), "scope"),
        (changed("returned", value={}), "receipt.returned"),
        (changed("returned", 0, "why", value=[]), "receipt.returned[0].why"),
        (changed("page", "rules", "total", "items", value=1.5), "receipt.page.rules.total.items"),
    ]:
        with pytest.raises(InvalidInput) as refused:
            Receipt.from_dict(raw)
        assert refused.value.field.startswith(where), refused.value
