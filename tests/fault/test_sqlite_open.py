"""Files that are no store, places that cannot be written, disks that are full: typed, unharmed."""

import hashlib
import os
import shutil
import signal
import tempfile
from pathlib import Path

import apsw
import pytest
from racing import Writer, check_store

import simonides
from simonides.domain.errors import (
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from simonides.domain.writing.change import TurnRequest
from simonides.storage.sqlite.file import schema as sqlite_schema
from simonides.storage.sqlite.file.schema import APPLICATION_ID, PAGE_BYTES, SQL_DIRECTORY
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing import ALICE
from simonides.testing.contracts.turns import in_fork
from simonides.testing.store_contract import MemoryStoreContract, drive

resource = pytest.importorskip("resource", reason="rights, limits and forks are those of Unix")

NOBODY = 65534

contract = MemoryStoreContract()


@pytest.fixture
def database(tmp_path):
    return tmp_path / "m.db"


@pytest.fixture
def store(database):
    store = SqliteStore.open(database)
    yield store
    drive(store, store.close())


@pytest.fixture
def public_directory():
    """A directory that every user of the system can reach."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def raw(database, *statements):
    """Run statements as any other program would; return the rows of the last."""
    connection = apsw.Connection(str(database))
    found = [connection.execute(statement).fetchall() for statement in statements][-1]
    connection.close()
    return found


def files_in(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def without_rights(attempt):
    """Return a number that a function gives in a process that may write nothing of root's, and of
    its own what its mode allows.
    """

    def lowered():
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        return attempt()

    return in_fork(lowered)


def opening_fails_with(database, error):
    try:
        store = SqliteStore.open(database)
    except StoreError as raised:
        return type(raised) is error
    drive(store, store.close())
    return False


def is_full(write):
    try:
        write()
    except StoreFull:
        return True
    return False


# Files


@pytest.mark.parametrize(
    "content",
    [b"x", b"hello\n" * 100, b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["one byte", "text", "zeros", "half a header"],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(database, content):
    database.write_bytes(content)

    with pytest.raises(StoreCorrupt, match=r"m\.db"):
        SqliteStore.open(database)

    assert files_in(database.parent) == {"m.db": content}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_and_left_alone(database, mode):
    raw(database, f"PRAGMA journal_mode={mode}", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
    before = files_in(database.parent)

    with pytest.raises(StoreCorrupt, match="another program"):
        SqliteStore.open(database)

    assert files_in(database.parent) == before


def test_a_store_of_a_newer_format_is_refused_and_left_alone(database):
    drive(store := SqliteStore.open(database), store.close())
    raw(database, "PRAGMA user_version=7")
    before = database.read_bytes()

    with pytest.raises(StoreCorrupt, match="format 7 is newer than 1"):
        SqliteStore.open(database)

    assert database.read_bytes() == before


def test_a_payload_without_its_event_does_not_arrive(database):
    drive(store := SqliteStore.open(database), store.close())

    with pytest.raises(apsw.ConstraintError, match="no event waits"):
        raw(database, "INSERT INTO event_payloads VALUES (x'00', 1, x'00', x'00')")


@pytest.fixture
def schema(tmp_path, monkeypatch):
    """A directory of migrations that a test may add to; stores are opened with it."""
    directory = tmp_path / "sql"
    directory.mkdir()
    for file in SQL_DIRECTORY.glob("[0-9]*.sql"):
        shutil.copy(file, directory)
    monkeypatch.setattr(sqlite_schema, "SQL_DIRECTORY", directory)
    return directory


def test_a_later_migration_runs_once_and_keeps_what_is_stored(database, schema):
    drive(store := SqliteStore.open(database), store.close())
    contract.add({"role": store := SqliteStore.open(database), "content": contract.make.memory("kept")})
    before = contract.shown(store)
    drive(store, store.close())
    later = schema / "0002_colours.sql"
    later.write_text("CREATE TABLE colours (name TEXT) STRICT; INSERT INTO colours VALUES ('red');")

    for _ in range(2):
        store = SqliteStore.open(database)
        assert contract.shown(store) == before
        drive(store, store.close())

    checksum = hashlib.sha256(later.read_bytes()).digest()
    assert raw(database, "SELECT name FROM colours") == [("red",)]
    recorded = raw(database, "SELECT number, name, checksum FROM migrations WHERE number > 1")
    assert recorded == [(2, "colours", checksum)]
    assert raw(database, "PRAGMA user_version") == [(2,)]


def test_a_migration_that_fails_leaves_the_store_as_it_was(database, schema):
    drive(store := SqliteStore.open(database), store.close())
    later = schema / "0002_colours.sql"
    later.write_text("CREATE TABLE colours (name TEXT) STRICT; INSERT INTO nowhere VALUES (1);")

    with pytest.raises(StoreError):
        SqliteStore.open(database)

    assert raw(database, "SELECT name FROM sqlite_schema WHERE name = 'colours'") == []
    assert raw(database, "PRAGMA user_version") == [(1,)]
    later.unlink()
    drive(store := SqliteStore.open(database), store.close())


def test_a_migration_that_was_changed_after_it_ran_is_refused(database, schema):
    later = schema / "0002_colours.sql"
    later.write_text("CREATE TABLE colours (name TEXT) STRICT;")
    drive(store := SqliteStore.open(database), store.close())
    later.write_text("CREATE TABLE colours (name TEXT, code TEXT) STRICT;")

    with pytest.raises(StoreCorrupt, match="not those of this program"):
        SqliteStore.open(database)


def test_a_store_of_other_migrations_is_refused(database):
    drive(store := SqliteStore.open(database), store.close())
    raw(database, "UPDATE migrations SET checksum = x'00'")

    with pytest.raises(StoreCorrupt, match="migrations"):
        SqliteStore.open(database)


def test_a_store_that_lost_a_table_says_so(database):
    drive(store := SqliteStore.open(database), store.close())
    raw(database, "DROP TABLE memories")

    store = SqliteStore.open(database)
    with pytest.raises(StoreCorrupt, match="memories"):
        drive(store, store.rows(ALICE))
    drive(store, store.close())


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_a_damaged_store_says_so(database, damage):
    samples = contract.make
    store = SqliteStore.open(database)
    many = [samples.memory("content " * 500, id=f"m{n:03}") for n in range(200)]
    contract.write(store, samples.change(*many))
    drive(store, store.close())
    content = database.read_bytes()
    half = len(content) // 2 // PAGE_BYTES * PAGE_BYTES
    if damage == "cut":
        database.write_bytes(content[:half])
    else:
        database.write_bytes(content[:half] + b"\xa5" * (len(content) - half))

    def read_all():
        store = SqliteStore.open(database)
        try:
            contract.shown(store, ALICE)
        finally:
            drive(store, store.close())

    with pytest.raises(StoreCorrupt):
        read_all()


def test_an_empty_file_becomes_a_store(database):
    database.touch()

    store = SqliteStore.open(database)
    contract.add({"role": store, "content": contract.make.memory()})
    drive(store, store.close())


def test_a_new_store_has_the_settings_that_it_needs(store, database):
    wanted = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "page_size": PAGE_BYTES}

    assert {name: store._place.writer.pragma(name) for name in wanted} == wanted
    assert store._place.writer.pragma("application_id") == APPLICATION_ID
    assert database.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_beside_the_stores_own_files(tmp_path):
    database = tmp_path / "made" / "for it" / "m.db"
    store = SqliteStore.open(database)
    contract.add({"role": store, "content": contract.make.memory()})

    own = {"m.db", "m.db-wal", "m.db-shm", "m.db-turn"}
    assert set(files_in(database.parent)) == own
    drive(store, store.close())
    assert set(files_in(database.parent)) == {"m.db", "m.db-turn"}
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_what_was_forgotten_is_in_no_file(store, database):
    samples = contract.make
    secret, fingerprint = "the word is xyzzy", b"fingerprint-of-32-bytes-xxxxxxxx"
    memories = [samples.memory(f"{secret} {n}", id=f"m{n:04}", key="k") for n in range(500)]
    for memory in memories:
        contract.write(store, samples.change(memory))
    contract.write(store, samples.change(restated=memories))

    forgotten = tuple(memory.id for memory in memories)
    contract.write(store, samples.change(forgotten=forgotten, tombstones=(fingerprint,)))

    for content in files_in(database.parent).values():
        assert secret.encode() not in content
        assert fingerprint not in content


# Places


def test_a_missing_directory_under_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnavailable, match="file"):
        SqliteStore.open(tmp_path / "file" / "m.db")


def test_a_directory_is_no_store(tmp_path):
    with pytest.raises(StoreUnavailable, match="not a file"):
        SqliteStore.open(tmp_path)


def test_a_place_that_may_not_be_written_is_read_only(public_directory):
    database = public_directory / "new.db"
    public_directory.chmod(0o555)

    assert without_rights(lambda: opening_fails_with(database, StoreReadOnly))
    assert list(public_directory.iterdir()) == []


def test_a_file_that_may_not_be_written_is_read_only(public_directory):
    database = public_directory / "m.db"
    drive(store := SqliteStore.open(database), store.close())
    database.chmod(0o444)
    before = files_in(public_directory)

    assert without_rights(lambda: opening_fails_with(database, StoreReadOnly))
    assert files_in(public_directory) == before


def test_records_that_may_not_be_written_say_which_file_and_what_to_do(public_directory):
    database, records = public_directory / "m.db", public_directory / "m.db.records"
    with simonides.open(database) as store:
        store.memory(user="ana").audit.record_safety("threat")
    for path in public_directory.iterdir():
        path.chmod(0o666)
    public_directory.chmod(0o777)
    records.chmod(0o444)
    before = records.read_bytes()

    def told():
        with simonides.open(database) as store:
            try:
                store.memory(user="ana").audit.record_safety("again")
            except StoreReadOnly as error:
                is_told = "let the user of this program" in str(error)
                return is_told and str(error).startswith(str(records))
        return False

    assert without_rights(told) == 1
    assert records.read_bytes() == before


def test_a_directory_that_may_not_be_written_is_read_only(public_directory):
    database = public_directory / "m.db"
    drive(store := SqliteStore.open(database), store.close())
    for path in public_directory.iterdir():
        path.chmod(0o666)
    (public_directory / "m.db-turn").unlink()
    public_directory.chmod(0o555)

    assert without_rights(lambda: opening_fails_with(database, StoreReadOnly))


# Room


def test_a_full_store_keeps_what_it_has(store):
    samples = contract.make
    store._place.writer.pragma("max_page_count", store._place.writer.pragma("page_count") + 4)
    contract.add({"role": store, "content": samples.memory()})
    before = contract.shown(store, ALICE)

    with pytest.raises(StoreFull):
        contract.write(store, samples.change(*(samples.memory("x" * 9000) for _ in range(50))))

    assert contract.shown(store, ALICE) == before
    store._place.writer.pragma("max_page_count", 2**30)
    contract.write(store, samples.change(samples.memory()))


def test_a_full_disk_loses_nothing_acknowledged(database, tmp_path):
    said = tmp_path / "said"

    def write_until_full():
        store = SqliteStore.open(database)
        writer = Writer(store, "writer")
        # The limit of a process on the size of its files is the nearest that there is to a
        # full disk without one: the system refuses the write in the middle of it.
        room = database.with_name("m.db-wal").stat().st_size + 40 * PAGE_BYTES
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        full = is_full(lambda: writer.write_for(30, 1000))
        said.write_text("\n".join(writer.acknowledged))
        seen = len(drive(store, store.history(ALICE, writer.acknowledged[0])))
        return int(full and seen == len(writer.acknowledged))

    assert in_fork(write_until_full) == 1
    check_store(database, said.read_text().split())


# Company


def test_a_file_locked_by_another_program_is_unavailable(store, database):
    impatient = SqliteStore.open(database, busy_timeout_s=0.05)
    other = apsw.Connection(str(database))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="locked"):
        contract.add({"role": impatient, "content": contract.make.memory()})

    other.execute("ROLLBACK")
    other.close()
    contract.add({"role": impatient, "content": contract.make.memory()})
    drive(impatient, impatient.close())


def test_a_turn_that_does_not_come_is_unavailable(store, database):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            holder = SqliteStore.open(database)

            def hold(_):
                os.write(writing, b"!")
                signal.pause()

            drive(holder, holder.commit(ALICE, TurnRequest(), hold))
        finally:
            os._exit(1)
    os.read(reading, 1)
    try:
        with pytest.raises(StoreUnavailable, match="turn"):
            SqliteStore.open(database, busy_timeout_s=0.05)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)

    contract.add({"role": store, "content": contract.make.memory()})


def test_a_decision_that_writes_is_stopped(store):
    def decide(_):
        contract.add({"role": store, "content": contract.make.memory()})

    with pytest.raises(ValueError, match="must not call the store"):
        drive(store, store.commit(ALICE, TurnRequest(), decide))

    contract.add({"role": store, "content": contract.make.memory()})


def test_a_child_may_open_the_store_of_its_parent_anew(store, database):
    writer = Writer(store, "parent")
    writer.write()

    def write_in_child():
        mine = SqliteStore.open(database)
        Writer(mine, "child").write()
        drive(mine, mine.close())
        return 0

    assert in_fork(write_in_child) == 0
    writer.write()
    versions = drive(store, store.history(ALICE, writer.acknowledged[0]))
    assert len(versions) == 3


def test_closing_one_of_two_stores_leaves_the_other_working(store, database):
    other = SqliteStore.open(database)
    drive(other, other.close())

    contract.add({"role": store, "content": contract.make.memory()})

    assert len(contract.shown(store, ALICE).rows) == 1


def test_a_store_that_lost_its_keys_is_named_and_leaves_nothing_open(database):
    drive(store := SqliteStore.open(database), store.close())
    connection = apsw.Connection(str(database))
    connection.execute("DELETE FROM meta")
    connection.close()

    with pytest.raises(StoreCorrupt, match="has lost its"):
        SqliteStore.open(database)

    held = {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
    assert not {path for path in held if path.startswith(str(database))}
