"""A daily look finds repeats, contradictions, what has grown old and what should not be there."""

from datetime import timedelta

import pytest

import simonides
from simonides import Draft


def counts(report):
    data = report.to_dict()
    return {name: n for name, n in data.items() if n and name not in ("dry_run", "waits")}


def texts(memory):
    return {record.content for record in memory.list()}


def quietly(memory, clock, days):
    """Let days pass, with something said every three weeks, so that nobody doubts the clock."""
    while days > 0:
        clock.advance(days=min(days, 21))
        days -= 21
        memory.remember("The lamp is brass", key="lamp")


def test_a_user_is_asked_once_whether_an_old_statement_is_still_true(store, ana, clock):
    ana.remember("I prefer window seats", category="preference")
    quietly(ana, clock, 91)
    planned = ana.maintenance.hygiene(dry_run=True)
    assert (planned.dry_run, counts(planned)) == (True, {"asked": 1})
    assert ana.pending.list() == []
    assert counts(ana.maintenance.hygiene()) == {"asked": 1}
    assert counts(ana.maintenance.hygiene()) == {}
    [asked] = ana.pending.list()
    assert (asked.kind, asked.reasons) == ("aged", ("soft_expired",))
    assert [side.content for side in asked.sides] == ["I prefer window seats"]
    quietly(ana, clock, 32)  # nobody answers; it is not asked again, and stays
    report = ana.maintenance.hygiene()
    assert counts(report) == {"reviews_expired": 1}
    assert ana.pending.list() == []
    assert "I prefer window seats" in texts(ana)
    assert counts(ana.maintenance.hygiene()) == {}
    assert ana.audit.verify()


def test_yes_renews_an_old_statement_and_no_ends_it(store, ana, clock):
    ana.remember("I prefer window seats", category="preference")
    ana.remember("I prefer the night train", category="preference")
    quietly(ana, clock, 91)
    ana.maintenance.hygiene()
    asked = {each.sides[0].content: each.id for each in ana.pending.list()}
    assert ana.pending.approve(asked["I prefer window seats"]).kind == "bumped"
    ana.pending.reject(asked["I prefer the night train"])
    assert ana.pending.list() == []
    assert texts(ana) == {"I prefer window seats", "The lamp is brass"}
    [record] = [each for each in ana.list() if "window" in each.content]
    assert record.status == "active"
    assert record.soft_expires_at > clock.now + timedelta(days=80)
    assert ana.audit.verify()


def test_saying_it_again_answers_the_question(store, ana, clock):
    ana.remember("I prefer window seats", category="preference")
    quietly(ana, clock, 91)
    ana.maintenance.hygiene()
    ana.remember("I prefer window seats", category="preference")
    assert ana.pending.list() == []
    [record] = [each for each in ana.list() if "window" in each.content]
    assert record.status == "active"


def test_forgetting_or_replacing_answers_the_question(store, ana, clock):
    ana.remember("I prefer window seats", key="seat", category="preference")
    ana.remember("I prefer the night train", key="train", category="preference")
    quietly(ana, clock, 91)
    assert counts(ana.maintenance.hygiene()) == {"asked": 2}
    ana.forget("seat")
    ana.correct("train", "I prefer the day train")
    assert ana.pending.list() == []


def test_a_stale_inference_counts_half_until_it_is_read(store, ana, clock):
    draft = Draft("The user likes jazz records", source="tool_verified", category="entity_fact")
    found = ana.remember(draft).record
    quietly(ana, clock, 370)
    assert counts(ana.maintenance.hygiene(dry_run=True)) == {"stale_marked": 1}
    assert counts(ana.maintenance.hygiene()) == {"stale_marked": 1}
    assert counts(ana.maintenance.hygiene()) == {}
    assert ana.get(found.id).status == "stale"
    [event] = ana.audit.list(type="stale_marked")
    assert event.reason == "status:stale"
    assert ana.recall("jazz records")[0].id == found.id
    assert counts(ana.maintenance.hygiene()) == {"restored": 1}
    assert ana.get(found.id).status == "active"


