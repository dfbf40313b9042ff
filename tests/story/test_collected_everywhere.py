"""Collecting does the same on every store, for tenants and for who has them all."""

import json

from conftest import World
from simonides import Draft
from simonides.domain.scope import Scope
from simonides.engine.recall.read_journal import ACCESS

ORG = Scope.of_org("default")
FACT = {"source": "tool_verified", "category": "entity_fact"}


def test_a_year_of_daily_collecting(world: World) -> None:
    store, admin = world.store.runtime.store, world.store.admin(actor="root")
    ana, ben = (world.store.memory(user=user) for user in ("ana", "ben"))
    lift = admin.remember(Draft("The office has a lift", **FACT), scope=ORG.path).memory
    admin.remember(Draft("The office has a cellar", **FACT), scope=ORG.path)
    ana.remember("us-east-1", key="region")
    ana.remember(Draft("The build is green", source="tool_verified", category="tool_result"))
    ben.remember(Draft("Ben may like jazz", source="agent_inferred", category="entity_fact"))
    done: dict[str, list[tuple[int, int]]] = {}
    for day in range(0, 365, 5):
        if day == 50:
            ana.correct("region", "eu-west-1")
        if day % 20 == 0:
            assert ben.recall("lift", limit=1)[0].record.id == lift.id  # type: ignore[union-attr]
        dry = world.store.admin(actor="root").gc(dry_run=True) if day % 25 == 0 else None
        run = world.store.admin(actor="root").gc()
        if dry is not None:
            assert (run.counts, run.reads_folded) == (dry.counts, dry.reads_folded)
        assert run.left == run.busy == 0
        for rule, count in run.counts.items():
            done.setdefault(rule.value, []).append((day, count))
        world.clock.advance(days=5)

    # The region is up for review from 30 days after it was said, and again after its correction.
    review = [day for day, _ in done.pop("in_review")]
    assert review == [*range(30, 50, 5), *range(80, 365, 5)]
    # The lift is read every 20 days, which is noted once ranking would take it for stale.
    assert [day for day, _ in done.pop("read_noted")] == [170, *range(185, 360, 20)]
    assert done == {
        "hard_expired": [(10, 1)],
        "evicted_old": [(100, 1), (280, 1)],
        "superseded_old": [(140, 1)],
        "stale_marked": [(185, 1)],
        "stale_evicted": [(190, 1), (310, 1)],
        "queued": [(305, 1)],
    }
    assert [len(m.list()) for m in (ana, ben)] == [2, 1]
    # On the loop that the store's connections belong to.
    (notes,) = world.store._driver.run(store.journaled(ORG, kind=ACCESS))
    reads, last, _ = json.loads(notes.body)["folded"][lift.id]  # type: ignore[union-attr]
    assert (reads, len(json.loads(notes.body)["folded"])) == (19, 1)
    assert last < world.clock.now_us()
    assert world.store.admin(actor="root").check_audit().ok
