"""Opens the store that a path or a URL names, with its keys: a part of the composition root."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from simonides.api.open.models import (
    POSTGRES,
    choose_anchor,
    choose_keys,
    choose_sealing,
    sidecar_path,
)
from simonides.domain.errors import ConfigurationError, MissingExtra, StoreUnavailable
from simonides.domain.value import shown
from simonides.ports import (
    Alarm,
    Anchor,
    Capability,
    KeyRing,
    KeyVault,
    MemoryStore,
    RecordStore,
    SessionStore,
)
from simonides.storage.sidecar.records_sqlite import SqliteRecords
from simonides.storage.sqlite.authenticated_store import CodedSqliteStore
from simonides.storage.sqlite.file.database import SqliteDatabase
from simonides.storage.sqlite.file.errors import Translating
from simonides.storage.sqlite.file.schema import IN_MEMORY, holds_bytes
from simonides.storage.sqlite.sessions import SqliteSessionStore
from simonides.storage.sqlite.store import SqliteStore
from simonides.transfer.sync import exchange as sync
from simonides.transfer.sync.replica import OpenRemote, Replica

if TYPE_CHECKING:
    from simonides.settings import Settings

_ALL_IN_MEMORY = (IN_MEMORY, f"sqlite:///{IN_MEMORY}")
_MODES = {"local": "local", "incognito": "incognito", "guest": "incognito", "synced": "synced"}

S = TypeVar("S", bound=MemoryStore)


class Keys(NamedTuple):
    """The keys and key stores that the caller passed.

    Attributes:
        ring: None for the settings'.
        anchor: None for the settings'.
        alarm: Timer of the anchor's updates; None updates it after each commit.
        vault: None for the settings'.
        as_is: Whether a plain store is opened although it should be encrypted.
    """

    ring: KeyRing | None = None
    anchor: Anchor | None = None
    alarm: Alarm | None = None
    vault: KeyVault | None = None
    as_is: bool = False


def choose_mode(mode: str | None, target: str | os.PathLike[str] | None, settings: Settings) -> str:
    """Return the caller's mode, else the settings': ``local``, ``incognito``, ``synced``.

    An explicit ``incognito`` may name a store, which stays unchanged. If only a setting makes the
    mode incognito, a named store is an error: writes would seem to succeed without reaching it.

    Raises:
        ConfigurationError: If there is no such mode, or a store is named and the mode is incognito
            by the settings alone.
    """
    asked = settings.mode if mode is None else mode
    if asked not in tuple(_MODES):
        known = "local, incognito (or guest) or synced"
        raise ConfigurationError(f"mode must be {known}, not {shown(asked)}")
    is_left_alone = target is not None and target not in _ALL_IN_MEMORY
    if mode is None and _MODES[asked] == "incognito" and is_left_alone:
        raise ConfigurationError(
            f"a store is named, but the setting mode (SIMONIDES_MODE) is {asked}, which opens "
            "none; say mode='local' (--mode local) to open it, or leave the store out"
        )
    return _MODES[asked]


def open_store(
    target: str | os.PathLike[str] | None,
    settings: Settings,
    *,
    inline: bool,
    filling: bool = False,
    create: bool = True,
    keys: Keys = Keys(),  # noqa: B008 - frozen
) -> MemoryStore:
    """Open the store that a path or URL names; the first write makes a file that is not there.

    ``filling`` and ``create`` are as for :func:`simonides.api.open.assemble.assemble`.

    Raises:
        ConfigurationError: If the name is of no known kind, or there is an anchor and no key ring.
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        StoreError: If the store cannot be opened.
    """
    named = _named(target, settings)
    if named in _ALL_IN_MEMORY:
        return SqliteStore.in_memory(busy_timeout_s=settings.busy_timeout_s)
    keys = keys._replace(ring=choose_keys(settings, keys.ring))
    if keys.ring is None and (keys.anchor or settings.anchor) is not None:
        raise ConfigurationError("an anchor says nothing without a key ring; name one too")
    if keys.ring is None and (settings.encrypt or (keys.vault or settings.key_vault) is not None):
        raise ConfigurationError(
            "nothing is encrypted without a key ring; name one too (docs/privacy.md)"
        )
    if isinstance(named, str) and named.startswith(POSTGRES):
        return _open_postgres(named, settings, keys, filling=filling)
    path = _path_of(named)
    if not create:
        _check_there(path)
    how: dict[str, Any] = {
        "busy_timeout_s": settings.busy_timeout_s,
        "synchronous": settings.synchronous,
        "inline": inline,
        "filling": filling,
        "late": True,
    }
    if keys.ring is None:
        return SqliteStore.open(path, **how)
    return _under_ring(partial(CodedSqliteStore.under, path=path, **how), settings, keys, path)


def _check_there(path: Path) -> None:
    with Translating(str(path)):
        is_there = holds_bytes(path)
    if not is_there:
        raise StoreUnavailable(
            str(path),
            "no store is there; name another path, or open it with create=True: the first write "
            "then makes it",
        )


def new_file(target: str | os.PathLike[str] | None, settings: Settings) -> Path | None:
    """Return the file that :func:`open_store` would create; None if it exists or the store is in no
    file.

    Raises:
        ConfigurationError: If the name is of no known kind.
    """
    named = _named(target, settings)
    if named in _ALL_IN_MEMORY or (isinstance(named, str) and named.startswith(POSTGRES)):
        return None
    path = _path_of(named)
    return None if path.exists() else path


def open_sessions(store: MemoryStore) -> SessionStore:
    """Return the sessions in the database of an open store, over the store's connections.

    They are closed with the store. If the store has no place for sessions, such as a store of the
    host application, they are in memory.
    """
    if isinstance(store, SqliteDatabase):
        return SqliteSessionStore(store)
    if store.location.startswith(POSTGRES):
        from simonides.storage.postgres.sessions import PostgresSessionStore
        from simonides.storage.postgres.wire.connection import PostgresDatabase

        if isinstance(store, PostgresDatabase):
            return PostgresSessionStore(store)
    return SqliteSessionStore.in_memory()


def open_records(
    target: str | os.PathLike[str] | None,
    settings: Settings,
    store: MemoryStore,
    *,
    keys: Keys = Keys(),  # noqa: B008 - frozen
) -> RecordStore:
    """Open the safety records and the feedback of a store.

    They are in memory, in a file next to the store's or in a separate schema of its database. They
    are encrypted if the store is.

    Raises:
        ConfigurationError: If the file belongs to another program.
        StoreError: If they cannot be opened.
    """
    if Capability.DURABLE not in store.capabilities:
        return SqliteRecords.in_memory()
    named = _named(target, settings)
    is_served = isinstance(named, str) and named.startswith(POSTGRES)
    location = store.location if is_served else sidecar_path(Path(store.location), "records")
    seal, ring = None, choose_keys(settings, keys.ring)
    if ring is not None and Capability.SEALED in store.capabilities:
        from simonides.storage.sidecar.records_codec import RecordSeal

        seal = RecordSeal(ring, str(location))
    if not is_served:
        return SqliteRecords.open(location, seal=seal)
    from simonides.storage.sidecar.records_postgres import PostgresRecords

    return PostgresRecords(str(named), seal=seal)


def _named(target: str | os.PathLike[str] | None, settings: Settings) -> str | os.PathLike[str]:
    """Return the path or URL of the store.

    The caller's comes first, then the settings', then a file in the user's data directory.
    """
    from simonides.settings import default_store

    named = target if target is not None else settings.store
    return default_store() if named is None else named


def _under_ring(
    open_it: Callable[..., S], settings: Settings, keys: Keys, store_file: Path | None
) -> S:
    """Open a store with a key ring, and with encryption if required.

    The store closes its anchor unless the caller passed that.
    """
    with ExitStack() as undo:
        sealing = choose_sealing(settings, keys.ring, keys.vault, store_file, as_is=keys.as_is)
        if sealing is not None:
            undo.callback(sealing.close)
        anchor = choose_anchor(settings, keys.anchor, store_file)
        is_own = anchor is not None and keys.anchor is None
        if anchor is not None and is_own:
            undo.callback(anchor.close)
        how: dict[str, Any] = {"anchor": anchor, "owns_anchor": is_own, "opening": sealing}
        store = open_it(keys.ring, alarm=keys.alarm, **how)
        undo.pop_all()
    return store


def choose_remote(
    remote: str | os.PathLike[str] | None,
    store: MemoryStore,
    settings: Settings,
    reach: Callable[..., OpenRemote],
    alarm: Alarm | None,
) -> Replica:
    """Return the replica that exchanges a store with its remote; the remote is not opened yet.

    Args:
        remote: Path or URL of the other store.
        store: The replica.
        settings: Of the replica. The remote gets the same, except its own keys, if set, and its own
            key vault. It has no anchor, no backups and no timers.
        reach: Opens a store by its name and ``settings``.
        alarm: Timer of the exchanges.

    Raises:
        ConfigurationError: If no remote is named, it is the replica, or it is in memory.
    """
    if remote is None:
        raise ConfigurationError(
            "mode synced exchanges a store with another: name it by remote=, --remote or "
            "SIMONIDES_REMOTE"
        )
    if not isinstance(remote, (str, os.PathLike)):
        raise ConfigurationError(f"remote must be a path or a URL, not {type(remote).__name__}")
    place = place_of(os.fspath(remote))
    is_file = isinstance(place, Path)
    here = Path(store.location).resolve() if is_file else store.location
    if here == (place if is_file else location_of(place)):
        raise ConfigurationError(f"{place} is the store itself; name another as its remote")
    theirs = settings.remote_keys_file
    others: dict[str, Any] = {"keys": None, "keys_command": None, "keys_file": theirs}
    changed: dict[str, Any] = {
        "store": None,
        "backup_dir": None,
        "anchor": None,
        "encrypt": settings.encrypt or settings.key_vault is not None,
        "key_vault": settings.remote_key_vault,
        "reindex": "manual",
        "gc": "manual",
        **(others if theirs is not None else {}),
    }
    of_remote = settings.model_copy(update=changed)
    if theirs is not None:
        reach = partial(reach, key_ring=None)
    return Replica(
        location_of(place),
        lambda: reach(place, settings=of_remote),
        sync,
        every_s=settings.sync_every_seconds,
        alarm=alarm,
        is_inline=isinstance(place, Path),
    )


def location_of(place: Path | str) -> str:
    """Return the location of a store without credentials: no user, password or parameters."""
    if isinstance(place, Path):
        return str(place)
    parts = urlsplit(place)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"


def init_database(url: str, app_role: str) -> tuple[str, int]:
    """Prepare a PostgreSQL database for an application's role; see ``simonides db init``.

    Returns:
        Address of the database without credentials, and the number of migrations run.

    Raises:
        ConfigurationError: If the URL is of another kind, or the role is missing or unfit.
        MissingExtra: If the driver is not installed.
        StoreError: If the database cannot be reached or holds something else.
    """
    if not url.startswith(POSTGRES):
        raise ConfigurationError("only a PostgreSQL database is prepared: postgresql://…")
    _check_postgres()
    from simonides.storage.postgres import schema

    address = schema.Address(url, connect_timeout_s=10)
    return address.location, schema.init_database(address, app_role)


def _open_postgres(url: str, settings: Settings, keys: Keys, *, filling: bool) -> MemoryStore:
    _check_postgres()
    from simonides.storage.postgres.authenticated.store import CodedPostgresStore
    from simonides.storage.postgres.store import PostgresStore

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
    # psycopg may be installed without its C library; only the import shows it.
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise MissingExtra("postgres", "a PostgreSQL store") from error
    del psycopg, psycopg_pool


def place_of(named: str) -> Path | str:
    """Return a store's canonical location, to compare two names; a server's URL unchanged."""
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
