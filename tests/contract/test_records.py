"""Safety records and feedback lie alike in memory, in a file and in PostgreSQL, sealed or not."""

import threading
from pathlib import Path

import pytest

from simonides.domain.errors import (
    ConfigurationError,
    KeyUnavailable,
    StoreCorrupt,
    StoreUnavailable,
)
from simonides.domain.governance.safety_record import KeptRecord, Shelf
from simonides.storage.encryption.key_ring import HeldKeys, new_key
from simonides.storage.sidecar.records_codec import RecordSeal
from simonides.storage.sidecar.records_sqlite import SqliteRecords
from simonides.testing.contracts.records import (
    ALICE,
    BOB,
    NOTE,
    RecordStoreContract,
)

KEY_ONE, KEY_TWO = new_key("one"), new_key("two")


def ring(*lines):
    return HeldKeys.of_text("\n".join(lines), where="the test")


def seal(*lines):
    return RecordSeal(ring(*lines), "here")


class TestRecordsInMemory(RecordStoreContract):
    @pytest.fixture
    def records(self):
        records = SqliteRecords.in_memory()
        yield records
        records.close()


class TestFileRecords(RecordStoreContract):
    seals = None

    @pytest.fixture
    def records(self, tmp_path):
        self.path = tmp_path / "m.db.records"
        store = SqliteRecords.open(self.path, seal=self.seals)
        self.others = []
        yield store
        for each in (store, *self.others):
            each.close()

    def again(self, records):
        self.others.append(SqliteRecords.open(self.path, seal=self.seals))
        return self.others[-1]

    def bytes_left(self):
        return b"".join(file.read_bytes() for file in self.path.parent.iterdir())

    def test_no_file_is_made_before_there_is_a_record_and_then_it_is_its_users(self, records):
        assert records.page(Shelf.SAFETY, since=0) == ()
        records.purge(Shelf.SAFETY, before=None)
        records.forget(ALICE)
        assert not self.path.exists()

        self.filled(records)

        assert self.path.stat().st_mode & 0o077 == 0

    def test_of_what_went_no_byte_is_left_in_any_file(self, records):
        self.filled(records)
        assert ALICE in self.bytes_left()
        purged = records.forget(ALICE)

        (looked,) = purged.files
        assert (looked.path, looked.result) == (str(self.path), "clean")
        left = self.bytes_left()
        assert ALICE not in left
        assert BOB in left
        records.purge(Shelf.SAFETY, before=None)
        assert BOB not in self.bytes_left()

    def test_what_is_left_of_a_subject_is_found_and_written_over(self, records, monkeypatch):
        self.filled(records)
        # As SQLite leaves it where pages were merged: a copy in free space.
        file = records._file.opened()
        with file.reading() as connection:
            connection.pragma("secure_delete", 0)
        purged = records.forget(ALICE)

        assert (purged.waits, ALICE in self.bytes_left()) == ((), False)

    def test_many_may_write_at_once(self, records):
        others = [self.again(records) for _ in range(3)]

        def write(store, first):
            for number in range(first, first + 10):
                body = b"{}"
                store.add(Shelf.SAFETY, KeptRecord(f"r-{number:04d}", 1, ALICE, body), before=0)

        threads = [
            threading.Thread(target=write, args=(store, 10 * place))
            for place, store in enumerate([records, *others])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert self.numbers(records) == list(range(39, -1, -1))

    def test_another_programs_file_is_left_alone(self, tmp_path):
        path = tmp_path / "notes"
        path.write_bytes(b"not a database, and not ours" * 100)

        with pytest.raises((ConfigurationError, StoreCorrupt)):
            SqliteRecords.open(path)
        assert path.read_bytes().startswith(b"not a database")

    def test_one_that_is_closed_says_so(self, records):
        records.close()

        with pytest.raises(StoreUnavailable):
            records.page(Shelf.SAFETY, since=0)


class TestSealedFileRecords(TestFileRecords):
    seals = seal(KEY_ONE)

    def test_no_word_of_a_record_is_in_the_file(self, records):
        self.filled(records)

        assert NOTE not in self.bytes_left()

    def test_a_ring_with_a_newer_key_opens_what_the_older_sealed(self, records):
        self.filled(records)
        newer = SqliteRecords.open(self.path, seal=seal(KEY_ONE, KEY_TWO))
        self.others.append(newer)

        assert self.numbers(newer) == [4, 3, 2, 1]
        with pytest.raises(KeyUnavailable):
            SqliteRecords.open(self.path, seal=seal(KEY_TWO)).page(Shelf.SAFETY, since=0)

    def test_what_an_older_key_sealed_is_sealed_by_the_newer_all_or_none(self, records):
        self.filled(records)
        newer = SqliteRecords.open(self.path, seal=seal(KEY_TWO, KEY_ONE))
        self.others.append(newer)
        with pytest.raises(KeyUnavailable):
            SqliteRecords.open(self.path, seal=seal(KEY_TWO)).rewrap()

        assert (newer.rewrap(), newer.rewrap()) == (5, 0)

        alone = SqliteRecords.open(self.path, seal=seal(KEY_TWO))
        self.others.append(alone)
        assert self.numbers(alone) == [4, 3, 2, 1]

    def test_without_a_key_it_can_still_be_purged(self, records):
        self.filled(records)
        blind = SqliteRecords.open(self.path)
        self.others.append(blind)

        with pytest.raises(StoreCorrupt, match="encrypted"):
            blind.page(Shelf.SAFETY, since=0)
        assert blind.purge(Shelf.SAFETY, before=3) == 2
        assert blind.forget(ALICE).waits == ()

    @pytest.mark.parametrize("column", ["subject", "at", "body"])
    def test_what_was_edited_does_not_open(self, records, column):
        self.filled(records)
        to = {"subject": BOB, "at": 99, "body": b"\0" * 60}[column]
        with records._file.opened().writing() as connection:
            connection.execute(f"UPDATE records SET {column} = ? WHERE id = 'record-0001'", (to,))

        with pytest.raises(StoreCorrupt, match="purge"):
            records.page(Shelf.SAFETY, since=0)


class TestPostgresRecords(RecordStoreContract):
    seals = None

    @pytest.fixture
    def records(self, postgres, database):
        pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")
        from simonides.storage.sidecar.records_postgres import PostgresRecords

        self.postgres, self.name = postgres, database
        self.made = []

        def make():
            url = postgres.url("simonides_app", database)
            self.made.append(PostgresRecords(url, seal=self.seals))
            return self.made[-1]

        self.make = make
        yield make()
        for store in self.made:
            store.close()

    def again(self, records):
        return self.make()

    def test_a_role_without_rights_there_sees_nothing(self, records):
        import psycopg

        self.filled(records)
        with self.postgres.connect("simonides_app", self.name) as connection:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("UPDATE simonides_records.records SET at = 0")
            connection.rollback()
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("TRUNCATE simonides_records.records")

    def test_a_server_that_hung_up_is_asked_again(self, records):
        self.filled(records)
        with self.postgres.connect("postgres", self.name) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        assert self.numbers(records) == [4, 3, 2, 1]


class TestSealedPostgresRecords(TestPostgresRecords):
    seals = seal(KEY_ONE)

    def test_what_an_older_key_sealed_is_sealed_by_the_newer(self, records):
        self.filled(records)
        self.seals = seal(KEY_TWO, KEY_ONE)
        newer = self.again(records)

        assert (newer.rewrap(), newer.rewrap()) == (5, 0)
        self.seals = seal(KEY_TWO)
        assert self.numbers(self.again(records)) == [4, 3, 2, 1]


def test_a_path_is_where_the_records_are(tmp_path):
    assert SqliteRecords.open(tmp_path / "x").location == str(Path(tmp_path / "x").resolve())
