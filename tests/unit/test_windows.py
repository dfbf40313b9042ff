"""Figures of the last while: a ring of spans tells what a list of all that happened would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides import ConfigurationError
from simonides.domain.operations.metrics import (
    LATENCY_BOUNDS_S,
    THRESHOLDS,
    alerts_of,
    ratio,
    thresholds_with,
)
from simonides.engine.core.counters import Window

HAPPENED = st.lists(st.tuples(st.floats(0, 500), st.integers(0, 5)), max_size=30)


@given(HAPPENED, st.integers(1, 20), st.sampled_from([0.5, 1.0, 7.0]))
def test_a_window_holds_what_happened_within_its_spans(
    happened: list[tuple[float, int]], spans: int, span_s: float
) -> None:
    window = Window(span_s=span_s, spans=spans)
    now, told = 1_000.0, []
    for waited, count in happened:
        now += waited
        window.add(count, now)
        told.append((now, count))

        first = now // span_s - spans
        assert window.total(now) == sum(n for at, n in told if at // span_s > first)


def test_what_is_over_is_forgotten_however_long_nobody_asked() -> None:
    window = Window(span_s=1.0, spans=60)
    window.add(7, 10.0)

    assert window.total(69.9) == 7
    assert window.total(70.0) == 0
    assert window.total(1e9) == 0


def test_the_thresholds_are_those_of_the_specification() -> None:
    assert {each.name: each.alert for each in THRESHOLDS} == {
        "writes_per_minute": 50,
        "read_hit_ratio": 0.1,
        "dedup_rate": 0.7,
        "contradictions_per_day": 50,
        "staleness_p50": 0.5,
        "scopes_per_user": 50,
        "pii_blocks_per_day": 20,
    }


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=[each.name for each in THRESHOLDS])
def test_a_figure_alerts_beyond_its_threshold_and_not_at_it(threshold: object) -> None:
    assert isinstance(threshold, type(THRESHOLDS[0]))
    beyond = threshold.alert - 0.01 if threshold.is_floor else threshold.alert + 0.01

    def crossed(value: float | None) -> bool:
        (alert,) = alerts_of({threshold.name: value}, [threshold])
        return alert.crossed

    assert [crossed(beyond), crossed(threshold.alert), crossed(None)] == [True, False, False]


def test_thresholds_can_be_set_by_name() -> None:
    changed = thresholds_with({"dedup_rate": 0.9})

    assert {each.name: each.alert for each in changed}["dedup_rate"] == 0.9
    assert len(changed) == len(THRESHOLDS)
    with pytest.raises(ConfigurationError, match="dedup_rate"):
        thresholds_with({"dedup": 1})


def test_a_ratio_of_few_cases_is_not_told() -> None:
    assert ratio(0, 19) is None
    assert ratio(1, 20) == 0.05


def test_the_bounds_of_latencies_rise() -> None:
    assert [*LATENCY_BOUNDS_S] == sorted(set(LATENCY_BOUNDS_S))
