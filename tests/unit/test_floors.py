"""The floor moves by what answers use, one step at a time and within its limits."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.codecs.from_dict import read_value
from simonides.domain.policy.floors import (
    FeedbackRules,
    FloorState,
    Served,
    observed,
)
from simonides.domain.reading.cue import Cue
from simonides.domain.reading.receipt import Ranking, Receipt, Shown
from simonides.domain.scope import Scope

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULES = FeedbackRules(reads=10)
BASE = 0.75


def served(number: int, *, hit: bool, vain: bool = False) -> Served:
    return Served(NOW, f"read-{number}", hit, hit or vain, vain)


def after(state: FloorState, seen: list[Served], rules: FeedbackRules = RULES) -> FloorState:
    for one in seen:
        state = state.after(one, BASE, rules)
    return state


def reads(hits: int, vain: int = 0, of: int = 10) -> list[Served]:
    """Reads of which some have hits, some are in vain, and the others were shown nothing."""
    return [served(n, hit=n < hits, vain=hits <= n < hits + vain) for n in range(of)]


@pytest.mark.parametrize(
    ("hits", "vain", "floor"),
    [
        pytest.param(2, 0, 0.7, id="few hits lower it"),
        pytest.param(2, 1, 0.7, id="also where little was in vain"),
        pytest.param(3, 0, 0.75, id="three in ten are enough"),
        pytest.param(6, 4, 0.75, id="four in vain of ten are borne"),
        pytest.param(5, 5, 0.8, id="more of them raise it"),
        pytest.param(1, 1, 0.8, id="of those that were shown anything"),
        pytest.param(0, 10, 0.8, id="noise without a hit raises it too"),
    ],
)
def test_ten_reads_decide_one_step(hits: int, vain: int, floor: float) -> None:
    state = after(FloorState(), reads(hits, vain))

    assert state.floor(BASE, RULES) == floor
    assert state.hit_rate == hits / 10
    assert state.false_positives == pytest.approx(vain / max(hits + vain, 1), abs=1e-6)
    assert state.reads == state.admitted == 0


def test_until_then_nothing_moves() -> None:
    state = after(FloorState(), reads(0, of=9))

    assert state.floor(BASE, RULES) == BASE
    assert state.reads == 9


def test_one_read_counts_once() -> None:
    state = after(FloorState(), [served(1, hit=False)] * 20)

    assert (state.reads, state.floor(BASE, RULES)) == (1, BASE)


def test_it_stops_at_its_limits_and_never_crosses_them() -> None:
    low = after(FloorState(), reads(0, of=200))
    high = after(FloorState(), reads(0, 200, of=200))

    assert (low.floor(BASE, RULES), high.floor(BASE, RULES)) == (0.5, 0.95)
    # A policy beyond a limit is the policy's own will.
    assert low.floor(0.3, RULES) == 0.3
    assert high.floor(0.98, RULES) == 0.98
    assert high.floor(0.0, RULES) == 0.0
    assert low.floor(BASE, replace(RULES, enabled=False)) == BASE


@given(
    st.lists(st.sampled_from(["hit", "vain", "nothing"]), max_size=120),
    st.floats(0.05, 1.0).map(lambda value: round(value, 2)),
)
def test_whatever_comes_it_moves_by_single_steps_between_the_limits(
    seen: list[str], base: float
) -> None:
    state = FloorState()
    for number, what in enumerate(seen):
        before = state.floor(base, RULES)
        one = served(number, hit=what == "hit", vain=what == "vain")
        state = state.after(one, base, RULES)
        now = state.floor(base, RULES)

        assert abs(now - before) <= RULES.step + 1e-9
        assert min(base, RULES.least) <= now <= max(base, RULES.most)
        assert state.reads < RULES.reads
        assert read_value(FloorState, "feedback", state.to_dict()) == state


def receipt(floor: float | None, *shown: tuple[str, float, float]) -> Receipt:
    ana = Scope.of_user("acme", "ana")
    returned = tuple(
        Shown(id, 1, None, score, {"relevance": score, "preference_bias": bias})
        for id, score, bias in shown
    )
    return Receipt(
        cue=Cue("where?", 5, (ana,), floor=floor),
        reader=ana,
        at=NOW,
        seen=(),
        ranking=Ranking("r", "f", "s", "a", None),
        policy="p",
        considered=9,
        returned=returned,
    )


@pytest.mark.parametrize(
    ("floor", "shown", "used", "expected"),
    [
        pytest.param(0.75, [("a", 0.9, 0), ("b", 0.8, 0)], "a", "hit", id="one of two"),
        pytest.param(0.75, [("a", 0.9, 0), ("b", 0.8, 0)], "", "vain", id="none of two"),
        pytest.param(0.75, [], "", "nothing", id="an empty digest is a miss"),
        pytest.param(0.75, [("a", 0.1, 0)], "a", "exempt", id="what is exempt makes hits"),
        pytest.param(0.75, [("a", 0.1, 0)], "", "nothing", id="and no false positives"),
        pytest.param(0.75, [("a", 0.1, 0), ("b", 0.8, 0)], "a", "both", id="nor excuses others"),
        pytest.param(None, [("a", 0.1, 0)], "a", "nothing", id="below it would not be shown"),
        pytest.param(None, [("a", 0.1, 0.4)], "a", "exempt", id="a biased preference would"),
        pytest.param(0.2, [("a", 0.5, 0)], "a", "nothing", id="a caller's lower floor"),
    ],
)
def test_what_a_read_says_of_the_floor(
    floor: float | None, shown: list[tuple[str, float, float]], used: str, expected: str
) -> None:
    seen = observed(receipt(floor, *shown), set(used), BASE)

    assert seen is not None
    assert (seen.hit, seen.admitted, seen.vain) == {
        "hit": (True, True, False),
        "vain": (False, True, True),
        "nothing": (False, False, False),
        "exempt": (True, False, False),
        "both": (True, True, True),
    }[expected]


def test_a_callers_higher_floor_says_nothing() -> None:
    assert observed(receipt(0.9), set(), BASE) is None
    assert observed(receipt(0.1), set(), 0.0) is None
