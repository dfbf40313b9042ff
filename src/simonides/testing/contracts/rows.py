"""The store contract, reading: positions, snapshots, versions, states and the past."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

import hashlib
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

from simonides.domain.codecs.memory import decode, encode_state
from simonides.domain.memory import (
    Importance,
    Kind,
    Origin,
    Record,
    Status,
    Triple,
)
from simonides.domain.scope import Scope
from simonides.domain.trust import Sensitivity, Source, Trust
from simonides.domain.value import to_us
from simonides.domain.writing.change import NewState, NewVersion
from simonides.ports import MemoryStore
from simonides.testing.contracts.base import (
    ContractBase,
    drive,
    every_call,
    is_refused,
)
from simonides.testing.samples import ALICE, BOB, Samples

HOSTILE_IDS = ("", "%", "_", "*", "' OR 1=1 --", "\0", "\ud800", "a\0b", "../..", "x" * 10_000)


class RowsContract(ContractBase):
    """Reads return exactly the committed data, in the order that the port states."""

    def test_an_owner_never_written_has_nothing(self, store: MemoryStore) -> None:
        shown = self.shown(store)

        assert set(shown) == {None, ()}
        assert drive(store, store.snapshot(ALICE)).complete
        assert drive(store, store.as_of(ALICE, self.make.clock.now_us())) == ()

    def test_heads_come_in_the_order_asked(self, store: MemoryStore) -> None:
        mine = self.add(store, self.make.memory()).head
        org = Scope.of_org("acme")
        orgs = self.add(store, self.make.memory(scope=org), owner=org).head

        assert drive(store, store.heads((org, BOB, ALICE, org))) == (orgs, None, mine, orgs)
        assert drive(store, store.heads(())) == ()

    def test_a_memory_comes_back_as_it_was_written(self, store: MemoryStore) -> None:
        memory = rich_memory(self.make)

        (row,) = self.add(store, memory).rows

        known_at = self.make.clock.now_us()
        assert (row.revision, row.known_from, row.known_to) == (1, known_at, None)
        assert row.entry == b"entry " + memory.id.encode()
        assert replace(decode(row), known_from=memory.known_from) == memory
        assert drive(store, store.get(ALICE, (memory.id,))) == (row,)
        assert drive(store, store.snapshot(ALICE)).rows == (row,)

    def test_a_row_without_an_entry_has_an_empty_one(self, store: MemoryStore) -> None:
        change = self.make.change(self.make.memory())
        bare = replace(change, added=(change.added[0]._replace(entry=b""),))

        assert self.write(store, bare).rows[0].entry == b""
        assert drive(store, store.snapshot(ALICE)).rows[0].entry == b""

    def test_the_largest_memories_come_back_too(self, store: MemoryStore) -> None:
        # The longest text that callers may write and an entry with as many terms; incompressible.
        text = "".join(hashlib.sha256(b"%d" % n).hexdigest() for n in range(1024))
        memory = self.make.memory(text)
        entry = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(4096))
        change = self.make.change(memory)
        large = replace(change, added=(change.added[0]._replace(entry=entry),))

        (row,) = self.write(store, large).rows

        assert row.entry == entry
        assert decode(row).content == text
        assert drive(store, store.snapshot(ALICE)).rows == (row,)

    def test_a_snapshot_has_the_live_rows_by_revision_then_id(self, store: MemoryStore) -> None:
        first, second, third = (self.make.memory() for _ in range(3))
        self.add(store, third, second)
        self.add(store, first)
        every = [self.make.memory(status=status) for status in Status]
        head = self.add(store, *every).head

        snapshot = drive(store, store.snapshot(ALICE))

        live = [memory.id for memory in every if memory.status.is_live]
        assert [row.id for row in snapshot.rows] == [second.id, third.id, first.id, *live]
        assert snapshot.complete
        assert snapshot.head == head

    def test_since_a_head_come_the_rows_changed_after_it(self, store: MemoryStore) -> None:
        untouched, old = self.make.memory(), self.make.memory()
        since = self.add(store, untouched, old).head
        new = self.make.successor(old)
        retired = self.make.superseded(old, new)
        self.write(store, self.make.change(restated=(retired,)))
        self.add(store, new)

        delta = drive(store, store.snapshot(ALICE, since=since))

        assert not delta.complete
        assert [row.id for row in delta.rows] == [old.id, new.id]
        assert decode(delta.rows[0]).status is Status.SUPERSEDED
        assert self.seen_under_turn(store, since=since) == delta

    def test_since_the_present_head_come_no_rows(self, store: MemoryStore) -> None:
        head = self.add(store, self.make.memory()).head

        assert drive(store, store.snapshot(ALICE, since=head)).rows == ()

    def test_a_head_of_other_incarnation_or_epoch_gives_all_rows(self, store: MemoryStore) -> None:
        head = self.add(store, self.make.memory(), self.make.memory()).head
        assert head is not None

        for other in (head._replace(incarnation=bytes(16)), head._replace(epoch=head.epoch + 1)):
            snapshot = drive(store, store.snapshot(ALICE, since=other))
            assert snapshot.complete
            assert len(snapshot.rows) == 2

    def test_several_owners_are_shown_at_once_in_the_order_asked(self, store: MemoryStore) -> None:
        since = self.add(store, self.make.memory()).head
        theirs = self.make.memory(scope=BOB)
        self.write(store, self.make.change(theirs), owner=BOB)
        mine = self.stored(store)
        nobody = Scope.of_user("acme", "nobody")
        asked = {BOB: None, nobody: None, ALICE: since}

        bob, none, alice = drive(store, store.snapshots(asked))

        assert [row.id for row in bob.rows] == [theirs.id]
        assert (none.head, none.rows) == (None, ())
        assert ([row.id for row in alice.rows], alice.complete) == ([mine.id], False)
        assert (bob, alice) == tuple(
            drive(store, store.snapshot(each, since=asked[each])) for each in (BOB, ALICE)
        )
        # For an unknown head all rows are returned, whatever else is requested.
        assert since is not None
        other = since._replace(incarnation=bytes(16))
        lost, bob = drive(store, store.snapshots({ALICE: other, BOB: bob.head}))
        assert (len(lost.rows), lost.complete) == (2, True)
        assert (bob.rows, bob.complete) == ((), False)

    def test_get_answers_in_the_order_asked_and_each_id_once(self, store: MemoryStore) -> None:
        one, two = self.stored(store), self.stored(store, status=Status.EVICTED)
        asked = (two.id, "unknown", *HOSTILE_IDS, one.id, two.id)

        found = drive(store, store.get(ALICE, asked))

        assert [row.id for row in found] == [two.id, one.id]

    def test_hostile_names_find_nothing(self, store: MemoryStore) -> None:
        self.stored(store, key="region")

        for name in HOSTILE_IDS:
            assert drive(store, store.history(ALICE, name)) == ()
            assert drive(store, store.states(ALICE, name)) == ()
            assert drive(store, store.keyed(ALICE, ALICE, name)) == ()
            assert drive(store, store.held(ALICE, session=name)) == ()
            assert drive(store, store.derived(ALICE, name)) == ()
            drive(store, store.settle(ALICE, (name,), edges=((name, BOB, "child"),)))

    def test_history_has_every_version_with_its_latest_state(self, store: MemoryStore) -> None:
        first = self.stored(store)
        second = self.make.successor(first)
        retired = self.make.superseded(first, second)
        self.write(store, self.make.change(second, restated=(retired,)))
        third = self.make.successor(second)
        self.add(store, third)
        self.stored(store)

        versions = drive(store, store.history(ALICE, first.root))

        assert [decode(row).version for row in versions] == [1, 2, 3]
        assert decode(versions[0]).status is Status.SUPERSEDED
        assert drive(store, store.history(ALICE, second.id)) == ()

    def test_keyed_has_every_version_of_exactly_that_scope(self, store: MemoryStore) -> None:
        task = Scope.of_task("acme", "alice", "t1")
        late = self.make.memory(key="k", created_at=self.make.memory().created_at + timedelta(1))
        early, gone = self.make.memory(key="k"), self.make.memory(key="k", status=Status.EVICTED)
        self.add(store, late, early, gone)
        elsewhere = self.stored(store, key="k", scope=task)
        self.stored(store, key="K")
        self.stored(store)

        found = drive(store, store.keyed(ALICE, ALICE, "k"))

        assert [row.id for row in found] == [early.id, gone.id, late.id]
        assert [row.id for row in drive(store, store.keyed(ALICE, task, "k"))] == [elsewhere.id]
        assert decode(drive(store, store.get(ALICE, (elsewhere.id,)))[0]).scope == task

    def test_rows_are_paged_by_id(self, store: MemoryStore) -> None:
        ids = [self.stored(store, status=status).id for status in Status]

        first = drive(store, store.rows(ALICE, limit=3))
        rest = drive(store, store.rows(ALICE, after=first[-1].id))

        assert [row.id for row in (*first, *rest)] == sorted(ids)
        assert drive(store, store.rows(ALICE, after=ids[-1])) == ()
        assert drive(store, store.rows(ALICE, limit=0)) == ()

    def test_states_follow_each_other_without_a_gap(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        times = [self.make.clock.now_us()]
        for confidence in (0.75, 0.5):
            restated = replace(memory, confidence=confidence)
            self.write(store, self.make.change(restated=(restated,)))
            times.append(self.make.clock.now_us())

        states = drive(store, store.states(ALICE, memory.id))

        assert [state.confidence for state in states] == [1.0, 0.75, 0.5]
        assert [to_us(state.known_from) for state in states] == times
        ends = [state.known_to and to_us(state.known_to) for state in states]
        assert ends == [*times[1:], None]
        assert {state.content for state in states} == {memory.content}

    def test_restating_changes_the_state_and_not_the_content(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        (before,) = drive(store, store.get(ALICE, (memory.id,)))
        restated = replace(memory, content="Something else", pinned=True)

        (after,) = self.write(store, self.make.change(restated=(restated,))).rows

        assert (after.body, after.entry) == (before.body, before.entry)
        assert after.revision == before.revision + 1
        assert after.known_from == self.make.clock.now_us()
        assert decode(after).pinned
        assert drive(store, store.get(ALICE, (memory.id,))) == (after,)

    def test_many_states_may_be_told_without_their_memories(self, store: MemoryStore) -> None:
        """Bare states act like restated memories, in any order."""
        one, two, three, other = (self.make.memory(tags=("t",)) for _ in range(4))
        self.add(store, one, two, three, other)
        before = {row.id: row for row in drive(store, store.rows(ALICE))}
        told = [
            NewState(m.id, encode_state(replace(m, status=Status.EVICTED))) for m in (three, one)
        ]
        pinned = replace(two, pinned=True)

        committed = self.write(store, self.make.change(restated=(pinned,), states=tuple(told)))

        head = committed.head
        assert head is not None
        wanted = dict(told) | {two.id: encode_state(pinned)}
        assert {row.id: row.state for row in committed.rows} == wanted
        for row in committed.rows:
            stood = before[row.id]
            assert (row.body, row.entry, row.known_to) == (stood.body, stood.entry, None)
            assert (row.revision, row.known_from) == (head.revision, head.known_at)
        assert drive(store, store.get(ALICE, sorted(wanted))) == committed.rows
        assert drive(store, store.get(ALICE, (other.id,))) == (before[other.id],)
        last, now = drive(store, store.states(ALICE, one.id))
        assert (last.status, now.status) == (Status.ACTIVE, Status.EVICTED)
        assert last.known_to == now.known_from
        assert now.tags == ("t",)
        live = drive(store, store.as_of(ALICE, head.known_at - 1))
        assert [row.id for row in live] == sorted(before)
        assert [row.id for row in drive(store, store.as_of(ALICE, head.known_at))] == sorted(
            (two.id, other.id)
        )

    def test_the_past_is_shown_as_it_stood(self, store: MemoryStore) -> None:
        old = self.make.memory()
        (begun,) = self.add(store, old).rows
        new = self.make.successor(old)
        retired = self.make.superseded(old, new)
        replaced = self.write(store, self.make.change(new, restated=(retired,)))
        (newer,) = (row for row in replaced.rows if row.id == new.id)
        changed = self.make.clock.now_us()

        assert drive(store, store.as_of(ALICE, begun.known_from - 1)) == ()
        ended = begun._replace(known_to=changed)
        assert drive(store, store.as_of(ALICE, begun.known_from)) == (ended,)
        assert drive(store, store.as_of(ALICE, changed - 1)) == (ended,)
        assert drive(store, store.as_of(ALICE, changed)) == (newer,)
        assert drive(store, store.as_of(ALICE, changed + 10**9)) == (newer,)

    def test_the_past_can_be_asked_with_what_had_given_way_by_then(
        self, store: MemoryStore
    ) -> None:
        old = self.make.memory()
        (begun,) = self.add(store, old).rows
        new = self.make.successor(old)
        retired = self.make.superseded(old, new)
        replaced = self.write(store, self.make.change(new, restated=(retired,))).rows
        changed = self.make.clock.now_us()

        before = drive(store, store.as_of(ALICE, changed - 1, superseded=True))
        after = drive(store, store.as_of(ALICE, changed, superseded=True))

        assert before == (begun._replace(known_to=changed),)
        assert after == tuple(sorted(replaced))

    def test_a_restated_memory_may_get_another_index_entry(self, store: MemoryStore) -> None:
        memory, other = self.make.memory(), self.make.memory()
        self.add(store, memory, other)
        tagged = NewVersion(replace(memory, tags=("new",)), b"another entry", "a2", "e2")

        (written,) = self.write(
            store, self.make.change(restated=(tagged.memory,), reindexed=(tagged,))
        ).rows

        assert written.entry == b"another entry"
        assert drive(store, store.get(ALICE, (memory.id,))) == (written,)
        (untouched,) = drive(store, store.get(ALICE, (other.id,)))
        assert untouched.entry == b"entry " + other.id.encode()

    def test_the_past_comes_by_id(self, store: MemoryStore) -> None:
        one, two = self.make.memory(), self.make.memory()
        self.add(store, two)
        self.add(store, one)

        rows = drive(store, store.as_of(ALICE, self.make.clock.now_us()))

        assert [row.id for row in rows] == [one.id, two.id]

    def test_owners_come_by_path(self, store: MemoryStore) -> None:
        owners = (BOB, Scope.of_session("acme", "s"), Scope.of_global(), ALICE, Scope.of_org("z"))
        for owner in owners:
            self.stored(store, scope=owner)

        assert drive(store, store.owners()) == tuple(sorted(owners, key=lambda o: o.path))

    def test_a_task_is_no_owner(self, store: MemoryStore) -> None:
        task = Scope.of_task("acme", "alice", "t1")

        calls = every_call(store, task)

        assert [n for n, call in calls.items() if not is_refused(store, call(), ValueError)] == []


def rich_memory(make: Samples) -> Record:
    """Return a memory with every field set."""
    plain = make.memory("Ünïcode, 記憶, \N{ELEPHANT} and a line\nbreak")
    later = plain.created_at + timedelta(days=30)
    return replace(
        plain,
        kind=Kind.PROCEDURAL,
        category="preference",
        source=Source.TOOL_VERIFIED,
        trust=Trust.TOOL,
        key="deploy.region",
        triple=Triple("service", "runs_in", "region"),
        quote="we deploy there",
        origin=Origin("s1", 4, "call-9", "model-x", "memory-y"),
        speaker="Ana",
        parents=("p1", "p2"),
        audience=frozenset({"planner"}),
        purpose="deploying",
        confidence=0.1,
        importance=Importance.CRITICAL,
        sensitivity=Sensitivity.SENSITIVE,
        tags=("a", "b"),
        metadata=MappingProxyType({"n": [1, 2.5, None, {"x": "y"}]}),
        pinned=True,
        timeless=True,
        supersedes="older",
        superseded_by="newer",
        versions=3,
        verified_at=later,
        valid_from=plain.created_at,
        valid_to=later,
        soft_expires_at=later,
        hard_expires_at=later + timedelta(days=1),
        embedding_model="e1",
    )
