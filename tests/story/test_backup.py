"""A whole store is backed up while it is in use, and goes back to a backup whoever has it open."""

import asyncio
import hashlib
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from principals import erase, history_of
from simonides import Draft
from simonides.api.migrate.migrate import migrate
from simonides.api.open.assemble import assemble, open_for_move
from simonides.api.sync import Store
from simonides.domain.errors import (
    CarryRefused,
    InvalidInput,
    MoveRefused,
    SimonidesError,
    StoreCorrupt,
    StoreError,
)
from simonides.domain.governance.erasure import ErasureState
from simonides.settings import Settings
from simonides.storage.encryption.key_ring import new_key
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import CountingIds, ManualClock
from simonides.testing.contracts.base import drive
from simonides.transfer.backup.create import Backups

PLAIN = Settings(embedder="none", synchronous="normal")
HALF_AN_HOUR_S = 1800.0


def opened(target, clock=None, ids=None, settings=PLAIN):
    made = assemble(
        target,
        settings=settings,
        inline=True,
        clock=clock or ManualClock(),
        ids=ids or CountingIds(),
        alarm=clock,
    )
    return Store(made)


def contents(store, user="alice"):
    return {memory.content for memory in store.memory(user=user).list(limit=1_000_000)}


def live(store):
    memory = store.memory(user="alice")
    memory.remember("I live in Lisbon", key="city")
    memory.correct("city", "Berlin")
    memory.remember("The boat lies at 4711", key="pin")
    store.memory(user="bob").remember("I am Bob")
    return memory


def test_a_backup_is_a_store_with_all_that_there_was(tmp_path, world):
    memory = live(world.store)
    told = []

    report = world.store.admin(actor="root").backup(
        tmp_path / "b.db", progress=lambda *far: told.append(far)
    )

    assert told[-1][0] == told[-1][1]
    assert (report.owners, report.events) == (
        2,
        world.store.admin(actor="root").check_audit().events,
    )
    assert report.size_bytes == (tmp_path / "b.db").stat().st_size
    assert (tmp_path / "b.db").stat().st_mode & 0o077 == 0
    with opened(tmp_path / "b.db", world.clock) as copy:
        assert contents(copy) == contents(world.store) == {"Berlin", "The boat lies at 4711"}
        there = copy.memory(user="alice")
        assert history_of(there, "city") == history_of(memory, "city")
        assert copy.admin(actor="root").check_audit().ok


def test_a_place_of_which_so_many_are_kept_is_a_directory_though_it_is_not_there_yet(
    tmp_path, world
):
    live(world.store)

    for _ in range(3):
        report = world.store.admin(actor="root").backup(tmp_path / "daily", keep=2)
        world.clock.advance(seconds=1)

    assert (tmp_path / "daily").is_dir()
    assert Path(report.path).parent == tmp_path / "daily"
    assert len([*(tmp_path / "daily").glob("*.db")]) == 2


def test_of_a_file_no_number_is_kept(tmp_path, world):
    live(world.store)
    (tmp_path / "taken").write_text("mine")
    for place in ("taken", "b.db"):
        with pytest.raises(InvalidInput, match="keep"):
            world.store.admin(actor="root").backup(tmp_path / place, keep=2)

    assert (tmp_path / "taken").read_text() == "mine"
    assert not (tmp_path / "b.db").exists()
    assert Path(world.store.admin(actor="root").backup(tmp_path / "b").path) == tmp_path / "b"


def test_backups_are_named_by_time_and_the_newest_are_kept(tmp_path, world):
    live(world.store)
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "notes-20260101T000000.000000Z.db").write_text("mine")

    taken = []
    for _ in range(4):
        taken.append(world.store.admin(actor="root").backup(f"{tmp_path}/backups/", keep=2))
        world.clock.advance(days=1)

    names = sorted(path.name for path in (tmp_path / "backups").iterdir())
    kept = [Path(report.path).name for report in taken[-2:]]
    digests = [f"{name}.sha256" for name in kept]
    assert names == sorted([*kept, *digests, "notes-20260101T000000.000000Z.db"])
    assert taken[-1].removed == (Path(taken[1].path).name,)
    assert [report.at for report in taken] == sorted(report.at for report in taken)


