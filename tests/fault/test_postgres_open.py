"""Opening a database that is not ours, not there, or not safe: an error that says what to do."""

import shutil

import pytest
from typer.testing import CliRunner

import simonides
from simonides.cli.app import app
from simonides.domain.errors import ConfigurationError, StoreCorrupt, StoreUnavailable

psycopg = pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
server_of_tests = pytest.importorskip(
    "postgres_server", reason="needs pip install 'psycopg[binary,pool]'"
)

APP, OWNER, GUARDED = "simonides_app", "simonides_owner", "simonides_guarded"
PASSWORD = server_of_tests.PASSWORD
MIGRATIONS = 1


def refused(url, kind, *words):
    """Check that opening raises an error of a kind which says some words and no password."""
    with pytest.raises(kind) as caught:
        simonides.open(url)
    text = f"{caught.value} {caught.value!r} {getattr(caught.value, 'location', '')}"
    for word in words:
        assert word in text
    assert PASSWORD not in text


@pytest.fixture
def as_administrator(postgres, database):
    """Run statements in the test's database as its server's superuser."""

    def run(*statements):
        with postgres.connect("postgres", database) as connection:
            for statement in statements:
                connection.execute(statement)

    return run


@pytest.fixture
def role(postgres):
    """Make a role of the test's own; it is gone afterwards."""
    made = []

    def make(rights=""):
        name = f"role_{len(made)}"
        with postgres.connect("postgres") as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN {rights}")
        made.append(name)
        return name

    yield make
    with postgres.connect("postgres") as connection:
        for name in made:
            connection.execute(f"DROP OWNED BY {name}")
            connection.execute(f"DROP ROLE {name}")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        f"postgresql://u:{PASSWORD}@h:port/db",
        f"postgresql://u:{PASSWORD}@h/db?no_such_setting=1",
        f"postgresql://u:{PASSWORD}@[::1/db",
        f"postgres://u:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://u:{PASSWORD}@no-such-host.invalid/db?connect_timeout=2",
    ],
)
def test_a_url_that_leads_nowhere_is_refused_without_its_password(url, monkeypatch):
    monkeypatch.setenv("PGPORT", "1")
    refused(url, (ConfigurationError, StoreUnavailable))


def test_a_wrong_password_is_refused(postgres, database):
    url = postgres.url(GUARDED, database)

    refused(url.replace("@", ":wrong@"), StoreUnavailable, "password authentication failed")
    simonides.open(url.replace("@", f":{PASSWORD}@")).close()


def test_the_password_is_shown_nowhere(postgres, database, caplog):
    caplog.set_level("DEBUG")
    url = postgres.url(GUARDED, database).replace("@", f":{PASSWORD}@")
    with simonides.open(url) as opened:
        memory = opened.memory(user="ana")
        memory.remember("A fact")
        store = opened.runtime.store
        shown = f"{store!r} {store.location} {vars(store)!r} {vars(store._pool)!r}"
        shown += f"{memory.status()} {vars(store._pool._pool)['name']}"

    assert PASSWORD not in shown
    assert PASSWORD not in caplog.text


def test_a_missing_role_or_database_is_named(postgres, database):
    refused(postgres.url("nobody", database), StoreUnavailable, 'role "nobody" does not exist')
    refused(postgres.url(APP, "nowhere"), StoreUnavailable, 'database "nowhere" does not exist')


def test_a_superuser_is_refused(postgres, database):
    refused(postgres.url("postgres", database), ConfigurationError, "is a superuser", "db init")


def test_the_owner_of_the_tables_is_refused(postgres, database):
    refused(postgres.url(OWNER, database), ConfigurationError, "owns the tables", "db init")


def test_a_role_that_bypasses_policies_is_refused(postgres, database, role):
    url = postgres.url(role("BYPASSRLS"), database)
    refused(url, ConfigurationError, "bypasses row-level security")


def test_a_role_that_can_become_one_of_those_is_refused(postgres, database, role):
    url = postgres.url(role(f"NOINHERIT IN ROLE {OWNER}"), database)
    refused(url, ConfigurationError, f"may become {OWNER}, which owns the tables")


def test_a_role_that_was_not_prepared_is_told_how(postgres, database, role):
    name = role()
    advice = f"db init OWNER-URL --app-role {name}"
    refused(postgres.url(name, database), ConfigurationError, advice)


def test_a_role_that_could_empty_tables_past_the_policies_is_refused(
    postgres, database, as_administrator
):
    as_administrator(f"GRANT ALL ON simonides.memories TO {APP}")
    refused(postgres.url(APP, database), StoreCorrupt, "memories")


@pytest.mark.parametrize("how", ["NO FORCE", "DISABLE"])
def test_a_table_without_policies_is_refused(postgres, database, as_administrator, how):
    as_administrator(f"ALTER TABLE simonides.held {how} ROW LEVEL SECURITY")
    refused(postgres.url(APP, database), StoreCorrupt, "held")


def test_an_empty_database_is_told_how_to_be_prepared(postgres):
    name = postgres.new_database(empty=True)
    refused(postgres.url(APP, name), ConfigurationError, "simonides db init")
    postgres.drop_database(name)


def test_a_newer_schema_is_refused(postgres, database, as_administrator):
    as_administrator("INSERT INTO simonides.migrations VALUES (9, 'later', '')")
    refused(postgres.url(APP, database), StoreCorrupt, "newer")
    done = CliRunner().invoke(app, ["db", "init", postgres.url(OWNER, database), "--app-role", APP])
    assert (done.exit_code, "newer" in done.output) == (1, True)


