"""What readers see of a memory as time passes, and what brings it back."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from conftest import World
from principals import history_of
from simonides import Draft, InvalidInput, Status
from simonides.domain.value import from_us
from simonides.types import Made

QUERY = "which database is in use?"


def guess(world: World, user: str = "ana") -> str:
    memory = world.store.memory(user=user)
    outcome = memory.remember(
        Draft("The database in use is Postgres", source="agent_inferred", category="entity_fact")
    )
    assert outcome.record is not None
    return outcome.record.id


def test_every_face_shows_what_is_left_of_an_inference(world: World) -> None:
    ana, id = world.store.memory(user="ana"), guess(world)
    fresh = ana.recall(QUERY)[0]
    world.clock.advance(days=60)

    (hit,) = ana.recall(QUERY)

    assert hit.record.confidence == pytest.approx(0.5)
    assert hit.why["confidence"] == pytest.approx(fresh.why["confidence"] - 0.2 * 0.1)
    assert ana.get(id) == hit.record
    assert ana.list() == (hit.record,)
    assert [m.confidence for m in history_of(ana, id)] == [hit.record.confidence]
    assert " 0.50; unverified" in ana.digest(QUERY, min_relevance=0).text
    assert ana.list(filter={"confidence": {"$gt": 0.51}}) == ()
    assert len(ana.list(filter={"confidence": {"$lte": 0.5}})) == 1


def test_confirming_restores_and_ends_the_decay(world: World) -> None:
    ana, id = world.store.memory(user="ana"), guess(world)
    world.clock.advance(days=60)

    outcome = ana.confirm(id)
    assert outcome.record is not None
    assert outcome.record.confidence == 0.6
    world.clock.advance(days=60)

    assert ana.recall(QUERY)[0].record.confidence == 0.6
    assert not ana.recall(QUERY)[0].record.needs_verification


def test_the_past_shows_what_was_left_then_and_receipts_give_it_again(world: World) -> None:
    ana, id = world.store.memory(user="ana"), guess(world)
    world.clock.advance(days=30)
    then, found = from_us(world.clock.now_us()), ana.recall(QUERY)
    text = ana.digest(QUERY, min_relevance=0)
    world.clock.advance(days=200)
    ana.confirm(id)
    ana = world.reopen().memory(user="ana")

    assert ana.recall(QUERY, known_at=then)[0].record.confidence == pytest.approx(0.55)
    again = ana.receipts.replay(found.receipt)
    assert again.made is Made.RANKED
    assert [h.to_dict() | {"known_to": None} for h in again] == [
        h.to_dict() | {"known_to": None} for h in found
    ]
    assert ana.receipts.replay(text.receipt).text == text.text


def test_a_decayed_guess_gives_way_to_a_fresh_one(world: World) -> None:
    ana = world.store.memory(user="ana")
    said = {"key": "database", "source": "agent_inferred", "category": "entity_fact"}
    ana.remember(Draft("Postgres", confidence=0.8, **said))
    assert ana.remember(Draft("MySQL", confidence=0.75, **said)).kind == "touched"
    world.clock.advance(days=60)

    assert ana.remember(Draft("Oracle", confidence=0.75, **said)).kind == "superseded"


def test_a_derivation_is_no_surer_than_its_parent_is_by_then(world: World) -> None:
    ana, id = world.store.memory(user="ana"), guess(world)
    world.clock.advance(days=60)

    (outcome,) = ana.remember_many(
        [Draft("Backups need pg_dump", source="tool_verified", parents=(id,))]
    )

    assert outcome.record is not None
    assert outcome.record.confidence == pytest.approx(0.5)


def test_past_its_soft_expiry_a_preference_counts_half_and_is_up_for_review(world: World) -> None:
    ana = world.store.memory(user="ana")
    outcome = ana.remember("Prefers tabs over spaces", key="tabs", category="preference")
    assert outcome.record is not None
    world.clock.advance(days=90, us=-1)
    assert ana.recall("tabs")[0].why["freshness"] == 1.0

    world.clock.advance(us=1)
    (hit,) = ana.recall("tabs")

    assert (hit.why["freshness"], hit.record.status) == (0.5, Status.REVIEW)
    assert [m.key for m in ana.list(filter={"status": "review"})] == ["tabs"]
    assert ana.list(filter={"status": "active"}) == ()

    ana.confirm(outcome.record.id)
    assert ana.recall("tabs")[0].why["freshness"] == 1.0
    world.clock.advance(days=90)
    assert ana.recall("tabs")[0].record.status is Status.REVIEW


def test_confirming_does_not_move_a_hard_end(world: World) -> None:
    ana = world.store.memory(user="ana")
    outcome = ana.remember(
        Draft("The build is green", category="tool_result", source="tool_verified")
    )
    assert outcome.record is not None
    world.clock.advance(days=6)
    ana.confirm(outcome.record.id)

    world.clock.advance(days=1, us=-1)
    assert len(ana.recall("build")) == 1
    world.clock.advance(us=1)
    assert len(ana.recall("build")) == 0


def test_what_nobody_reads_is_stale_after_half_a_year(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("Ana lives in Berlin", category="entity_fact")
    days = 0.475 * 365
    world.clock.advance(days=days, seconds=-1)
    assert ana.recall("Berlin")[0].why["freshness"] == 1.0

    world.clock.advance(seconds=2)
    (hit,) = ana.recall("Berlin")

    assert (hit.why["freshness"], hit.record.status) == (0.5, Status.STALE)
    assert "stale?" in hit.warnings
    assert len(ana.list(filter={"status": "stale"})) == 1


def test_what_is_timeless_does_not_age_nor_do_its_corrections(world: World) -> None:
    ana = world.store.memory(user="ana")
    said = {"key": "birthday", "category": "entity_fact", "timeless": True}
    ana.remember_many([Draft("Ana was born on 3 May", **said)])
    world.clock.advance(days=1_000)
    assert ana.recall("born")[0].why["freshness"] == 1.0

    ana.correct("birthday", "Ana was born on 4 May")
    world.clock.advance(days=1_000)

    (hit,) = world.reopen().memory(user="ana").recall("born")
    assert (hit.record.timeless, hit.why["freshness"]) == (True, 1.0)


def test_timeless_is_yes_or_no(world: World) -> None:
    drafts = [Draft("Fine"), Draft("Ana was born on 3 May", timeless="yes")]  # type: ignore[arg-type]

    with pytest.raises(InvalidInput, match=r"drafts\[1\]\.timeless"):
        world.store.memory(user="ana").remember_many(drafts)


def test_the_latest_session_summary_of_a_user_does_not_expire(world: World) -> None:
    ana = world.store.memory(user="ana")
    summary = {"kind": "episodic", "category": "session_summary"}
    first = ana.remember(Draft("Session about the harbour", **summary)).record
    world.clock.advance(days=1)
    second = ana.remember(Draft("Session about the harbour and boats", **summary)).record
    assert first is not None
    assert second is not None
    world.clock.advance(days=300)

    hits = {hit.record.id: hit for hit in ana.recall("harbour session")}

    assert hits[second.id].why["freshness"] == 1.0
    assert hits[second.id].record.status is Status.ACTIVE
    assert hits[first.id].why["freshness"] == 0.5
    assert hits[first.id].record.status is Status.REVIEW
    seen = {memory.id: memory.status for memory in map(ana.get, hits) if memory is not None}
    assert seen == {first.id: Status.REVIEW, second.id: Status.ACTIVE}
    assert [m.id for m in ana.list(filter={"status": "active"})] == [second.id]

    ana.forget(second.id)
    assert ana.recall("harbour session")[0].why["freshness"] == 1.0


def test_another_readers_summary_makes_none_the_older_one(world: World) -> None:
    private = Draft(
        "Session of the other agent", kind="episodic", category="session_summary", audience=("b",)
    )
    a, b = (world.store.memory(user="ana", agent=agent) for agent in "ab")
    a.remember(Draft("Session about the harbour", kind="episodic", category="session_summary"))
    world.clock.advance(days=1)
    b.remember_many([private])
    world.clock.advance(days=100)

    assert a.recall("harbour session")[0].why["freshness"] == 1.0


def test_recall_over_several_owners_ages_each_row_by_itself(world: World) -> None:
    admin = world.store.admin(actor="root")
    ana = world.store.memory(user="ana")
    old = Draft("The office is in Berlin", category="entity_fact", source="agent_inferred")
    admin.remember(old, scope="/global/")
    world.clock.advance(days=180)
    ana.remember("Ana's desk in the Berlin office is by the window", category="entity_fact")

    found = {hit.record.scope.user: hit for hit in ana.recall("Berlin office")}

    assert found[None].record.confidence == pytest.approx(0.3)
    assert found[None].why["freshness"] == 0.5
    assert found["ana"].record.confidence == 1.0
    assert found["ana"].why["freshness"] == 1.0


def test_recall_of_what_does_not_age_is_the_same_a_day_later(
    new_world: Callable[..., World],
) -> None:
    world = new_world()
    ana = world.store.memory(user="ana")
    ana.remember("Ana lives in Berlin", category="entity_fact")
    first = ana.recall("Berlin")
    world.clock.advance(seconds=timedelta(hours=12).total_seconds())

    assert ana.recall("Berlin")[0].record is first[0].record


@pytest.mark.parametrize(
    ("category", "soft", "hard"),
    [
        ("preference", 90, None),
        ("rule", 90, None),
        ("constraint", 90, None),
        ("entity_fact", None, None),
        ("turn", None, None),
        ("task_strategy", None, 90),
        ("task_learning", None, 30),
        ("tool_result", None, 7),
        ("session_summary", 30, None),
        ("feedback", 30, 365),
        ("configuration", 30, 365),
        ("fact", 30, 365),
    ],
)
def test_each_category_has_its_lives(
    world: World, category: str, soft: int | None, hard: int | None
) -> None:
    kinds = {"rule": "procedural", "turn": "episodic", "session_summary": "episodic"}
    ana = world.store.memory(user="ana").session("s")
    draft = Draft(
        "The harbour", category=category, kind=kinds.get(category, "semantic"), at="2020-01-01"
    )
    memory = ana.remember_many([draft])[0].record
    assert memory is not None

    # From the time of record, whenever it happened.
    made = from_us(world.clock.now_us())
    assert memory.soft_expires_at == (None if soft is None else made + timedelta(days=soft))
    assert memory.hard_expires_at == (None if hard is None else made + timedelta(days=hard))
