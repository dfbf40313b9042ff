"""Backups of a PostgreSQL store: dumped by pg_dump, and put back as a database beside the old one.

Both are done by the role that owns the tables. It must bypass row security, for a dump must hold
the rows of all owners. Two changes of names in one transaction put the new database in the place of
the old one: whatever is killed, one of both has the name.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from simonides.core.errors import (
    ConfigurationError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from simonides.core.settings import program_environment
from simonides.storage.database import Database
from simonides.storage.files import Swap, error_of, give_name
from simonides.storage.postgres import (
    PARTS,
    SCHEMA,
    has_this_schema,
    init,
    translated,
    without_password,
)

Session = psycopg.Connection[Any]

LEAVING_S = 2.0
"""How long closed connections may take to be gone from the server. Set by judgement."""

LONGEST_NAME = 50
"""Bytes of a database's name that leave room for our endings; PostgreSQL cuts names at 63."""

UNFINISHED = "simonides restore: not finished"
"""Comment on a database that is being restored; only one with it is dropped."""

_OLD = """
SELECT datname FROM pg_database
WHERE starts_with(datname, current_database() || '_before_') ORDER BY datname"""

_IN_USE = "others have it open: stop programs, `simonides serve`, `simonides mcp` and poolers"

_IN_FRONT = "user", "password", "dbname"
"""What stands before the question mark of an address."""

_OTHERS = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL"""

_END_OWN = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = %s AND usename = current_user"""

_FOREIGN = """SELECT n.nspname || '.' || c.relname FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN (%s, %s, 'information_schema') AND n.nspname NOT LIKE 'pg\\_%%'
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT EXISTS (
    SELECT FROM pg_depend d
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 1 LIMIT 1"""

_IS_LOCKED = """SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.objid
WHERE l.locktype = 'object' AND l.classid = 'pg_database'::regclass AND l.granted
  AND d.datname = current_database() AND l.mode = 'AccessExclusiveLock' AND l.pid = %s)"""

_GRANTS = """SELECT CASE a.grantee WHEN 0 THEN NULL ELSE pg_get_userbyid(a.grantee) END,
  a.privilege_type, a.is_grantable
FROM pg_database, aclexplode(datacl) a WHERE datname = %s"""


# -- dumps -----------------------------------------------------------------------------------------


def dump(owner_url: str | None, path: Path, secret: str, wait_s: float) -> None:
    """Write everything, as of one moment, to a new file, which is checked before it gets its name.

    Args:
        owner_url: Address of the database, as the role that owns the tables.
        path: The file.
        secret: The store's; that of another one is refused.
        wait_s: How long to wait for locks, in seconds.

    Raises:
        ConfigurationError: If the role or a program is missing or does not fit.
        StoreError: If it cannot be dumped.
    """
    url = _needed(owner_url)
    location, wait = without_password(url), f"--lock-wait-timeout={int(wait_s * 1000)}"
    with translated(location), psycopg.connect(url) as owner:
        _check_role(owner, location, "rolbypassrls", "BYPASSRLS")
        named = sql.SQL("SELECT name, value FROM {}").format(sql.Identifier(SCHEMA, "meta"))
        meta: dict[str, str] = dict(owner.execute(named).fetchall())
        program = _program("pg_dump", owner)
        _program("pg_restore", owner)
    if meta["secret"] != secret:
        raise ConfigurationError("owner_url names another database than the store")
    if meta.get("distributed") == "citus":
        raise StoreError(location, "is spread by Citus, which has backups of its own")
    partial = path.with_name(f"{path.name}.partial")
    schemas = f"--schema={SCHEMA}", f"--schema={PARTS}"
    try:
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        said = _run(program, url, "--format=custom", *schemas, wait, f"--file={partial}")
        if said:
            is_full = os.strerror(errno.ENOSPC) in said
            raise (StoreFull if is_full else StoreError)(location, f"pg_dump failed: {said}")
        check_dump(partial)
        give_name(partial, path)
    except OSError as error:
        raise error_of(error, str(path), wait_s=wait_s, has_key=False) from error
    finally:
        partial.unlink(missing_ok=True)


def old_databases(db: Database) -> list[str]:
    """Return the names of the databases that restores have kept beside a store."""
    with db.read() as connection:
        rows = connection.rows(_OLD, {})
    return [str(name) for (name,) in rows]


