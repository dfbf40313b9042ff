"""PostgreSQL: the same statements, with row-level security bound to the owners of a transaction.

The application's role owns nothing and bypasses nothing. A statement that forgets its owner, or
injected SQL, reaches the rows of the transaction's owners and no others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from simonides.core import errors
from simonides.storage import statements
from simonides.storage.database import Connection, Params, Row
from simonides.storage.migrate import checksum, migrate, migrations, schema

try:
    import psycopg
    from psycopg import sql
    from psycopg_pool import ConnectionPool, PoolTimeout
except ImportError as error:
    raise errors.MissingExtra("postgres", "PostgreSQL") from error

TYPES = {
    "int": "BIGINT", "real": "DOUBLE PRECISION", "text": 'TEXT COLLATE "C"', "blob": "BYTEA",
    "strict": "", "clustered": "",
}  # fmt: skip

SCHEMA = "simonides"
SHARED = ("meta", "roots", "due")
"""Tables without rows of one owner; they hold no content."""

Distributed = Literal["partitions", "citus"]
"""How tables are split by owner: within one server, or over many by the extension Citus."""

PARTITIONS = 16
PARTS = f"{SCHEMA}_partitions"
"""The schema of the partitions. The application's role may not use it."""

_READABLE = "owner = ANY (NULLIF(current_setting('simonides.read', true), '')::text[])"
_WRITABLE = "owner = current_setting('simonides.write', true)"

GUARD = f"""
ALTER TABLE {{table}} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {{table}} FORCE ROW LEVEL SECURITY;
CREATE POLICY read_own ON {{table}} FOR SELECT USING ({_READABLE});
CREATE POLICY insert_own ON {{table}} FOR INSERT WITH CHECK ({_WRITABLE});
CREATE POLICY update_own ON {{table}} FOR UPDATE USING ({_WRITABLE}) WITH CHECK ({_WRITABLE});
CREATE POLICY delete_own ON {{table}} FOR DELETE USING ({_WRITABLE})"""

# Names of owners are listed for operators through a function of the tables' owner.
OWNERS_FUNCTION = f"""
CREATE POLICY list_all ON {SCHEMA}.owners FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION {SCHEMA}.owner_names() RETURNS SETOF TEXT LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = {SCHEMA} AS $$ SELECT owner FROM {SCHEMA}.owners ORDER BY owner $$;
REVOKE ALL ON FUNCTION {SCHEMA}.owner_names() FROM PUBLIC"""  # noqa: S608


# The names of a transaction's owners reach the workers only where SET LOCAL is sent on.
SEND_SETTINGS = """DO $$ BEGIN EXECUTE format(
  'ALTER DATABASE %I SET citus.propagate_set_commands = local', current_database()); END $$"""


def init(url: str, role: str, *, distributed: Distributed | None = None) -> None:
    """Make the schema as the owner of its tables, and let a role use it.

    Args:
        url: Address of the database, as the role that is to own the tables.
        role: The application's role; it must exist, be no superuser and bypass no row security.
        distributed: How the tables are split by owner; they stay as they were made.

    Raises:
        StoreError: If the database cannot be prepared.
    """
    location = without_password(url)
    with translated(location), psycopg.connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('simonides'))")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}")
        [has_meta] = connection.execute("SELECT to_regclass('meta') IS NOT NULL").fetchall()
        applied = connection.execute(statements.MIGRATIONS).fetchall() if has_meta[0] else []
        set_meta = _translation(statements.SET_META)

        def note(name: str, value: str) -> None:
            connection.execute(set_meta, {"name": name, "value": value})

        made = _made_as(connection) if applied else distributed
        if distributed not in (None, made):
            problem = "was made in another way; copy its users into a new database instead"
            raise errors.StoreError(location, f"{problem} (distributed: {made})")

        def run(statement: str) -> None:
            for each in _split(statement, made):
                connection.execute(each)

        migrate(location, applied, TYPES, run, note)
        note("secret", os.urandom(32).hex())
        if made:
            note("distributed", made)
        unguarded = connection.execute(
            "SELECT tablename FROM pg_tables "
            "WHERE schemaname = %s AND NOT rowsecurity AND tablename <> ALL (%s)",
            (SCHEMA, list(SHARED)),
        )
        for (table,) in unguarded.fetchall():
            connection.execute(GUARD.format(table=table))
        if not applied:
            connection.execute(OWNERS_FUNCTION)
        grant = sql.Identifier(role)
        for rights in (
            f"USAGE ON SCHEMA {SCHEMA}",
            f"SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {SCHEMA}",
            f"EXECUTE ON FUNCTION {SCHEMA}.owner_names()",
        ):
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(rights), grant))
        connection.execute(sql.SQL("REVOKE INSERT, UPDATE, DELETE ON meta FROM {}").format(grant))


