"""Killed at any moment, a process takes nothing acknowledged with it and holds nobody up."""

import os
import signal
import time

import apsw
import pytest
from killing import Child
from racing import Writer, check_store
from victims import writing_to

from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.store_contract import drive

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

ROUNDS = int(os.environ.get("KILL_POINTS", "100"))
OPENINGS = 25

# Kills from one look at the whole store to the next.
LOOK_EVERY = 5

# Written by the survivor after its companion was killed, to show that the turn goes on.
WRITES_AFTER = 3

# Steps by which the kill moves through a write, and how many until it starts again; a write takes
# between 0.3 and 3 ms, so the points are spread over all of it.
STEP_S = 130e-6
STEPS = 17


def test_writers_killed_at_many_points_lose_nothing_acknowledged(tmp_path):
    database = tmp_path / "m.db"
    acknowledged = []

    for turn in range(ROUNDS):
        one, other = (Child(writing_to(database, f"{name} {turn}")) for name in "ab")
        acknowledged += one.hear(1 + turn % 3)
        time.sleep(turn % STEPS * STEP_S)
        acknowledged += one.kill()
        acknowledged += other.hear(WRITES_AFTER)
        acknowledged += other.kill()

        # Either victim may have written what it could not acknowledge any more. Whole histories are
        # read: what a kill has torn stays torn until the next look.
        if turn % LOOK_EVERY == LOOK_EVERY - 1:
            check_store(database, acknowledged, unknown=2 * (turn + 1))
    check_store(database, acknowledged, unknown=2 * ROUNDS)
    connection = apsw.Connection(str(database))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()


def test_a_store_whose_maker_was_killed_can_be_opened(tmp_path):
    def opening(database):
        def work(say):
            say("here")
            SqliteStore.open(database)
            signal.pause()

        return work

    for point in range(OPENINGS):
        database = tmp_path / f"{point}.db"
        child = Child(opening(database))
        child.hear(1)
        time.sleep(point * STEP_S)
        child.kill()

        store = SqliteStore.open(database)
        writer = Writer(store, "after")
        writer.write()
        drive(store, store.close())
        check_store(database, writer.acknowledged)


def test_a_killed_holder_of_the_turn_is_not_waited_for(tmp_path):
    database = tmp_path / "m.db"

    def holding(say):
        writer = Writer(SqliteStore.open(database), "holder")
        decide = writer.decide

        def hold(seen):
            say("deciding")
            signal.pause()
            return decide(seen)

        writer.decide = hold
        writer.write()

    store = SqliteStore.open(database, busy_timeout_s=5)
    holder = Child(holding)
    holder.hear(1)
    waiting = Child(writing_to(database, "waiting"))
    holder.kill()
    first = waiting.hear(1)
    rest = waiting.kill()

    writer = Writer(store, "survivor")
    writer.write()
    drive(store, store.close())
    check_store(database, [*first, *rest, *writer.acknowledged], unknown=1)
