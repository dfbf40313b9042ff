"""The contract of a store that can be backed up, and of one that can go back to a backup."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

from abc import ABC, abstractmethod
from pathlib import Path

from simonides.adapters.store_sqlite import SqliteStore
from simonides.domain.errors import MoveRefused
from simonides.domain.moving import PARTS, Row
from simonides.domain.scope import Scope
from simonides.ports import BackupStore, MovableStore, RevertibleStore
from simonides.testing.contract_base import ContractBase, drive, is_refused, verify_chain
from simonides.testing.contract_carrying import PortableStoreContract
from simonides.testing.samples import ALICE, BOB

OWNERS = (ALICE, BOB)


class BackupStoreContract(ContractBase):
    """A copy is all of the store as of one moment, and any embedded store can read it."""

    def fill(self, store: MovableStore) -> None:
        """Write lives with histories and gaps."""
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
        """Copy a store and see to it that the copy says where its owners stood."""
        told: list[tuple[int, int]] = []
        stood = drive(store, store.copy_to(str(path), lambda *far: told.append(far)))
        assert told[-1][0] == told[-1][1]
        digests = drive(store, store.inhabitants())
        facts = {digest: drive(store, store.facts(digest)) for digest in digests}
        assert stood == {digest: found for digest, found in facts.items() if found is not None}

    def open_copy(self, path: Path) -> RevertibleStore:
        """Open a copy of a store; one under keys says how."""
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
    """A store goes back as a whole, and those who have it open go on with what is there then."""

    @abstractmethod
    def open_again(self, store: RevertibleStore) -> RevertibleStore:
        """Open the same store once more; the subclass says how."""

    @abstractmethod
    def new_store(self, tmp_path: Path) -> RevertibleStore:
        """Return an empty store with keys of its own; the subclass says how."""

    def closed_copy(self, store: RevertibleStore, path: Path) -> None:
        """Back up a store to a file that can be taken over."""
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
