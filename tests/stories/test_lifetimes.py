"""How long memories stay: forgetting, expiry, quotas."""

from datetime import timedelta

import pytest

from simonides import Draft, NotFound, QuotaExceeded

INSTANT = timedelta(milliseconds=1)


def contents(memory):
    return sorted(record.content for record in memory.list())


# -- forgetting ------------------------------------------------------------------------------------


@pytest.mark.every_store
def test_forget_removes_every_version_and_leaves_no_bytes(open_store, store, ana, tmp_path):
    record = ana.remember("the safe opens with zanzibar", key="safe").record
    ana.correct("safe", "the safe opens with quetzalcoatl")
    ana.remember("the kettle is blue", key="kettle")
    other = open_store().memory(user="ana", org="acme")
    other.recall("safe")
    assert ana.forget("safe").kind == "forgotten"
    for memory in (ana, other):
        assert memory.get("safe") is None
        assert memory.get(record.id) is None
        assert [hit.key for hit in memory.recall("what opens the safe")] == ["kettle"]
        past = memory.recall("safe zanzibar", known_at=record.known_from)
        assert [hit.key for hit in past] == ["kettle"]
        with pytest.raises(NotFound):
            memory.history(record)
        assert memory.audit.verify()
    if open_store.backend == "file":
        left = b"".join(path.read_bytes() for path in tmp_path.glob("memory.db*"))
        assert b"kettle" in left
        for word in (b"zanzibar", b"quetzalcoatl"):
            assert word not in left
    if open_store.backend == "encrypted":
        store.close()
        assert b"kettle" not in (tmp_path / "memory.db").read_bytes()


@pytest.mark.parametrize("source", ["agent_inferred", "tool_verified", "external"])
def test_only_the_user_teaches_again_what_was_forgotten(ana, source):
    ana.remember("Ana lives in Rome", key="home")
    ana.forget("home")
    for again in (
        Draft("ana lives in  ROME", source=source),
        Draft("Ana lives in Oslo", key="home", source=source),
    ):
        outcome = ana.remember(again)
        assert (outcome.kind, outcome.reasons) == ("blocked", ("tombstoned",))
    assert ana.remember("Ana lives in Rome", key="home").kind == "created"
    assert ana.remember(Draft("Ana lives in Rome", source=source)).kind in ("refreshed", "bumped")
    assert ana.audit.verify()


def test_a_tombstone_is_of_one_owner(ana, ben):
    ana.remember("the sea is green today")
    ana.forget(ana.list()[0])
    assert ben.remember(Draft("the sea is green today", source="agent_inferred"))


def test_forget_takes_what_was_derived(ana):
    turn = ana.remember("we talked about boats and harbours").record
    inferred = Draft("Ana likes boats", source="agent_inferred", parents=(turn.id,))
    child = ana.remember(inferred).record
    ana.remember(Draft("Ana may buy a boat", source="task_learning", parents=(child.id,)))
    ana.remember("unrelated tea")
    assert ana.get(child.id).parents == (turn.id,)
    ana.correct(turn, "we talked about boats")
    ana.forget(turn)
    assert contents(ana) == ["unrelated tea"]
    assert ana.remember(Draft("Ana likes boats", source="agent_inferred")).kind == "blocked"


# -- expiry ----------------------------------------------------------------------------------------


def everywhere(memory, record, start):
    """Return the readings in which a memory appears."""
    query = record.content
    readings = {
        "recall": [hit.id for hit in memory.recall(query)],
        "known_at": [hit.id for hit in memory.recall(query, known_at=start)],
        "valid_at": [hit.id for hit in memory.recall(query, valid_at=start)],
        "list": [each.id for each in memory.list()],
        "get": [each.id for each in [memory.get(record.id)] if each],
        "key": [each.id for each in [memory.get("code")] if each],
    }
    listed = [each for each in memory.list() if each.id == record.id]
    readings["history"] = [each.id for found in listed for each in memory.history(found)]
    readings["explain"] = [memory.explain(each, query).record.id for each in listed]
    return {name for name, ids in readings.items() if record.id in ids}


