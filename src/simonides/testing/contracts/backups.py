"""The contract of a store whose owners can be exported and restored.

A subclass gives ``store`` and ``empty``, two empty stores of its kind with separate keys.
"""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.codecs.parts import PARTS, Row
from simonides.domain.codecs.portable import (
    TYPES,
    Carried,
    Standing,
    line_of,
    parsed,
    read_carried,
)
from simonides.domain.errors import CarryRefused, MoveRefused
from simonides.domain.event import commit_to
from simonides.domain.memory import Status, Triple
from simonides.domain.scope import Grant, Right, Scope
from simonides.domain.writing.change import (
    Head,
    IdempotencyRecord,
    JournalEntry,
    TurnRequest,
)
from simonides.ports import BackupStore, MemoryStore, MovableStore, PortableStore, RevertibleStore
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.contracts.base import (
    ContractBase,
    drive,
    is_refused,
    verify_chain,
)
from simonides.testing.samples import ALICE, BOB

STANDING = Standing(epoch=3, revision=9, known_at=50, seq=2)


class PortableStoreContract(ContractBase):
    """An export is one consistent snapshot, and a restore is atomic."""

    def fill(self, store: MemoryStore) -> None:
        """Write data of Alice, with histories, gaps and children of other owners."""
        first = self.make.memory("First", key="k", triple=Triple("a", "b", "c"))
        lost = self.make.memory("Lost", parents=(first.id,))
        self.add(store, first, lost)
        self.stored(store, "Of Bob", scope=BOB)
        second = self.make.successor(first)
        gone_by = self.make.superseded(first, second)
        self.write(store, self.make.change(second, restated=(gone_by,)))
        change = self.make.change(
            self.make.memory("Third", parents=(first.id, lost.id), tags=("b", "a")),
            self.make.memory("Aside", status=Status.REVIEW, audience=frozenset({"bot"})),
            tombstones=(b"1" * 32, b"2" * 32),
            held=(self.make.held(session="s"), self.make.held()),
            idempotency=(IdempotencyRecord("done", b"r", b"{}"),),
            outbox=(self.make.outbox_item(),),
            granted=(Grant("zoe", Right.ADMIN, by="root"), Grant("bo", Right.READ_USER, "x")),
        )
        self.write(store, change)
        drive(store, store.settle(ALICE, [], edges=[(second.id, BOB, "elsewhere")]))
        forgotten = self.make.event(lost.id, second.id)
        self.write(store, self.make.change(forgotten=(lost.id,), events=(forgotten,)))
        self.write(store, self.make.change(restated=(second,)))
        drive(store, store.journal({ALICE: [JournalEntry(n, "access", b"{}") for n in (3, 1)]}))

    def portrait_of(self, store: PortableStore) -> tuple[Standing, list[Carried]]:
        """Return Alice's position and all her exported items."""

        async def look() -> tuple[Standing, list[Carried]]:
            items: list[Carried] = []
            async with store.portrait(ALICE) as portrait:
                assert portrait is not None
                while page := await portrait.next():
                    items += page
            facts = portrait.facts
            standing = (facts.epoch, facts.revision, facts.last_known_at, facts.head_seq)
            return Standing(*standing), items

        return drive(store, look())

    def one_of_each(self) -> list[Carried]:
        """Return items of every type; the memory is first known at 30 and known again at 40."""
        memory = self.make.memory("Carried", id="m", key="k")
        state, body = encode_state(memory), encode_body(memory)
        payload = canonical_json({"subjects": ["m"]})
        session = canonical_json({"owner": ALICE.path, "session": "s"})
        said = {"about": "key", "name": "k", "allowed": False, "by": ALICE.path}
        named = canonical_json(said)
        grant = canonical_json({"grantee": "zoe", "right": "admin", "subject": None, "by": "root"})
        return [
            Carried("memory", ("m", 9, 40, state, body), ("a1", "e1", b"entry")),
            Carried("state", ("m", 4, 30, state)),
            Carried("event", (1, commit_to(b"s" * 16, payload), b"s" * 16, payload)),
            Carried("event", (2, b"c" * 32, None, None)),
            Carried("derivation", ("m", ALICE.path, "child")),
            Carried("tombstone", (b"t" * 16,)),
            Carried("idempotency", (b"i" * 16, 4, b"r" * 32, b"{}")),
            Carried("held", ("h", "hold", 7, "s", b"{}")),
            Carried("grant", (grant,)),
            Carried("journal", (5, "access", b"{}")),
            Carried("journal", (2, "digest", b"{}")),
            Carried("session_end", ("done", 8, b'{"session":"s","told":{}}')),
            Carried("session", ("s", 1, None, session)),
            Carried("turn", ("s", 0, 1, b"{}")),
            Carried("turn", ("s", 1, 2, b"{}")),
            Carried("review", ("r", "open", 3, b"{}")),
            Carried("consent", (4, named)),
            Carried("scope", (b"p" * 16, 5, b"{}")),
            Carried("policy", (1, b"h" * 32, 6, b"{}")),
            Carried("usage", (20_000, b"{}")),
        ]

    def adopted(
        self, store: PortableStore, items: Sequence[Carried], standing: Standing = STANDING
    ) -> Head:
        return drive(store, store.adopt(ALICE, standing, iter(items)))

    def test_every_type_is_taken_in_and_shown_as_it_came(self, empty: PortableStore) -> None:
        items = self.one_of_each()
        assert {item.type for item in items} == set(TYPES)

        head = self.adopted(empty, items)

        standing, shown = self.portrait_of(empty)
        assert (standing, head[1:]) == (STANDING, STANDING)
        # A store that cannot keep a type would raise; none does.
        assert shown == [item._replace(made=None) for item in items]

    def test_a_life_stands_elsewhere_as_it_stood(
        self, store: PortableStore, empty: PortableStore
    ) -> None:
        self.fill(store)
        standing, items = self.portrait_of(store)
        lines = [read_carried(parsed(line_of(item))) for item in items]
        assert lines == items
        self.stored(empty, "Of Bob", scope=BOB)
        before = self.shown(empty, BOB)

        self.adopted(empty, lines, standing)

        assert self.portrait_of(empty) == (standing, items)
        there, here = self.shown(empty), self.shown(store)
        same = ("states", "derived", "damaged", "held", "grants", "journaled", "strays")
        for name in same:
            assert getattr(there, name) == getattr(here, name), name
        assert there.head is not None
        assert here.head is not None
        assert there.head[1:] == here.head[1:]
        assert there.head.incarnation != here.head.incarnation
        verify_chain(there.links, there.chain_head)
        assert [link.commitment for link in there.links] == [c.commitment for c in here.links]
        assert self.shown(empty, BOB)._replace(owners=before.owners) == before

    def test_who_was_taken_in_goes_on(self, store: PortableStore, empty: PortableStore) -> None:
        self.fill(store)
        standing, items = self.portrait_of(store)
        self.adopted(empty, items, standing)

        second = next(row for row in drive(empty, empty.rows(ALICE)) if b'"version":2' in row.body)
        (current,) = drive(empty, empty.history(ALICE, second.id))[-1:] or (second,)
        assert drive(empty, empty.keyed(ALICE, ALICE, "k"))
        erased = [link.seq for link in drive(empty, empty.links(ALICE)) if link.payload is None]
        self.write(empty, self.make.change(forgotten=(current.id,)))
        links = drive(empty, empty.links(ALICE))
        verify_chain(links, drive(empty, empty.chain_head(ALICE)))
        # The events about a memory are found by its id here too.
        assert len([link for link in links if link.payload is None]) > len(erased)

    def test_a_portrait_is_of_one_moment(self, store: PortableStore) -> None:
        self.fill(store)
        standing, items = self.portrait_of(store)

        async def look() -> list[Carried]:
            seen: list[Carried] = []
            async with store.portrait(ALICE) as portrait:
                assert portrait is not None
                seen += await portrait.next()
                change = self.make.change(self.make.memory("Later"), held=(self.make.held(),))
                await store.commit(ALICE, TurnRequest(), lambda _: change)
                while page := await portrait.next():
                    seen += page
                assert portrait.facts.revision == standing.revision
            return seen

        assert drive(store, look()) == items
        assert len(self.portrait_of(store)[1]) > len(items)

    def test_nobody_has_no_portrait(self, store: PortableStore) -> None:
        self.stored(store, scope=BOB)

        async def look() -> bool:
            async with store.portrait(ALICE) as portrait:
                return portrait is None

        assert drive(store, look())

    def test_who_is_there_is_not_touched(self, store: PortableStore) -> None:
        self.stored(store, "Mine")
        before = self.shown(store)

        adopting = store.adopt(ALICE, STANDING, iter(self.one_of_each()))
        assert is_refused(store, adopting, CarryRefused)

        assert self.shown(store) == before

    def test_a_journal_that_is_there_comes_first(self, empty: PortableStore) -> None:
        drive(empty, empty.journal({ALICE: [JournalEntry(9, "access", b"{}")]}))

        self.adopted(empty, self.one_of_each())

        entries = drive(empty, empty.journaled(ALICE))
        assert [entry.at for entry in entries] == [9, 5, 2]
        drive(empty, empty.journal({ALICE: [JournalEntry(1, "access", b"{}")]}))
        assert [entry.at for entry in drive(empty, empty.journaled(ALICE))] == [9, 5, 2, 1]

    def test_what_ends_in_an_error_leaves_nothing(self, empty: PortableStore) -> None:
        before = self.shown(empty)

        def breaking() -> Iterator[Carried]:
            yield from self.one_of_each()[:5]
            raise LookupError("the file broke off")

        assert is_refused(empty, empty.adopt(ALICE, STANDING, breaking()), LookupError)

        assert self.shown(empty) == before
        self.adopted(empty, self.one_of_each())

    def test_items_that_do_not_fit_are_refused_and_leave_nothing(
        self, empty: PortableStore
    ) -> None:
        before, items = self.shown(empty), self.one_of_each()
        foreign = encode_body(self.make.memory("Of Bob", id="m", scope=BOB))
        memory, state, event, erased = items[:4]
        unfit = {
            "twice": [memory, state, memory, *items[2:]],
            "no event 2": [*items[:3], *items[4:]],
            "event 2 first": [memory, state, erased, event, *items[4:]],
            "a state of nothing": [state, *items[2:]],
            "a younger state": [memory, state, state, *items[2:]],
            "of Bob": [memory._replace(cells=(*memory.cells[:4], foreign)), *items[1:]],
        }
        for name, wrong in unfit.items():
            adopting = empty.adopt(ALICE, STANDING, iter(wrong))
            assert is_refused(empty, adopting, ValueError), name
            assert self.shown(empty) == before, name


