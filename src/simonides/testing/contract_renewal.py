"""The store contract, making index entries anew: what is written, and all that stays (LT-11)."""

# ruff: noqa: S101, D102 - the names of the tests are sentences

import threading
from dataclasses import replace

from simonides.domain.change import NewVersion, Renewed, StoredRow, TurnRequest
from simonides.domain.scope import Scope
from simonides.ports import MemoryStore
from simonides.testing.contract_base import ContractBase, drive, verify_chain
from simonides.testing.samples import ALICE, BOB

NEW = b"made anew"


class RenewalContract(ContractBase):
    """An entry made anew takes the place of the one that it was made instead of, or of none."""

    def test_an_entry_made_anew_is_read_in_the_place_of_the_old(self, store: MemoryStore) -> None:
        first, other = self.make.memory(key="k"), self.make.memory()
        self.add(store, first, other)
        (row,) = drive(store, store.get(ALICE, (first.id,)))

        assert drive(store, store.renew(ALICE, (_anew(row),))) == (first.id,)

        new = row._replace(entry=NEW)
        assert drive(store, store.get(ALICE, (first.id,))) == (new,)
        assert new in drive(store, store.snapshot(ALICE)).rows
        assert drive(store, store.history(ALICE, first.root)) == (new,)
        assert drive(store, store.keyed(ALICE, ALICE, "k")) == (new,)
        assert new in drive(store, store.as_of(ALICE, self.make.clock.now_us()))
        (untouched,) = drive(store, store.get(ALICE, (other.id,)))
        assert untouched.entry == b"entry " + other.id.encode()

    def test_an_entry_made_anew_changes_nothing_else(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        self.write(store, self.make.change(restated=(replace(memory, pinned=True),)))
        before = self.shown(store)
        (row,) = before.rows

        drive(store, store.renew(ALICE, (_anew(row),)))

        new = (row._replace(entry=NEW),)
        after = self.shown(store)
        assert after == before._replace(rows=new, live=new)
        verify_chain(after.links, after.chain_head)
        assert before.head is not None
        assert drive(store, store.snapshot(ALICE, since=before.head)).rows == ()

    def test_a_memory_without_an_entry_gets_one(self, store: MemoryStore) -> None:
        change = self.make.change(self.make.memory())
        bare = replace(change, added=(change.added[0]._replace(entry=b""),))
        (row,) = self.write(store, bare).rows

        assert drive(store, store.renew(ALICE, (_anew(row),))) == (row.id,)
        assert drive(store, store.get(ALICE, (row.id,))) == (row._replace(entry=NEW),)
        assert drive(store, store.damaged(ALICE)) == ()

    def test_an_entry_is_made_anew_only_of_what_still_stands(self, store: MemoryStore) -> None:
        changed, tagged, made, gone, kept = (self.make.memory() for _ in range(5))
        rows = {r.id: r for r in self.add(store, changed, tagged, made, gone, kept).rows}
        self.write(store, self.make.change(restated=(replace(changed, pinned=True),)))
        other = NewVersion(replace(tagged, tags=("new",)), b"of its tags", "a", "e")
        self.write(store, self.make.change(restated=(other.memory,), reindexed=(other,)))
        drive(store, store.renew(ALICE, (_anew(rows[made.id])._replace(entry=b"by another"),)))
        self.write(store, self.make.change(forgotten=(gone.id,)))
        before = drive(store, store.rows(ALICE))

        # In an order of its own, which is that of the answer.
        late = [_anew(rows[memory.id]) for memory in (kept, gone, made, tagged, changed)]
        assert drive(store, store.renew(ALICE, late)) == (kept.id,)

        after = drive(store, store.rows(ALICE))
        assert [row.id for row in after] == [row.id for row in before]
        assert [row for row in after if row.id != kept.id] == [r for r in before if r.id != kept.id]
        assert drive(store, store.damaged(ALICE)) == ()

    def test_an_entry_is_made_anew_once(self, store: MemoryStore) -> None:
        self.stored(store)
        (row,) = drive(store, store.rows(ALICE))

        assert drive(store, store.renew(ALICE, (_anew(row),))) == (row.id,)
        assert drive(store, store.renew(ALICE, (_anew(row),))) == ()

    def test_entries_of_others_and_of_nothing_are_left_alone(self, store: MemoryStore) -> None:
        self.stored(store)
        (row,) = drive(store, store.rows(ALICE))
        nobody = [_anew(row)._replace(id=id) for id in ("", "%", "\ud800", "a\0b")]

        for owner in (BOB, Scope.of_global()):
            assert drive(store, store.renew(owner, (_anew(row),))) == ()
        assert drive(store, store.renew(ALICE, nobody)) == ()
        assert drive(store, store.renew(ALICE, ())) == ()

        assert drive(store, store.rows(ALICE)) == (row,)
        assert drive(store, store.owners()) == (ALICE,)
        assert drive(store, store.heads((BOB,))) == (None,)

    def test_an_entry_made_anew_waits_for_who_is_writing(self, store: MemoryStore) -> None:
        memory = self.stored(store)
        (row,) = drive(store, store.rows(ALICE))
        written: list[tuple[str, ...]] = []
        renewing = threading.Thread(
            target=lambda: written.append(drive(store, store.renew(ALICE, (_anew(row),))))
        )
        other = NewVersion(replace(memory, tags=("new",)), b"of its tags", "a", "e")
        change = self.make.change(restated=(other.memory,), reindexed=(other,))

        def decide(_: object) -> object:
            if not renewing.is_alive():
                renewing.start()
            return change

        drive(store, store.commit(ALICE, TurnRequest(), decide))  # type: ignore[arg-type]
        renewing.join()

        assert written == [()]
        assert drive(store, store.rows(ALICE))[0].entry == b"of its tags"


def _anew(row: StoredRow) -> Renewed:
    return Renewed(row.id, row.revision, row.entry, NEW, "a2", "e2")
