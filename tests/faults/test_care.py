"""Collection, daily look and consolidation that are killed lose nothing and repeat nothing."""

from harness import FAULTS, FEW, MANY
from test_workers import killed, shared

from simonides.testing import ManualClock, SmallEmbedder

CARED = 2 * FAULTS


def cared_for(work, place):
    """Yield the memories of each user whose care was killed, an hour later."""
    hours, begun = 24 * 125 + 1, ManualClock().now
    for seed, store in killed(work, place, hours, CARED, begun, SmallEmbedder()):
        memory = store.memory(user=f"user{seed}")
        yield memory
        shown = memory.list(limit=1000)
        assert len({each.root for each in shown}) == len(shown)
        assert all(
            len(memory.history(each)) == each.version for each in shown if each.key != "drink"
        )
        texts = {each.content for each in shown}
        assert {f"I prefer seat {n}" for n in range(MANY)} | {"Coffee", "The lamp is brass"} < texts
        assert memory.audit.verify()


def counted(memory, type):
    return len(memory.audit.list(type=type, limit=1000))


@shared
def test_a_collection_that_is_killed_anywhere_takes_everything_once(place):
    for memory in cared_for("tend_until_killed", place):
        memory.maintenance.gc()
        again = memory.maintenance.gc().to_dict()
        assert not any(n for name, n in again.items() if type(n) is int)
        kinds = ("collected", "evicted", "stale_marked")
        # Each ticket and the older drink; each host; each guess.
        assert [counted(memory, kind) for kind in kinds] == [MANY + 1, FEW, FEW]
        assert [each.content for each in memory.history("drink")] == ["Coffee"]
        guesses = [each for each in memory.list(limit=1000) if each.content.startswith("She")]
        assert [each.status for each in guesses] == ["stale"] * FEW


@shared
def test_a_look_that_is_killed_anywhere_asks_and_merges_everything_once(place):
    for memory in cared_for("look_until_killed", place):
        memory.maintenance.hygiene()
        again = memory.maintenance.hygiene().to_dict()
        assert not any(n for name, n in again.items() if type(n) is int)
        asked = [side.content for each in memory.pending.list() for side in each.sides]
        assert sorted(asked) == sorted(f"I prefer seat {n}" for n in range(MANY))
        assert (counted(memory, "asked"), counted(memory, "merged")) == (MANY, 1)


@shared
def test_a_consolidation_that_is_killed_anywhere_is_done_once_and_whole(place):
    for memory in cared_for("draw_until_killed", place):
        memory.maintenance.consolidate()
        assert memory.maintenance.consolidate().id is None
        [done] = memory.maintenance.consolidations()
        assert (len(done.insights), len(done.merged), counted(memory, "merged")) == (1, 1, 1)
        insights = [each for each in memory.list(limit=1000) if each.category == "insight"]
        assert ["mill" in each.content for each in insights] == [True]
