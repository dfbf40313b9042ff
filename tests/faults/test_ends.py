"""Conversations whose end is killed, or taken by several at once, end once and whole."""

import itertools
import signal
import threading
import time
from datetime import UTC, datetime

import pytest
from harness import FAULTS, PATIENCE_S, check, child, converse, crowd, read_line

import simonides
from simonides.conversations.parts import parts_of_page
from simonides.life import worker
from simonides.testing import ManualClock

KILLS = 6 if FAULTS == 1 else 12 * FAULTS
"""At a commit and at random in turn; 24 are before and after each of six commits."""

ROUNDS = FAULTS
TURNS = 20 * FAULTS
DUE = 100 * FAULTS

shared = pytest.mark.parametrize("place", ["file", "postgres"], indirect=True)


def fit(store, user="user0"):
    """Check that a conversation has ended once: one summary, one promotion, no tool's result."""
    memory = store.memory(user=user)
    found = memory.list(limit=1000)
    [summary] = [each for each in found if each.category == "session_summary"]
    assert "88123" in summary.content
    assert "800 euros" in summary.content
    assert [each.key for each in found].count("booking") == 1
    assert [each.version for each in memory.history("booking")] == [1]
    assert not any(each.role == "tool" for each in memory.session("monday").messages())
    [conversation] = memory.sessions()
    assert not conversation.is_open
    assert len(memory.session("tuesday").digest("Lisbon").items) > 0


def parts_of(memory):
    """Return the parts of all conversations of a user, with their places."""
    owner = memory._who.owner
    with memory._engine.db.read(owner) as connection:
        return parts_of_page(connection, memory._who, limit=1_000)


def taken_up(place, seed):
    """Let a conversation end that another process began to end: by a call, or by a quiet time."""
    clock = ManualClock(datetime.now(UTC))
    with place(embedder="none", clock=clock) as store:
        if (seed // 2 + seed // 24) % 2:
            store.memory(user=f"user{seed}").session("monday").end()
        else:
            clock.advance(minutes=30)
            store.flush()
        fit(store, f"user{seed}")


@shared
def test_an_end_that_is_killed_anywhere_is_taken_up(place):
    """By a call, or by a quiet time: one after the other for each place of the death."""
    process = child("end_until_killed", place, count=KILLS)
    try:
        for seed in range(KILLS):
            assert read_line(process) == f"{seed} {signal.SIGKILL:d}\n"
            taken_up(place, seed)
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.communicate(timeout=PATIENCE_S) == ("", "")
    finally:
        process.kill()
    check(place, [])


@shared
def test_two_processes_of_several_threads_end_a_conversation_once(place):
    with place(embedder="none", settings=simonides.Settings(end_on_close=False)) as store:
        for n in range(ROUNDS):
            converse(store, f"user{n}")
            processes = [child("end_by_threads", place, n) for _ in range(2)]
            for process in processes:
                assert read_line(process) == "ready\n"
            for process in processes:
                process.stdin.write("\n")
                process.stdin.flush()
            ended = [process.communicate(timeout=PATIENCE_S) for process in processes]
            assert ended == [("", "")] * 2
            fit(store, f"user{n}")
    check(place, [])


@shared
@pytest.mark.parametrize("way", ["end", "close"])
def test_what_is_said_while_another_process_ends_belongs_to_one_part(place, way):
    process, ends = child("talk", place, 0, TURNS), 0
    try:
        while read_line(process):
            with place(embedder="none") as store:
                session, ends = store.memory(user="user0").session("monday"), ends + 1
                if way == "end":
                    session.end()
                else:
                    session.add(f"Beside it number {ends} is decided to be green.")
    finally:
        rest = process.communicate(timeout=PATIENCE_S)
    assert rest == ("", "")
    with place(embedder="none") as store:
        session = store.memory(user="user0").session("monday")
        session.end()
        said = [each.content for each in session.messages(limit=1000)]
        for n in range(TURNS):
            assert sum(f"We decided on {n} that" in each for each in said) == 1
        found = parts_of(session)
    found.sort(key=lambda part: part.part)
    assert {part.status for part in found} == {"ended"}
    assert sum(part.turns for part in found) == len(said)
    for part, following in itertools.pairwise(found):
        assert part.data["last"] + 1 == following.data["first"]
    check(place, [])


def test_a_forked_child_does_not_end_what_its_parent_began(file_place):
    out, errors = child("fork", file_place).communicate(timeout=PATIENCE_S)
    assert (out, errors) == ("1 True\n", "")
    fit(file_place(embedder="none"))


@shared
def test_a_program_that_runs_on_ends_what_is_quiet(place, monkeypatch):
    monkeypatch.setattr(worker, "TICK_S", 0.05)
    settings = simonides.Settings(idle_minutes=0.01)
    with place(embedder="none", settings=settings) as store:
        converse(store, "user0")
        ana, deadline = store.memory(user="user0"), time.monotonic() + 20
        busy, said = store.memory(user="ben").session("busy"), 0
        while any(part.status != "ended" for part in parts_of(ana)):
            assert time.monotonic() < deadline
            busy.add(f"The number {said} is said.")
            said += 1
        fit(store)
        [conversation] = store.memory(user="ben").sessions()
        assert (conversation.parts, conversation.is_open) == (1, True)


def test_many_due_ends_let_others_write(file_place):
    settings = simonides.Settings(synchronous="normal")
    clock = ManualClock()
    store = file_place(embedder="none", clock=clock, settings=settings)
    for n in range(DUE):
        converse(store, f"user{n}")
    clock.advance(minutes=30)
    flushing, written = threading.Thread(target=store.flush), 0
    flushing.start()
    while flushing.is_alive():
        store.memory(user="writer").remember(f"fact {written}")
        written += 1
    assert written > DUE  # between the steps of the ends
    for n in range(DUE):
        fit(store, f"user{n}")
    check(file_place, [])


@shared
def test_threads_end_their_own_conversations_at_once(place):
    with place(embedder="none") as store:
        crowd(8, lambda n: converse(store, f"user{n}").end())
        for n in range(8):
            fit(store, f"user{n}")