def test_without_a_place_a_store_in_a_file_has_one_beside_it(tmp_path, new_world):
    world = new_world()
    live(world.store)

    if not Path(world.target).exists():
        with pytest.raises(CarryRefused, match="backup_dir"):
            world.store.admin(actor="root").backup()
        return
    report = world.store.admin(actor="root").backup()
    assert Path(report.path).parent == Path(f"{world.target}.backups")


def test_a_store_knows_where_its_backups_are(tmp_path, world):
    live(world.store)
    store = world.store.runtime.store
    assert drive(store, store.backups()) == ()

    taken = [
        world.store.admin(actor="root").backup(tmp_path / "one.db"),
        world.store.admin(actor="root").backup(f"{tmp_path}/many/"),
    ]
    world.clock.advance(days=1)
    taken.append(world.store.admin(actor="root").backup(f"{tmp_path}/many/"))
    left = tmp_path / ".one.db.cafe.part" / "memory.db"
    left.parent.mkdir()
    left.write_text("of who was killed")
    (tmp_path / "many" / "notes.db").write_text("somebody else's")

    paths = [report.path for report in taken]
    assert drive(store, store.backups()) == tuple(sorted([*paths, str(left)]))
    (tmp_path / "one.db").unlink()
    assert str(tmp_path / "one.db") not in drive(store, store.backups())
    if world.is_durable:
        world.reopen()
        assert drive(store, world.store.runtime.store.backups())[1:] == tuple(sorted(paths[1:]))


def test_a_place_that_cannot_be_is_refused(tmp_path, world):
    (tmp_path / "taken.db").write_text("mine")
    (tmp_path / "file").write_text("")

    for place, reason in ((tmp_path / "taken.db", "exists"), (tmp_path / "file" / "b.db", "file")):
        with pytest.raises(CarryRefused) as refused:
            world.store.admin(actor="root").backup(place)
        assert refused.value.reason == reason
    with pytest.raises(InvalidInput, match="keep"):
        world.store.admin(actor="root").backup(tmp_path, keep=0)
    assert (tmp_path / "taken.db").read_text() == "mine"


def prefix_of_what_each_wrote(target, place, users):
    """Back a store up under one writer for each user, and look at what is in the backups."""
    clock, ids = ManualClock(), CountingIds()
    ready, stop = threading.Barrier(len(users) + 1), threading.Event()
    acknowledged, failures = dict.fromkeys(users, 0), []

    def write(user):
        try:
            with opened(target, clock, ids) as store:
                memory = store.memory(user=user)
                ready.wait()
                while not stop.is_set():
                    memory.remember(f"number {acknowledged[user]}")
                    acknowledged[user] += 1
        except SimonidesError as error:
            failures.append(error)
            raise

    with opened(target, clock, ids) as store:
        threads = [threading.Thread(target=write, args=(user,)) for user in users]
        for thread in threads:
            thread.start()
        ready.wait()
        backups = []
        for number in range(4):
            before = dict(acknowledged)
            store.admin(actor="root").backup(place / f"{number}.db")
            backups.append((place / f"{number}.db", before, dict(acknowledged)))
        stop.set()
        for thread in threads:
            thread.join()

    assert not failures
    for backup, before, after in backups:
        with opened(backup) as copy:
            assert copy.admin(actor="root").check_audit().ok
            for user in users:
                found = contents(copy, user)
                assert found == {f"number {n}" for n in range(len(found))}
                # What was acknowledged is in it, and nothing that was not yet asked for.
                assert before[user] <= len(found) <= after[user] + 1


def test_a_backup_under_four_writers_is_a_prefix_of_what_each_wrote(tmp_path):
    prefix_of_what_each_wrote(tmp_path / "m.db", tmp_path, [f"u{n}" for n in range(4)])


def test_a_server_s_backup_under_writers_is_a_prefix_too(tmp_path, postgres, database):
    url = postgres.url("simonides_app", database)
    prefix_of_what_each_wrote(url, tmp_path, ["u0", "u1"])