def test_what_is_stale_and_contradicted_is_evicted_by_the_next_collection(store, ana, clock):
    timeless = {"source": "tool_verified", "category": "entity_fact"}
    ana.remember(Draft("The staging server is in Oslo", **timeless))
    quietly(ana, clock, 400)
    newer = Draft("The staging server is in Bergen", source="config_change", category="entity_fact")
    assert ana.remember(newer).kind == "review"
    assert counts(ana.maintenance.hygiene()) == {"stale_marked": 1, "evicted": 1}
    assert ana.maintenance.gc(dry_run=True).evicted == 1
    assert ana.maintenance.gc().evicted == 1
    assert "The staging server is in Oslo" not in texts(ana)
    assert [event.reason for event in ana.audit.list(type="evicted")] == ["stale"]


def test_reading_saves_what_was_to_be_evicted(store, ana, clock):
    timeless = {"source": "tool_verified", "category": "entity_fact"}
    ana.remember(Draft("The staging server is in Oslo", **timeless))
    quietly(ana, clock, 400)
    ana.remember(
        Draft("The staging server is in Bergen", source="config_change", category="entity_fact")
    )
    assert ana.maintenance.hygiene().evicted == 1
    assert len(ana.recall("Where is the staging server?")) > 1
    assert ana.maintenance.gc().evicted == 0
    assert "The staging server is in Oslo" in texts(ana)


def test_a_turn_about_the_user_that_was_shown_gets_another_year(store, ana, clock):
    ana.add("I like my desk by the window.")
    quietly(ana, clock, 300)
    assert ana.recall("desk by the window")
    quietly(ana, clock, 50)
    assert counts(ana.maintenance.hygiene()) == {"lengthened": 1}
    quietly(ana, clock, 60)
    ana.maintenance.gc()
    assert "I like my desk by the window." in texts(ana)


def test_a_turn_that_was_never_shown_is_asked_about_before_it_goes(store, ana, clock):
    ana.add("I like my desk by the window.")
    ana.add("Did I lock the bicycle?")
    quietly(ana, clock, 345)
    assert counts(ana.maintenance.hygiene()) == {"asked": 1}
    [asked] = ana.pending.list()
    assert asked.reasons == ("ends",)
    ana.pending.approve(asked.id)
    quietly(ana, clock, 40)
    ana.maintenance.gc()
    assert "I like my desk by the window." in texts(ana)
    assert "Did I lock the bicycle?" not in texts(ana)


def test_no_more_than_a_hundred_questions_wait_and_nothing_goes_unasked(store, ana, clock):
    ana.add([f"I like my desk number {n} by the window." for n in range(110)])
    quietly(ana, clock, 345)
    assert ana.maintenance.hygiene().asked == 100
    assert len(ana.pending.list()) == 100
    quietly(ana, clock, 30)
    ana.maintenance.gc()
    kept = [text for text in texts(ana) if "desk" in text]
    assert len(kept) == 10  # they found no room, and are asked about now
    assert ana.maintenance.hygiene().asked == 10


def test_repeats_that_a_gate_let_through_are_merged(store, ana, monkeypatch):
    with monkeypatch.context() as patch:  # as another embedder or policy might
        patch.setattr("simonides.write.gates.say_the_same", lambda *_: False)
        ana.remember(Draft("Because of work I moved to Berlin in 2020", source="tool_verified"))
        ana.remember("I moved to Berlin in 2020 because of work")
    assert counts(ana.maintenance.hygiene(dry_run=True)) == {"duplicates_found": 1}
    assert counts(ana.maintenance.hygiene()) == {"duplicates_found": 1}
    assert texts(ana) == {"I moved to Berlin in 2020 because of work"}
    [event] = ana.audit.list(type="merged")
    assert event.reason == "repeat"
    assert ana.audit.verify()


def test_two_values_of_one_slot_are_settled_when_a_policy_says_so(open_store, rules):
    if open_store.backend == "memory":
        return
    store = open_store(settings=rules("multi_valued_predicates: [drives]\n"))
    ana = store.memory(user="ana", org="acme")
    for content, value in (("Ana drives a van", "van"), ("Ana drives a truck", "truck")):
        ana.remember(Draft(content, triple=("ana", "drives", value)))
    assert len(texts(ana)) == 2
    store.close()
    ana = open_store().memory(user="ana", org="acme")
    assert counts(ana.maintenance.hygiene()) == {"contradictions_found": 1}
    assert texts(ana) == {"Ana drives a truck"}
    assert counts(ana.maintenance.hygiene()) == {}