def split_schema(distributed: Distributed | None) -> list[str]:
    """Return the statements that make the tables and split them by owner."""
    first = [f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}", f"SET search_path = {SCHEMA}"]
    return first + [part for each in schema(TYPES) for part in _split(each, distributed)]


def _split(statement: str, distributed: Distributed | None) -> list[str]:
    """Return a statement of the schema, and what splits the table that it makes by owner.

    The tables of one owner lie together. Every write changes one row of `roots`, so these rows are
    spread by themselves: writes to a reference table would take turns over all owners.
    """
    [table] = re.findall(r"^CREATE TABLE (\w+)", statement) or [""]
    match distributed:
        case "partitions" if table in statements.OWNED:
            parts = (
                f"CREATE TABLE {PARTS}.{table}_{part} PARTITION OF {table} "
                f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
                for part in range(PARTITIONS)
            )
            first = [f"CREATE SCHEMA {PARTS}"] if table == "owners" else []
            return [*first, f"{statement} PARTITION BY HASH (owner)", *parts]
        case "citus" if table == "meta":
            made = f"SELECT create_reference_table('{SCHEMA}.meta')"
            # A reference table cannot follow changes that ran on several connections.
            sequential = "SET LOCAL citus.multi_shard_modify_mode = 'sequential'"
            return [sequential, SEND_SETTINGS, statement, made]
        case "citus" if table:
            column = "owner" if table in statements.OWNED else "part"
            near = f"{SCHEMA}.owners" if column == "owner" and table != "owners" else "none"
            arguments = f"'{SCHEMA}.{table}', '{column}', colocate_with => '{near}'"
            return [statement, f"SELECT create_distributed_table({arguments})"]
        case _:
            return [statement]


def _made_as(connection: psycopg.Connection[Any]) -> Distributed | None:
    found = connection.execute(_translation(statements.META), {"name": "distributed"}).fetchall()
    return found[0][1] if found else None


def vacuum(url: str, now: int) -> list[str]:
    """Write all tables anew, without the bytes of deleted rows; return their names.

    The server's own log of changes and its backups keep them as long as they are set to.

    Args:
        url: Address of the database, as the role that owns the tables.
        now: The time, in milliseconds.

    Raises:
        StoreError: If the database cannot be reached, or the role may not.
    """
    location = without_password(url)
    with translated(location), psycopg.connect(url, autocommit=True) as connection:
        named = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename"
        tables = [name for (name,) in connection.execute(named, (SCHEMA,)).fetchall()]
        for table in tables:
            statement = sql.SQL("VACUUM (FULL) {}").format(sql.Identifier(SCHEMA, table))
            connection.execute(statement)
        connection.execute(
            f"INSERT INTO {SCHEMA}.meta (name, value) VALUES ('vacuumed', %s) "  # noqa: S608 - ours
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (str(now),),
        )
    return tables