def test_a_store_goes_back_and_who_has_it_open_goes_on(tmp_path):
    clock, ids = ManualClock(), CountingIds()
    with opened(tmp_path / "m.db", clock, ids) as one, opened(tmp_path / "m.db", clock, ids) as two:
        memory = live(one)
        two.memory(user="alice").recall("where do I live?")
        one.admin(actor="root").backup(tmp_path / "b.db")
        clock.advance(days=1)
        memory.correct("city", "Porto")
        memory.remember("Newer")
        two.memory(user="carol").remember("I came later")
        assert "Newer" in contents(two)

        report = one.admin(actor="root").restore_backup(tmp_path / "b.db")

        assert (report.owners, report.forgotten) == (2, 0)
        for store in (one, two):
            assert contents(store) == {"Berlin", "The boat lies at 4711"}
            assert contents(store, "carol") == set()
        assert two.memory(user="alice").correct("city", "Rome").record.version == 3
        assert "Rome" in contents(one)
        assert one.admin(actor="root").check_audit().ok
        one.admin(actor="root").export(tmp_path / "org.jsonl")
        assert '"brought_back"' in (tmp_path / "org.jsonl").read_text()


def test_what_was_forgotten_since_stays_forgotten(tmp_path):
    with opened(tmp_path / "m.db") as store:
        memory = live(store)
        store.admin(actor="root").backup(tmp_path / "b.db")
        memory.forget("pin")
        gone = memory.list()[0]
        memory.forget(gone.id)

        report = store.admin(actor="root").restore_backup(tmp_path / "b.db")

        assert report.forgotten == 3
        assert contents(store) == set()
        assert store.admin(actor="root").check_audit().ok
        assert contents(store, "bob") == {"I am Bob"}
        again = memory.remember(Draft("The boat lies at 4711", key="pin", source="agent_inferred"))
        assert "4711" in again.record.content
    assert b"Berlin" not in (tmp_path / "m.db").read_bytes()


def test_who_was_erased_since_stays_erased(tmp_path):
    clock = ManualClock()
    with opened(tmp_path / "m.db", clock) as store:
        live(store)
        store.admin(actor="root").backup(tmp_path / "b.db")
        clock.advance(days=1)
        erase(store.memory(user="alice"))

        report = store.admin(actor="root").restore_backup(tmp_path / "b.db")

        assert report.forgotten == 3
        assert contents(store) == set()
        assert contents(store, "bob") == {"I am Bob"}
        assert store.admin(actor="root").check_audit().ok
    assert b"Berlin" not in (tmp_path / "m.db").read_bytes()


def test_what_was_refused_switched_off_or_taken_since_stays_so(tmp_path):
    with opened(tmp_path / "m.db") as store:
        alice, bob = live(store), store.memory(user="bob")
        bob.privacy.refuse("salary")
        alice.privacy.refuse("pin")
        for name in ("bob", "carol"):
            store.admin(actor="root").grant(name, "read_user:alice")
        store.admin(actor="root").backup(tmp_path / "b.db")
        alice.privacy.refuse("city")
        alice.privacy.allow(key="pin")
        bob.privacy.pause_recall()
        store.admin(actor="root").revoke("bob", "read_user:alice")

        store.admin(actor="root").restore_backup(tmp_path / "b.db")

        assert contents(store) == set()
        assert {each.name for each in alice.privacy.list() if not each.allowed} == {"city", "pin"}
        assert bob.recall("who am I?").degraded == ("recall_off",)
        assert {each.name for each in bob.privacy.list() if not each.allowed} == {
            "salary",
            "recall",
        }
        assert bob.privacy.grants() == ()
        assert [grant.grantee for grant in store.memory(user="carol").privacy.grants()] == ["carol"]
        assert store.admin(actor="root").check_audit().ok
        alice.privacy.allow(key="city")
        assert contents(store) == {"Berlin"}


def test_who_came_since_is_forgotten_but_for_what_was_refused(tmp_path):
    with opened(tmp_path / "m.db") as store:
        live(store)
        store.admin(actor="root").backup(tmp_path / "b.db")
        zoe = store.memory(user="zoe")
        zoe.remember("Sails")
        zoe.privacy.refuse("city")
        zoe.privacy.pause_recall()

        store.admin(actor="root").restore_backup(tmp_path / "b.db")

        assert {each.name for each in zoe.privacy.list() if not each.allowed} == {"city", "recall"}
        assert zoe.list() == ()
        assert store.admin(actor="root").check_audit().ok


