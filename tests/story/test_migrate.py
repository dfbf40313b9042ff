"""Moving a store: what is refused, what is moved again, what goes on where it was interrupted."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from simonides.api.migrate.migrate import migrate
from simonides.api.migrate.spot_check import recalls
from simonides.api.open.assemble import assemble, open_for_move
from simonides.domain.errors import (
    ConfigurationError,
    MoveRefused,
    StoreFull,
    StoreUnavailable,
)
from simonides.domain.scope import Scope
from simonides.domain.writing.change import JournalEntry, TurnRequest
from simonides.engine.core.audit_chain import verify
from simonides.settings import Settings
from simonides.storage.sqlite.store import SqliteStore
from simonides.storage.sqlite.writes import write_journal
from simonides.testing import ALICE, BOB, Samples
from simonides.testing.contracts.moving import OWNERS, MovableStoreContract
from simonides.testing.store_contract import drive

contract = MovableStoreContract()
LATE = Scope.of_user("acme", "late")


def write_to(store, owner, make=None):
    make = make or contract.make
    change = make.change(make.memory("More", scope=owner))
    drive(store, store.commit(owner, TurnRequest(), lambda _: change))


class Restless(SqliteStore):
    """A source to which somebody writes each time when a page of an owner was read."""

    @classmethod
    def filled(cls, times, write):
        store = cls.in_memory()
        store._left = 0
        contract.fill(store)
        store._left, store._write = times, write
        return store

    async def page(self, owner, part, *, after=None, limit=500):
        rows = await super().page(owner, part, after=after, limit=limit)
        if self._left and part.name == "grants":
            self._left -= 1
            self._write(self, owner)
        return rows


def write_here(store, owner):
    known = drive(store, store.owners())
    write_to(store, next((s for s in known if store._owners.of(s).digest == owner), ALICE))


def journal_here(store, owner):
    with store._turn() as connection:
        write_journal(connection, {owner: [JournalEntry(9, "access", b"{}")]})


def damage_link(store, owner):
    with store._turn() as connection:
        connection.execute(
            "UPDATE events SET commitment = ? WHERE owner = ? AND seq = 1",
            (b"x" * 32, store._owners.of(owner).digest),
        )


@pytest.mark.parametrize("write", [write_here, journal_here])
def test_an_owner_that_is_written_to_is_moved_again(write):
    source, target = Restless.filled(1, write), SqliteStore.in_memory()

    contract.move(source, target)

    assert contract.everything(target) == contract.everything(source)


@pytest.mark.parametrize("write", [write_here, journal_here])
def test_a_source_that_does_not_come_to_rest_is_refused(write):
    source, target = Restless.filled(10**6, write), SqliteStore.in_memory()

    with pytest.raises(MoveRefused, match="stop whatever writes") as refused:
        contract.move(source, target)

    assert refused.value.reason == "written"
    assert drive(target, target.owners()) == ()


def test_an_owner_written_to_after_it_has_moved_is_noticed():
    def write(store, _):
        moved = [s for s in OWNERS if drive(target, target.heads((s,)))[0] is not None]
        if moved:
            write_to(store, moved[0])
            store._left = 0

    target = SqliteStore.in_memory()
    source = Restless.filled(10**6, write)

    with pytest.raises(MoveRefused) as refused:
        contract.move(source, target)

    assert refused.value.reason == "written"


def test_an_owner_created_meanwhile_comes_too():
    source, target = (
        Restless.filled(1, lambda store, _: write_to(store, LATE)),
        SqliteStore.in_memory(),
    )

    moved, _ = contract.move(source, target)

    assert LATE in drive(target, target.owners())
    assert moved.moved == len(OWNERS) + 3
    assert contract.everything(target) == contract.everything(source)


def test_a_damaged_source_is_refused_before_anything_of_the_owner_is_written():
    source, target = SqliteStore.in_memory(), SqliteStore.in_memory()
    contract.stored(source)
    damage_link(source, ALICE)

    with pytest.raises(MoveRefused, match="admin check-audit") as refused:
        contract.move(source, target)

    assert (refused.value.reason, refused.value.owner) == ("damaged", ALICE.path)
    assert drive(target, target.inhabitants()) == ()


def test_rows_of_nobody_are_refused(tmp_path):
    source = SqliteStore.open(tmp_path / "a.db")
    contract.stored(source)
    source._place.writer.execute("UPDATE owners SET name = '/global/org/acme/user/eve/'")

    with pytest.raises(MoveRefused) as refused:
        contract.move(source, SqliteStore.in_memory())

    assert refused.value.reason == "damaged"
    drive(source, source.close())


class Lossy(SqliteStore):
    async def arrive(self, owner, rows):
        cut = [(p, [(*r[:-1], b"")] if p.name == "held" else r) for p, (r, *_) in rows if r]
        whole = [(p, r) for p, r in rows if p.name != "held"]
        await super().arrive(owner, [*whole, *((p, r) for p, r in cut if p.name == "held")])


def test_a_target_that_does_not_keep_what_it_is_given_is_noticed():
    source, target = SqliteStore.in_memory(), Lossy.in_memory()
    contract.fill(source)

    with pytest.raises(MoveRefused, match="held") as refused:
        contract.move(source, target, page=500)

    assert refused.value.reason == "differs"
    assert drive(target, target.owners()) == ()


class Full(SqliteStore):
    """Runs out of space after some pages."""

    room = 5
    kept = 0

    async def arrive(self, owner, rows):
        self.room -= 1
        if not self.room:
            raise StoreFull(self.location, "no space is left")
        await super().arrive(owner, rows)
        self.kept += sum(len(of_part) for _, of_part in rows)


def test_a_move_that_failed_goes_on_where_it_was():
    source, target = SqliteStore.in_memory(), Full.in_memory()
    contract.fill(source)
    whole = sum(map(len, contract.everything(source).values()))
    with pytest.raises(StoreFull):
        contract.move(source, target, page=3)

    target.room, kept = 0, target.kept
    _, told = contract.move(source, target, page=3)

    assert contract.everything(target) == contract.everything(source)
    assert kept
    assert told[-1].rows == whole - kept


def test_a_refused_move_leaves_a_store_in_use_open(tmp_path):
    source = SqliteStore.in_memory()
    contract.fill(source)
    target = SqliteStore.open(tmp_path / "b.db", filling=True)
    contract.move(source, target)
    write_to(target, LATE)
    write_to(source, Scope.of_user("acme", "new"))
    damage_link(source, BOB)
    write_to(source, BOB)

    with pytest.raises(MoveRefused):
        contract.move(source, target)

    drive(target, target.close())
    again = SqliteStore.open(tmp_path / "b.db")
    assert LATE in drive(again, again.owners())
    drive(again, again.close())


def test_who_has_the_target_open_is_in_the_way(tmp_path):
    source = SqliteStore.in_memory()
    contract.fill(source)
    other = SqliteStore.open(tmp_path / "b.db")
    target = SqliteStore.open(tmp_path / "b.db", filling=True)

    with pytest.raises(StoreUnavailable, match="open elsewhere"):
        contract.move(source, target)
    write_to(other, LATE)
    drive(other, other.close())

    assert drive(target, target.owners()) == (LATE,)
    drive(target, target.close())


def test_progress_tells_how_far_it_is():
    source, target = SqliteStore.in_memory(), SqliteStore.in_memory()
    contract.fill(source)

    _, told = contract.move(source, target)

    assert [step.rows for step in told] == sorted(step.rows for step in told)
    assert {step.of for step in told} == {len(OWNERS) + 2}
    assert {step.owner for step in told} == {"", *(owner.path for owner in OWNERS)}
    assert told[0].owners == 0
    assert told[-1].owners == len(OWNERS) + 1


def lived(path):
    """A store in which people and an organisation have said things."""
    with_ids = Samples()

    async def live():
        store = assemble(path, settings=Settings(), inline=True, clock=with_ids.clock)
        async with store:
            for user in ("ana", "bo", "chi"):
                memory = store.memory(user=user, org="acme")
                await memory.remember("Ich fahre gern mit dem Zug", key="train")
                await memory.remember("пароль лежит в сейфе", category="fact")
                await memory.remember("我喜欢靠窗的座位")
                await memory.correct("train", "I prefer night trains")
                await memory.remember("Soup at noon", key="lunch")
                await memory.forget("lunch")
            await store.visitor("s9", org="acme").remember("A guest likes tea")
            admin = store.admin(actor="root")
            await admin.grant(user="ana", right="org_write", org="acme")

    asyncio.run(live())


async def moved_with_recalls(source, target, spoil=None):
    async with open_for_move(str(source), str(target), settings=Settings()) as (one, other):
        if spoil is not None:
            spoil(other)
        return await migrate(
            one.runtime.store, other.runtime.store, recalls=recalls(one, other), page=3
        )


def test_recalls_of_both_stores_are_compared(tmp_path):
    lived(tmp_path / "a.db")

    moved = asyncio.run(moved_with_recalls(tmp_path / "a.db", tmp_path / "b.db"))

    assert moved.recalls >= 10
    store = SqliteStore.open(tmp_path / "b.db")
    report = drive(store, verify(store))
    assert report.ok
    assert report.erased == 0 or report.events
    drive(store, store.close())


def test_a_store_that_answers_otherwise_stays_closed(tmp_path):
    lived(tmp_path / "a.db")

    def spoil(opened):
        store = opened.runtime.store
        whole = store.snapshots

        async def snapshots(asked):
            return tuple(replace(seen, rows=seen.rows[:-1]) for seen in await whole(asked))

        store.snapshots = snapshots

    with pytest.raises(MoveRefused) as refused:
        asyncio.run(moved_with_recalls(tmp_path / "a.db", tmp_path / "b.db", spoil))

    assert refused.value.reason == "differs"
    with pytest.raises(StoreUnavailable):
        SqliteStore.open(tmp_path / "b.db")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("a.db", "a.db"),
        ("a.db", "./x/../a.db"),
        ("a.db", "sqlite:///a.db"),
        ("a.db", ":memory:"),
        (":memory:", "b.db"),
        ("missing.db", "b.db"),
        ("a.db", "nonsense://b"),
    ],
)
def test_stores_that_cannot_be_meant_are_refused(tmp_path, monkeypatch, source, target):
    monkeypatch.chdir(tmp_path)
    lived("a.db")

    with pytest.raises(ConfigurationError):
        asyncio.run(moved_with_recalls(source, target))

    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".db") == ["a.db"]


def test_comparing_recalls_leaves_no_trace_of_them_in_either_store(tmp_path):
    source = open_filled(tmp_path / "a.db")
    target = open_filled(tmp_path / "b.db")
    owner = Scope.of_user("default", "ana")
    compare = recalls(source, target)

    with contextlib.suppress(MoveRefused):
        asyncio.run(compare([owner]))

    for opened in (source, target):
        asyncio.run(opened.close())
        store = SqliteStore.open(tmp_path / ("a.db" if opened is source else "b.db"))
        assert drive(store, store.journaled(owner)) == ()
        assert drive(store, store.journaled(Scope.of_user("default", "simonides-migrate"))) == ()
        drive(store, store.close())


def open_filled(path):
    store = assemble(path, inline=True, settings=Settings())
    drive(store.runtime.store, store.memory(user="ana").remember("Deploy to Dublin"))
    return store
