"""The guard around a language model: a circuit that opens, is tried and closes; a limit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from simonides.domain.errors import (
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.domain.writing.decision import Usage
from simonides.ports import Capability, ModelAnswer
from simonides.providers.language_models.circuit_breaker import (
    Breaker,
    Closed,
    GuardedModel,
    HalfOpen,
    Open,
)
from simonides.testing import ManualClock
from simonides.testing.models import ScriptedModel

SENT = Usage(model_calls=1)


def out() -> ModelTimeout:
    return ModelTimeout("status 503", usage=SENT)


def guarded(model: Any, clock: ManualClock, **limits: Any) -> GuardedModel:
    return GuardedModel(
        model, **({"failures": 3, "rest_s": 30.0} | limits), monotonic=clock.monotonic
    )


async def ask(model: GuardedModel, *, deadline_s: float = 10.0) -> ModelAnswer:
    return await model.complete_json(
        system="s", user="u", schema={"type": "object"}, name="n", deadline_s=deadline_s
    )


def told(model: GuardedModel) -> Any:
    """Ask; return the answer's value, or the error's class."""
    try:
        return asyncio.run(ask(model)).value
    except ModelError as error:
        return type(error)


def test_after_failures_in_a_row_nothing_is_asked_for_a_while() -> None:
    clock = ManualClock()
    inner = ScriptedModel(out(), out(), out(), {"fine": True})
    model = guarded(inner, clock)

    assert [told(model) for _ in range(6)] == [ModelTimeout] * 6
    assert len(inner.asked) == 3
    assert isinstance(model.circuit, Open)
    assert model.left_s == 30.0


def test_one_question_tries_it_again_and_its_answer_closes_the_circuit() -> None:
    clock = ManualClock()
    inner = ScriptedModel(out(), out(), out(), {"fine": True}, {"again": True})
    model = guarded(inner, clock)
    for _ in range(3):
        told(model)
    clock.advance(seconds=29.9)
    assert told(model) is ModelTimeout
    clock.advance(seconds=0.1)

    assert told(model) == {"fine": True}
    assert model.circuit == Closed()
    assert told(model) == {"again": True}


def test_a_trial_that_fails_opens_it_for_another_while() -> None:
    clock = ManualClock()
    inner = ScriptedModel(out(), out(), out(), out(), {"fine": True})
    model = guarded(inner, clock)
    for _ in range(3):
        told(model)
    clock.advance(seconds=30)
    told(model)

    assert model.left_s == 30.0
    assert told(model) is ModelTimeout
    assert len(inner.asked) == 4


@pytest.mark.parametrize(
    "error", [ModelGarbled("empty", "nothing", usage=SENT), ModelUnavailable("401", usage=SENT)]
)
def test_a_provider_that_answers_at_all_is_there(error: ModelError) -> None:
    inner = ScriptedModel(out(), out(), error, out(), out(), {"fine": True})
    model = guarded(inner, ManualClock())

    assert [told(model) for _ in range(6)][-1] == {"fine": True}


def test_a_question_that_was_not_sent_for_want_of_time_says_nothing_of_the_provider() -> None:
    unsent = ModelTimeout("no time left", usage=Usage())
    model = guarded(ScriptedModel(*[unsent] * 9, {"fine": True}), ManualClock())

    assert [told(model) for _ in range(10)][-1] == {"fine": True}


def test_what_fails_at_once_carries_no_cost_and_what_was_spent_is_summed() -> None:
    inner = ScriptedModel({"a": 1}, out(), out(), out(), usage=Usage(1, 10, 5))
    model = guarded(inner, ManualClock())
    for _ in range(4):
        told(model)

    with pytest.raises(ModelTimeout, match="next attempt in 30 s") as caught:
        asyncio.run(ask(model))

    assert caught.value.usage == Usage()
    assert model.spent == Usage(4, 10, 5)


class Held:
    """A model whose answers wait until they are let go."""

    capabilities: frozenset[Capability] = frozenset()
    model_id = "held"

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.asked = 0
        self.gate = threading.Event()
        self._lock = threading.Lock()

    async def complete_json(self, **question: Any) -> ModelAnswer:
        with self._lock:
            self.now += 1
            self.asked += 1
            self.most = max(self.most, self.now)
        try:
            while not self.gate.is_set():
                await asyncio.sleep(0.001)
        finally:
            with self._lock:
                self.now -= 1
        return ModelAnswer({}, SENT, "held")

    async def close(self) -> None:
        return


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.001)


def test_no_more_questions_are_under_way_than_the_limit_and_all_are_answered() -> None:
    inner = Held()
    model = guarded(inner, ManualClock(), at_once=3)

    async def many() -> None:
        asking = [asyncio.create_task(ask(model)) for _ in range(10)]
        await until(lambda: inner.asked == 3)
        inner.gate.set()
        await asyncio.gather(*asking)

    asyncio.run(many())

    assert (inner.most, inner.asked) == (3, 10)


def test_the_limit_holds_over_threads_with_event_loops_of_their_own() -> None:
    inner = Held()
    model = guarded(inner, ManualClock(), at_once=2)
    threads = [threading.Thread(target=asyncio.run, args=[ask(model)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    inner.gate.set()
    for thread in threads:
        thread.join(10)

    assert inner.asked == 8
    assert inner.most <= 2


def test_who_waits_for_a_slot_in_vain_is_told_within_his_deadline() -> None:
    inner = Held()
    model = guarded(inner, ManualClock(), at_once=1)

    async def story() -> None:
        first = asyncio.create_task(ask(model))
        await until(lambda: inner.asked == 1)
        with pytest.raises(ModelTimeout, match="no slot free within"):
            await ask(model, deadline_s=0.05)
        inner.gate.set()
        await first
        await ask(model)

    asyncio.run(story())

    assert model.circuit == Closed()


def test_who_gives_up_waiting_takes_no_slot_along() -> None:
    inner = Held()
    model = guarded(inner, ManualClock(), at_once=1)

    async def story() -> None:
        asking = [asyncio.create_task(ask(model)) for _ in range(5)]
        await until(lambda: inner.asked == 1)
        await asyncio.sleep(0)
        for given_up in asking[:4]:
            given_up.cancel()
        await asyncio.wait(asking[:4])
        inner.gate.set()
        await asking[4]
        await ask(model)

    asyncio.run(story())

    assert inner.now == 0


def test_a_trial_that_is_given_up_leaves_the_next_one_to_try() -> None:
    clock = ManualClock()
    breaker = Breaker(failures=1, rest_s=10, monotonic=clock.monotonic)
    turn = breaker.enter()
    assert turn is not None
    breaker.failed(turn)
    clock.advance(seconds=10)
    trial = breaker.enter()
    assert trial is not None
    assert breaker.circuit == HalfOpen()
    assert breaker.enter() is None

    breaker.cancelled(trial)

    assert breaker.enter() is not None


def test_late_news_from_before_the_outage_does_not_count() -> None:
    clock = ManualClock()
    breaker = Breaker(failures=1, rest_s=10, monotonic=clock.monotonic)
    slow, quick = breaker.enter(), breaker.enter()
    assert slow is not None
    assert quick is not None
    breaker.failed(quick)
    clock.advance(seconds=5)

    breaker.failed(slow)
    breaker.answered(slow)

    assert breaker.left_s() == 5


class BreakerMachine(RuleBasedStateMachine):
    """Any order of questions, results and time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.breaker = Breaker(failures=3, rest_s=10, monotonic=self.clock.monotonic)
        self.under_way: list[int] = []

    @rule()
    def begin(self) -> None:
        could = self.breaker.passes()
        turn = self.breaker.enter()
        assert could == (turn is not None)
        if turn is not None:
            self.under_way.append(turn)

    @precondition(lambda self: self.under_way)
    @rule(how=st.sampled_from(["answered", "failed", "cancelled"]), which=st.integers(0, 99))
    def end(self, how: str, which: int) -> None:
        turn = self.under_way.pop(which % len(self.under_way))
        getattr(self.breaker, how)(turn)

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @invariant()
    def never_stuck(self) -> None:
        # A circuit that is half open has exactly the question that will tell.
        if self.breaker.circuit == HalfOpen():
            assert self.under_way.count(self.breaker._generation) == 1
        assert self.breaker.left_s() <= 10

    def teardown(self) -> None:
        for turn in self.under_way:
            self.breaker.cancelled(turn)
        self.clock.advance(seconds=10)
        assert self.breaker.passes()


TestBreaker = BreakerMachine.TestCase


def test_the_guard_is_the_model_to_whoever_asks_it() -> None:
    inner = ScriptedModel({})
    model = guarded(inner, ManualClock())

    asyncio.run(model.close())

    assert model.model_id == "scripted"
    assert Capability.INLINE not in model.capabilities
    assert inner.closed
