"""The contract of a store whose owners can be moved: pages, arrivals, and whole moves.

A subclass gives ``store`` and ``empty``, two empty stores of its kind with separate keys, the
second opened to be filled. The moves go through an embedded store in memory, so that each store is
compared with the others.
"""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from collections.abc import Sequence

import pytest

from simonides.api.migrate.migrate import Migration, Progress, migrate
from simonides.domain.codecs.parts import (
    PARTS,
    Cell,
    OwnerFacts,
    Part,
    Row,
)
from simonides.domain.errors import MoveRefused, StoreUnavailable
from simonides.domain.event import EventType
from simonides.domain.memory import Status, Triple
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.writing.change import IdempotencyRecord, JournalEntry
from simonides.ports import Capability, MovableStore
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.base import (
    ContractBase,
    drive,
    is_refused,
    verify_chain,
)
from simonides.testing.samples import ALICE, BOB

ORG = Scope.of_org("acme")
GUEST = Scope.of_session("acme", "s1")
EVERYWHERE = Scope.of_global()
OWNERS = (ALICE, BOB, EVERYWHERE, GUEST, ORG)
READER = Scope.of_user("acme", "reader")
"""An owner with a journal and nothing else."""

ERASED = Scope.of_user("acme", "erased")
"""An erased owner: no name, MACs of a chain, tombstones."""

ONE, TWO = b"1" * 32, b"2" * 32
NUMBERS = frozenset(
    "at codec day destroyed_at due_at held_at known_from known_to n place previous revision seq "
    "started_at status turn_no version".split()
)
TEXTS = frozenset(
    "analyser child embedder id key_id kind parent reason session step target".split()
)


def sample_row(part: Part, number: int) -> Row:
    """Return a row of a part with a cell of the right kind in every column."""
    return tuple(_cell(part, column, number) for column in part.columns)


def _cell(part: Part, column: str, number: int) -> Cell:
    if column in NUMBERS and (part.name, column) != ("reviews", "status"):
        return number
    if column in TEXTS or column == "status":
        return f"{column} {number} é"
    return number.to_bytes(16, "big")