def check_dump(path: Path) -> None:
    """Read all of a dump, without a change of anything.

    Raises:
        StoreCorrupt: If it is cut or damaged, or no dump.
        ConfigurationError: If pg_restore is not there.
    """
    given = "--format=custom", f"--file={os.devnull}", str(path)
    if said := _run(_program("pg_restore"), None, *given):
        raise StoreCorrupt(str(path), f"is damaged, or no dump: {said}")


def _needed(owner_url: str | None) -> str:
    """Return the address that a setting names."""
    if owner_url is None:
        raise ConfigurationError(
            "backup and restore of PostgreSQL need the setting owner_url (SIMONIDES_OWNER_URL): "
            "the address of the store as the role that owns its tables"
        )
    try:
        parts = conninfo_to_dict(owner_url)
    except psycopg.ProgrammingError:  # its text may hold the password
        raise ConfigurationError("owner_url is no postgresql:// address") from None
    if not parts.get("dbname"):
        raise ConfigurationError("owner_url names no database")
    return owner_url


def _check_role(session: Session, location: str, column: str, right: str) -> None:
    """Refuse a role without a right that superusers have anyway."""
    statement = sql.SQL(
        "SELECT rolname, rolsuper OR {} FROM pg_roles WHERE rolname = current_user"
    ).format(sql.Identifier(column))
    [(role, may)] = session.execute(statement).fetchall()
    if not may:
        problem = f"the role of owner_url needs more rights; run: ALTER ROLE {role} {right}"
        raise ConfigurationError(f"{location}: {problem}")


def _program(name: str, session: Session | None = None) -> str:
    """Return the path of a program of PostgreSQL that is as new as the server of a session."""
    least = 0 if session is None else session.info.server_version // 10_000
    found = shutil.which(name)
    if found is None:
        wanted = f" {least}" if least else ""
        problem = f"is not in PATH; install the client programs of PostgreSQL{wanted}"
        raise ConfigurationError(f"{name} {problem}")
    call = [found, "--version"]
    said = subprocess.run(call, capture_output=True, text=True, check=False).stdout  # noqa: S603
    have = re.search(r"\) (\d+)", said)
    if have is None or int(have[1]) < least:
        version = "unknown" if have is None else have[1]
        problem = f"is of version {version}, the server of {least}; put programs of version"
        raise ConfigurationError(f"{found} {problem} {least} first in PATH")
    return found


