"""What has ended is collected, with its bytes, and nothing else."""

import sqlite3
from datetime import timedelta

import pytest

import simonides
from simonides import Draft
from simonides.life import gc
from simonides.testing import ManualClock

INFERRED = "agent_inferred"


def counts(found):
    data = found.to_dict()
    return {name: data[name] for name in data if data[name] and name != "dry_run"}


def texts(memory):
    return {record.content for record in memory.list()}


def test_an_expired_memory_goes_with_its_versions_and_what_names_it(store, ana, clock):
    ana.remember("The guest code is blue", key="code", ttl_days=5)
    ana.correct("code", "The guest code is green")
    ana.remember("The desk is oak")
    assert ana.digest("guest code").receipt.id
    clock.advance(days=6)
    planned = ana.maintenance.gc(dry_run=True)
    assert (planned.dry_run, counts(planned)) == (True, {"hard_expired": 1})
    assert counts(ana.maintenance.gc(dry_run=True)) == {"hard_expired": 1}
    assert counts(ana.maintenance.gc()) == {"hard_expired": 1}
    assert counts(ana.maintenance.gc()) == {}
    assert texts(ana) == {"The desk is oak"}
    with pytest.raises(simonides.NotFound):
        ana.history("code")
    collected = ana.audit.list(type="collected")
    assert [event.reason for event in collected] == ["expired", "expired"]
    assert ana.audit.verify()
    # It was not forgotten on request, so it may be learned again.
    assert ana.remember(Draft("The guest code is blue", key="code", source=INFERRED))


def test_the_bytes_of_what_was_collected_are_gone(tmp_path):
    path, clock = tmp_path / "m.db", ManualClock()
    with simonides.open(path, clock=clock, embedder="none") as store:
        ana = store.memory(user="ana")
        ana.remember("Zanzibar is the password hint", ttl_days=1)
        clock.advance(days=2)
        ana.maintenance.gc()
    assert all(b"Zanzibar" not in file.read_bytes() for file in tmp_path.iterdir())


def test_what_was_learned_from_an_expired_turn_stays(store, ana, clock):
    ana.add("I am allergic to peanuts.")
    clock.advance(days=300)
    ana.remember("The desk is oak")
    clock.advance(days=20)
    ana.remember("The chair is ash")
    clock.advance(days=20)
    ana.remember("The lamp is brass")
    clock.advance(days=26)
    assert counts(ana.maintenance.gc())["hard_expired"] == 1
    assert "peanuts" in ana.digest().text
    assert ana.audit.verify()


def test_soft_expiry_takes_what_nobody_read_and_the_user_did_not_state(store, ana, clock):
    said = {
        "The user stated this": {},
        "A tool found the first host": {"source": "tool_verified"},
        "A tool found the second host": {"source": "tool_verified"},
        "A tool pinned the third host": {"source": "tool_verified", "pinned": True},
    }
    for content, fields in said.items():
        ana.remember(Draft(content, **fields))
    clock.advance(days=29)
    assert counts(ana.maintenance.gc()) == {}
    clock.advance(days=3)
    ana.recall("second host", limit=1)
    assert counts(ana.maintenance.gc(accept_clock=True)) == {"soft_expired": 1}
    assert texts(ana) == set(said) - {"A tool found the first host"}
    [event] = ana.audit.list(type="evicted")
    assert event.reason == "soft_expired"


def test_old_versions_are_purged_and_the_current_one_stays(store, ana, clock):
    ana.remember("Tea", key="drink")
    clock.advance(days=10)
    ana.remember("Coffee", key="drink")
    clock.advance(days=80)
    ana.remember("Water", key="drink")
    assert counts(ana.maintenance.gc()) == {}
    clock.advance(days=11)
    assert counts(ana.maintenance.gc()) == {"superseded_old": 1}
    assert [each.content for each in ana.history("drink")] == ["Coffee", "Water"]
    assert ana.get("drink").content == "Water"
    assert ana.audit.verify()


def test_an_inference_that_decayed_is_marked_stale_unless_it_is_confirmed(store, ana, clock):
    for key, confidence in {"music": 0.5, "weather": 0.5, "season": 0.9}.items():
        ana.remember(
            Draft(
                f"She may like the {key}",
                source=INFERRED,
                confidence=confidence,
                key=key,
                category="entity_fact",
            )
        )
    ana.confirm("weather")
    for _ in range(5):
        clock.advance(days=25)
        ana.remember("She called today")
    assert counts(ana.maintenance.gc())["stale_marked"] == 1
    assert {key: ana.get(key).status for key in ("music", "weather", "season")} == {
        "music": "stale", "weather": "active", "season": "active",
    }  # fmt: skip
    assert "stale?" in ana.get("music").warnings(clock.now)


def test_a_clock_far_ahead_collects_nothing_for_a_day(store, ana, clock):
    ana.remember("The guest code is blue", ttl_days=5)
    clock.advance(days=365)
    waiting = ana.maintenance.gc()
    assert waiting.waits_until == clock.now + timedelta(days=1)
    assert counts(ana.maintenance.gc()) == {"waits_until": waiting.to_dict()["waits_until"]}
    clock.advance(hours=-24 * 365)
    assert texts(ana) == {"The guest code is blue"}
    clock.advance(days=365)
    clock.advance(hours=25)
    store.flush()
    assert ana.audit.list(type="collected")


def test_a_clock_that_is_wrong_twice_collects_nothing(store, ana, clock):
    for code in ("blue", "green"):
        ana.remember(f"The guest code is {code}", key=code, ttl_days=100)
        now = clock.now
        clock.advance(days=400)
        store.flush()
        clock.set(now)
        clock.advance(days=2)
    assert texts(ana) == {"The guest code is blue", "The guest code is green"}
    assert ana.audit.list(type="collected") == []