def test_an_expired_memory_is_in_no_reading_from_the_instant_it_expires(ana, clock, open_store):
    start = clock.now
    record = ana.remember("the door code is blue", key="code", ttl_days=0.5).record
    other = open_store().memory(user="ana", org="acme")
    assert record.hard_expires_at == start + timedelta(days=0.5)
    clock.set(record.hard_expires_at - INSTANT)
    assert len(everywhere(ana, record, start)) == 8
    clock.set(record.hard_expires_at)
    for memory in (ana, other):
        assert everywhere(memory, record, start) == set()
        for verb, arguments in (
            ("history", ()), ("explain", ("code",)), ("correct", ("new",)), ("confirm", ()),
            ("forget", ()),
        ):  # fmt: skip
            for which in ("code", record.id):
                with pytest.raises(NotFound) as caught:
                    getattr(memory, verb)(which, *arguments)
                assert caught.value.nearest is None


@pytest.mark.parametrize(
    ("fields", "soft", "hard"),
    [
        ({}, 30, None),
        ({"source": "agent_inferred"}, 30, 365),
        ({"source": "agent_inferred", "ttl_days": 2}, None, 2),
        ({"ttl_days": 60}, 30, 60),
        ({"category": "preference", "source": "agent_inferred"}, 90, None),
        ({"category": "tool_result", "source": "tool_verified"}, None, 7),
        ({"category": "task_strategy"}, None, 90),
        ({"at": "2001-01-01"}, 30, None),
    ],
)
def test_lifetime_of_a_category(ana, clock, fields, soft, hard):
    record = ana.remember(Draft("some fact", **fields)).record
    ends = [record.soft_expires_at, record.hard_expires_at]
    assert [end and (end - clock.now).days for end in ends] == [soft, hard]


def test_soft_expiry_halves_the_score_and_keeps_the_memory(ana, clock):
    record = ana.remember("Ana plays the cello in an orchestra").record
    clock.set(record.soft_expires_at - INSTANT)
    before = ana.recall("which instrument does Ana play")[0]
    clock.set(record.soft_expires_at)
    after = ana.recall("which instrument does Ana play")[0]
    assert after.score == pytest.approx(before.score / 2)
    assert (after.relevance, after.warnings) == (before.relevance, ("stale?",))
    ana.confirm(record)
    assert ana.recall("which instrument does Ana play")[0].score == pytest.approx(before.score)


# -- quotas ----------------------------------------------------------------------------------------


def stored(open_store, rules, order="value", limit=3):
    store = open_store(settings=rules(f"quotas: {{memories: {limit}, eviction: {order}}}"))
    return store.memory(user="ana")


def test_a_full_quota_evicts_what_is_least_useful(open_store, rules, clock):
    memory = stored(open_store, rules)
    for content, importance in (("alpha", "high"), ("beta", "normal"), ("gamma", "critical")):
        memory.remember(content, importance=importance)
        clock.advance(days=1)
    beta = memory.recall("beta")[0].record
    done = memory.remember("delta", importance="high")
    assert contents(memory) == ["alpha", "delta", "gamma"]
    assert [event.type for event in done.events] == ["evicted", "created"]
    assert memory.get(beta.id).status == "evicted"
    explained = memory.explain(beta.id, "beta")
    assert (explained.recalled, explained.excluded) == (False, ("evicted",))
    assert memory.audit.verify()


@pytest.mark.parametrize(
    ("order", "gone"), [("fifo", "first"), ("lru", "second"), ("ttl", "third")]
)
def test_order_of_eviction(open_store, rules, clock, order, gone):
    memory = stored(open_store, rules, order)
    for content, days in (("first", None), ("second", 30), ("third", 20)):
        memory.remember(content, ttl_days=days)
        clock.advance(hours=1)
    memory.recall("first", limit=1)
    memory.recall("third", limit=1)
    memory._engine.journal.flush()
    memory.remember("fourth")
    assert contents(memory) == sorted({"first", "second", "third", "fourth"} - {gone})


