"""Two processes with different models on one store, in any order of what they do.

Each is compared with a store of its own that has only ever known its model.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from reindexed import ANA, Shared, hashed, made_by, rows_of

from simonides.api.open.store import IN_MEMORY
from simonides.domain.errors import NotFound
from simonides.domain.value import from_us
from simonides.engine.maintenance.reindex_worker import PAUSE_S, START_S

WORDS = ("boat", "harbour", "red", "green", "sails", "sank", "storm")
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
users = st.sampled_from(("ana", "bob"))
sides = st.sampled_from((0, 1))
keys = st.sampled_from((None, "a", "b"))
DIMENSIONS = (16, 32)


def kind_of(act, memory):
    """Return what became of it, or that there is nothing under the name."""
    try:
        return act(memory).kind
    except NotFound:
        return NotFound


class TwoModels(RuleBasedStateMachine):
    """An old process and a new one, and a store of reference for each model."""

    def target(self):
        self.directory = Path(tempfile.mkdtemp())
        return self.directory / "m.db"

    @initialize()
    def begin(self):
        self.shared = Shared(self.target())
        self.processes = [self.shared.open(hashed(d)) for d in DIMENSIONS]
        alone = [Shared(IN_MEMORY, self.shared.clock) for _ in DIMENSIONS]
        self.references = [s.open(hashed(d)) for s, d in zip(alone, DIMENSIONS, strict=True)]
        self.past = self.shared.clock.now_us()

    def everywhere(self, side, user, act):
        """Do something in one process, and in each store of reference."""
        self.shared.clock.advance(us=10)
        done = [
            kind_of(act, store.memory(user=user, org="acme"))
            for store in (self.processes[side], *self.references)
        ]
        assert done == [done[0]] * 3

    @rule(side=sides, user=users, text=texts, key=keys)
    def remember(self, side, user, text, key):
        self.everywhere(side, user, lambda m: m.remember(text, key=key, tags=("ship",)))

    @rule(side=sides, user=users, text=texts)
    def remember_with_other_tags(self, side, user, text):
        self.everywhere(side, user, lambda m: m.remember(text, tags=("storm",)))

    @rule(side=sides, user=users, key=st.sampled_from(("a", "b")))
    def forget(self, side, user, key):
        self.everywhere(side, user, lambda m: m.forget(key))

    @rule(side=sides, user=users)
    def forget_all(self, side, user):
        path = f"/org/acme/user/{user}/"
        self.everywhere(side, user, lambda m: m.forget_many(scope=path))

    @rule(side=sides, user=users, place=st.integers(0, 9))
    def confirm(self, side, user, place):
        def act(memory):
            found = sorted(memory.list(), key=lambda m: (m.created_at, m.content))
            return memory.confirm(found[place % len(found)].id if found else "nothing")

        self.everywhere(side, user, act)

    @rule(seconds=st.sampled_from((START_S, PAUSE_S)))
    def let_time_pass(self, seconds):
        self.shared.clock.advance(seconds=seconds)

    @rule(side=sides)
    def end_and_begin_again(self, side):
        """What it was about to do is lost with it."""
        self.processes[side].close()
        self.processes[side] = self.shared.open(hashed(DIMENSIONS[side]))

    @rule(side=sides, adopt=st.booleans())
    def reindex(self, side, adopt):
        report = self.processes[side].admin(actor="root").reindex(adopt=adopt)

        if report.newer is None:
            assert (report.left, report.failed) == (0, 0)
            for owner in (ANA, ANA.of_user("acme", "bob")):
                rows = rows_of(self.processes[side], owner)
                made = self.processes[side].runtime.indexes.indexer.is_current
                assert all(made(row.entry) for row in rows)
        else:
            assert not adopt
            assert report.remade == 0

    @rule()
    def remember_this_time(self):
        self.past = self.shared.clock.now_us()

    @invariant()
    def each_answers_as_if_there_were_no_other(self):
        past = from_us(self.past)
        for store, reference in zip(self.processes, self.references, strict=True):
            for user in ("ana", "bob"):
                one, other = (s.memory(user=user, org="acme") for s in (store, reference))
                for asked in ({}, {"known_at": past}):
                    assert recalled(one, **asked) == recalled(other, **asked)

    def teardown(self):
        if hasattr(self, "shared"):
            self.come_to_rest()
            for store in (*self.processes, *self.references):
                store.close()
            shutil.rmtree(self.directory)

    def come_to_rest(self):
        """Each model makes everything anew at most once; after that nobody does anything."""
        for _ in range(2):
            self.go_on()
        before = rows_of(self.processes[0])
        made = [made_by(self.processes[0], store) for store in self.processes]

        assert self.go_on() == [before, before]
        assert sum(made) == len(before)

    def go_on(self):
        """Let each begin again and do what it likes to; return what is stored after each."""
        stored = []
        for side, store in enumerate(self.processes):
            store.close()
            self.processes[side] = self.shared.open(hashed(DIMENSIONS[side]))
            for user in ("ana", "bob"):
                recalled(self.processes[side].memory(user=user, org="acme"))
            self.shared.clock.advance(seconds=START_S)
            for _ in range(4):
                self.shared.clock.advance(seconds=PAUSE_S)
            stored.append(rows_of(self.processes[side]))
        return stored


def recalled(memory, **asked):
    found = memory.recall("red boat in the storm", limit=6, **asked)
    assert found.degraded == ()
    return [(h.record.content, h.record.key, h.score, dict(h.why)) for h in found]


TestTwoModels = TwoModels.TestCase
# Chosen: some 20 s.
TestTwoModels.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.mark.slow
def test_two_models_over_postgresql(postgres):
    """The same over PostgreSQL; fewer examples, for each takes a database of its own."""

    class OverPostgres(TwoModels):
        def target(self):
            self.directory = Path(tempfile.mkdtemp())
            self.database = postgres.new_database()
            return postgres.url("simonides_app", self.database)

        def teardown(self):
            super().teardown()
            if hasattr(self, "database"):
                postgres.give_back(self.database)

    fewer = settings(TestTwoModels.settings, max_examples=4, stateful_step_count=20)
    run_state_machine_as_test(OverPostgres, settings=fewer)
