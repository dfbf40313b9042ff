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


def test_a_question_in_the_first_person_prefers_the_first_turn_of_a_session(memory):
    first, second = memory.recall("What is my budget for the party?", limit=2)
    assert [first.record.position, second.record.position] == [0, 4]
    assert first.why["opening"] > 0
    assert "opening" not in second.why


def test_another_question_does_not_prefer_the_first_turn_of_a_session(memory):
    hits = memory.recall("What is the budget for the party?", limit=6)
    assert len(hits) == 6
    assert not any("opening" in hit.why for hit in hits)
