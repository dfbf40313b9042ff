"""Ids are UUIDv7 for the moment given and rise; alarms ring in their order, whatever they call."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.providers.system import SystemAlarm, SystemClock, SystemIds


@given(st.integers(0, 10**16))
def test_an_id_is_a_uuid_of_version_7_that_carries_its_moment(at_us: int) -> None:
    made = uuid.UUID(SystemIds().new(at_us))

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == at_us // 1000


def test_ids_rise_while_the_clock_stands_still_or_goes_back() -> None:
    ids = SystemIds()
    now = SystemClock().now_us()

    made = [ids.new(now - n) for n in range(10_000)]

    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_many_threads_are_all_different() -> None:
    ids = SystemIds()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ids.new(1_700_000_000_000_000), range(4_000)))

    assert len(set(made)) == len(made)


def test_salts_are_sixteen_bytes_and_never_the_same() -> None:
    salts = {SystemIds().salt() for _ in range(100)}

    assert len(salts) == 100
    assert {len(salt) for salt in salts} == {16}


def test_alarms_ring_once_each_the_earlier_first() -> None:
    rung, done = list[str](), threading.Event()
    alarm = SystemAlarm()

    alarm.after(0.05, lambda: (rung.append("late"), done.set())[0])
    alarm.after(0.0, lambda: rung.append("early"))

    assert done.wait(timeout=60)
    assert rung == ["early", "late"]


def test_an_alarm_that_raises_does_so_loudly_and_the_others_ring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard, done = list[str](), threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda args: heard.append(str(args.exc_value)))

    def fails() -> None:
        raise ValueError("on purpose")

    SystemAlarm().after(0.05, done.set)
    SystemAlarm().after(0.0, fails)

    assert done.wait(timeout=60)
    assert heard == ["on purpose"]
