"""The jobs that time makes due: one that fails, or that nobody knows, stops no other."""

import itertools
import os
import signal
import threading
from collections import Counter

import pytest

import simonides
from simonides.cli import main
from simonides.life.jobs import JOBS, LEASE_MS
from simonides.storage import statements
from simonides.testing import ManualClock

OWNERS = 100


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path, new_place):
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_place")
        return
    found = new_place("file", tmp_path / "memory.db")
    yield found
    found.close()


def talk(store, count=OWNERS):
    """Let users talk; each conversation is due to end after a quiet time."""
    for n in range(count):
        store.memory(user=f"user{n}").session("monday").add("My bike is in the shed.")


def still_open(store, count=OWNERS):
    memories = [store.memory(user=f"user{n}") for n in range(count)]
    return [n for n, memory in enumerate(memories) if memory.sessions()[0].is_open]


def owner_of(store, user):
    return store.memory(user=user)._who.owner


def set_due(store, owner, job):
    with store._engine.db.write(owner) as connection:
        due = {"owner": owner, "job": job, "at": store._engine.clock.now_ms()}
        connection.run(statements.SET_DUE, due)


def delay_of(store, clock, owner, prefix):
    """Return in how many seconds a job of an owner is due."""
    everything = {"now": 2**62, "at": -1, "owner": "", "job": ""}
    with store._engine.db.read() as connection:
        rows = connection.rows(statements.DUE, everything)
    [at] = [at for at, name, job, _ in rows if name == owner and job.startswith(prefix)]
    return (at - clock.now_ms()) / 1000


def failing_for(bad):
    end = JOBS["end"]

    def job(engine, owner, id):
        if owner == bad:
            raise ValueError("what the user said")
        return end(engine, owner, id)

    return job


def test_one_failing_and_one_unknown_job_delay_no_other(place, monkeypatch):
    store = place()
    talk(store)
    bad, odd = owner_of(store, "user7"), owner_of(store, "user8")
    place.clock.advance(minutes=21)
    set_due(store, odd, "dream 00")
    monkeypatch.setitem(JOBS, "end", failing_for(bad))
    tally = store._engine.worker.flush()
    assert tally == {"done": OWNERS - 1, "failed": 1, "put_off": 1}
    assert still_open(store) == [7]
    assert delay_of(store, place.clock, bad, "end") == 15
    assert delay_of(store, place.clock, odd, "dream") == 3600


def test_a_failing_job_is_put_off_ever_longer_and_done_when_it_can_be(place, monkeypatch):
    store, delays = place(), []
    talk(store, 1)
    bad = owner_of(store, "user0")
    place.clock.advance(minutes=21)
    with monkeypatch.context() as patched:
        patched.setitem(JOBS, "end", failing_for(bad))
        for _ in range(13):
            assert store._engine.worker.flush() == {"failed": 1}
            assert store._engine.worker.flush() == {}
            delays.append(delay_of(store, place.clock, bad, "end"))
            place.clock.advance(seconds=delays[-1])
    assert delays == [*(15 * 2**n for n in range(11)), 21_600, 21_600]
    assert store._engine.worker.flush() == {"done": 1}
    assert still_open(store, 1) == []


def test_a_failure_is_logged_without_what_was_said(place, monkeypatch, caplog):
    store = place()
    talk(store, 1)
    bad = owner_of(store, "user0")
    place.clock.advance(minutes=21)
    monkeypatch.setitem(JOBS, "end", failing_for(bad))
    store.flush()
    [record] = caplog.records
    assert f"end {bad} failed: ValueError at test_jobs.py:" in record.getMessage()
    assert "what the user said" not in caplog.text


def test_an_unknown_job_is_logged_once_and_waits_for_a_newer_version(place, monkeypatch, caplog):
    store, done = place(), []
    talk(store, 1)
    owner = owner_of(store, "user0")
    set_due(store, owner, "dream 00")
    for _ in range(3):
        assert store._engine.worker.flush()["put_off"] == 1
        place.clock.advance(hours=1)
    assert len([each for each in caplog.records if "no such job" in each.getMessage()]) == 1
    monkeypatch.setitem(JOBS, "dream", lambda *args: done.append(args[1:]))
    store.flush()
    assert done == [(owner, "00")]