def test_a_person_is_asked_about_contradicting_sources_once(store, ana, clock, monkeypatch):
    first = Draft("The staging server is in Oslo", source="tool_verified")
    newer = Draft("The staging server is in Bergen", source="config_change")
    with monkeypatch.context() as patch:
        patch.setattr("simonides.write.gates.cannot_both_hold", lambda *_: False)
        ana.remember(first)
        ana.remember(newer)
    assert counts(ana.maintenance.hygiene()) == {"contradictions_found": 1}
    [asked] = ana.pending.list()
    assert (asked.kind, len(asked.sides)) == ("contradiction", 2)
    ana.pending.resolve(asked.id, keep="both")
    assert counts(ana.maintenance.hygiene()) == {}
    assert len(texts(ana)) == 2


def test_a_question_that_nobody_answered_is_not_asked_again(ana, clock):
    ana.remember(Draft("The staging server is in Oslo", source="tool_verified"))
    ana.remember(Draft("The staging server is in Bergen", source="config_change"))
    assert len(ana.pending.list()) == 1
    ana.recall("staging server")
    clock.advance(days=29)
    ana.recall("staging server")
    ana.remember("The lamp is brass", key="lamp")
    clock.advance(days=2)
    planned = ana.maintenance.hygiene(dry_run=True)
    assert counts(planned) == counts(ana.maintenance.hygiene()) == {"reviews_expired": 1}
    assert counts(ana.maintenance.hygiene()) == {}
    assert ana.pending.list() == []


def test_yes_renews_what_was_first_told_for_a_few_days(ana, clock):
    ana.remember("The car of choice is a van", key="car", ttl_days=2)
    ana.correct("car", "The car of choice is a bus", pinned=True)
    ana.remember(Draft("The car of choice is a bus", key="car", ttl_days=365))
    quietly(ana, clock, 320)
    ana.maintenance.hygiene()
    [asked] = ana.pending.list()
    assert ana.pending.approve(asked.id)
    assert ana.pending.list() == []


def test_a_question_waits_while_the_clock_is_doubted(store, ana, clock):
    ana.remember("I prefer window seats", category="preference")
    quietly(ana, clock, 91)
    ana.maintenance.hygiene()
    clock.advance(days=400)
    store.flush()
    assert ana.audit.list(type="expired") == []
    clock.advance(days=1)
    store.flush()
    [event] = ana.audit.list(type="expired")
    assert event.reason == "no_decision"


def test_no_question_shows_what_has_expired(store, ana, clock):
    ana.remember("I prefer window seats", category="preference", ttl_days=100)
    quietly(ana, clock, 91)
    ana.maintenance.hygiene()
    [asked] = ana.pending.list()
    clock.advance(days=10)
    assert ana.pending.list() == []
    with pytest.raises(simonides.NotFound):
        ana.pending.approve(asked.id)


