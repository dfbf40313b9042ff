"""Newcomers against what was there: a model says it where the rules are silent, once."""

from collections.abc import Iterator
from typing import Any

import pytest
from principals import principal_of

from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.operations.hygiene_scan import HygieneReport
from simonides.domain.writing.decision import Outcome
from simonides.engine.hygiene_scan.reconcile import reconcile
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.models import ScriptedModel
from simonides.testing.store_contract import drive

WALK = "I walk to work every morning"
BUS = "I take the bus to work every morning"
AGAIN = "Every morning I go to work on foot, walking"
FAR = "My sister plays the cello"


class Home:
    """A user of an open store with a model, who writes one thing after the other."""

    def __init__(self, model: Any) -> None:
        self.clock = ManualClock()
        self.model = model
        self.store = Store(
            assemble(
                IN_MEMORY,
                settings=Settings(),
                inline=True,
                model=model,
                clock=self.clock,
                ids=CountingIds(),
                alarm=self.clock,
            )
        )
        self.ana = self.store.memory(user="ana")

    def say(self, text: str, **given: Any) -> Outcome:
        self.clock.advance(seconds=5)
        return self.ana.remember(Draft(text, **given))

    def reconcile(self, *outcomes: Outcome) -> HygieneReport:
        runtime, principal = self.store.runtime, principal_of(self.ana)
        policy = runtime.policies.policy_for(principal.home.org)
        return drive(runtime.store, reconcile(runtime, principal, policy, outcomes))

    @property
    def standing(self) -> set[str]:
        return {memory.content for memory in self.ana.list()}


@pytest.fixture
def homes() -> Iterator[Any]:
    made: list[Home] = []

    def make(*answers: Any) -> Home:
        made.append(Home(ScriptedModel(*answers)))
        return made[-1]

    yield make
    for home in made:
        assert home.store.admin(actor="root").check_audit().ok
        home.store.close()


def verdict(relation: str) -> dict[str, Any]:
    return {"verdicts": [{"pair": 0, "relation": relation}]}


def test_an_update_displaces_what_stood(homes: Any) -> None:
    home = homes(verdict("update"))
    home.say(WALK)

    report = home.reconcile(home.say(BUS))

    assert home.standing == {BUS}
    assert (report.asked, report.updates, report.usage.model_calls) == (1, 1, 1)


def test_the_same_in_other_words_is_merged_into_what_stood(homes: Any) -> None:
    home = homes(verdict("same"))
    home.say(WALK)

    report = home.reconcile(home.say(AGAIN))

    assert home.standing == {WALK}
    assert report.duplicates == 1


def test_neither_leaves_both(homes: Any) -> None:
    home = homes(verdict("neither"))
    home.say(WALK)

    home.reconcile(home.say(BUS))

    assert home.standing == {WALK, BUS}


def test_texts_that_differ_in_a_name_are_never_the_same_whatever_a_model_says(
    homes: Any,
) -> None:
    home = homes(verdict("same"))
    home.say("I walk to work with Bob every morning")

    report = home.reconcile(home.say("Every morning I go to work on foot, walking with Eve"))

    assert len(home.standing) == 2
    assert report.diagnostics == ("same_but_unlike",)


def test_what_is_far_from_everything_costs_no_question(homes: Any) -> None:
    home = homes()
    home.say(WALK)

    report = home.reconcile(home.say(FAR))

    assert report.asked == 0
    assert not home.model.asked


def test_all_newcomers_of_a_batch_are_one_question(homes: Any) -> None:
    both = {"verdicts": [{"pair": 0, "relation": "update"}, {"pair": 1, "relation": "neither"}]}
    home = homes(both)
    home.say(WALK)
    home.say("The boat is moored in Porto harbour")

    home.reconcile(home.say(BUS), home.say("The boat sank in Porto harbour"))

    assert len(home.model.asked) == 1


def test_what_moved_while_the_model_was_asked_is_left_and_nobody_is_asked_again(
    homes: Any,
) -> None:
    def meanwhile(_: Any) -> Any:
        (walk,) = [memory for memory in home.ana.list() if memory.content == WALK]
        home.ana.forget(walk.id)
        return verdict("update")

    home = homes(meanwhile)
    home.say(WALK)

    report = home.reconcile(home.say(BUS))

    assert home.standing == {BUS}
    assert report.left == 1
    assert len(home.model.asked) == 1


@pytest.mark.parametrize(
    "garbage", [None, [], {"verdicts": "x"}, verdict("obey"), {"verdicts": []}]
)
def test_after_garbage_the_rules_word_stands_and_it_is_said(homes: Any, garbage: Any) -> None:
    home = homes(garbage)
    home.say(WALK)

    report = home.reconcile(home.say(BUS))

    assert home.standing == {WALK, BUS}
    assert report.diagnostics
