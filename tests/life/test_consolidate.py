"""Memories are drawn together without changing them, and all of it is taken back as one."""

import pytest

import simonides
from simonides import Draft
from simonides.testing import ScriptedModel

BIKE = [
    "I rode my bike to the old mill",
    "I rode my bike to the mill again",
    "Today I rode my bike to the mill",
]


def texts(memory):
    return {record.content for record in memory.list()}


@pytest.fixture
def told(ana, clock):
    for said in BIKE:
        ana.add(said)
        ana.add("I had soup for lunch")
        clock.advance(days=2)
    return ana


def test_without_a_model_what_came_up_on_several_days_is_named(told, clock):
    before = texts(told)
    planned = told.maintenance.consolidate(dry_run=True)
    assert (planned.id, planned.by_model) == (None, False)
    assert texts(told) == before
    done = told.maintenance.consolidate()
    assert done.insights == planned.insights
    assert any(BIKE[-1] in insight.content for insight in done.insights)
    [bike] = [insight for insight in done.insights if BIKE[-1] in insight.content]
    assert {told.get(id).content for id in bike.evidence} == set(BIKE)
    assert before < texts(told)
    [record] = [r for r in told.list() if BIKE[-1] in r.content and r.category == "insight"]
    assert (record.trust, set(record.parents)) == ("agent", set(bike.evidence))
    assert told.maintenance.consolidate().insights == ()  # it is said already
    assert told.audit.verify()


def test_what_was_drawn_together_for_one_purpose_is_shown_and_undone_for_it_alone(store, clock):
    health, ads = (store.memory(user="ana", purpose=purpose) for purpose in ("health", "ads"))
    for said in BIKE:
        health.add(said)
        clock.advance(days=2)
    done = health.maintenance.consolidate()
    assert [each.id for each in health.maintenance.consolidations()] == [done.id]
    for other in (ads, store.memory(user="ana")):
        assert other.maintenance.consolidations() == []
        with pytest.raises(simonides.NotFound):
            other.maintenance.undo_consolidation(done.id)
    assert health.maintenance.undo_consolidation(done.id).kind == "undone"


def test_one_command_takes_all_of_it_back(told, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("simonides.write.gates.say_the_same", lambda *_: False)
        told.remember(Draft("Because of work I moved to Berlin in 2020", source="tool_verified"))
        told.remember("I moved to Berlin in 2020 because of work")
    before = texts(told)
    done = told.maintenance.consolidate()
    assert (len(done.merged), len(done.insights) > 0) == (1, True)
    [listed] = told.maintenance.consolidations()
    assert (listed.id, listed.is_undone, len(listed.merged)) == (done.id, False, 1)
    assert listed.insights == done.insights
    assert told.maintenance.undo_consolidation(done.id[-8:]).kind == "undone"
    assert texts(told) == before
    assert [each.is_undone for each in told.maintenance.consolidations()] == [True]
    with pytest.raises(simonides.InvalidInput):
        told.maintenance.undo_consolidation(done.id)
    with pytest.raises(simonides.NotFound):
        told.maintenance.undo_consolidation("00000000")
    assert told.audit.verify()


def test_an_insight_goes_with_its_evidence(told):
    told.maintenance.consolidate()
    [turn] = [record for record in told.list() if record.content == BIKE[0]]
    told.forget(turn)
    assert not [record for record in told.list() if record.category == "insight" and
                "mill" in record.content]  # fmt: skip


def test_an_insight_ends_when_its_evidence_is_replaced(ana, clock):
    for n, colour in enumerate(("blue", "green", "brown")):
        ana.remember(f"The user painted the garden fence {colour} today", key=f"fence{n}")
        clock.advance(days=2)
    assert len(ana.maintenance.consolidate().insights) == 1
    ana.remember("It was never painted", key="fence1")
    assert ana.maintenance.hygiene(dry_run=True).unfounded == 1
    assert ana.maintenance.hygiene().unfounded == 1
    assert not [record for record in ana.list() if record.category == "insight"]


def insight(text, *evidence):
    return {"text": text, "evidence": list(evidence)}


def test_a_model_proposes_and_what_nothing_bears_out_is_left_out(open_store, clock):
    answer = {
        "insights": [
            insight("The user keeps riding the bike to the mill.", 0, 1, 2),
            insight("The user will buy a Ducati for 9,000 dollars.", 0, 1),
            insight("The user likes the mill.", 0),
            insight("The user likes the mill.", 88, 99),
        ]
    }
    model = ScriptedModel({"items": []}, answer)
    ana = open_store(model=model).memory(user="ana", org="acme")
    ana.add(BIKE, wait=True)
    done = ana.maintenance.consolidate()
    assert done.by_model
    assert [each.content for each in done.insights] == [
        "The user keeps riding the bike to the mill."
    ]
    assert len(done.reasons) == 3
    assert "0 " in model.asked[-1].prompt


def test_a_model_that_fails_changes_nothing(open_store):
    model = ScriptedModel({"items": []}, RuntimeError("down"))
    ana = open_store(model=model).memory(user="ana", org="acme")
    ana.add(BIKE, wait=True)
    before = texts(ana)
    done = ana.maintenance.consolidate()
    assert (done.id, done.insights) == (None, ())
    assert done.reasons[0].startswith("model:")
    assert texts(ana) == before


def test_the_model_reflects_once_enough_is_new(open_store, clock):
    model = ScriptedModel({"insights": []}, {"insights": []})
    store = open_store(model=model)
    ana = store.memory(user="ana", org="acme")
    for n in range(29):
        ana.remember(f"The user met person number {n} at the fair")
    clock.advance(days=2)
    store.flush()
    assert model.asked == []
    ana.remember("The user met the mayor at the fair")
    clock.advance(days=2)
    store.flush()
    assert len(model.asked) == 1


def test_what_is_sensitive_refused_or_of_another_purpose_is_not_drawn_together(ana, store, clock):
    work = store.memory(user="ana", org="acme", purpose="work")
    for said in BIKE:
        work.add(said)
        ana.remember(Draft(f"{said}, the doctor said", sensitivity="sensitive"))
        clock.advance(days=2)
    assert ana.maintenance.consolidate(dry_run=True).insights == ()
    for said in BIKE:
        ana.add(said.replace("bike", "scooter").replace("mill", "harbour"))
        clock.advance(days=2)
    assert len(ana.maintenance.consolidate(dry_run=True).insights) == 1
    ana.privacy.refuse(about="scooter")
    assert ana.maintenance.consolidate(dry_run=True).insights == ()


def test_what_has_expired_is_not_drawn_together(ana, clock):
    for colour in ("blue", "green", "brown"):
        ana.remember(f"The user painted the garden fence {colour} today", ttl_days=10)
        clock.advance(days=2)
    assert len(ana.maintenance.consolidate(dry_run=True).insights) == 1
    clock.advance(days=9)
    assert ana.maintenance.consolidate().insights == ()


def test_a_forgotten_insight_is_not_drawn_again(told):
    told.maintenance.consolidate()
    for record in told.list():
        if record.category == "insight":
            told.forget(record)
    again = told.maintenance.consolidate()
    assert again.id is None
    assert {outcome.reasons for outcome in again.outcomes} == {("tombstoned",)}
    assert len(told.maintenance.consolidations()) == 1