def test_an_expired_memory_gives_way_first(open_store, rules, clock):
    memory = stored(open_store, rules)
    memory.remember("old news", importance="critical", ttl_days=1)
    memory.remember("alpha")
    memory.remember("beta")
    clock.advance(days=2)
    memory.remember("gamma")
    assert contents(memory) == ["alpha", "beta", "gamma"]


def test_pinned_memories_and_constraints_stay(open_store, rules):
    memory = stored(open_store, rules)
    memory.remember("pinned fact", pinned=True)
    memory.remember("never deploy on Fridays", category="constraint")
    memory.remember("a plain fact")
    memory.remember("another plain fact")
    assert contents(memory) == ["another plain fact", "never deploy on Fridays", "pinned fact"]
    memory.correct(memory.recall("another plain fact")[0], pinned=True)
    with pytest.raises(QuotaExceeded) as caught:
        memory.remember("one too many")
    assert (caught.value.what, caught.value.limit, caught.value.retryable) == ("memories", 3, False)
    assert len(contents(memory)) == 3
    memory.remember("pinned fact")


def test_a_batch_counts_its_own_items(open_store, rules):
    memory = stored(open_store, rules)
    memory.remember_many([Draft(f"number {n}", key=f"n{n}") for n in range(2)])
    memory.remember_many([Draft(f"value {n}", key="k") for n in range(5)])
    assert memory.status()["memories"] == 3
    memory.remember_many([Draft(f"other {n}", key=f"o{n}") for n in range(3)])
    assert contents(memory) == ["other 0", "other 1", "other 2"]


def test_a_batch_above_the_quota_stores_nothing(open_store, rules):
    memory = stored(open_store, rules)
    with pytest.raises(QuotaExceeded):
        memory.remember_many([Draft(f"number {n}") for n in range(5)])
    assert contents(memory) == []


def test_each_task_has_a_quota_of_its_own(open_store, rules):
    memory = stored(open_store, rules)
    task = open_store.opened[-1].memory(user="ana", task="t")
    for n in range(3):
        memory.remember(f"number {n}")
        task.remember(f"step {n}")
    task.remember("step 4")
    assert len(contents(memory)) == 6


def test_beyond_twenty_rules_the_oldest_is_archived(ana, clock):
    first = ana.remember(Draft("Always greet Ada", category="rule", kind="procedural"))
    kept = ana.remember(Draft("Always greet Bo", category="rule", kind="procedural", pinned=True))
    for number in range(20):
        clock.advance(seconds=1)
        name = "Cy Di Ed Fay Gus Hal Ida Jo Kim Lea Max Ned Ola Pia Ray Sue Tom Una Vic Wes".split()
        said = f"Always greet {name[number]}"
        assert ana.remember(Draft(said, category="rule", kind="procedural")).done
    rules = [each.content for each in ana.list(filter={"kind": "procedural"})]
    assert len(rules) == 20
    assert first.record.content not in rules
    assert kept.record.content in rules
    assert [each.status for each in ana.history(first.record.root)] == ["archived"]
    assert ana.audit.verify()


def test_expired_memories_take_no_place_among_the_best(ana, clock):
    for n in range(10):
        ana.remember(f"The parrot speaks loudly in room {n}", ttl_days=1)
    ana.remember("The parrot is green")
    clock.advance(days=2)
    hits = ana.recall("Which parrot speaks loudly?", limit=1)
    assert [hit.content for hit in hits] == ["The parrot is green"]


def test_no_version_of_an_expired_memory_is_read(ana, clock):
    first = ana.remember("The guest code is blue", key="code", ttl_days=90).record
    last = ana.remember("The guest code is green", key="code", ttl_days=2).record
    assert ana.get(first.id).content == "The guest code is blue"
    clock.advance(days=3)
    for id in (first.id, last.id):
        assert ana.get(id) is None
        with pytest.raises(NotFound):
            ana.history(id)