def test_a_conversation_that_ends_by_a_wrong_clock_is_no_sign_of_life(store, ana, clock):
    ana.session("monday").add("The train leaves at nine")
    for code in ("blue", "green"):
        ana.remember(f"The guest code is {code}", key=code, ttl_days=100)
        now = clock.now
        clock.advance(days=400)
        store.flush()  # the conversation ends, which leaves no event
        ana.maintenance.gc()
        clock.set(now)
    assert texts(ana) >= {"The guest code is blue", "The guest code is green"}
    assert ana.audit.list(type="collected") == []


def test_a_job_of_the_worker_lets_nobody_trust_a_clock_far_ahead(store, ana, clock):
    ana.session("monday").add("I like my desk by the window")
    ana.remember(Draft("The server is in Oslo", source="tool_verified", category="entity_fact"))
    asked = ana.remember(
        Draft("The server is in Bergen", source="config_change", category="entity_fact")
    )
    assert asked.kind == "review"
    before, now = texts(ana), clock.now
    clock.advance(days=400)
    store.flush()  # the conversation ends; the question does not
    store.flush()
    assert ana.maintenance.gc().waits_until == clock.now + timedelta(days=1)
    assert ana.maintenance.hygiene().waits
    clock.set(now)
    assert before <= texts(ana)
    assert [each.kind for each in ana.pending.list()] == ["contradiction"]
    assert ana.audit.list(type="collected") == ana.audit.list(type="evicted") == []


def test_after_a_day_a_clock_far_ahead_is_trusted_whatever_the_worker_did(store, ana, clock):
    ana.session("monday").add("I like my desk by the window")
    ana.remember("The guest code is blue", ttl_days=5)
    clock.advance(days=400)
    store.flush()
    assert ana.audit.list(type="collected") == []
    clock.advance(days=1)
    store.flush()
    assert ana.audit.list(type="collected")


def test_the_worker_collects_again_once_the_clock_is_set_right(store, ana, clock):
    ana.remember("The guest code is blue", ttl_days=3)
    now = clock.now
    clock.advance(days=400)
    store.flush()
    clock.set(now)
    for _ in range(4):
        clock.advance(days=1)
        store.flush()
    assert [event.reason for event in ana.audit.list(type="collected")] == ["expired"]


def test_no_question_is_left_about_what_was_collected(open_store, rules):
    store, clock = open_store(settings=rules("gates: {review_days: 90}\n")), open_store.clock
    ana = store.memory(user="ana", org="acme")
    for city, source in (("Oslo", "tool_verified"), ("Bergen", "config_change")):
        ana.remember(Draft(f"The server is in {city}", source=source))
    assert len(ana.pending.list()) == 1
    clock.advance(days=31)
    assert ana.maintenance.gc(accept_clock=True).soft_expired == 2
    assert ana.pending.list() == []


def test_the_worker_collects_daily(store, ana, clock):
    ana.remember("The guest code is blue", ttl_days=1.5)
    ben = store.memory(user="ben", org="acme")
    ben.remember("The guest code is red", ttl_days=1.5)
    clock.advance(days=1)
    store.flush()
    assert ana.audit.list(type="collected") == ben.audit.list(type="collected")
    clock.advance(days=1, hours=1)
    store.flush()
    assert [len(each.audit.list(type="collected")) for each in (ana, ben)] == [1, 1]


def test_collecting_many_goes_in_slices(tmp_path):
    clock = ManualClock()
    with simonides.open(tmp_path / "m.db", clock=clock, embedder="none") as store:
        ana = store.memory(user="ana")
        ana.remember_many([Draft(f"Ticket {n} is open", ttl_days=1) for n in range(150)])
        ana.remember("The desk is oak")
        clock.advance(days=2)
        assert ana.maintenance.gc().hard_expired == 150
        assert texts(ana) == {"The desk is oak"}
    rows = sqlite3.connect(tmp_path / "m.db").execute("SELECT COUNT(*) FROM memories").fetchone()
    assert rows == (1,)


@pytest.mark.parametrize("change", ["say", "pin", "confirm"])
def test_what_changes_while_a_collection_runs_stays(store, ana, clock, monkeypatch, change):
    fact = Draft("A tool found the first host", key="host", source="tool_verified")
    guess = Draft("Rain", key="weather", source=INFERRED, confidence=0.5, category="entity_fact")
    ana.remember(guess if change == "confirm" else fact)
    clock.advance(days=130 if change == "confirm" else 32)
    take = gc._take

    def changed(*given):
        if change == "say":
            ana.remember(fact)
        elif change == "pin":
            ana.correct("host", pinned=True)
        else:
            ana.confirm("weather")
        return take(*given)

    monkeypatch.setattr(gc, "_take", changed)
    assert sum(counts(ana.maintenance.gc(dry_run=True, accept_clock=True)).values()) == 1
    assert counts(ana.maintenance.gc(accept_clock=True)) == {}
    [record] = ana.list()
    assert record.status == "active"


def test_a_dry_run_counts_each_memory_once(store, ana, clock):
    ana.remember("The guest code is blue", key="code", ttl_days=120)
    ana.correct("code", "The guest code is green")
    ana.remember(Draft("She may like jazz", source=INFERRED, confidence=0.5))
    clock.advance(days=130)
    planned = ana.maintenance.gc(dry_run=True, accept_clock=True)
    assert counts(planned) == {"hard_expired": 1, "soft_expired": 1}
    assert counts(ana.maintenance.gc(accept_clock=True)) == counts(planned)