def _run(program: str, url: str | None, *arguments: str) -> str:
    """Run a program on a database; return what it says if it fails, else nothing.

    The password is in its environment: all users of the machine can read arguments.
    """
    parts = {} if url is None else conninfo_to_dict(url)
    password = parts.pop("password", None)
    more = {} if password is None else {"PGPASSWORD": str(password)}
    place = [] if url is None else ["--no-password", f"--dbname={make_conninfo('', **parts)}"]
    done = subprocess.run(  # noqa: S603 - arguments are ours, and no shell reads them
        [program, *place, *arguments],
        env=program_environment(LC_ALL="C", **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    said = without_password(done.stderr).strip().splitlines() or ["it says nothing"]
    return "" if done.returncode == 0 else " ".join(said[:2])


# -- restored databases ----------------------------------------------------------------------------


class _Names(NamedTuple):
    """Names of databases: of the store, of the new one meanwhile, of the old one afterwards."""

    store: str
    new: str
    before: str


@contextmanager
def swap(url: str, owner_url: str | None, backup: Path, wait_s: float) -> Iterator[Swap]:
    """Put a dump in the place of a store when the block has ended well.

    Nobody writes to the old database meanwhile; a kill leaves it, or the new one, in its place.

    Args:
        url: Address of the store, as the application's role; its database need not be there.
        owner_url: The same, as the role that owns the tables.
        backup: Made by `dump`.
        wait_s: How long to wait for locks, in seconds.

    Raises:
        StoreUnavailable: If others have the store open; nothing is changed.
        StoreCorrupt: If the dump is damaged, or of no store.
        ConfigurationError: If the role or a program is missing or does not fit.
    """
    owner, place = _needed(owner_url), without_password(url)
    role, name = _application(url, owner)
    maintenance = _at(owner, "template1" if name == "postgres" else "postgres")
    with translated(place), psycopg.connect(maintenance, autocommit=True) as chief:
        _check_role(chief, place, "rolcreatedb", "CREATEDB")
        program = _program("pg_restore", chief)
        check_dump(backup)
        names = _take_turn(chief, name, place)
        keeper = _keeper(chief, owner, names, place, wait_s)
        try:
            is_there = keeper is not None and _has_store(keeper)
            _create(chief, names, place)
            _fill(program, _at(owner, names.new), role, backup)
            old, new = (_as_application(url, owner, each) for each in (name, names.new))
            yield Swap(
                place,
                None if keeper is None else names.before,
                old if is_there else None,
                new,
                not is_there or (keeper is not None and has_this_schema(keeper)),
            )
            _change_names(chief, keeper, names, place)
        finally:
            if keeper is not None:
                keeper.close()
            with suppress(psycopg.Error):  # the next run drops it
                _drop_unfinished(chief, names.new)


def _application(url: str, owner_url: str) -> tuple[str, str]:
    """Return the application's role and the database of a store."""
    store, owner = conninfo_to_dict(url), conninfo_to_dict(owner_url)
    role, name = store.get("user"), str(owner["dbname"])
    if not role:
        raise ConfigurationError("the address of the store names no role")
    if store.get("dbname") != name:
        raise ConfigurationError("owner_url names another database than the store")
    if len(name.encode()) > LONGEST_NAME:
        problem = f"the database's name is longer than {LONGEST_NAME} bytes"
        raise ConfigurationError(f"{problem}: no room for the name of the old one")
    return str(role), name


def _at(url: str, name: str) -> str:
    """Return the address of another database of the same server."""
    parts = {**conninfo_to_dict(url), "dbname": name}
    user, password, _ = (quote(str(parts.pop(key, "")), safe="") for key in _IN_FRONT)
    more = urlencode({key: str(value) for key, value in parts.items()}, quote_via=quote)
    named = f"{user}:{password}" if password else user
    return f"postgresql://{named}@/{quote(name, safe='')}?{more}"


def _as_application(url: str, owner_url: str, name: str) -> str:
    """Return the address of a database as the application's role, past a pooler.

    A pooler would keep connections to the old database, and may know no other.
    """
    places, owner = ("host", "hostaddr", "port"), conninfo_to_dict(owner_url)
    parts = {key: value for key, value in conninfo_to_dict(url).items() if key not in places}
    parts |= {key: owner[key] for key in places if key in owner}
    return _at(make_conninfo("", **parts), name)


def _take_turn(chief: Session, name: str, place: str) -> _Names:
    """Keep other restores of a database out for as long as the session lasts; return its names."""
    turn = "SELECT pg_try_advisory_lock(hashtext('simonides restore'), hashtext(%s))"
    if not chief.execute(turn, (name,)).fetchall()[0][0]:
        raise StoreUnavailable(place, "another restore is running")
    taken = {each for (each,) in chief.execute("SELECT datname FROM pg_database").fetchall()}
    possible = (f"{name}_before_{number}" for number in count(1))
    return _Names(name, f"{name}_restored", next(each for each in possible if each not in taken))


def _keeper(
    chief: Session, owner_url: str, names: _Names, place: str, wait_s: float
) -> Session | None:
    """Open the old database, and let nobody write to it while the session lasts; None without it.

    Raises:
        StoreUnavailable: If others have it open.
        StoreError: If it has tables of others: they would not be in the new one.
    """
    if not _exists(chief, names.store):
        return None
    keeper = psycopg.connect(_at(owner_url, names.store), options=f"-c search_path={SCHEMA}")
    try:
        deadline = time.monotonic() + LEAVING_S
        while keeper.execute(_OTHERS).fetchall()[0][0]:
            if time.monotonic() > deadline:
                raise StoreUnavailable(place, _IN_USE)
            keeper.rollback()  # the view stays the same within a transaction
            time.sleep(0.05)
        if foreign := keeper.execute(_FOREIGN, (SCHEMA, PARTS)).fetchall():
            problem = f"its database has tables of others, such as {foreign[0][0]}"
            raise StoreError(place, f"{problem}; restore into a database of its own")
        keeper.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        keeper.execute(f"SET LOCAL lock_timeout = {int(wait_s * 1000)}")
        named = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY tablename"
        for (table,) in keeper.execute(named, (SCHEMA,)).fetchall():
            locked = sql.Identifier(SCHEMA, table)
            keeper.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(locked))
    except BaseException:  # an interrupt, too, must not leave locks; raised again
        keeper.close()
        raise
    return keeper


def _exists(chief: Session, name: str) -> bool:
    return bool(chief.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchall())


def _has_store(session: Session) -> bool:
    found = session.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.meta",)).fetchall()
    return found[0][0] is not None


def _create(chief: Session, names: _Names, place: str) -> None:
    """Make an empty database with the owner and the grants of the old one.

    All our texts have a collation of their own, so that of the database does not matter.
    """
    _drop_unfinished(chief, names.new)
    if _exists(chief, names.new):
        raise StoreError(place, f"a database {names.new} is there; rename or drop it first")
    new, made = sql.Identifier(names.new), "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C'"
    chief.execute(sql.SQL("CREATE DATABASE {} {} LC_CTYPE 'C'").format(new, sql.SQL(made)))
    chief.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(new, sql.Literal(UNFINISHED)))
    grants = chief.execute(_GRANTS, (names.store,)).fetchall()
    if grants:
        chief.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(new))
    for role, right, is_grantable in grants:
        to = sql.SQL("PUBLIC") if role is None else sql.Identifier(role)
        more = sql.SQL(" WITH GRANT OPTION" if is_grantable else "")
        grant = sql.SQL("GRANT {} ON DATABASE {} TO {}{}")
        chief.execute(grant.format(sql.SQL(right), new, to, more))
    owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s"
    for (role,) in chief.execute(owner, (names.store,)).fetchall():
        chief.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(new, sql.Identifier(role)))


