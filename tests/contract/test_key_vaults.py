"""Vaults keep owners' keys in their order, and what is destroyed is in none of their tables."""

import pytest

from simonides.domain.errors import ConfigurationError, StoreCorrupt, StoreUnavailable
from simonides.ports import DataKey
from simonides.storage.sidecar.anchor_file import FileAnchor
from simonides.storage.sidecar.vault_sqlite import FileVault

STORE, OTHER, ALICE, BOB = (letter * 16 for letter in (b"s", b"t", b"a", b"b"))


def key(number, key_id="one"):
    return DataKey(b"%08d" % number, key_id, b"wrapped %d " % number * 6)


class VaultContract:
    def filled(self, vault):
        for number in (3, 1, 2):
            vault.add(STORE, ALICE, key(number))
        vault.add(STORE, BOB, key(4))
        vault.add(OTHER, ALICE, key(5))
        return vault

    def test_keys_come_in_the_order_in_which_they_were_added(self, vault):
        self.filled(vault)

        assert vault.keys(STORE, ALICE) == (key(3), key(1), key(2))
        assert vault.keys(STORE, BOB) == (key(4),)
        assert vault.keys(OTHER, ALICE) == (key(5),)
        assert vault.keys(OTHER, BOB) == ()

    def test_it_knows_the_stores_of_which_it_ever_had_a_key(self, vault):
        vault.add(STORE, ALICE, key(1))
        vault.add(STORE, ALICE, key(2))
        vault.destroy(STORE, ALICE, key(2).id)

        assert vault.holds(STORE)
        assert not vault.holds(OTHER)

    def test_keys_are_destroyed_up_to_one_of_them(self, vault):
        self.filled(vault)
        for _ in range(2):
            vault.destroy(STORE, ALICE, key(2).id)

            gone = (key(3)._replace(wrapped=None), key(1)._replace(wrapped=None))
            assert vault.keys(STORE, ALICE) == (*gone, key(2))
        vault.destroy(STORE, ALICE, key(3).id)

        assert vault.keys(STORE, ALICE) == (*gone, key(2))
        assert vault.keys(STORE, BOB) == (key(4),)
        assert vault.keys(OTHER, ALICE) == (key(5),)

    @pytest.mark.parametrize("until", [b"no such.", key(4).id, key(5).id])
    def test_nothing_is_destroyed_up_to_a_key_that_the_owner_does_not_have(self, vault, until):
        self.filled(vault)
        vault.destroy(STORE, ALICE, until)

        assert vault.keys(STORE, ALICE) == (key(3), key(1), key(2))
        assert vault.keys(STORE, BOB) == (key(4),)

    def test_keys_that_are_left_are_wrapped_anew(self, vault):
        self.filled(vault)
        vault.destroy(STORE, ALICE, key(1).id)
        given = []

        def again(owner, found):
            given.append((owner, found))
            return found._replace(key_id="two", wrapped=b"anew" + found.wrapped)

        assert vault.rewrap(STORE, again) == 3
        assert sorted(given) == [(ALICE, key(1)), (ALICE, key(2)), (BOB, key(4))]
        first, *left = vault.keys(STORE, ALICE)
        assert first == key(3)._replace(wrapped=None)
        assert left == [key(n, "two")._replace(wrapped=b"anew" + key(n).wrapped) for n in (1, 2)]
        assert vault.keys(OTHER, ALICE) == (key(5),)
        assert vault.rewrap(STORE, lambda _, found: found) == 0

    def test_all_or_none_are_wrapped_anew(self, vault):
        self.filled(vault)
        given = []

        def broken(owner, found):
            given.append(owner)
            if len(given) == 2:
                raise LookupError
            return found._replace(key_id="two")

        with pytest.raises(LookupError):
            vault.rewrap(STORE, broken)
        assert [each.key_id for each in vault.keys(STORE, ALICE)] == ["one"] * 3

    def test_each_sees_what_another_did(self, vault, again):
        self.filled(vault)
        seen = [again.version()]
        for change in (
            lambda: vault.add(STORE, BOB, key(6)),
            lambda: vault.destroy(STORE, BOB, key(6).id),
            lambda: vault.rewrap(STORE, lambda _, found: found._replace(key_id="two")),
        ):
            change()
            seen.append(again.version())
        assert len(set(seen)) == 4
        assert again.version() == seen[-1]
        assert again.keys(STORE, BOB) == vault.keys(STORE, BOB)

    def test_what_was_destroyed_is_in_no_file_of_its_tables(self, vault):
        self.filled(vault)
        assert self.has(key(1).wrapped)
        vault.destroy(STORE, ALICE, key(2).id)

        assert not self.has(key(1).wrapped)
        assert self.has(key(2).wrapped)

    def test_one_that_is_closed_says_so(self, vault):
        vault.close()
        vault.close()

        with pytest.raises(StoreUnavailable):
            vault.version()


