"""An organisation writes no more in a minute, in a day and in all than its policy says."""

import pytest

import simonides
from simonides import Draft


@pytest.fixture
def limited(open_store, rules):
    return lambda text: open_store(settings=rules(f"quotas: {{{text}}}\n"))


def exceeded(call):
    with pytest.raises(simonides.QuotaExceeded) as caught:
        call()
    return caught.value


def test_a_minute_has_a_limit_and_the_error_says_how_long_to_wait(limited, clock):
    store = limited("writes_per_minute: 3")
    ana = store.memory(user="ana", org="acme")
    ben = store.memory(user="ben", org="acme")
    ana.add(["One thing", "Another thing"])
    ben.remember("The desk is oak")
    clock.advance(seconds=20)
    error = exceeded(lambda: ana.remember("The chair is ash"))
    assert (error.what, error.limit, error.retryable) == ("writes_per_minute", 3, True)
    assert error.retry_after_s == pytest.approx(40)
    assert exceeded(lambda: ben.add("Good day")).what == "writes_per_minute"
    assert {record.content for record in ana.list()} == {"One thing", "Another thing"}
    store.memory(user="cara", org="other").remember("Another organisation has its own limit")
    clock.advance(seconds=error.retry_after_s)
    assert ana.remember("The chair is ash")


def test_what_is_too_much_at_once_is_not_begun(limited):
    ana = limited("writes_per_minute: 3").memory(user="ana", org="acme")
    drafts = [Draft(f"Thing number {n}") for n in range(4)]
    exceeded(lambda: ana.remember_many(drafts))
    assert ana.list() == []
    assert len(ana.remember_many(drafts[:3])) == 3


def test_what_was_resent_is_not_counted(limited):
    ana = limited("writes_per_minute: 3").memory(user="ana", org="acme")
    messages = [{"id": f"m{n}", "role": "user", "content": f"Thing number {n}"} for n in range(3)]
    chat = ana.session("t")
    chat.add(messages)
    assert [line.reasons for line in chat.add(messages).lines] == [("resent",)] * 3


def test_a_day_has_a_limit(limited, clock):
    ana = limited("writes_per_day: 2").memory(user="ana", org="acme")
    ana.remember("The desk is oak")
    clock.advance(hours=5)
    ana.remember("The chair is ash")
    assert exceeded(lambda: ana.remember("The lamp is brass")).retry_after_s == 19 * 3_600
    clock.advance(hours=19)
    assert ana.remember("The lamp is brass")


def test_the_bytes_of_an_organisation_have_a_limit(limited):
    store = limited("bytes: 60")
    ana = store.memory(user="ana", org="acme")
    ben = store.memory(user="ben", org="acme")
    ana.remember("The desk is oak, and it is old", key="desk")  # 30 bytes
    ben.remember("The chair is ash, and new")  # 25 bytes
    error = exceeded(lambda: ben.remember("The lamp is brass"))
    assert (error.what, error.retry_after_s, error.retryable) == ("bytes", None, False)
    ana.forget("desk")
    store._engine.usage.after_fork()  # it is measured again after a minute
    assert ben.remember("The lamp is brass")


def test_processes_share_their_counts_within_seconds(open_store, rules):
    if open_store.backend == "memory":
        return
    settings = rules("quotas: {writes_per_minute: 3}\n")
    first, second = (open_store(settings=settings) for _ in range(2))
    one, other = (store.memory(user="ana", org="acme") for store in (first, second))
    one.remember("The desk is oak")
    one.remember("The chair is ash")
    first._engine.usage.flush()
    other.remember("The lamp is brass")
    assert exceeded(lambda: other.remember("The door is pine")).what == "writes_per_minute"


def test_a_limit_holds_over_a_restart(open_store, rules):
    if open_store.backend == "memory":
        return
    settings = rules("quotas: {writes_per_day: 2}\n")
    with open_store(settings=settings) as store:
        ana = store.memory(user="ana", org="acme")
        ana.remember("The desk is oak")
        ana.remember("The chair is ash")
    ana = open_store(settings=settings).memory(user="ana", org="acme")
    assert exceeded(lambda: ana.remember("The lamp is brass")).what == "writes_per_day"


def test_no_limit_costs_nothing(store, ana):
    for n in range(70):
        ana.remember(f"Thing number {n}")
    assert store._engine.usage._counts == {}