def test_old_memories_are_screened_by_the_rules_of_today(store, ana, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("simonides.write.judge.find_secrets", lambda _: ())
        assert ana.remember("The company card is 4111 1111 1111 1111")
    ana.remember("The desk is oak")
    monkeypatch.setattr("simonides.life.hygiene.__version__", "of tomorrow")
    assert counts(ana.maintenance.hygiene(dry_run=True)) == {"sensitivity_flagged": 1}
    assert counts(ana.maintenance.hygiene()) == {"sensitivity_flagged": 1}
    assert "4111" not in ana.digest("What is the company card?").text
    [flagged] = ana.audit.list(type="flagged")
    assert flagged.reason.startswith("secret:")
    assert counts(ana.maintenance.hygiene()) == {}
    assert ana.audit.verify()


def test_a_look_waits_where_the_clock_may_be_wrong(store, ana, clock):
    ana.remember("I prefer window seats", category="preference")
    clock.advance(days=400)
    report = ana.maintenance.hygiene()
    assert (report.waits, counts(report)) == (True, {})
    assert ana.pending.list() == []


def test_the_worker_looks_once_a_day(store, ana, clock):
    ana.remember("I prefer window seats", category="preference")
    for _ in range(92):
        clock.advance(days=1)
        store.flush()
        ana.recall("lamp")
        ana.remember("The lamp is brass", key="lamp")
    assert [each.kind for each in ana.pending.list()] == ["aged"]


def test_an_agent_and_another_user_see_no_foreign_questions(store, ana, ben, clock):
    ana.remember(Draft("I prefer window seats", category="preference", purpose="travel"))
    quietly(ana, clock, 91)
    ana.maintenance.hygiene()
    assert ben.pending.list() == []
    assert store.memory(user="ana", org="acme", purpose="work").pending.list() == []
    with pytest.raises(simonides.NotFound):
        ben.pending.approve("00000000")


def test_a_turn_that_was_shown_early_in_its_year_gets_another_one_only(store, ana, clock):
    ana.add("I like my desk by the window.")
    quietly(ana, clock, 40)
    assert ana.recall("desk by the window")
    lengthened = asked = 0
    for _ in range(35):
        quietly(ana, clock, 20)
        report = ana.maintenance.hygiene()
        ana.maintenance.gc()  # it forgets how often memories were read
        lengthened, asked = lengthened + report.lengthened, asked + report.asked
    assert (lengthened, asked) == (1, 1)


def test_what_has_expired_is_not_asked_about_before_it_is_collected(store, ana, clock):
    ana.remember("The guest code is blue", ttl_days=2)
    clock.advance(days=20)
    assert counts(ana.maintenance.hygiene()) == {}
    assert ana.pending.list() == []


def test_what_has_expired_ends_nothing_that_is_in_force(store, ana, clock):
    ana.remember("I moved to Berlin in 2020", pinned=True, ttl_days=2)
    clock.advance(days=3)
    ana.remember("I moved to Berlin in 2020")
    assert counts(ana.maintenance.hygiene()) == {}
    assert ana.maintenance.consolidate().merged == ()
    assert texts(ana) == {"I moved to Berlin in 2020"}


def test_what_the_collection_marks_as_stale_stays_so_while_it_fades(ana, clock):
    guess = {"source": "agent_inferred", "confidence": 0.5, "category": "entity_fact"}
    ana.remember(Draft("She may like blue", key="colour", **guess))
    quietly(ana, clock, 122)  # .5 has faded to .297
    assert ana.maintenance.gc().stale_marked == 1
    assert counts(ana.maintenance.hygiene()).get("restored") is None
    assert ana.get("colour").status == "stale"


def test_a_look_that_found_nothing_does_not_hide_what_comes_later(ana, clock, monkeypatch):
    ana.remember(Draft("The staging server is in Oslo", source="tool_verified"))
    assert counts(ana.maintenance.hygiene()) == {}
    assert counts(ana.maintenance.hygiene()) == {}
    clock.advance(minutes=1)
    with monkeypatch.context() as patch:
        patch.setattr("simonides.write.gates.cannot_both_hold", lambda *_: False)
        ana.remember(Draft("The staging server is in Bergen", source="config_change"))
    assert counts(ana.maintenance.hygiene()) == {"contradictions_found": 1}
    [asked] = ana.pending.list()
    assert asked.kind == "contradiction"


def test_an_owner_without_work_costs_few_transactions(store, ana, clock, monkeypatch):
    ana.remember("The desk is oak")
    quietly(ana, clock, 3)
    store.flush()
    clock.advance(days=1)
    store.flush()
    db, begun = store._engine.db, []
    for name in ("read", "write", "checkpoint"):
        does = getattr(db, name)

        def counted(*given, name=name, does=does, **named):
            begun.append(name)
            return does(*given, **named)

        monkeypatch.setattr(db, name, counted)
    clock.advance(days=1)
    store.flush()
    assert begun.count("checkpoint") == 0
    assert begun.count("write") <= 4
    assert begun.count("read") <= 9
