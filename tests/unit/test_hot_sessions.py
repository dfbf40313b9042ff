"""What of sessions stays in memory: under its bounds, and never anything but what was put there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from simonides.domain.conversation.session import (
    Entry,
    EntryKind,
    Eviction,
    Logged,
    SessionRules,
)
from simonides.domain.scope import Scope
from simonides.engine.recall.warm_sessions import WarmSession, WarmSessions
from simonides.testing.samples import ALICE, BOB

MINUTE = 60_000_000


def entries(first: int, count: int = 1) -> list[Logged]:
    return [
        Logged(number, number, Entry(kind=EntryKind.TURN, text=f"turn {number}"))
        for number in range(first, first + count)
    ]


def numbers(found: tuple[Logged, ...]) -> list[int]:
    return [logged.number for logged in found]


def hot(**rules: object) -> WarmSession:
    return WarmSession(SessionRules(**rules))  # type: ignore[arg-type]


def test_no_more_than_the_bound_stay_and_the_newest_do() -> None:
    session = hot(hot_entries=3)

    session.put(entries(0, 5), now=0)

    assert numbers(session.tail(0)) == [2, 3, 4]


def test_by_default_a_hundred_stay_for_an_hour() -> None:
    session = hot()
    session.put(entries(0, 150), now=0)

    assert len(session) == 100
    assert len(session.tail(59 * MINUTE)) == 100
    assert session.tail(2 * 59 * MINUTE + 2 * MINUTE) == ()


def test_of_a_full_set_lru_spares_what_was_read() -> None:
    lru, fifo = hot(hot_entries=3), hot(hot_entries=3, eviction=Eviction.FIFO)
    for session in (lru, fifo):
        session.put(entries(0, 3), now=0)
        session.put(entries(0), now=1)  # Used again.
        session.put(entries(3), now=2)

    assert lru._kept.keys() == {0, 2, 3}
    assert fifo._kept.keys() == {1, 2, 3}


def test_with_ttl_each_entry_has_its_own_time_whoever_reads_it() -> None:
    session = hot(eviction=Eviction.TTL)
    session.put(entries(0), now=0)
    session.put(entries(1), now=30 * MINUTE)
    session.tail(45 * MINUTE)

    assert numbers(session.tail(61 * MINUTE)) == [1]
    assert numbers(session.tail(91 * MINUTE)) == []


def test_a_gap_ends_the_tail() -> None:
    session = hot()
    session.put(entries(0, 2), now=0)
    session.put(entries(5, 2), now=0)

    assert numbers(session.tail(0)) == [5, 6]
    assert numbers(session.tail(0, after=5)) == [6]
    assert numbers(session.tail(0, after=6)) == []


def test_one_user_s_sessions_share_a_bound_and_another_s_do_not_count() -> None:
    sessions = WarmSessions(SessionRules(hot_entries=10, hot_entries_per_user=15))
    for name in ("old", "new"):
        sessions.of(ALICE, name).put(entries(0, 10), now=0)
    sessions.of(BOB, "other").put(entries(0, 10), now=0)

    sessions.settle(ALICE)

    assert [len(sessions.of(ALICE, name)) for name in ("old", "new")] == [5, 10]
    assert len(sessions.of(BOB, "other")) == 10


def test_of_many_sessions_those_used_last_stay() -> None:
    sessions = WarmSessions(SessionRules(hot_sessions=2))
    for name in ("a", "b", "a", "c"):
        sessions.of(ALICE, name).put(entries(0), now=0)

    assert len(sessions) == 2
    assert [len(sessions.of(ALICE, name)) for name in ("c", "a", "b")] == [1, 1, 0]


def test_what_was_derived_goes_with_the_session() -> None:
    sessions = WarmSessions(SessionRules())
    kept = sessions.of(ALICE, "s")
    kept.derived["facts"] = 1

    sessions.forget(ALICE)

    assert (kept.derived, len(sessions)) == ({}, 0)


@given(
    st.lists(
        st.tuples(st.sampled_from(("of", "of", "of", "settle", "forget", "end")),
                  st.sampled_from((ALICE, BOB)), st.sampled_from("abcd")),
        max_size=40,
    )
)  # fmt: skip
def test_whoever_comes_and_goes_the_bounds_hold(steps: list[tuple[str, Scope, str]]) -> None:
    rules = SessionRules(hot_entries=4, hot_entries_per_user=6, hot_sessions=3)
    sessions, order = WarmSessions(rules), list[tuple[Scope, str]]()
    for step, owner, name in steps:
        if step == "of":
            sessions.of(owner, name).put(entries(0, 4), now=0)
            order = [*(each for each in order if each != (owner, name)), (owner, name)][-3:]
        elif step == "settle":
            sessions.settle(owner)
            held = [len(sessions.of(*each)) for each in order if each[0] == owner]
            order.sort(key=lambda each: each[0] == owner)
            assert sum(held) <= 6
        else:
            sessions.forget(owner, None if step == "forget" else name)
            gone = (owner,) if step == "forget" else (owner, name)
            order = [each for each in order if each[: len(gone)] != gone]

        assert len(sessions) == len(order)


@given(st.sampled_from(Eviction), st.lists(st.integers(0, 20), max_size=30), st.integers(0, 6))
def test_no_order_of_putting_breaks_the_bound(
    eviction: Eviction, order: list[int], most: int
) -> None:
    session = hot(hot_entries=most, eviction=eviction)
    for now, number in enumerate(order):
        session.put(entries(number), now=now)

        assert len(session) <= most
        tail = numbers(session.tail(now))
        assert tail == list(range(session.newest + 1 - len(tail), session.newest + 1))


class HotLog(RuleBasedStateMachine):
    """A log that grows, is read and lies idle, beside the list that it is."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Logged] = []
        self.now = 0
        self.session = hot(hot_entries=5, hot_minutes=1.0)

    @rule(count=st.integers(1, 7))
    def grow(self, count: int) -> None:
        new = entries(len(self.log), count)
        self.log += new
        self.session.put(new, self.now)

    @rule(minutes=st.sampled_from([0.4, 0.6, 2.0]))
    def lie_idle(self, minutes: float) -> None:
        self.now += round(minutes * MINUTE)

    @rule()
    def end(self) -> None:
        self.log.clear()
        self.session.clear()

    @invariant()
    def the_tail_is_an_end_of_the_log(self) -> None:
        tail = [*self.session.tail(self.now)]

        assert len(tail) <= 5
        assert tail == self.log[len(self.log) - len(tail) :]


TestHotLog = HotLog.TestCase


@pytest.mark.parametrize("eviction", list(Eviction))
def test_a_clock_that_goes_back_loses_nothing(eviction: Eviction) -> None:
    session = hot(eviction=eviction)
    session.put(entries(0, 2), now=100 * MINUTE)

    assert numbers(session.tail(10 * MINUTE)) == [0, 1]
