"""Reading sees the age of what an agent inferred."""

import pytest

from simonides import Draft

GUESS = {"source": "agent_inferred", "confidence": 0.6, "category": "entity_fact"}


@pytest.fixture
def guess(ana):
    return ana.remember(Draft("Ana likes jazz concerts", key="music", **GUESS)).record


def test_an_inference_is_told_listed_and_filtered_by_what_is_left_of_its_confidence(
    ana, guess, clock
):
    clock.advance(days=120)
    assert ana.get("music").confidence == 0.4
    assert [each.confidence for each in ana.list()] == [0.4]
    sure = {"confidence": {"$gte": 0.5}}
    assert list(ana.list(filter=sure)) == []
    assert list(ana.recall("jazz concerts", filter=sure)) == []
    [hit] = ana.recall("jazz concerts")
    assert hit.record.confidence == 0.4
    assert " 0.4, unverified" in ana.digest("Which concerts does Ana like?").text
    assert ana.history("music")[0].confidence == 0.6


def test_a_doubtful_inference_is_possibly_relevant_at_most_until_it_is_confirmed(ana, guess, clock):
    def parts():
        digest = ana.digest("Which jazz concerts does Ana like?")
        return [item.part for item in digest.items if "jazz" in item.line]

    assert parts() == ["relevant"]
    clock.advance(days=200)
    assert parts() == ["possible"]
    ana.confirm("music")
    assert parts() == ["relevant"]
    assert ana.get("music").confidence == 0.6


def test_a_task_is_not_told_a_doubtful_inference(ana, guess, clock):
    assert "likes jazz" in ana.task("Book jazz concerts that Ana likes", name="soon").prompt()
    clock.advance(days=200)
    later = ana.task("Book jazz concerts that Ana likes", name="later").prompt()
    assert "likes jazz" not in later
    assert "likes jazz" in ana.digest("Which jazz concerts does Ana like?").text


def test_a_promoted_inference_is_as_sure_as_it_is_by_then(store, ana, guess, clock):
    store.admin("root").grant("ana", "org_write", org="acme")
    clock.advance(days=60)
    assert ana.promote("music").record.confidence == 0.5


def test_what_the_user_stated_does_not_fade(ana, clock):
    ana.remember("Ana likes rock concerts", key="music", category="preference")
    clock.advance(days=600)
    assert ana.get("music").confidence == 1.0


def test_a_prompt_asks_to_verify_what_is_new_and_unverified(ana, guess, clock):
    about = "Which jazz concerts does Ana like?"
    assert "unverified, verify with the user]" in ana.digest(about).text
    clock.advance(minutes=61)
    assert "unverified]" in ana.digest(about).text
    assert "verify with the user" not in ana.digest(about).text


def test_of_two_inferences_the_fresh_one_comes_first(ana, clock):
    ana.remember(Draft("The best jazz club is Hot Spot", **GUESS))
    clock.advance(days=250)
    ana.remember(Draft("The best jazz club is Cool Place", **GUESS))
    hits = ana.recall("best jazz club")
    assert [hit.record.confidence for hit in hits] == [0.6, 0.18]


def test_a_replayed_digest_tells_the_confidence_of_its_moment(ana, guess, clock):
    digest = ana.digest("Which jazz concerts does Ana like?")
    clock.advance(days=29)
    assert ana.receipts.replay(digest.receipt).text == digest.text


def test_a_reading_of_the_past_tells_the_confidence_of_then(ana, guess, clock):
    then = clock.now
    clock.advance(days=120)
    [hit] = ana.recall("jazz concerts", known_at=then)
    assert hit.record.confidence == 0.6


def test_a_memory_grows_stale_with_age_and_without_reads(store, ana, clock):
    def staleness(key):
        return ana.get(key).staleness_at(clock.now)

    ana.remember("The spare key lies under the green pot", key="spare_key")
    ana.remember(Draft("Water boils at 100 degrees", key="water", timeless=True))
    assert (staleness("spare_key"), staleness("water")) == (0.3, 0.3)
    ana.recall("where is the spare key")
    store.flush()
    assert staleness("spare_key") == 0.0
    clock.advance(days=365)
    assert (staleness("spare_key"), staleness("water")) == (0.7, 0.3)
    assert ana.explain("spare_key", "spare key").staleness == 0.7
    ana.confirm("spare_key")
    assert staleness("spare_key") == 0.3


def test_a_contradiction_makes_a_memory_staler(ana, clock):
    ana.remember(Draft("The office is not closed on Mondays", source="tool_verified"))
    outcome = ana.remember(Draft("The office is closed on Mondays", source="user_stated"))
    assert outcome.kind == "review"
    assert ana.get(outcome.record).staleness_at(clock.now) == 0.6