EDITED = "UPDATE grants SET body = CAST(replace(CAST(body AS TEXT), 'bob', 'eve') AS BLOB)"


@pytest.mark.parametrize(
    ("is_ringed", "statement"),
    [
        (True, EDITED),
        (False, "UPDATE grants SET body = x'ff'"),
        (False, "UPDATE consents SET body = x'ff'"),
    ],
)
def test_a_store_in_which_rights_or_refusals_are_damaged_goes_back_to_those_of_the_backup(
    tmp_path, is_ringed, statement
):
    ringed = Settings(embedder="none", keys=new_key("k") if is_ringed else None)
    with opened(tmp_path / "m.db", settings=ringed) as store:
        alice, bob = store.memory(user="alice"), store.memory(user="bob")
        alice.privacy.refuse("pin")
        store.admin(actor="root").grant("bob", "read_user:alice")
        store.admin(actor="root").backup(tmp_path / "b.db")
        with closing(apsw.Connection(str(tmp_path / "m.db"))) as connection:
            connection.execute(statement)
        with pytest.raises(StoreCorrupt):
            _ = bob.privacy.grants(), alice.privacy.list()

        store.admin(actor="root").restore_backup(tmp_path / "b.db")

        assert [grant.grantee for grant in bob.privacy.grants()] == ["bob"]
        assert [each.name for each in alice.privacy.list()] == ["pin"]


def test_a_backup_from_after_an_erasure_holds_nothing_of_whom_it_was(tmp_path):
    with opened(tmp_path / "m.db") as store:
        store.memory(user="bob").remember("I am Bob")
        store.memory(user="eve").remember("Call me Eve")
        before = store.admin(actor="root").backup(f"{tmp_path}/before/")
        assert erase(store.memory(user="eve")).waits == (f"backup:{before.path}",)
        Path(before.path).unlink()

        after = store.admin(actor="root").backup(f"{tmp_path}/after/")

        assert store.memory(user="eve").data.erasure().state is ErasureState.COMPLETE
        store.admin(actor="root").restore_backup(after.path)
        assert store.memory(user="eve").data.erasure().state is ErasureState.COMPLETE


def test_a_backup_comes_to_a_new_machine(tmp_path):
    with opened(tmp_path / "m.db") as store:
        live(store)
        store.admin(actor="root").backup(tmp_path / "b.db")
    with opened(tmp_path / "new.db") as store:
        store.admin(actor="root").restore_backup(tmp_path / "b.db")
        assert contents(store) == {"Berlin", "The boat lies at 4711"}
        assert store.admin(actor="root").check_audit().ok
    with opened(tmp_path / "other.db") as store:
        store.memory(user="zoe").remember("Mine")
        with pytest.raises(MoveRefused) as refused:
            store.admin(actor="root").restore_backup(tmp_path / "b.db")
        assert refused.value.reason == "other_store"
        assert contents(store, "zoe") == {"Mine"}


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory):
    """A backup, as bytes, and the file of the store that it is of."""
    place = tmp_path_factory.mktemp("backed-up")
    with opened(place / "m.db") as store:
        live(store)
        store.admin(actor="root").backup(place / "b.db")
        store.memory(user="alice").remember("Newer")
    return (place / "b.db").read_bytes(), place / "m.db"


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=15, deadline=None)
def test_a_flipped_bit_is_refused_by_the_digest_beside_it(tmp_path_factory, backed_up, place, bit):
    raw, store = backed_up
    tmp_path = tmp_path_factory.mktemp("flip")
    path, flipped = of_store(store.read_bytes(), tmp_path), bytearray(raw)
    flipped[int(place * len(raw))] ^= 1 << bit
    (tmp_path / "b.db").write_bytes(flipped)
    beside = store.with_name("b.db.sha256").read_bytes()
    (tmp_path / "b.db.sha256").write_bytes(beside)
    assert beside.decode().split() == [hashlib.sha256(raw).hexdigest(), "b.db"]

    with opened(path) as opened_store:
        with pytest.raises(CarryRefused, match="sha256") as refused:
            opened_store.admin(actor="root").restore_backup(tmp_path / "b.db")
        assert refused.value.reason == "damaged"
        assert "Newer" in contents(opened_store)
        (tmp_path / "b.db").write_bytes(raw)
        opened_store.admin(actor="root").restore_backup(tmp_path / "b.db")
        assert "Newer" not in contents(opened_store)