OWNERS = (ALICE, BOB)


class BackupStoreContract(ContractBase):
    """A copy is a consistent snapshot of the store, readable by any embedded store."""

    def fill(self, store: MovableStore) -> None:
        """Write owners with histories and gaps."""
        contract = PortableStoreContract()
        contract.__dict__["make"] = self.make
        contract.fill(store)

    def everything(self, store: MovableStore) -> dict[tuple[bytes, str], tuple[Row, ...]]:
        """Return every row that a store has, by owner and part."""
        found = {}
        for owner in drive(store, store.inhabitants()):
            for part in PARTS:
                rows = drive(store, store.page(owner, part, limit=10_000))
                if rows:
                    found[owner, part.name] = rows
        return found

    def backup(self, store: BackupStore, path: Path) -> None:
        """Copy a store and check the positions of the owners in the copy."""
        told: list[tuple[int, int]] = []
        stood = drive(store, store.copy_to(str(path), lambda *far: told.append(far)))
        assert told[-1][0] == told[-1][1]
        digests = drive(store, store.inhabitants())
        facts = {digest: drive(store, store.facts(digest)) for digest in digests}
        assert stood == {digest: found for digest, found in facts.items() if found is not None}

    def open_copy(self, path: Path) -> RevertibleStore:
        """Open a copy of a store; a subclass with keys overrides it."""
        return SqliteStore.open(path)

    def test_a_copy_has_all_that_the_store_has(self, store: BackupStore, tmp_path: Path) -> None:
        self.fill(store)
        self.backup(store, tmp_path / "copy.db")

        copy = self.open_copy(tmp_path / "copy.db")
        assert self.everything(copy) == self.everything(store)
        assert drive(copy, copy.keys()) == drive(store, store.keys())
        assert drive(copy, copy.unsound()) == ()
        for owner in OWNERS:
            verify_chain(drive(copy, copy.links(owner)), drive(copy, copy.chain_head(owner)))
        drive(copy, copy.close())

    def test_a_copy_stays_as_it_was(self, store: BackupStore, tmp_path: Path) -> None:
        self.fill(store)
        self.backup(store, tmp_path / "copy.db")
        before = self.everything(store)

        self.stored(store, "Later")

        copy = self.open_copy(tmp_path / "copy.db")
        assert self.everything(copy) == before
        drive(copy, copy.close())

    def test_a_copy_comes_over_nothing(self, store: BackupStore, tmp_path: Path) -> None:
        (tmp_path / "copy.db").write_bytes(b"mine")

        copying = store.copy_to(str(tmp_path / "copy.db"), lambda *_: None)
        assert is_refused(store, copying, FileExistsError)

        assert (tmp_path / "copy.db").read_bytes() == b"mine"


