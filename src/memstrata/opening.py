"""Which store a path or a URL names, under which keys: a part of the composition root."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote

from memstrata.adapters.session_memory import DictSessionStore
from memstrata.adapters.session_sqlite import SqliteSessionStore
from memstrata.adapters.sqlite_coded import CodedSqliteStore
from memstrata.adapters.sqlite_file import SqliteFile
from memstrata.adapters.store_memory import DictStore
from memstrata.adapters.store_sqlite import SqliteStore
from memstrata.choosing import POSTGRES, choose_anchor, choose_keys, choose_sealing
from memstrata.domain.errors import ConfigurationError, MissingExtra
from memstrata.ports import Alarm, Anchor, KeyRing, KeyVault, MemoryStore, SessionStore

if TYPE_CHECKING:
    from memstrata.settings import Settings

IN_MEMORY = ":memory:"

S = TypeVar("S", bound=MemoryStore)


class Keys(NamedTuple):
    """What a store is kept under, as it was handed in.

    Attributes:
        ring: None for the settings'.
        anchor: None for the settings'.
        alarm: Wakes who tells the anchor; None tells it after each commit.
        vault: None for the settings'.
        as_is: Whether a store in plain is opened though it should be encrypted.
    """

    ring: KeyRing | None = None
    anchor: Anchor | None = None
    alarm: Alarm | None = None
    vault: KeyVault | None = None
    as_is: bool = False


def open_store(
    target: str | os.PathLike[str] | None,
    settings: Settings,
    *,
    inline: bool,
    filling: bool = False,
    keys: Keys = Keys(),  # noqa: B008 - frozen
) -> MemoryStore:
    """Open the store that a path or URL names; ``filling`` as for
    :func:`memstrata.wiring.assemble`.

    Raises:
        ConfigurationError: If the name is of no known kind, or there is an anchor and no key ring.
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        StoreError: If the store cannot be opened.
    """
    from memstrata.settings import default_store

    named = target if target is not None else settings.store
    if named is None:
        named = default_store()
    if named in (IN_MEMORY, f"sqlite:///{IN_MEMORY}"):
        return DictStore()
    keys = keys._replace(ring=choose_keys(settings, keys.ring))
    if keys.ring is None and (keys.anchor or settings.anchor) is not None:
        raise ConfigurationError("an anchor says nothing without a key ring; name one too")
    if keys.ring is None and (settings.encrypt or (keys.vault or settings.key_vault) is not None):
        raise ConfigurationError(
            "nothing is encrypted without a key ring; name one too (docs/keys.md)"
        )
    if isinstance(named, str) and named.startswith(POSTGRES):
        return _open_postgres(named, settings, keys, filling=filling)
    path = _path_of(named)
    how: dict[str, Any] = {
        "busy_timeout_s": settings.busy_timeout_s,
        "synchronous": settings.synchronous,
        "inline": inline,
        "filling": filling,
    }
    if keys.ring is None:
        return SqliteStore.open(path, **how)
    return _under_ring(partial(CodedSqliteStore.under, path=path, **how), settings, keys, path)


def open_sessions(store: MemoryStore) -> SessionStore:
    """Return the sessions that lie where an open store of memories does, over what it has open.

    They are closed with it; of a store without a place for sessions, such as one of the host's
    own, they are in memory.
    """
    if isinstance(store, SqliteFile):
        return SqliteSessionStore(store)
    if not isinstance(store, DictStore) and store.location.startswith(POSTGRES):
        from memstrata.adapters.postgres_database import PostgresDatabase
        from memstrata.adapters.session_postgres import PostgresSessionStore

        if isinstance(store, PostgresDatabase):
            return PostgresSessionStore(store)
    return DictSessionStore(store if isinstance(store, DictStore) else None)


def _under_ring(
    open_it: Callable[..., S], settings: Settings, keys: Keys, beside: Path | None
) -> S:
    """Open a store under a ring, encrypted if it is to be, and with an anchor that is its own
    unless it was handed in.
    """
    with ExitStack() as undo:
        sealing = choose_sealing(settings, keys.ring, keys.vault, beside, as_is=keys.as_is)
        if sealing is not None:
            undo.callback(sealing.close)
        anchor = choose_anchor(settings, keys.anchor, beside)
        is_own = anchor is not None and keys.anchor is None
        if anchor is not None and is_own:
            undo.callback(anchor.close)
        how: dict[str, Any] = {"anchor": anchor, "owns_anchor": is_own, "opening": sealing}
        store = open_it(keys.ring, alarm=keys.alarm, **how)
        undo.pop_all()
    return store


def init_database(url: str, app_role: str) -> tuple[str, int]:
    """Prepare a PostgreSQL database for an application's role; see ``memstrata db init``.

    Returns:
        Address of the database without credentials, and how many migrations were run.

    Raises:
        ConfigurationError: If the URL is of another kind, or the role is missing or unfit.
        MissingExtra: If the driver is not installed.
        StoreError: If the database cannot be reached or holds something else.
    """
    if not url.startswith(POSTGRES):
        raise ConfigurationError("only a PostgreSQL database is prepared: postgresql://…")
    _check_postgres()
    from memstrata.adapters import postgres_schema as schema

    address = schema.Address(url, connect_timeout_s=10)
    return address.location, schema.init_database(address, app_role)


def _open_postgres(url: str, settings: Settings, keys: Keys, *, filling: bool) -> MemoryStore:
    _check_postgres()
    from memstrata.adapters.postgres_coded import CodedPostgresStore
    from memstrata.adapters.store_postgres import PostgresStore

    how: dict[str, Any] = {
        "pool_size": settings.pool_size,
        "timeout_s": settings.call_timeout_s,
        "busy_timeout_s": settings.busy_timeout_s,
        "filling": filling,
    }
    if keys.ring is None:
        return PostgresStore.open(url, **how)
    return _under_ring(partial(CodedPostgresStore.under, url=url, **how), settings, keys, None)


def _check_postgres() -> None:
    # psycopg is there without its C library at times; importing it tells.
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise MissingExtra("postgres", "a PostgreSQL store") from error
    del psycopg, psycopg_pool


def place_of(named: str) -> Path | str:
    """Return where a store lies, the same however it is written; a server's URL as it is."""
    if named in (IN_MEMORY, f"sqlite:///{IN_MEMORY}"):
        raise ConfigurationError(f"{named} ends with this process; name a store that stays")
    scheme, separator, _ = named.partition("://")
    return named if separator and scheme != "sqlite" else _path_of(named).resolve()


def _path_of(named: object) -> Path:
    text = os.fspath(named) if isinstance(named, (str, os.PathLike)) else ""
    if not isinstance(text, str):
        raise ConfigurationError("a store is named by text, not by bytes")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _checked_path(text)
    if scheme != "sqlite":
        raise ConfigurationError(
            f"no store for {scheme}://; this version has a path, sqlite:///path,"
            " postgresql://user@host/database and :memory:"
        )
    host, _, path = rest.partition("/")
    if host or not path:
        raise ConfigurationError("write sqlite:///relative/path or sqlite:////absolute/path")
    return _checked_path(unquote(path))


def _checked_path(text: str) -> Path:
    # SQLite takes names in UTF-8 that end at the first NUL.
    if not text or "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ConfigurationError("a store is named by a path or a URL, without NUL, in UTF-8")
    return Path(text)
