"""Ids are UUIDv7 for the moment given, and rise within a process whatever the clock does."""

import uuid
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from memstrata.adapters.system import SystemClock, SystemIds


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
