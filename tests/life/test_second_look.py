"""Once a day a language model looks at what is new, where the policy asks for it."""

import pytest

from simonides import Draft
from simonides.testing import ScriptedModel

ON = "hygiene: {second_look: true}\n"
FIRST, SECOND = (
    "The team meets in the red room each week",
    "The team meets in the red room no longer",
)


@pytest.fixture
def looked(open_store, rules):
    def made(*answers, text=ON):
        model = ScriptedModel(*answers)
        store = open_store(model=model, settings=rules(text))
        return model, store.memory(user="ana", org="acme")

    return made


def filled(ana):
    ana.remember(Draft(FIRST, source="tool_verified"))
    ana.remember(Draft("The user sees a therapist on Mondays"))
    ana.remember(Draft("The user is allergic to nuts", category="danger"))
    ana.remember(Draft(SECOND, source="config_change"))


def test_a_person_is_asked_about_what_a_model_finds_contradicting(looked):
    answer = {"contradicting": [[0, 3], [1, 2], [7, 9]], "sensitive": []}
    model, ana = looked(answer)
    filled(ana)
    report = ana.maintenance.hygiene()
    prompt = model.asked[-1].prompt
    assert "pairs:" in prompt
    assert FIRST in prompt
    asked = [each for each in ana.pending.list() if each.kind == "contradiction"]
    assert len(asked) == report.contradictions_found == 1  # only a pair that was shown
    assert {record.content for record in ana.list()} >= {FIRST, SECOND}


def test_what_a_model_finds_sensitive_leaves_prompts_and_no_danger_does(looked):
    _, ana = looked({"sensitive": [0, 1, 2, 3, 88]})
    filled(ana)
    report = ana.maintenance.hygiene()
    assert report.sensitivity_flagged == 3
    digest = ana.digest("What does the user do on Mondays, and what about nuts?").text
    assert "therapist" not in digest
    assert "allergic to nuts" in digest
    assert ana.maintenance.hygiene().sensitivity_flagged == 0
    assert ana.audit.verify()


def test_no_model_is_asked_unless_the_policy_says_so(looked):
    model, ana = looked(text="hygiene: {second_look: false}\n")
    filled(ana)
    ana.maintenance.hygiene()
    assert model.asked == []


def test_a_model_that_fails_stops_nothing(looked):
    _, ana = looked(RuntimeError("down"))
    filled(ana)
    report = ana.maintenance.hygiene()
    assert (report.contradictions_found, report.sensitivity_flagged) == (0, 0)


def test_nothing_is_asked_twice(looked, clock):
    model, ana = looked({}, {})
    filled(ana)
    clock.advance(seconds=1)
    ana.maintenance.hygiene()
    clock.advance(seconds=1)
    ana.maintenance.hygiene()
    assert len(model.asked) == 1
