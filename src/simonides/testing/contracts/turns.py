"""The store contract, writing: turns, what they show, what they refuse, all or nothing."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

import os
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from simonides.domain.codecs.memory import decode, encode_state
from simonides.domain.errors import StoreUnavailable
from simonides.domain.memory import Record
from simonides.domain.writing.change import (
    Change,
    Committed,
    Decide,
    IdempotencyRecord,
    NewState,
    NewVersion,
    Snapshot,
    TurnRequest,
)
from simonides.ports import Capability, MemoryStore
from simonides.testing.contracts.base import (
    Call,
    ContractBase,
    drive,
    every_call,
    is_refused,
    unwritten,
    verify_chain,
)
from simonides.testing.samples import ALICE, BOB

THREADS = 8
TURNS_EACH = 10

# Seconds for a thread to enter the queue. Long against the microseconds that it takes. If it were
# too short, the test could fail without a fault; it could never pass with one.
ARRIVAL_S = 0.05


class TurnsContract(ContractBase):
    """A commit is visible as a whole to all later calls, or did not happen."""

    def reopened(self, store: MemoryStore) -> MemoryStore:
        """Close a DURABLE store and return it opened again; the subclass says how."""
        pytest.fail(f"{type(store).__name__} is DURABLE: its contract overrides reopened()")

    def test_the_first_change_creates_the_owner(self, store: MemoryStore) -> None:
        committed = self.add(store, self.make.memory())

        head = committed.head
        assert head is not None
        assert len(head.incarnation) == 16
        assert head[1:] == (0, 1, self.make.clock.now_us(), 1)
        assert drive(store, store.heads((ALICE,))) == (head,)

    def test_each_change_raises_the_revision_by_one(self, store: MemoryStore) -> None:
        heads = [self.add(store).head for _ in range(3)]

        assert [head and head.revision for head in heads] == [1, 2, 3]
        assert len({head and head[:2] for head in heads}) == 1

    def test_owners_do_not_share_an_incarnation(self, store: MemoryStore) -> None:
        mine, other = self.add(store).head, self.add(store, owner=BOB).head

        assert mine is not None
        assert other is not None
        assert mine.incarnation != other.incarnation

    def test_a_decision_sees_what_was_committed_before(self, store: MemoryStore) -> None:
        assert self.seen_under_turn(store) == Snapshot(head=None, complete=True, rows=())

        committed = self.add(store, self.make.memory())

        assert self.seen_under_turn(store) == Snapshot(
            head=committed.head, complete=True, rows=committed.rows
        )

    def test_a_decision_runs_once(self, store: MemoryStore) -> None:
        runs: list[Snapshot] = []
        change = self.make.change()

        def decide(seen: Snapshot) -> Change:
            runs.append(seen)
            return change

        drive(store, store.commit(ALICE, TurnRequest(), decide))

        assert len(runs) == 1

    def test_deciding_nothing_writes_nothing(self, store: MemoryStore) -> None:
        empty = drive(store, store.commit(ALICE, TurnRequest(), unwritten(None)))
        assert empty == Committed(None, ())
        self.stored(store)
        before = self.shown(store)

        nothing = drive(store, store.commit(ALICE, TurnRequest(), unwritten(None)))

        assert nothing == Committed(before.head, ())
        assert self.shown(store) == before

    @pytest.mark.parametrize("kind", [ZeroDivisionError, OSError, KeyboardInterrupt])
    def test_what_a_decision_raises_is_passed_on(
        self, store: MemoryStore, kind: type[BaseException]
    ) -> None:
        self.stored(store)
        before = self.shown(store)
        raised = kind("the decision's own")

        def decide(_: Snapshot) -> Change:
            raise raised

        with pytest.raises(kind) as caught:
            drive(store, store.commit(ALICE, TurnRequest(), decide))

        assert caught.value is raised
        assert self.shown(store) == before
        assert self.add(store).head is not None

    def test_a_commit_returns_the_rows_it_wrote_by_id(self, store: MemoryStore) -> None:
        old = self.stored(store)
        one, two = self.make.memory(), self.make.memory()

        committed = self.write(store, self.make.change(two, one, restated=(old,)))

        ids = (old.id, one.id, two.id)
        assert [row.id for row in committed.rows] == list(ids)
        assert committed.rows == drive(store, store.get(ALICE, ids))

    def test_an_unfit_change_is_refused_and_nothing_is_written(self, store: MemoryStore) -> None:
        self.write(store, self.make.change(self.make.memory(), **_WORK))
        standing = self.stored(store)
        before = self.shown(store)

        for reason, change in self._unfit(standing).items():
            call = store.commit(ALICE, TurnRequest(), unwritten(change))
            assert is_refused(store, call, ValueError), reason
            assert self.shown(store) == before, reason

    def _unfit(self, standing: Record) -> Mapping[str, Change]:
        """Changes that fit except for their last part."""
        make, new = self.make, self.make.memory()
        now_us = make.clock.now_us()
        skipping = replace(make.successor(standing), version=3)
        nan = make.event(details=MappingProxyType({"x": float("nan")}))
        unsayable = make.memory("a lone \ud800 surrogate")
        state = encode_state(standing)
        return {
            "known_at of the head": make.change(new, known_at=now_us),
            "known_at before the head": make.change(new, known_at=now_us - 1),
            "existing id": make.change(new, replace(standing, root=standing.id)),
            "id added twice": make.change(new, new),
            "unknown id restated": make.change(new, restated=(standing, make.memory())),
            "state of an unknown id": make.change(new, states=(NewState("unknown", state),)),
            "state of an unsayable id": make.change(new, states=(NewState("\ud800", state),)),
            "id restated and its state told": make.change(
                new, restated=(standing,), states=(NewState(standing.id, state),)
            ),
            "state told twice": make.change(new, states=(NewState(standing.id, state),) * 2),
            "unknown id forgotten": make.change(new, forgotten=(standing.id, "unknown")),
            "id added and forgotten": make.change(new, forgotten=(new.id,)),
            "reindexed but not restated": make.change(
                new, reindexed=(NewVersion(standing, b"", "a", "e"),)
            ),
            "id restated and forgotten": make.change(
                new, restated=(standing,), forgotten=(standing.id,)
            ),
            "empty id": make.change(new, make.memory(id="", root=new.id, version=2)),
            "version left out": make.change(new, skipping),
            "version taken": make.change(new, replace(make.successor(standing), version=1)),
            "chain that begins at 2": make.change(new, make.memory(version=2)),
            "version twice": make.change(new, make.successor(standing), make.successor(standing)),
            "memory of another owner": make.change(new, make.memory(scope=BOB)),
            "idempotency key twice": make.change(new, idempotency=_WORK["idempotency"]),
            "outbox id twice": make.change(new, outbox=(make.outbox_item(),) * 2),
            "NaN in an event": make.change(new, events=(make.event(), nan)),
            "text without UTF-8": make.change(new, unsayable),
        }

    def test_several_versions_may_come_in_one_change(self, store: MemoryStore) -> None:
        first = self.make.memory()
        second = self.make.successor(first)
        third = self.make.successor(second)

        self.add(store, third, first, second)

        found = drive(store, store.history(ALICE, first.root))
        assert [row.id for row in found] == [first.id, second.id, third.id]

    def test_writers_of_one_key_wait_for_each_other(self, store: MemoryStore) -> None:
        clock = iter(range(self.make.clock.now_us(), 10**18))

        def supersede(seen: Snapshot) -> Change:
            standing = [decode(row) for row in seen.rows]
            new = self.make.successor(standing[0]) if standing else self.make.memory()
            retired = tuple(self.make.superseded(old, new) for old in standing)
            return self.make.change(new, restated=retired, known_at=next(clock))

        def write() -> None:
            for _ in range(TURNS_EACH):
                drive(store, store.commit(ALICE, TurnRequest(), supersede))

        in_threads([write] * THREADS)

        (live,) = drive(store, store.snapshot(ALICE)).rows
        versions = drive(store, store.history(ALICE, decode(live).root))
        numbers = [decode(row).version for row in versions]
        assert numbers == list(range(1, THREADS * TURNS_EACH + 1))
        assert versions[-1].id == live.id
        shown = self.shown(store)
        verify_chain(shown.links, shown.chain_head)

    def test_who_comes_first_is_served_first(self, store: MemoryStore) -> None:
        served: list[int] = []
        arrived, go_on = threading.Event(), threading.Event()

        def hold(_: Snapshot) -> None:
            arrived.set()
            go_on.wait()

        def waiter(number: int) -> Callable[[], None]:
            def decide(_: Snapshot) -> None:
                served.append(number)

            return lambda: in_turn(decide)

        def in_turn(decide: Decide) -> None:
            drive(store, store.commit(ALICE, TurnRequest(), decide))

        threads = [threading.Thread(target=in_turn, args=(hold,))]
        threads += [threading.Thread(target=waiter(number)) for number in range(5)]
        threads[0].start()
        arrived.wait()
        for thread in threads[1:]:
            thread.start()
            thread.join(ARRIVAL_S)
        go_on.set()
        for thread in threads:
            thread.join()

        assert served == [0, 1, 2, 3, 4]

    def test_readers_see_whole_changes_while_one_is_written(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        before = self.shown(store)
        seen: list[object] = []

        def decide(_: Snapshot) -> Change:
            reader = threading.Thread(target=lambda: seen.append(self.shown(store)))
            reader.start()
            reader.join()
            return self.make.change(self.make.memory(), restated=(memory,))

        drive(store, store.commit(ALICE, TurnRequest(), decide))

        assert seen == [before]
        assert self.shown(store) != before

    def test_a_closed_store_refuses_every_call(self, store: MemoryStore) -> None:
        self.stored(store)

        drive(store, store.close())
        drive(store, store.close())

        of_all: dict[str, Call] = {"owners": store.owners, "all": store.outbox}
        calls = {**every_call(store, ALICE), **of_all, "strays": store.strays}
        answered = [
            name for name, call in calls.items() if not is_refused(store, call(), StoreUnavailable)
        ]
        assert answered == []

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    def test_a_forked_child_is_refused(self, store: MemoryStore) -> None:
        self.stored(store)
        before = self.shown(store)

        refused = in_fork(lambda: _refusals(store))

        assert refused == len(every_call(store, ALICE))
        assert self.shown(store) == before
        self.stored(store)

    def test_what_was_acknowledged_is_there_after_reopening(self, store: MemoryStore) -> None:
        if Capability.DURABLE not in store.capabilities:
            return
        memory = self.stored(store, key="k")
        self.write(store, self.make.change(restated=(memory,), **_WORK))
        before = self.shown(store)

        again = self.reopened(store)

        assert self.shown(again) == before
        assert self.seen_under_turn(again, idempotency_keys=("done",)).idempotent
        drive(again, again.close())


_WORK: Mapping[str, Any] = {
    "idempotency": (IdempotencyRecord("done", b"request", b"{}"),),
}


def in_threads(targets: list[Callable[[], None]]) -> None:
    """Run functions at the same time and raise the first error."""
    errors: list[BaseException] = []

    def run(target: Callable[[], None]) -> None:
        try:
            target()
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def in_fork(count: Callable[[], int]) -> int:
    """Return the small number that a function returns in a forked child; 255 if it raises."""
    with warnings.catch_warnings():
        # The caller tests on purpose that threads do not survive a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        result = 255
        try:
            result = count()
        except Exception:  # noqa: BLE001 - nothing above this frame is the child's to unwind
            traceback.print_exc()
        finally:
            os._exit(result)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _refusals(store: MemoryStore) -> int:
    calls = every_call(store, ALICE).values()
    refused = sum(is_refused(store, call(), StoreUnavailable) for call in calls)
    drive(store, store.close())
    return refused