class TestFileVault(VaultContract):
    @pytest.fixture
    def vault(self, tmp_path):
        self.path = tmp_path / "keys"
        vault = FileVault(self.path)
        yield vault
        vault.close()

    @pytest.fixture
    def again(self, vault):
        other = FileVault(self.path)
        yield other
        other.close()

    def test_no_file_is_made_before_there_is_a_key(self, vault, again):
        assert vault.keys(STORE, ALICE) == ()
        assert not vault.holds(STORE)
        vault.destroy(STORE, ALICE, key(1).id)
        assert vault.rewrap(STORE, lambda _, found: found) == 0
        assert not self.path.exists()
        before = again.version()

        vault.add(STORE, ALICE, key(1))

        assert self.path.stat().st_mode & 0o077 == 0
        assert again.version() != before
        assert again.keys(STORE, ALICE) == (key(1),)

    def has(self, raw):
        return any(raw in file.read_bytes() for file in self.path.parent.iterdir())


@pytest.fixture(scope="module")
def of_vaults(postgres):
    """A database for vaults alone."""
    name = postgres.new_database(empty=True)
    yield name
    postgres.drop_database(name)


class TestPostgresVault(VaultContract):
    @pytest.fixture
    def new(self, postgres, of_vaults):
        pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")
        from simonides.storage.sidecar.vault_postgres import PostgresVault

        self.postgres, self.name = postgres, of_vaults
        made = []

        def open_it(database=of_vaults):
            made.append(PostgresVault(postgres.url("simonides_owner", database)))
            return made[-1]

        yield open_it
        for vault in made:
            vault.close()

    @pytest.fixture
    def vault(self, new):
        vault = new()
        self.run("TRUNCATE simonides_keys.data_keys")
        return vault

    @pytest.fixture
    def again(self, new, vault):
        return new()

    def run(self, statement):
        with self.postgres.connect("postgres", self.name) as connection:
            connection.autocommit = True
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def has(self, raw):
        self.run("CHECKPOINT")
        files = self.run(
            "SELECT pg_relation_filepath(c.oid) FROM pg_class AS c JOIN pg_namespace AS n"
            " ON n.oid = c.relnamespace WHERE n.nspname = 'simonides_keys'"
        )
        return any(raw in (self.postgres.data / file).read_bytes() for (file,) in files)

    def test_a_transaction_that_may_see_what_is_destroyed_is_told_of(self, vault):
        self.filled(vault)
        with self.postgres.connect("postgres", self.name) as looking:
            looking.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            looking.execute("SELECT 1")
            with pytest.raises(StoreUnavailable, match="may still be seen"):
                vault.destroy(STORE, ALICE, key(2).id)
            looking.rollback()

        vault.destroy(STORE, ALICE, key(2).id)
        assert not self.has(key(1).wrapped)

    def test_it_goes_on_when_the_server_ended_its_connection(self, vault):
        self.filled(vault)
        self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

        vault.add(STORE, BOB, key(7))
        assert vault.keys(STORE, BOB) == (key(4), key(7))

    def test_the_database_of_a_store_is_refused(self, new, database):
        with pytest.raises(ConfigurationError, match="a database of its own"):
            new(database)

    def test_no_password_is_shown(self, postgres, of_vaults):
        from simonides.storage.sidecar.vault_postgres import PostgresVault

        url = postgres.url("simonides_guarded:hunter2", of_vaults)
        with pytest.raises(StoreUnavailable) as refused:
            PostgresVault(url)
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("opened", [FileVault, FileAnchor])
def test_a_damaged_file_says_what_it_is_and_what_to_do(tmp_path, opened):
    path = tmp_path / "beside.db"
    path.write_bytes(b"no database" * 500)

    with pytest.raises(StoreCorrupt, match=r"beside\.db: .*(key vault|anchor).*put .* back"):
        opened(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigurationError, match="is no file; name another"):
        opened(path)