def of_store(raw, tmp_path):
    path = tmp_path / "m.db"
    path.write_bytes(raw)
    return path


SPOILT = {
    "empty": lambda raw: b"",
    "cut": lambda raw: raw[: len(raw) // 2],
    "text": lambda raw: b"hello\n" * 100,
    "zeros": lambda raw: raw[:8192] + bytes(len(raw) - 8192),
    "a word": lambda raw: raw.replace(b"Berlin", b"Munich", 1),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_damaged_backup_is_refused_before_anything_is_touched(tmp_path, backed_up, name):
    raw, store = backed_up
    path = of_store(store.read_bytes(), tmp_path)
    (tmp_path / "b.db").write_bytes(SPOILT[name](raw))

    with opened(path) as opened_store:
        with pytest.raises(CarryRefused) as refused:
            opened_store.admin(actor="root").restore_backup(tmp_path / "b.db")
        assert refused.value.reason == "damaged"
        assert contents(opened_store) == {"Berlin", "The boat lies at 4711", "Newer"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.db", "m.db", "m.db-turn"]


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=12, deadline=None)
def test_without_its_digest_a_flipped_bit_is_refused_or_changes_no_memory(
    tmp_path_factory, backed_up, place, bit
):
    raw, store = backed_up
    tmp_path = tmp_path_factory.mktemp("flip")
    path, flipped = of_store(store.read_bytes(), tmp_path), bytearray(raw)
    flipped[int(place * len(raw))] ^= 1 << bit
    (tmp_path / "b.db").write_bytes(flipped)

    with opened(path) as opened_store:
        try:
            opened_store.admin(actor="root").restore_backup(tmp_path / "b.db")
        except (CarryRefused, MoveRefused):
            assert "Newer" in contents(opened_store)
        else:
            # It lay where nothing is kept, or in an index entry, which is made of the memory.
            assert contents(opened_store) == {"Berlin", "The boat lies at 4711"}
            assert opened_store.admin(actor="root").check_audit().ok


def test_no_file_and_no_backup_are_refused(tmp_path, world):
    (tmp_path / "x.jsonl").write_text("{}")
    for path in (tmp_path / "missing.db", tmp_path, tmp_path / "x.jsonl"):
        with pytest.raises(CarryRefused):
            world.store.admin(actor="root").restore_backup(path)


def both(path):
    """The names of a backup and of its digest."""
    return {Path(path).name, f"{Path(path).name}.sha256"}


def test_a_copy_that_is_not_the_store_does_not_count(tmp_path, monkeypatch):
    clock = ManualClock()
    with opened(tmp_path / "m.db", clock) as opened_store:
        live(opened_store)
        directory = f"{tmp_path}/kept/"
        first = opened_store.admin(actor="root").backup(directory, keep=1)
        clock.advance(days=1)
        real = SqliteStore.copy_to

        async def lossy(store, path, tell):
            stood = await real(store, path, tell)
            with apsw.Connection(path) as copy:
                copy.execute("DELETE FROM events WHERE seq = 2")
            return stood

        monkeypatch.setattr(SqliteStore, "copy_to", lossy)
        with pytest.raises(CarryRefused, match="does not hold") as refused:
            opened_store.admin(actor="root").backup(directory, keep=1)

    assert refused.value.reason == "damaged"
    assert {path.name for path in Path(directory).iterdir()} == both(first.path)


def scheduled(tmp_path, clock, **more):
    settings = Settings(
        embedder="none",
        synchronous="normal",
        backup_dir=tmp_path / "backups",
        backup_every_minutes=30,
        backup_keep=3,
        **more,
    )
    return opened(tmp_path / "m.db", clock, settings=settings)


def taken(tmp_path):
    directory = tmp_path / "backups"
    return sorted(path.name for path in directory.glob("*.db"))


def test_a_long_lived_process_backs_up_on_time(tmp_path):
    clock = ManualClock()
    with scheduled(tmp_path, clock) as store:
        live(store)
        assert taken(tmp_path) == []
        clock.advance(seconds=61)
        assert len(taken(tmp_path)) == 1
        clock.advance(seconds=HALF_AN_HOUR_S - 60)
        assert len(taken(tmp_path)) == 1
        clock.advance(seconds=61)
        assert len(taken(tmp_path)) == 2
        for _ in range(5):
            clock.advance(seconds=HALF_AN_HOUR_S + 61)
        assert len(taken(tmp_path)) == 3
    clock.advance(days=1)
    assert len(taken(tmp_path)) == 3


def test_of_two_processes_one_backs_up(tmp_path):
    clock = ManualClock()
    with scheduled(tmp_path, clock) as one, scheduled(tmp_path, clock):
        live(one)
        clock.advance(seconds=61)
        clock.advance(seconds=600)

        assert len(taken(tmp_path)) == 1


def test_a_backup_that_fails_is_told_and_tried_again(tmp_path):
    clock = ManualClock()
    (tmp_path / "backups").write_text("in the way")
    with scheduled(tmp_path, clock) as store:
        memory = live(store)
        clock.advance(seconds=61)
        assert "backup:CarryRefused" in memory.status()["problems"]

        (tmp_path / "backups").unlink()
        clock.advance(seconds=61)

        assert len(taken(tmp_path)) == 1
        assert memory.status()["problems"] == []


def test_nothing_is_scheduled_unasked(tmp_path):
    clock = ManualClock()
    with opened(tmp_path / "m.db", clock) as store:
        live(store)
        clock.advance(days=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.db", "m.db-turn"]


def test_on_an_event_loop_backups_are_taken_beside_it(tmp_path):
    settings = Settings(embedder="none", backup_dir=tmp_path / "backups")
    clock = ManualClock()

    async def use():
        made = assemble(
            tmp_path / "m.db",
            settings=settings,
            inline=False,
            clock=clock,
            ids=CountingIds(),
            alarm=clock,
        )
        async with made as store:
            await store.memory(user="alice").remember("I live in Lisbon")
            clock.advance(seconds=61)
            while not await store.runtime.part(Backups).known():
                await asyncio.sleep(0)
            await store.memory(user="alice").remember("Newer")
            (backup,) = await store.runtime.part(Backups).known()
            await store.admin(actor="root").restore_backup(backup)
            return [memory.content for memory in await store.memory(user="alice").list()]

    assert asyncio.run(use()) == ["I live in Lisbon"]


def test_a_server_s_store_is_backed_up_to_a_file_that_moves_back(tmp_path, postgres, database):
    url = postgres.url("simonides_app", database)
    with opened(url, ManualClock()) as store:
        live(store)
        report = store.admin(actor="root").backup(f"{tmp_path}/backups/")
        store.memory(user="alice").remember("Newer")
        with pytest.raises(CarryRefused, match="migrate"):
            store.admin(actor="root").restore_backup(report.path)
        assert contents(store) == {"Berlin", "The boat lies at 4711", "Newer"}

    assert report.owners == 2
    with opened(report.path) as copy:
        assert contents(copy) == {"Berlin", "The boat lies at 4711"}
        assert copy.admin(actor="root").check_audit().ok
    name = postgres.new_database()
    asyncio.run(moved(report.path, postgres.url("simonides_app", name)))
    with opened(postgres.url("simonides_app", name)) as store:
        assert contents(store) == {"Berlin", "The boat lies at 4711"}
    postgres.give_back(name)


async def moved(source, target):
    async with open_for_move(source, target, settings=PLAIN) as (one, other):
        await migrate(one.runtime.store, other.runtime.store)


def test_a_full_store_that_is_closed_takes_no_backup(tmp_path):
    store = opened(tmp_path / "m.db")
    live(store)
    store.close()
    with pytest.raises(StoreError):
        store.admin(actor="root").backup(tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()