def test_two_stores_do_each_job_once(place, monkeypatch):
    first, second = place(), place()
    talk(first)
    place.clock.advance(minutes=21)
    end, begun = JOBS["end"], Counter()

    def counted(engine, owner, id):
        begun[owner] += 1
        return end(engine, owner, id)

    monkeypatch.setitem(JOBS, "end", counted)
    threads = [threading.Thread(target=each.flush) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(begun), set(begun.values())) == (OWNERS, {1})
    assert still_open(first) == []


def test_a_job_that_was_cut_off_is_due_again_after_its_lease(place, monkeypatch):
    store = place()
    talk(store, 1)
    place.clock.advance(minutes=21)
    with monkeypatch.context() as patched:
        patched.setitem(JOBS, "end", lambda *_: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            store.flush()
    assert store._engine.worker.flush() == {}
    place.clock.advance(seconds=LEASE_MS / 1000)
    assert store._engine.worker.flush() == {"done": 1}
    assert still_open(store, 1) == []


def test_a_job_that_a_process_asks_for_stops_no_other(place, monkeypatch, caplog):
    store, done = place(), []
    monkeypatch.setitem(JOBS, "embed", lambda *_: 1 / 0)
    monkeypatch.setitem(JOBS, "look", lambda engine, owner, held: done.append((owner, held)))
    store._engine.worker.ask("embed", "/global/user/ana/")
    store._engine.worker.ask("look", "/global/user/ana/", "held")
    store.flush()
    assert done == [("/global/user/ana/", "held")]
    assert "embed /global/user/ana/ failed: ZeroDivisionError" in caplog.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_a_job_ended_begins_anew_with_the_next_job(tmp_path):
    with simonides.open(tmp_path / "memory.db") as store:
        worker, done = store._engine.worker, threading.Event()

        def leave():
            raise SystemExit

        worker.submit("leave", leave)
        worker._thread.join(30)
        worker.submit("go on", done.set)
        assert done.wait(30)


def test_a_closed_store_begins_no_other_job(place, monkeypatch):
    store, begun = place(), []
    talk(store, 3)
    place.clock.advance(minutes=21)

    def closing(engine, owner, id):
        begun.append(owner)
        engine.worker.close()

    monkeypatch.setitem(JOBS, "end", closing)
    assert store._engine.worker.flush() == {"done": 1}
    assert len(begun) == 1


@pytest.fixture
def old_store(tmp_path, monkeypatch):
    """Return the path of a store with three conversations that are due to end by now."""
    for name in [name for name in os.environ if name.startswith("SIMONIDES_")]:
        monkeypatch.delenv(name)
    settings = simonides.Settings(end_on_close=False)
    with simonides.open(tmp_path / "m.db", clock=ManualClock(), settings=settings) as store:
        talk(store, 3)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield tmp_path / "m.db"
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_the_command_does_what_is_due_once(old_store, capsys):
    command = ["--store", str(old_store), "--json", "worker", "--once"]
    for done in (6, 0):  # three ends, three collections
        assert main(command) == 0
        expected = f'{{"done": {done}, "put_off": 0, "failed": 0}}\n'
        assert capsys.readouterr() == (expected, "")
    with simonides.open(old_store) as store:
        assert still_open(store, 3) == []


def test_the_command_counts_what_failed(old_store, capsys, monkeypatch):
    with simonides.open(old_store) as store:
        bad = owner_of(store, "user1")
        set_due(store, bad, "dream 00")
    monkeypatch.setitem(JOBS, "end", failing_for(bad))
    assert main(["--store", str(old_store), "worker", "--once"]) == 0
    assert capsys.readouterr().out.split() == ["done", "5", "put_off", "1", "failed", "1"]


def test_a_signal_lets_the_command_finish_the_job_in_hand_and_begin_no_other(
    old_store, capsys, monkeypatch
):
    end, begun = JOBS["end"], itertools.count(1)

    def stopped(engine, owner, id):
        next(begun)
        os.kill(os.getpid(), signal.SIGTERM)
        return end(engine, owner, id)

    monkeypatch.setitem(JOBS, "end", stopped)
    assert main(["--store", str(old_store), "--json", "worker"]) == 0
    assert capsys.readouterr().out == '{"done": 1, "put_off": 0, "failed": 0}\n'
    assert next(begun) == 2
    with simonides.open(old_store) as store:
        assert len(still_open(store, 3)) == 2