def test_an_older_schema_is_told_how_to_be_migrated(postgres, database, as_administrator):
    as_administrator("DELETE FROM simonides.migrations")
    refused(postgres.url(APP, database), ConfigurationError, "format 0", "db init")


def test_a_schema_that_was_changed_is_refused(postgres, database, as_administrator):
    as_administrator("UPDATE simonides.migrations SET checksum = '\\x00'")
    refused(postgres.url(APP, database), StoreCorrupt, "not those of this program")


def test_a_store_without_its_keys_is_refused(postgres, database, as_administrator):
    as_administrator("DELETE FROM simonides.meta WHERE name = 'tag_key'")
    refused(postgres.url(APP, database), StoreCorrupt, "tag_key")


def test_a_database_in_another_encoding_is_refused(postgres):
    with postgres.connect("postgres") as connection:
        connection.autocommit = True
        connection.execute("CREATE DATABASE latin ENCODING 'SQL_ASCII' TEMPLATE template0")
    refused(postgres.url(APP, "latin"), ConfigurationError, "UTF8 is needed")
    postgres.drop_database("latin")


class TestInit:
    """``simonides db init``."""

    def init(self, postgres, database, *, by=OWNER, role=APP):
        arguments = ["db", "init", postgres.url(by, database), "--app-role", role]
        return CliRunner().invoke(app, arguments)

    @pytest.fixture
    def bare(self, postgres):
        name = postgres.new_database(empty=True)
        yield name
        postgres.drop_database(name)

    def test_it_prepares_an_empty_database_and_may_be_repeated(self, postgres, bare):
        for ran in (MIGRATIONS, 0):
            done = self.init(postgres, bare)
            assert (done.exit_code, done.output.split()[-1]) == (0, str(ran)), done.output
        with simonides.open(postgres.url(APP, bare)) as store:
            store.memory(user="ana").remember("A fact")
        assert self.init(postgres, bare).exit_code == 0
        with simonides.open(postgres.url(APP, bare)) as store:
            assert store.memory(user="ana").list()[0].content == "A fact"

    def test_a_later_migration_runs_once_and_keeps_what_is_stored(
        self, postgres, bare, tmp_path, monkeypatch
    ):
        from simonides.storage.postgres import schema as postgres_schema

        assert self.init(postgres, bare).exit_code == 0
        with simonides.open(postgres.url(APP, bare)) as store:
            store.memory(user="ana").remember("A fact")
        schema = shutil.copytree(postgres_schema.SQL_DIRECTORY, tmp_path / "sql")
        monkeypatch.setattr(postgres_schema, "SQL_DIRECTORY", schema)
        later = schema / "0002_colours.sql"

        later.write_text("CREATE TABLE simonides.colours (); SELECT nothing FROM nowhere;")
        assert self.init(postgres, bare).exit_code != 0
        later.write_text("CREATE TABLE simonides.colours (name text);")
        refused(postgres.url(APP, bare), ConfigurationError, "format 1", "needs 2", "db init")
        for ran in (1, 0):
            done = self.init(postgres, bare)
            assert (done.exit_code, done.output.split()[-1]) == (0, str(ran)), done.output
        with simonides.open(postgres.url(APP, bare)) as store:
            assert store.memory(user="ana").list()[0].content == "A fact"
        later.write_text("CREATE TABLE simonides.colours (name text, code text);")
        refused(postgres.url(APP, bare), StoreCorrupt, "not those of this program")

    def test_two_at_once_do_no_harm(self, postgres, bare):
        from simonides.api.open.store import init_database
        from simonides.testing.contracts.turns import in_threads

        ran = []
        in_threads([lambda: ran.append(init_database(postgres.url(OWNER, bare), APP)[1])] * 4)

        assert sorted(ran) == [0, 0, 0, MIGRATIONS]

    def test_a_missing_role_is_told_how_to_be_made(self, postgres, bare):
        done = self.init(postgres, bare, role="nobody")
        assert done.exit_code == 2
        assert "CREATE ROLE nobody LOGIN" in done.output

    @pytest.mark.parametrize("role", ["postgres", OWNER])
    def test_a_role_above_the_policies_is_refused(self, postgres, bare, role):
        done = self.init(postgres, bare, role=role)
        assert (done.exit_code, "name a plain one" in done.output) == (2, True)

    def test_a_role_without_rights_changes_nothing(self, postgres, bare):
        done = self.init(postgres, bare, by=GUARDED + f":{PASSWORD}", role=APP)
        assert (done.exit_code, "permission denied" in done.output) == (2, True)
        assert "run it as the role that owns the database" in done.output
        assert PASSWORD not in done.output

    def test_an_owner_that_makes_no_roles_is_told_to_be_let(self, postgres, role, bare):
        owner = role()
        with postgres.connect("postgres", bare) as connection:
            connection.execute(f"ALTER DATABASE {bare} OWNER TO {owner}")
        done = self.init(postgres, bare, by=owner, role=role())
        assert (done.exit_code, f"ALTER ROLE {owner} CREATEROLE" in done.output) == (2, True)

    def test_a_schema_of_that_name_which_is_not_ours_is_left_alone(self, postgres, bare):
        with postgres.connect(OWNER, bare) as connection:
            connection.execute("CREATE SCHEMA simonides")
        done = self.init(postgres, bare)
        assert (done.exit_code, "no migration was recorded" in done.output) == (1, True)

    def test_another_kind_of_store_is_refused(self):
        done = CliRunner().invoke(app, ["db", "init", "m.db", "--app-role", APP])
        assert (done.exit_code, "postgresql://" in done.output) == (2, True)


def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg_pool", None)
    with pytest.raises(simonides.MissingExtra, match=r"pip install 'psycopg\["):
        simonides.open("postgresql://u@h/db")
