"""How ranking weighs the evidence, on small cases."""

import pytest

import simonides
from simonides import Draft

BUDGET = "The budget for the party is 900 euros"
SESSION = [BUDGET, "Sounds lovely", "The tent is green", "And the budget?", BUDGET, "Understood"]


@pytest.fixture
def memory():
    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        drafts = [
            Draft(
                text,
                kind="episodic",
                category="turn",
                session="party",
                position=place,
                speaker="assistant" if place % 2 else "user",
            )
            for place, text in enumerate(SESSION)
        ]
        memory.remember_many(drafts)
        yield memory


def test_a_turn_of_a_talk_prefers_the_first_turn_of_a_session(memory):
    first, second = memory.recall("Great. Let's go on with the budget for the party!", limit=2)
    assert [first.record.position, second.record.position] == [0, 4]
    assert first.why["opening"] > 0
    assert "opening" not in second.why


def test_a_question_does_not_prefer_the_first_turn_of_a_session(memory):
    hits = memory.recall("What is the budget for the party?", limit=6)
    assert len(hits) == 6
    assert not any("opening" in hit.why for hit in hits)


@pytest.mark.real_encoder
def test_a_turn_is_found_by_the_turn_next_to_it():
    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        talk = memory.session("one")
        talk.add("What did the vet say about the rabbit?")
        talk.add({"role": "assistant", "content": "Two drops in each eye, mornings."})
        for place in ("Rome", "Oslo", "Bergen", "Kyoto"):
            memory.session(place).add(f"The train from {place} leaves at ten.")
        found = memory.recall("What is wrong with the rabbit, what did the vet prescribe?", limit=2)
        assert "Two drops" in found[1].content
        assert found[1].why["window"] > found[1].why.get("words", 0.0)


@pytest.mark.real_encoder
def test_a_hit_says_which_words_met():
    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        memory.remember_many(
            [Draft("My manager wants the report on Monday"), Draft("He will send two pages")]
        )
        question = "What does my boss want on Monday?"
        [hit] = memory.recall(question, limit=1)
        assert {"Monday": "Monday", "boss": "manager"}.items() <= {
            pair.asked: pair.found for pair in hit.met
        }.items()
        likeness = [pair.likeness for pair in hit.met]
        assert likeness == sorted(likeness, reverse=True)
        assert all(0.5 <= like <= 1.0 for like in likeness)
        assert memory.explain(hit, question).met == hit.met
        assert hit.to_dict()["met"][0]["asked"] == "Monday"


@pytest.mark.parametrize("embedder", [None, "none"])
def test_words_in_common_meet_each_word_of_the_question_once(embedder):
    with simonides.open(":memory:", embedder=embedder) as store:
        memory = store.memory(user="ana")
        memory.remember("I prefer 'aisle' seats, and the seat must be big", key="window")
        query = "Is the seat at the window an aisle seat? And the drink?"
        [hit] = memory.recall(query)
        assert sorted((pair.asked, pair.found) for pair in hit.met) == [
            ("aisle", "aisle"), ("seat", "seats"),
        ]  # fmt: skip
        assert [pair.likeness for pair in hit.met] == pytest.approx([1.0, 1.0], abs=0.05)
        many = "rose lily oak elm fern moss reed ivy"
        memory.remember(many)
        assert len(memory.recall(many, limit=1)[0].met) == 6


@pytest.mark.real_encoder
def test_a_task_finds_the_rule_that_shares_no_word_with_it():
    rule = "Keep every answer under two hundred words."
    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        facts = ("My sister lives in Leeds.", "The choir sings on Mondays.", "I met the mayor.")
        for text in (rule, *facts):
            memory.remember(text)
        task = memory.recall("Draft a note to the plumber", limit=4)
        assert task[0].content == rule
        assert task[0].why["wish"] > 1.0
        question = memory.recall("Where does my sister live?", limit=4)
        assert question[0].content != rule
        assert all(hit.why["wish"] < 0.5 for hit in question)
        turn = memory.recall("Great. Please draft a note to the plumber!", limit=4)
        assert not any("wish" in hit.why for hit in turn)


def test_an_embedder_without_heads_knows_no_wishes(memory):
    assert not any("wish" in hit.why for hit in memory.recall("Plan the party", limit=6))


def test_a_row_beyond_the_candidates_follows_in_the_order_of_the_first_stage(monkeypatch):
    monkeypatch.setattr("simonides.recall.rank.CANDIDATES", 2)
    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        memory.remember_many([Draft(f"tea {'cup ' * n}number {n}") for n in range(8)])
        hits = memory.recall("tea cup number 3", limit=8)
        assert len({hit.id for hit in hits}) == 8
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert [("window" in hit.why) for hit in hits] == [True] * 2 + [False] * 6
        assert all(hit.relevance == hits[1].relevance for hit in hits[2:])


def test_a_query_without_tokens_is_answered(memory):
    for query in ("\U0001f389", "   ", "", "的"):
        assert isinstance(memory.recall(query), simonides.Recall)
        memory.digest(query)