class MovableStoreContract(ContractBase):
    """An arrival equals its source, and is invisible until it is complete."""

    def open_elsewhere(self, store: MovableStore) -> None:
        """Open a DURABLE store again, as another process would; the subclass says how."""
        pytest.fail(f"{type(store).__name__} is DURABLE: its contract overrides open_elsewhere()")

    def halfway(self) -> MovableStore:
        """Return an empty store for an intermediate move; it keeps MACs if these stores do."""
        return SqliteStore.in_memory()

    def fill(self, store: MovableStore) -> None:
        """Write items of every kind, with histories and gaps."""
        for owner in OWNERS:
            self._remember(store, owner)
        self._erase(store)
        drive(store, store.journal({READER: [JournalEntry(7, "access", b"{}")]}))

    def _erase(self, store: MovableStore) -> None:
        """Add an erased owner: it has a chain and no name."""
        self.stored(store, scope=ERASED)
        event = self.make.event(type=EventType.ERASED, scope=Scope.of_global())
        gone = self.make.change(events=(event,), tombstones=(ONE,), erased=True)
        self.write(store, gone, ERASED)

    def _remember(self, store: MovableStore, owner: Scope) -> None:
        first = self.make.memory("First", scope=owner, key="k", triple=Triple("a", "b", "c"))
        lost = self.make.memory("Lost", scope=owner, parents=(first.id,))
        self.add(store, first, lost, owner=owner)
        second = self.make.successor(first)
        retired = self.make.superseded(first, second)
        self.write(store, self.make.change(second, restated=(retired,)), owner)
        work = self.make.outbox_item()
        change = self.make.change(
            self.make.memory("Third", scope=owner, parents=(first.id, lost.id)),
            self.make.memory("Aside", scope=owner, status=Status.REVIEW),
            tombstones=(ONE, TWO),
            held=(self.make.held(session="s"), self.make.held()),
            reviews=(self.make.review(), self.make.review(status="decided")),
            idempotency=(IdempotencyRecord(f"{owner.path} 1", b"r", b"{}"),),
            outbox=(work, self.make.outbox_item()),
            granted=(Grant("ann", Right.ADMIN, by="root"), Grant("bo", Right.READ_USER, "x")),
            consents=(self.make.consent("salary"), self.make.consent("k", allowed=True)),
        )
        self.write(store, change, owner)
        drive(store, store.settle(owner, [work.id], edges=[(first.id, BOB, "elsewhere")]))
        gone = self.make.event(lost.id, first.id, scope=owner)
        self.write(
            store, self.make.change(forgotten=(lost.id,), revived=(TWO,), events=(gone,)), owner
        )
        drive(store, store.journal({owner: [JournalEntry(n, "access", b"{}") for n in (1, 2, 3)]}))

    def move(
        self, source: MovableStore, target: MovableStore, *, page: int = 4
    ) -> tuple[Migration, list[Progress]]:
        """Move everything, a few rows at a time."""
        told: list[Progress] = []
        inline = Capability.INLINE in source.capabilities & target.capabilities
        # If one of the two suspends, the move runs on an event loop.
        slower = source if inline or Capability.INLINE not in source.capabilities else target
        moving = migrate(source, target, progress=told.append, page=page)
        return drive(slower, moving), told

    def everything(self, store: MovableStore) -> dict[tuple[bytes, str], tuple[Row, ...]]:
        """Return every row of every part of every owner.

        Entries of a journal are numbered from one: only their order is the same in a store that
        counts over all owners and in one that counts for each.
        """
        found = {}
        for owner in drive(store, store.inhabitants()):
            for part in PARTS:
                rows = drive(store, store.page(owner, part, limit=10_000))
                if part.name == "read_journal":
                    rows = tuple((n, *row[1:]) for n, row in enumerate(rows, start=1))
                if rows:
                    found[owner, part.name] = rows
        return found

    def begun(self, store: MovableStore, source: MovableStore) -> tuple[bytes, OwnerFacts]:
        """Begin the arrival of the source's Alice; returns her digest and facts."""
        drive(store, store.begin_arrivals(drive(source, source.keys())))
        head = drive(source, source.chain_head(ALICE))
        assert head is not None
        facts = drive(source, source.facts(head[0]))
        assert facts is not None
        drive(store, store.begin_arrival(head[0], b"m" * 32))
        return head[0], facts

    def arrived(self, store: MovableStore, owner: bytes) -> list[Row]:
        """Return the keys of all rows of an owner."""
        pages = ((part, drive(store, store.page(owner, part))) for part in PARTS)
        return [(part.name, *part.key_of(row)) for part, rows in pages for row in rows]

    def test_a_part_is_read_page_by_page_by_key(self, store: MovableStore) -> None:
        self.fill(store)

        for owner in drive(store, store.inhabitants()):
            for part in PARTS:
                whole = drive(store, store.page(owner, part))
                keys = [part.key_of(row) for row in whole]
                assert keys == sorted(set(keys))
                assert drive(store, store.last_key(owner, part)) == (keys[-1] if keys else None)
                for limit in (1, 3):
                    assert self._paged(store, owner, part, limit) == list(whole)
                assert all(len(row) == len(part.columns) for row in whole)

    def _paged(self, store: MovableStore, owner: bytes, part: Part, limit: int) -> list[Row]:
        rows: list[Row] = []
        after = None
        while page := drive(store, store.page(owner, part, after=after, limit=limit)):
            assert len(page) <= limit
            assert page[0] not in rows
            rows += page
            after = part.key_of(page[-1])
        return rows

    def test_an_owners_rows_are_its_own(self, store: MovableStore) -> None:
        self.stored(store)
        before = self.everything(store)
        self.stored(store, scope=BOB)

        after = self.everything(store)

        assert before.items() <= after.items()
        assert len({owner for owner, _ in after}) == 2

    @pytest.mark.parametrize("page", [1, 7, 500])
    def test_a_journey_there_and_back_loses_nothing(
        self, store: MovableStore, empty: MovableStore, page: int
    ) -> None:
        self.fill(store)
        between = self.halfway()

        self.move(store, between, page=page)
        moved, _ = self.move(between, empty, page=page)

        assert moved.moved == len(OWNERS) + 2
        assert self.everything(empty) == self.everything(store)
        assert sum(moved.rows.values()) == sum(map(len, self.everything(store).values()))
        for owner in OWNERS:
            assert self.shown(empty, owner) == self.shown(between, owner)
            assert self.shown(empty, owner) == self.shown(store, owner)
            verify_chain(drive(empty, empty.links(owner)), drive(empty, empty.chain_head(owner)))
        assert drive(empty, empty.journaled(READER)) == (JournalEntry(7, "access", b"{}"),)

    def test_what_only_tags_are_kept_of_is_found_after_a_journey(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        between = self.halfway()
        self.move(store, between)
        self.move(between, empty)

        for there in (between, empty):
            key = f"{ALICE.path} 1"
            seen = self.seen_under_turn(
                there, idempotency_keys=(key, "unknown"), tombstones=(ONE, TWO), grants=True
            )
            assert seen.idempotent == {key: IdempotencyRecord(key, b"r", b"{}")}
            assert seen.tombstoned == {ONE}
            assert len(seen.grants) == 2
            chain = drive(there, there.keyed(ALICE, ALICE, "k"))
            assert chain == drive(store, store.keyed(ALICE, ALICE, "k"))
            assert len(drive(there, there.held(ALICE, session="s"))) == 1

    def test_life_goes_on_where_it_was_moved_to(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        between = self.halfway()
        self.move(store, between)
        self.move(between, empty)
        row = drive(empty, empty.snapshot(ALICE)).rows[0]
        used = IdempotencyRecord(f"{ALICE.path} 1", b"r", b"{}")
        change = self.make.change(
            self.make.memory("New"), forgotten=(row.id,), events=(self.make.event(row.id),)
        )

        for there in (store, between, empty):
            again = self.make.change(idempotency=(used,))
            assert is_refused(there, self._commit(there, again), ValueError)
            self.write(there, change)

        assert self.shown(between) == self.shown(store)
        assert self.shown(empty) == self.shown(store)

    async def _commit(self, store: MovableStore, change: object) -> None:
        from simonides.domain.writing.change import TurnRequest

        await store.commit(ALICE, TurnRequest(), lambda _: change)  # type: ignore[arg-type,return-value]

    def test_every_part_takes_what_it_gives(self, empty: MovableStore) -> None:
        drive(empty, empty.begin_arrivals(drive(empty, empty.keys())))
        drive(empty, empty.begin_arrival(b"o" * 16, b"m" * 32))
        rows = {part: tuple(sample_row(part, n) for n in range(3)) for part in PARTS}

        drive(empty, empty.arrive(b"o" * 16, list(rows.items())))

        for part, wanted in rows.items():
            assert drive(empty, empty.page(b"o" * 16, part)) == wanted

    def test_until_it_is_whole_an_owner_is_not_there(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        owner, facts = self.begun(empty, store)

        for part in PARTS:
            rows = drive(store, store.page(owner, part))
            drive(empty, empty.arrive(owner, [(part, rows)]))
            assert drive(empty, empty.facts(owner)) is None
            assert drive(empty, empty.owners()) == ()
            assert drive(empty, empty.heads((ALICE,))) == (None,)
            assert drive(empty, empty.snapshot(ALICE)).rows == ()
        drive(empty, empty.end_arrival(owner, facts))

        assert drive(empty, empty.facts(owner)) == facts
        assert drive(empty, empty.owners()) == (ALICE,)
        assert self.shown(empty)[:4] == self.shown(store)[:4]

    def test_begun_again_an_arrival_goes_on_or_starts_over(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        owner, _ = self.begun(empty, store)
        memories = drive(store, store.page(owner, PARTS[0]))
        drive(empty, empty.arrive(owner, [(PARTS[0], memories[:2])]))

        drive(empty, empty.begin_arrivals(drive(store, store.keys())))
        drive(empty, empty.begin_arrival(owner, b"m" * 32))
        assert drive(empty, empty.page(owner, PARTS[0])) == memories[:2]

        drive(empty, empty.begin_arrival(owner, b"n" * 32))
        assert self.arrived(empty, owner) == []

    def test_at_most_one_owner_is_on_its_way(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        owner, facts = self.begun(empty, store)
        rows = [(PARTS[0], drive(store, store.page(owner, PARTS[0])))]
        drive(empty, empty.arrive(owner, rows))

        other = next(o for o in drive(store, store.inhabitants()) if o != owner)
        drive(empty, empty.begin_arrival(other, b"m" * 32))

        assert self.arrived(empty, owner) == []
        assert is_refused(empty, empty.arrive(owner, rows), ValueError)
        assert is_refused(empty, empty.end_arrival(owner, facts), ValueError)
        drive(empty, empty.end_arrivals())
        assert drive(empty, empty.inhabitants()) == ()

    def test_rows_arrive_all_or_none(self, store: MovableStore, empty: MovableStore) -> None:
        self.fill(store)
        owner, _ = self.begun(empty, store)
        first, *others = drive(store, store.page(owner, PARTS[0]))
        drive(empty, empty.arrive(owner, [(PARTS[0], [first])]))

        states = drive(store, store.page(owner, PARTS[1]))
        twice: Sequence[tuple[Part, Sequence[Row]]] = [(PARTS[1], states), (PARTS[0], [first])]
        assert is_refused(empty, empty.arrive(owner, twice), ValueError)

        assert self.arrived(empty, owner) == [("memories", first[0])]
        drive(empty, empty.arrive(owner, [(PARTS[1], states), (PARTS[0], others)]))

    def test_an_owner_that_is_there_is_not_touched(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        self.move(store, empty)
        self.stored(empty)
        before, all_ = self.shown(empty), self.everything(empty)

        with pytest.raises(MoveRefused) as refused:
            self.move(store, empty)

        assert (refused.value.reason, refused.value.owner) == ("exists", ALICE.path)
        drive(empty, empty.begin_arrivals(drive(store, store.keys())))
        for owner in drive(empty, empty.inhabitants()):
            begun = empty.begin_arrival(owner, b"x" * 32)
            assert is_refused(empty, begun, MoveRefused)
        drive(empty, empty.end_arrivals())
        assert (self.shown(empty), self.everything(empty)) == (before, all_)

    def test_a_store_with_rows_keeps_its_keys(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        self.stored(empty, scope=BOB)
        keys, before = drive(empty, empty.keys()), self.everything(empty)

        with pytest.raises(MoveRefused) as refused:
            self.move(store, empty)

        assert refused.value.reason == "other_store"
        assert (drive(empty, empty.keys()), self.everything(empty)) == (keys, before)
        self.stored(empty, scope=BOB)

    def test_what_was_moved_is_skipped_and_what_is_new_is_added(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        self.fill(store)
        self.move(store, empty)
        self.stored(store, scope=Scope.of_user("acme", "late"))

        moved, _ = self.move(store, empty)

        assert (moved.moved, moved.skipped) == (1, len(OWNERS) + 2)
        assert self.everything(empty) == self.everything(store)

    def test_a_store_being_filled_is_closed_to_others(
        self, store: MovableStore, empty: MovableStore
    ) -> None:
        if Capability.DURABLE not in empty.capabilities:
            return  # no other process can open it
        self.fill(store)
        owner, facts = self.begun(empty, store)

        with pytest.raises(StoreUnavailable):
            self.open_elsewhere(empty)
        drive(empty, empty.end_arrival(owner, facts))
        with pytest.raises(StoreUnavailable):
            self.open_elsewhere(empty)

        drive(empty, empty.end_arrivals())
        drive(empty, empty.end_arrivals())
        self.open_elsewhere(empty)
