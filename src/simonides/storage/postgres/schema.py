"""A PostgreSQL database as a store: its address, who may use it, its tables and their migrations.

Two roles share the work. The one that owns the tables runs :func:`init_database`; the one that
the application connects as owns nothing and bypasses nothing, and :func:`check_database` refuses
any other.
"""

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString, NamedTuple, TypeAlias

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simonides.domain.errors import ConfigurationError, StoreCorrupt, StoreUnavailable
from simonides.storage.integrity.row_codec import CURRENT_COLUMNS, PAST_COLUMNS, coded
from simonides.storage.postgres.errors import Translating
from simonides.storage.postgres.parts import TABLES, statements_of_parts
from simonides.storage.schema.owner_ids import Secrets
from simonides.storage.schema.sql_files import Migration, load_migrations, load_queries

SQL_DIRECTORY = Path(__file__).with_name("sql")

OLDEST = 160_000
"""PostgreSQL 16: the first in which membership in a role can be without its rights."""

OPERATOR_SUFFIX = "_operator"
MAX_ROLE_BYTES = 63 - len(OPERATOR_SUFFIX)
"""PostgreSQL cuts names at 63 bytes."""

# A change of the schema holds this advisory lock: "simonide" in ASCII.
_SCHEMA_LOCK = 0x73696D6F6E696465

HALF_FILLED = (
    "another store is being moved here and not all of it has arrived; run the same "
    "`simonides db migrate` again, or start over with another target"
)

_SALT_BYTES = 16
_TAG_KEY_BYTES = 32

# Bytes, which the driver takes as they are; ``str`` it takes from literals only.
SQL: dict[str, bytes] = {
    name: text.encode()
    for name, text in {
        **load_queries((SQL_DIRECTORY / "statements.sql").read_text("utf-8")),
        **statements_of_parts(),
    }.items()
}
CODED = {
    f"coded_{name}": coded(SQL[name].decode(), columns).encode()
    for name, columns in {
        "live_rows": CURRENT_COLUMNS,
        "changed_rows": CURRENT_COLUMNS,
        "rows_of_ids": CURRENT_COLUMNS,
        "rows_page": CURRENT_COLUMNS,
        "rows_by_tag": CURRENT_COLUMNS,
        "rows_as_of": PAST_COLUMNS,
    }.items()
}
"""Statements that give rows of memories, with the columns that codes bind; under a key ring."""

SQL |= CODED