@contextmanager
def read_only(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Open one transaction on any database that can change nothing.

    Raises:
        StoreError: If the database cannot be reached or read.
    """
    with translated(without_password(url)), psycopg.connect(url, connect_timeout=30) as raw:
        raw.read_only = True
        yield raw


@lru_cache
def _translation(statement: str) -> str:
    """Return a statement with psycopg's placeholders."""
    return re.sub(r"(?<!:):([a-z]\w*)", r"%(\1)s", statement.replace("%", "%%"))


class _Connection(Connection):
    """One psycopg connection as a `Connection`."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw = raw

    def rows(self, sql: str, params: Params) -> list[Row]:
        return self.raw.execute(_translation(sql), params, binary=True).fetchall()

    def run(self, sql: str, params: Params) -> None:
        self.raw.execute(_translation(sql), params)

    def run_many(self, sql: str, many: Sequence[Params]) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(_translation(sql), many)


class Postgres:
    """A database on a server; a `Database`."""

    backend, parts = "postgresql", 64

    def __init__(
        self,
        url: str,
        *,
        connections: int = 10,
        wait_s: float = 30.0,
        owner_url: str | None = None,
    ) -> None:
        """Connect, and check that the role cannot see past row-level security.

        Args:
            url: Address of the database, as the application's role.
            connections: Maximum number of connections at once.
            wait_s: How long to wait for a connection or another writer, in seconds.
            owner_url: Address of the same database as the role that backs it up.

        Raises:
            StoreError: If the server is not reachable, or the schema is missing or newer.
            ConfigurationError: If the role owns the tables or bypasses row-level security.
        """
        self.location, self.address = without_password(url), url
        self.name, self._owner_url = "", owner_url
        self._wait_s, self._connections = wait_s, connections
        self._pid = os.getpid()
        self._pool = self._open_pool()
        try:
            self._check()
        except BaseException:  # an interrupt, too, must not leave connections; raised again
            self._pool.close()
            raise

    def _open_pool(self) -> ConnectionPool[psycopg.Connection[Any]]:
        with translated(self.location):
            with psycopg.connect(self.address, connect_timeout=max(2, int(self._wait_s))) as first:
                is_pooled = _is_pooled(first)
            return ConnectionPool(
                self.address,
                # A pooler runs the next transaction in another session, which prepared nothing.
                kwargs={"prepare_threshold": None} if is_pooled else {},
                configure=_read_committed,
                min_size=1,
                max_size=self._connections,
                timeout=self._wait_s,
                open=True,
            )

    def _check(self) -> None:
        """Check the role and the schema, which may be one migration ahead: others are upgraded."""
        with self._transaction() as connection:
            raw = connection.raw
            role = raw.execute(
                "SELECT rolsuper OR rolbypassrls, EXISTS (SELECT FROM pg_tables "
                "WHERE schemaname = %s AND tableowner = current_user) "
                "FROM pg_roles WHERE rolname = current_user",
                (SCHEMA,),
            ).fetchone()
            if not raw.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.meta",)).fetchall()[0][0]:
                problem = "has no simonides schema; run: simonides db init OWNER_URL --role ROLE"
                raise errors.StoreError(self.location, problem)
            if role is None or any(role):
                raise errors.ConfigurationError(
                    f"{self.location}: this role owns the tables or bypasses row-level security; "
                    "connect as the role that `simonides db init` was given"
                )
            self.name = re.sub(r"[^\w.-]", "_", raw.info.dbname)
            is_known = has_this_schema(raw)
        if not is_known:
            problem = "has the schema of another version; run `simonides db init` of this one"
            raise errors.StoreCorrupt(self.location, problem)

    @contextmanager
    def _transaction(
        self, read: Sequence[str] = (), write: str = "", first: str = ""
    ) -> Iterator[_Connection]:
        if os.getpid() != self._pid:  # the parent's connections belong to the parent
            self._pid, self._abandoned, self._pool = os.getpid(), self._pool, self._open_pool()
        with translated(self.location), self._pool.connection() as raw:
            if first:
                raw.execute(first)
            # Not at the start of a session: PgBouncer gives a session to many. Not by set_config:
            # Citus sends only SET LOCAL on to its workers.
            begun = sql.SQL("; ").join(
                sql.SQL("SET LOCAL {} = {}").format(sql.SQL(name), sql.Literal(value))
                for name, value in (
                    ("simonides.read", _array(read)), ("simonides.write", write),
                    ("search_path", SCHEMA), ("lock_timeout", int(self._wait_s * 1000)),
                )
            )  # fmt: skip
            raw.execute(begun)
            yield _Connection(raw)

    def read(self, *owners: str, snapshot: bool = False) -> AbstractContextManager[_Connection]:
        """Open a read of some owners."""
        first = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY" if snapshot else ""
        return self._transaction(owners, first=first)

    def write(self, owner: str) -> AbstractContextManager[_Connection]:
        """Open a change; `statements.BEGIN_WRITE` waits for the owner's row."""
        return self._transaction((owner,), write=owner)

    def running(self) -> Lock:
        """Return a lock to hold while a call runs; nothing looks at it here."""
        return Lock()

    def settle(self) -> None:
        """Do nothing: the pool rolls back and takes back what an ended call held."""

    def owners(self) -> list[str]:
        """Return the names of all owners."""
        with self._transaction() as connection:
            return [str(name) for (name,) in connection.rows("SELECT owner_names()", {})]

    def backup(self, path: Path) -> None:
        """Dump everything with pg_dump, as the role that owns the tables, while others write.

        Raises:
            ConfigurationError: If that role, or pg_dump, is missing or does not fit.
            StoreError: If the store cannot be dumped.
        """
        from simonides.storage.postgres_backup import dump  # it imports this module

        if path.exists():
            raise errors.StoreError(str(path), "exists already; name a new file")
        with self._transaction() as connection:
            secret = connection.rows(statements.META, {"name": "secret"})
        dump(self._owner_url, path, secret[0][1], self._wait_s)

    def checkpoint(self) -> None:
        """Do nothing: deleted rows are the server's to vacuum."""

    def damage(self) -> str:
        """Return nothing: a server has checks of its own."""
        return ""

    def residue(self, marks: Mapping[int, bytearray]) -> int | None:
        """Return None: deleted rows stay in the server's files until a vacuum."""
        del marks
        return None

    def is_clean_since(self, at: int) -> bool:
        """Whether the tables were written anew by `vacuum` after a moment."""
        with self._transaction() as connection:
            vacuumed = connection.one(statements.META, {"name": "vacuumed"})
        return vacuumed is not None and int(vacuumed[1]) > at

    def make_room(self) -> None:
        """Do nothing: the server's disks are its operator's."""

    def before_fork(self) -> None:
        """Do nothing: the child opens connections of its own."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


def _is_pooled(raw: psycopg.Connection[Any]) -> bool:
    """Whether a pooler such as PgBouncer answers: it makes up the process that it names."""
    found = raw.execute("SELECT pg_backend_pid()").fetchall()
    return bool(found[0][0] != raw.info.backend_pid)


def has_this_schema(raw: psycopg.Connection[Any]) -> bool:
    """Whether the tables are those of this version, or of the next one, which adds to them.

    ``search_path`` names their schema.
    """
    have = dict(raw.execute(statements.MIGRATIONS.replace("%", "%%"), ()).fetchall())
    known = {name: checksum(text) for name, text in migrations().items()}
    return known.items() <= have.items() and len(have) <= len(known) + 1


def _read_committed(raw: psycopg.Connection[Any]) -> None:
    raw.isolation_level = psycopg.IsolationLevel.READ_COMMITTED


def _array(names: Sequence[str]) -> str:
    """Return names as the text of an array."""
    return "{" + ",".join('"' + re.sub(r'(["\\])', r"\\\1", name) + '"' for name in names) + "}"


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Turn the driver's errors into ours."""
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        if error.__context__ is not None and not isinstance(error.__context__, Exception):
            raise error.__context__ from None  # an interrupt, behind an error of the driver
        raise _error(location, error) from error


def _error(location: str, error: Exception) -> errors.StoreError:
    said = without_password(str(error)).strip().splitlines()[:1] or [type(error).__name__]
    match error:
        case psycopg.errors.DiskFull() | psycopg.errors.OutOfMemory():
            return errors.StoreFull(location, "the server has no space left")
        case PoolTimeout() | psycopg.errors.LockNotAvailable() | psycopg.OperationalError():
            return errors.StoreUnavailable(location, said[0])
        case _:
            return errors.StoreError(location, said[0])


def without_password(url: str) -> str:
    """Return an address, or a text with one, without passwords."""
    url = re.sub(r"(?<=://)([^:/@]*):[^@]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])((?:ssl)?password)=[^&#\s]*", r"\1=", url)