def _drop_unfinished(chief: Session, name: str) -> None:
    """Drop what a restore that failed or was killed has left."""
    described = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
    if chief.execute(described, (name,)).fetchall() == [(UNFINISHED,)]:
        chief.execute(_END_OWN, (name,))  # a pg_restore may outlive the program that ran it
        chief.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


def _fill(program: str, url: str, role: str, backup: Path) -> None:
    """Fill a new database from a dump, and let it have the schema of this version.

    Raises:
        StoreCorrupt: If the dump is of no store, or of one of a newer version.
        StoreError: If the server does not take it.
    """
    once = "--format=custom", "--exit-on-error", "--single-transaction"
    if said := _run(program, url, *once, str(backup)):
        raise StoreError(str(backup), f"cannot be restored: {said}")
    with psycopg.connect(url) as session:
        if not _has_store(session):
            raise StoreCorrupt(str(backup), "is no backup of simonides")
    init(url, role)


def _change_names(chief: Session, keeper: Session | None, names: _Names, place: str) -> None:
    """Critical section: let the new database have the name of the old one, or change nothing.

    The lock of `keeper` goes only once the renaming has the old database for itself, so that no
    write comes in between.
    """
    rename = "ALTER DATABASE {} RENAME TO {}"
    store, new, before = map(sql.Identifier, names)
    try:
        with chief.transaction(), ThreadPoolExecutor(1) as thread:
            chief.execute(f"SET LOCAL statement_timeout = {int(LEAVING_S * 1000)}")
            if keeper is not None:
                aside = sql.SQL(rename).format(store, before)
                renaming = thread.submit(chief.execute, aside)
                _let_go(keeper, chief, renaming)
                renaming.result()
            chief.execute(sql.SQL(rename).format(new, store))
            chief.execute(sql.SQL("COMMENT ON DATABASE {} IS NULL").format(store))
    except (psycopg.errors.ObjectInUse, psycopg.errors.QueryCanceled):
        raise StoreUnavailable(place, _IN_USE) from None


def _let_go(keeper: Session, chief: Session, renaming: Future[Any]) -> None:
    """Close a session of a database when another one has locked it: nobody else can enter then."""
    process = (chief.info.backend_pid,)
    while not renaming.done() and not keeper.execute(_IS_LOCKED, process).fetchall()[0][0]:
        time.sleep(0.01)
    keeper.close()