class Address:
    """Where a database is, and what may be shown of that.

    Attributes:
        location: URL without password and parameters.
    """

    def __init__(self, url: str, *, connect_timeout_s: float) -> None:
        """Read a URL.

        Raises:
            ConfigurationError: If it is none. It is not repeated: it may hold a password.
        """
        try:
            named = conninfo_to_dict(url)
        except (psycopg.Error, ValueError):
            # Not ``from``: libpq repeats what it could not read.
            raise ConfigurationError(_HOW_TO_WRITE) from None
        self._password = str(named.get("password") or "")
        self.location = _location(named)
        # libpq counts whole seconds, and two at the least.
        named.setdefault("connect_timeout", str(max(2, round(connect_timeout_s))))
        named.setdefault("application_name", "simonides")
        named["client_encoding"] = "UTF8"
        self.conninfo = make_conninfo("", **named)
        self._timeout_s = connect_timeout_s

    def __repr__(self) -> str:
        return f"Address({self.location})"

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return a connection that blocks, for what is done once.

        Raises:
            StoreUnavailable: If there is none to be had.
        """
        try:
            return psycopg.connect(self.conninfo, prepare_threshold=None)
        except psycopg.Error as error:
            raise StoreUnavailable(self.location, self.said(error)) from None

    @contextmanager
    def in_time(self, connection: psycopg.Connection[tuple[Any, ...]]) -> Iterator[None]:
        """Hang up on a server that does not answer all of a block in time.

        A connection that blocks has no time-out of its own for a server that is gone.

        Raises:
            StoreUnavailable: If it did not.
        """
        hung_up = threading.Event()

        def hang_up() -> None:
            hung_up.set()
            shut_down(connection)

        timer = threading.Timer(self._timeout_s, hang_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        except StoreUnavailable:
            if hung_up.is_set():
                said = f"no answer within {self._timeout_s:g} s"
                raise StoreUnavailable(self.location, said) from None
            raise
        finally:
            timer.cancel()

    def said(self, error: Exception) -> str:
        """Return why no connection could be made, without the password, whoever repeats it."""
        text = " ".join(str(error).split())
        return text.replace(self._password, "***") if self._password else text


def shut_down(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Make whoever waits for an answer see the end of the connection, now; any thread may."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg.Error):
        # It is gone already.
        return


_HOW_TO_WRITE = "the URL cannot be read; write postgresql://user@host:port/database"


def _location(named: dict[str, Any]) -> str:
    user = f"{named['user']}@" if named.get("user") else ""
    host = named.get("host") or named.get("hostaddr") or "localhost"
    port = f":{named['port']}" if named.get("port") else ""
    return f"postgresql://{user}{host}{port}/{named.get('dbname') or ''}"


class Opened(NamedTuple):
    """What a store over a database that was found in order needs to know of it.

    Attributes:
        secrets: The keys of its digests.
        operator: Name of the operator's role.
        opening: Token that every transaction names.
    """

    secrets: Secrets
    operator: str
    opening: str


Begin: TypeAlias = Callable[
    [psycopg.Connection[tuple[Any, ...]], str, Secrets, str], Secrets | None
]


def check_database(address: Address, begin: Begin, *, filling: bool = False) -> Opened:
    """Look whether a database is a store that this role may be trusted with.

    Args:
        address: Where it is.
        begin: Given a connection, the location, the keys of the digests as they are kept, and the
            operator's role; returns these keys in plain, or None to have all looked at again.
        filling: Whether a move to it may be under way, because this is to go on with it.

    Raises:
        ConfigurationError: If the database was not prepared for this role, or the role is one
            that no policy holds.
        KeyUnavailable: If it is encrypted, and a key is missing.
        StoreCorrupt: If the schema is newer than this program, or not ours.
        StoreUnavailable: If the server cannot be reached, or another store is being moved here.
    """
    with (
        address.connect() as connection,
        address.in_time(connection),
        Translating(address.location),
    ):
        role, has_tables = _check_server(connection, address)
        _check_below_policies(connection, address, role)
        may_use = has_tables and _one(connection, "may_use")[0]
        if not may_use:
            raise ConfigurationError(
                f"{address.location}: role {role} has no store here; {_advice(role)}"
            )
        known = load_migrations(SQL_DIRECTORY)
        done = _check_done(connection, address.location, known)
        if done < len(known):
            raise ConfigurationError(
                f"{address.location}: the tables are of format {done}, this program needs"
                f" {len(known)}; {_advice(role)}"
            )
        _check_guards(connection, address, role)
        opening, arriving = _one(connection, "opening")
        if arriving is not None and not filling:
            raise StoreUnavailable(address.location, HALF_FILLED)
        # After the token: who reads keys that a move replaces meanwhile has a token of before.
        kept, operator = read_secrets(connection, address.location), role + OPERATOR_SUFFIX
        secrets = begin(connection, address.location, kept, operator)
    if secrets is None:
        return check_database(address, begin, filling=filling)
    return Opened(secrets, operator, opening)


def init_database(address: Address, app_role: str) -> int:
    """Make or migrate the tables and give a role its rights; run by the role that owns them.

    All or nothing, one at a time, and harmless to repeat.

    Returns:
        How many migrations were run.

    Raises:
        ConfigurationError: If the role does not exist, or is one that no policy would hold; or if
            the role that is connected may not prepare the database.
        StoreCorrupt: If the schema is newer than this program, or not ours.
        StoreUnavailable: If the server cannot be reached.
    """
    if not 1 <= len(app_role.encode()) <= MAX_ROLE_BYTES:
        raise ConfigurationError(f"the role's name must have 1 to {MAX_ROLE_BYTES} bytes")
    with address.connect() as connection, Translating(address.location):
        connection.execute(SQL["lock_schema"], {"key": _SCHEMA_LOCK})
        owner, _ = _check_server(connection, address)
        _check_app_role(connection, address, app_role)
        try:
            ran = _migrate(connection, address.location)
            _give_rights(connection, app_role)
        except psycopg.errors.InsufficientPrivilege as error:
            raise ConfigurationError(
                f"{address.location}: role {owner} may not prepare this database"
                f" ({error.diag.message_primary}); run it as the role that owns the database and"
                " the tables, and may make roles (as an administrator:"
                f" ALTER ROLE {owner} CREATEROLE)"
            ) from error
    return ran


def _one(
    connection: psycopg.Connection[tuple[Any, ...]], statement: str, /, **bound: Any
) -> tuple[Any, ...]:
    return connection.execute(SQL[statement], bound or None).fetchone() or (None,)


def _advice(role: str) -> str:
    return f"run as the owner of the tables: simonides db init OWNER-URL --app-role {role}"


def _check_server(
    connection: psycopg.Connection[tuple[Any, ...]], address: Address
) -> tuple[str, bool]:
    """Return the role that is connected, and whether there are tables of ours."""
    version, encoding, role, _, has_tables = _one(connection, "server")
    if version < OLDEST:
        raise ConfigurationError(
            f"{address.location}: PostgreSQL {OLDEST // 10_000} or newer is needed,"
            f" this is {version // 10_000}"
        )
    if encoding != "UTF8":
        raise ConfigurationError(
            f"{address.location}: the database's encoding is {encoding}, UTF8 is needed"
        )
    return role, has_tables


def _check_below_policies(
    connection: psycopg.Connection[tuple[Any, ...]], address: Address, role: str
) -> None:
    found = connection.execute(SQL["above_policies"]).fetchone()
    if found is not None:
        who = "it" if found[0] == role else f"it may become {found[0]}, which"
        raise ConfigurationError(
            f"{address.location}: role {role} is not for applications: {who} {found[1]}, and"
            " nothing would keep owners apart. CREATE ROLE a plain one, then"
            f" {_advice('THAT-ROLE')}"
        )


def _check_guards(
    connection: psycopg.Connection[tuple[Any, ...]], address: Address, role: str
) -> None:
    unguarded = [name for (name,) in connection.execute(SQL["unguarded"])]
    if unguarded:
        raise StoreCorrupt(
            address.location,
            f"row-level security does not hold {role} on {', '.join(sorted(unguarded))}",
        )
    if not _one(connection, "operator", role=role + OPERATOR_SUFFIX)[0]:
        raise ConfigurationError(
            f"{address.location}: role {role} has no operator; {_advice(role)}"
        )


def read_secrets(connection: psycopg.Connection[tuple[Any, ...]], location: str) -> Secrets:
    """Return the keys of the digests as a database keeps them.

    Raises:
        StoreCorrupt: If one is missing.
    """
    named = {name: _one(connection, "meta", name=name)[0] for name in Secrets._fields}
    lost = [name for name, value in named.items() if not isinstance(value, bytes)]
    if lost:
        raise StoreCorrupt(location, f"the store has lost its {lost[0]}; restore it")
    return Secrets(**named)


def _check_app_role(
    connection: psycopg.Connection[tuple[Any, ...]], address: Address, app_role: str
) -> None:
    above, is_me = (*_one(connection, "role", role=app_role), None)[:2]
    if above is None:
        raise ConfigurationError(
            f"{address.location}: there is no role {app_role}; as an administrator:"
            f" CREATE ROLE {app_role} LOGIN PASSWORD '…'"
        )
    if above or is_me:
        raise ConfigurationError(
            f"{address.location}: role {app_role} is a superuser, bypasses row-level security or"
            " would own the tables; name a plain one for the application"
        )


def _migrate(connection: psycopg.Connection[tuple[Any, ...]], location: str) -> int:
    known = load_migrations(SQL_DIRECTORY)
    done = _check_done(connection, location, known)
    for migration in known[done:]:
        _run(connection, migration)
    return len(known) - done


def _check_done(
    connection: psycopg.Connection[tuple[Any, ...]], location: str, known: tuple[Migration, ...]
) -> int:
    """Return how many migrations were run, all of them the ones that we know."""
    _, _, _, has_schema, has_tables = _one(connection, "server")
    if not has_tables:
        if has_schema:
            raise StoreCorrupt(
                location, "there is a schema named simonides, but no migration was recorded"
            )
        return 0
    recorded = connection.execute(SQL["migrations"]).fetchall()
    if len(recorded) > len(known):
        raise StoreCorrupt(
            location,
            f"format {len(recorded)} is newer than {len(known)}; use a newer simonides",
        )
    if recorded != [migration[:3] for migration in known[: len(recorded)]]:
        raise StoreCorrupt(location, "the recorded migrations are not those of this program")
    return len(recorded)


def _run(connection: psycopg.Connection[tuple[Any, ...]], migration: Migration) -> None:
    connection.execute(migration.sql.encode())
    if migration.number == 1:
        for name, size in (("salt", _SALT_BYTES), ("tag_key", _TAG_KEY_BYTES)):
            value = secrets.token_bytes(size)
            connection.execute(SQL["add_meta"], {"name": name, "value": value})
    recorded = {
        "number": migration.number,
        "name": migration.name,
        "checksum": migration.checksum,
    }
    connection.execute(SQL["add_migration"], recorded)


_OPERATORS_RIGHTS: tuple[LiteralString, ...] = (
    "GRANT SELECT (owner) ON {table} TO {operator}",
    "DROP POLICY IF EXISTS {operator} ON {table}",
    "CREATE POLICY {operator} ON {table} FOR SELECT TO {operator} USING (true)",
)


def _give_rights(connection: psycopg.Connection[tuple[Any, ...]], app_role: str) -> None:
    operator = app_role + OPERATOR_SUFFIX
    named = {"app": sql.Identifier(app_role), "operator": sql.Identifier(operator)}
    if _one(connection, "role", role=operator)[0] is None:
        connection.execute(sql.SQL("CREATE ROLE {operator} NOLOGIN").format(**named))
    rights = (SQL_DIRECTORY / "rights.sql").read_text("utf-8")
    # The file is ours; names of roles go in as identifiers.
    lines = [line for line in rights.splitlines() if not line.startswith("--")]
    connection.execute(sql.SQL("\n".join(lines)).format(**named))
    for table in TABLES:
        for right in _OPERATORS_RIGHTS:
            connection.execute(
                sql.SQL(right).format(table=sql.Identifier("simonides", table), **named)
            )
    if not _one(connection, "is_member", role=app_role, of=operator)[0]:
        # Who did not make the operator's role may still find it given by who did.
        given = "GRANT {operator} TO {app} WITH INHERIT FALSE, SET TRUE, ADMIN FALSE"
        connection.execute(sql.SQL(given).format(**named))