class RevertibleStoreContract(BackupStoreContract, ABC):
    """A store is restored as a whole, and processes that have it open continue with the restored
    data.
    """

    @abstractmethod
    def open_again(self, store: RevertibleStore) -> RevertibleStore:
        """Open the same store once more; the subclass says how."""

    @abstractmethod
    def new_store(self, tmp_path: Path) -> RevertibleStore:
        """Return an empty store with its own keys; the subclass says how."""

    def closed_copy(self, store: RevertibleStore, path: Path) -> None:
        """Back up a store to a file that another store can take over."""
        drive(store, store.copy_to(str(path), lambda *_: None))
        copy = self.open_copy(path)
        drive(copy, copy.rebirth())
        drive(copy, copy.close())

    def test_a_store_goes_back_and_whoever_has_it_open_sees_it(
        self, store: RevertibleStore, tmp_path: Path
    ) -> None:
        self.fill(store)
        before = self.everything(store)
        self.closed_copy(store, tmp_path / "copy.db")
        other = self.open_again(store)
        self.stored(store, "Later")
        self.stored(other, "Of somebody new", scope=Scope.of_user("acme", "new"))
        seen = drive(other, other.heads(OWNERS))

        drive(store, store.become(str(tmp_path / "copy.db")))

        assert self.everything(other) == self.everything(store) == before
        for old, new in zip(seen, drive(other, other.heads(OWNERS)), strict=True):
            assert old is not None
            assert new is not None
            assert old.incarnation != new.incarnation
        self.make.clock.advance(days=1)
        self.stored(other, "Life goes on")
        self.stored(store, "and on")
        for owner in OWNERS:
            verify_chain(drive(store, store.links(owner)), drive(store, store.chain_head(owner)))
        assert drive(store, store.strays()) == ()
        drive(other, other.close())

    def test_keys_come_with_a_backup_only_to_a_store_without_rows(
        self, store: RevertibleStore, tmp_path: Path
    ) -> None:
        self.fill(store)
        self.closed_copy(store, tmp_path / "copy.db")
        copy = str(tmp_path / "copy.db")
        empty, lived_in = self.new_store(tmp_path / "empty"), self.new_store(tmp_path / "full")
        self.stored(lived_in, "Mine")
        mine = self.everything(lived_in)

        drive(empty, empty.become(copy))
        assert is_refused(lived_in, lived_in.become(copy), MoveRefused)

        assert self.everything(empty) == self.everything(store)
        assert drive(empty, empty.history(ALICE, drive(store, store.rows(ALICE))[0].id))
        self.make.clock.advance(days=1)
        self.stored(empty, "Goes on")
        assert drive(empty, empty.strays()) == ()
        assert self.everything(lived_in) == mine
        for made in (empty, lived_in):
            drive(made, made.close())

    def test_who_is_born_again_is_somebody_else(self, store: RevertibleStore) -> None:
        self.fill(store)
        before = drive(store, store.heads(OWNERS))

        drive(store, store.rebirth())

        after = drive(store, store.heads(OWNERS))
        for old, new in zip(before, after, strict=True):
            assert old is not None
            assert new is not None
            assert old.incarnation != new.incarnation
            assert old[1:] == new[1:]
