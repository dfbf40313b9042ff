"""One loop for many threads: whoever calls turns it, and nobody waits for ever."""

import asyncio
import os
import signal
import sys
import threading
import time
from concurrent.futures import CancelledError

import pytest

from simonides.api.event_loop import SharedLoop


@pytest.fixture
def shared():
    shared = SharedLoop()
    yield shared
    shared.close()


@pytest.fixture
def restless():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


async def here():
    await asyncio.sleep(0)
    return threading.current_thread()


def in_threads(*targets):
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    return threads


def joined(threads):
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def test_a_caller_turns_the_loop_on_his_own_thread(shared):
    assert shared.run(here()) is threading.current_thread()


def test_calls_of_several_threads_go_on_side_by_side(shared):
    first, second, done = asyncio.Event(), asyncio.Event(), []

    async def one():
        first.set()
        await second.wait()
        done.append(1)

    async def other():
        await first.wait()
        second.set()
        done.append(2)

    joined(in_threads(lambda: shared.run(one()), lambda: shared.run(other())))
    assert sorted(done) == [1, 2]


def test_what_was_handed_over_goes_on_when_the_one_who_turned_is_done(shared):
    begun, told = threading.Event(), []

    async def short():
        begun.set()
        await asyncio.sleep(0.05)

    async def long():
        await asyncio.sleep(0.2)
        return 7

    first = in_threads(lambda: shared.run(short()))
    begun.wait()
    joined([*first, *in_threads(lambda: told.append(shared.run(long())))])
    assert told == [7]
    # The loop's own thread lets go of it as soon as nothing is left.
    deadline = time.monotonic() + 10
    while shared.run(here()) is not threading.current_thread():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_many_threads_get_each_its_own_answer(shared):
    answers = {}

    async def echo(value):
        await asyncio.sleep(0)
        return value

    def ask(number):
        answers[number] = [shared.run(echo((number, turn))) for turn in range(300)]

    joined(in_threads(*(lambda n=n: ask(n) for n in range(8))))
    assert answers == {n: [(n, turn) for turn in range(300)] for n in range(8)}


def test_within_another_loop_the_call_is_handed_over(shared):
    async def elsewhere():
        return shared.run(here())

    assert asyncio.run(elsewhere()) is not threading.current_thread()


def test_a_call_from_within_says_so(shared):
    async def within():
        return shared.run(here())

    with pytest.raises(RuntimeError, match="wait for itself"):
        shared.run(within())
    assert shared.run(here()) is threading.current_thread()


def test_errors_are_the_callers(shared):
    async def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shared.run(fail())


def test_closing_ends_calls_under_way(shared):
    begun, told = threading.Semaphore(0), []

    async def wait():
        begun.release()
        await asyncio.Event().wait()

    def ask():
        try:
            shared.run(wait())
        except CancelledError:
            told.append("cancelled")

    threads = in_threads(ask, ask, ask)
    for _ in threads:
        begun.acquire()
    shared.close()
    joined(threads)
    assert told == ["cancelled"] * 3
    with pytest.raises(CancelledError):
        shared.run(here())


def test_closing_comes_to_its_end_whoever_turns_the_loop_then(restless):
    """Who closes meets the loop's own thread as it lets go of the loop, or takes it."""

    async def until(go_on):
        while not go_on.is_set():
            await asyncio.sleep(0)

    def live():
        for _ in range(400):
            shared, go_on = SharedLoop(), threading.Event()
            turning = in_threads(lambda shared=shared, go_on=go_on: shared.run(until(go_on)))
            shared.run(here())
            go_on.set()
            joined(turning)
            shared.run(here())
            shared.close()

    (living,) = in_threads(live)
    living.join(60)
    assert not living.is_alive()


def test_who_calls_while_it_is_closed_is_answered_or_refused(restless):
    told = []

    def ask(shared):
        try:
            while True:
                told.append(shared.run(here()) is not None)
        except CancelledError:
            told.append("refused")

    for _ in range(40):
        shared = SharedLoop()
        threads = in_threads(*(lambda shared=shared: ask(shared) for _ in range(3)))
        while len(told) < 3:
            time.sleep(0)
        joined(in_threads(shared.close))
        joined(threads)
        assert told.count("refused") == 3
        told.clear()


def test_it_is_closed_from_within_another_loop_too(shared):
    async def elsewhere():
        shared.run(here())
        shared.close()

    asyncio.run(elsewhere())
    with pytest.raises(CancelledError):
        shared.run(here())


def test_closing_from_within_says_so(shared):
    async def within():
        shared.close()

    with pytest.raises(RuntimeError, match="wait for itself"):
        shared.run(within())
    assert shared.run(here()) is threading.current_thread()


def test_who_is_interrupted_leaves_work_that_comes_to_its_end(shared):
    done = threading.Event()

    async def work():
        await asyncio.sleep(0.3)
        done.set()

    def interrupted(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            shared.run(work())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done.wait(5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_that_closes_its_copy_takes_nothing_of_its_parents(shared):
    shared.run(here())
    child = os.fork()
    if child == 0:
        try:
            shared.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    begun, go_on, told = threading.Event(), asyncio.Event(), []

    async def wait():
        begun.set()
        await go_on.wait()

    async def wake():
        go_on.set()
        told.append("woken")

    threads = in_threads(lambda: shared.run(wait()))
    begun.wait()
    # Time to be asleep in: who is awake would see the call without being woken.
    time.sleep(0.05)
    threads += in_threads(lambda: shared.run(wake()))
    threads[-1].join(5)
    assert told == ["woken"]
    joined(threads)


def test_a_call_that_no_thread_can_be_had_for_keeps_nobody_else_waiting(shared, monkeypatch):
    begun, go_on, told = threading.Event(), threading.Event(), []

    async def until():
        begun.set()
        while not go_on.is_set():
            await asyncio.sleep(0)

    def none_left(_):
        raise RuntimeError("can't start new thread")

    turning = in_threads(lambda: shared.run(until()))
    begun.wait()
    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", none_left)
        with pytest.raises(RuntimeError, match="new thread"):
            shared.run(here())
    calling = in_threads(lambda: told.append(shared.run(here())))
    joined(calling)
    go_on.set()
    joined(turning)
    assert len(told) == 1
