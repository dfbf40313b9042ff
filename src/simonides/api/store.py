"""The store: opened once a process, it makes the memories of principals."""

from __future__ import annotations

import logging
import os
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from simonides.api.call import Bound, check_org, engine_of, no_attribute
from simonides.api.memory import Memory
from simonides.core import forks  # noqa: F401  registered before the databases
from simonides.core.clock import Clock, Ids, SystemClock
from simonides.core.engine import Engine
from simonides.core.errors import (
    ConfigurationError,
    InvalidInput,
    KeyUnavailable,
    StoreCorrupt,
)
from simonides.core.scope import GLOBAL, Principal, documents_of, principal_of
from simonides.core.settings import (
    Settings,
    default_store,
    openai_model,
    openai_seconds,
    server_named,
)
from simonides.core.validation import text
from simonides.govern.figures import Figures
from simonides.govern.policy_file import Policies
from simonides.govern.usage import Usage
from simonides.life.worker import Worker
from simonides.models.embedder import QUESTIONS, Embedder, Reranker, TokenCounter, embed_question
from simonides.recall.cache import IndexCache
from simonides.recall.journal import Journal
from simonides.storage.database import Database
from simonides.storage.digests import blake

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from simonides.agent.contract import Checks
    from simonides.api.admin import Admin
    from simonides.api.agent import Agent
    from simonides.api.remote.face import Remote
    from simonides.api.session import Session
    from simonides.knowledge.results import DocumentSource, SourceReport
    from simonides.models.language import LanguageModels

# A program that configures no logging gets no lines of ours on its standard error.
logging.getLogger("simonides").addHandler(logging.NullHandler())

_open_stores: WeakSet[Store] = WeakSet()


def _for_databases(verb: str) -> None:
    for store in list(_open_stores):
        getattr(store._engine.db, verb)()


def _after_fork() -> None:
    """Make the locks of all stores anew: a thread of the parent may have held them."""
    for store in list(_open_stores):
        engine = store._engine
        engine.indexes.clear()
        parts = [engine.ids, engine.policies, engine.journal, engine.usage, engine.figures]
        for part in (*parts, engine.worker, engine.embedder, *store._all_models()):
            getattr(part, "after_fork", lambda: None)()


# What is registered later is called earlier before a fork: calls of the databases, which must come
# to their ends, still search texts, and `core.forks` stops that.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=partial(_for_databases, "before_fork"),
        after_in_parent=partial(_for_databases, "after_fork_in_parent"),
        after_in_child=_after_fork,
    )


class Store:
    """A store of memories. Thread-safe; open one a process, and use it as a context manager."""

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise TypeError("Store is made by simonides.open(path)")
        self._link: Engine | Remote = engine
        self._agents: dict[str | int, LanguageModels | None] = {}
        _open_stores.add(self)

    @property
    def _engine(self) -> Engine:
        return engine_of(self._link)

    def memory(
        self,
        user: str | None = None,
        *,
        org: str | None = None,
        task: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        purpose: str | None = None,
        actor: str | None = None,
        private: bool = False,
    ) -> Memory:
        """Return the memory of a principal, without I/O: make one a request.

        Args:
            user: The user.
            org: The user's organisation; the default one without it.
            task: A task of the user, whose memories are its own.
            session: The conversation; without a user, the identity.
            agent: The acting agent; it also sees what is private to it.
            purpose: What memories are read and written for.
            actor: Person or program that acts for the user, for the audit trail.
            private: Whether what the agent is told and writes is for this agent alone; so are its
                conversations, tasks and receipts.

        Raises:
            OwnerRequired: If neither a user nor a session is named, or the organisation is missing
                and the setting ``require_org`` asks for it.
            InvalidScope: If an id is malformed.
        """
        check_org(self._link, org)
        who = principal_of(
            user=user,
            org=org,
            task=task,
            session=session,
            agent=agent,
            purpose=purpose,
            actor=actor,
            private=private,
        )
        return Memory(self._link, who)

    def visitor(self, session: str, *, org: str | None = None) -> Session:
        """Return the conversation of a visitor who is known only by a session.

        Raises:
            InvalidScope: If the id is malformed.
        """
        return self.memory(session=session, org=org).session()

    def admin(self, actor: str) -> Admin:
        """Return the store's administrator.

        Args:
            actor: Name of the person or program, for the audit trail.

        Raises:
            InvalidScope: If the name is malformed.
        """
        from simonides.api.admin import Admin

        who = principal_of(user="admin", actor=actor)
        return Admin(self._link, Principal(GLOBAL, actor=who.actor, is_admin=True))

    def agent(
        self,
        memory: Memory,
        *,
        model: Model | str | None = None,
        checks: Checks | None = None,
        preference_bias: bool | None = None,
    ) -> Agent:
        """Return the reference agent of a memory, without I/O.

        Args:
            memory: Whose agent it is.
            model: Its language model. None means the store's, else the one that ``OPENAI_API_KEY``,
                ``OPENAI_MODEL`` and ``OPENAI_BASE_URL`` name, else rules.
            checks: By key, a function of a memory's value and an answer that says whether the value
                shows in the answer.
            preference_bias: Whether preferences have their bonus in its retrieval; None leaves that
                to the plan of the model.

        Raises:
            ConfigurationError: If the model's name is unknown, or its key or extra is missing.
        """
        if not isinstance(memory, Memory):
            raise InvalidInput("memory", f"must be a Memory, not {type(memory).__name__}")
        from simonides.api.agent import Agent

        engine = self._engine
        models, settings = engine.models, engine.settings
        if model is None and models is None and settings.mode == "local" and openai_model():
            model = openai_model()
            settings = settings.model_copy(update={"model_timeout_s": openai_seconds()})
        if model is not None:
            name = model if isinstance(model, str) else id(model)
            models = self._agents.get(name) or self._agents.setdefault(
                name, _models(model, settings, engine.clock)
            )
        return Agent(
            engine,
            memory._who,
            models=models,
            checks=checks or {},
            preference_bias=preference_bias,
        )

    def _all_models(self) -> list[LanguageModels]:
        possible = (self._engine.models, *self._agents.values())
        return [models for models in possible if models is not None]

    def add_source(
        self,
        place: str | Path,
        *,
        name: str | None = None,
        org: str | None = None,
        allow_private: bool = False,
    ) -> SourceReport:
        """Read the documents of a folder, file or page, for `recall` with ``layer="documents"``.

        A second call reads what has changed, and drops what is gone. Everyone of the organisation
        can look them up; they become no memories.

        Args:
            place: A folder, a file, or an ``https://`` or ``http://`` URL.
            name: Name of the source; without one, it follows from the place.
            org: The organisation; the default one without it.
            allow_private: Whether a page may lie in a private network or on this machine.

        Raises:
            InvalidInput: If the place cannot be read, or the name is that of another place.
            OwnerRequired: If ``require_org`` asks for the organisation.
            StoreError: If the store could not.
        """
        from simonides.knowledge.sources import add_source

        documents = self._documents(org)
        return documents._call(add_source, place, name=name, allow_private=allow_private)

    def sources(self, *, org: str | None = None) -> list[DocumentSource]:
        """Return the sources of an organisation's documents, by name.

        Args:
            org: The organisation; the default one without it.
        """
        from simonides.knowledge.sources import sources

        return self._documents(org)._call(sources)

    def remove_source(self, name: str, *, org: str | None = None) -> bool:
        """Delete the documents of a source, with their bytes; return whether there were any.

        Args:
            name: Its name.
            org: The organisation; the default one without it.
        """
        from simonides.knowledge.sources import remove_source

        return self._documents(org)._call(remove_source, name)

    def _documents(self, org: str | None) -> Bound:
        check_org(self._link, org)
        return Bound(self._link, Principal(documents_of(org)))

    def flush(self) -> None:
        """Do what waits: counts of reads, what the model has to read, sessions that are to end.

        In the background this is done in time by itself; a model reads several turns at once then.

        Raises:
            StoreError: If it could not be written.
        """
        from simonides.sessions.model import read_begun

        self._engine.journal.flush()
        with self._engine.db.running():
            self._engine.worker.flush()
            read_begun(self._engine)

    def close(self) -> None:
        """Write what waits, wait some seconds for running calls, and let go of the database.

        The conversations that this program began end, the latest first, for 1.5 seconds, or for 10
        with a language model; a later process ends the others after their quiet time. The setting
        ``end_on_close`` switches this off. Calls that begin later raise `StoreUnavailable`. A
        second call does nothing.
        """
        engine = self._engine
        try:
            engine.worker.close()
            # A signal handler may come within an import, so none is made where nothing began.
            if engine.settings.end_on_close and engine.worker.begun:
                from simonides.sessions.end import end_begun

                end_begun(engine)
            engine.journal.close()
            engine.usage.flush()
        finally:
            for part in (engine.embedder, *self._all_models()):
                getattr(part, "close", lambda: None)()
            engine.db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute
        __getattr__ = no_attribute

    def __repr__(self) -> str:
        return f"<Store {self._engine.db.location}>"


def open(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    settings: Settings | None = None,
    model: Model | str | None = None,
    embedder: Embedder | str | None = None,
    reranker: Reranker | None = None,
    tokens: TokenCounter | None = None,
    key: str | None = None,
    audit_key: str | None = None,
    verify: bool = False,
    clock: Clock | None = None,
    token: str | None = None,
    create: bool = True,
) -> Store:
    """Open a store.

    Args:
        target: A path, ``sqlite:///path``, ``postgresql://user@host/database`` or ``:memory:``; or
            ``https://name`` of a server, which takes a token and no further argument. None means
            what the settings name, or a file in the user's data directory. The first write makes a
            file that is not there, a read never does.
        mode: ``local``; ``synced``, where the store is on a server; or ``incognito`` (``guest``),
            which keeps everything in memory: no file, no socket. None means what the settings name.
        settings: None reads the environment.
        model: Language model that reads what was said: a name such as ``openai:gpt-5-mini``, or a
            model of pydantic-ai. None means what the settings name; without one, rules read it.
        embedder: A model of your own instead of the shipped encoder, or the name of one, such as
            ``openai:text-embedding-3-small``; ``"none"`` for words only. Memories get vectors of
            another embedder in the background.
        reranker: Looks at the best hits again.
        tokens: Counts the tokens of a text for ``max_tokens``, as your model does; None estimates
            4 characters for one, 1.5 in Chinese, Japanese and Korean.
        key: Encrypts a SQLite file: 64 hexadecimal digits, or a passphrase.
        audit_key: Keys the codes of the audit chain; keep it outside the store. It is given when a
            store is made; later another one, or none, is refused.
        verify: Check the whole audit chain first.
        clock: Time instead of the machine's.
        token: The credential for a server.
        create: False raises `StoreUnavailable` where no store is.

    Raises:
        ConfigurationError: If a setting, the mode or the URL is wrong, or an extra is missing.
        InvalidInput: If the target holds NUL or a lone surrogate.
        PolicyInvalid: If the policy file is broken.
        KeyUnavailable: If the key is wrong or missing.
        StoreError: If the store cannot be opened, or ``verify`` finds a change.
    """
    settings = settings_of(settings, mode=mode, key=key, audit_key=audit_key, token=token)
    if (url := _server(target, settings)) is not None:
        here = (model, embedder, reranker, tokens, key, audit_key, clock)
        if verify or any(each is not None for each in here):
            raise ConfigurationError(f"{url} is a server, which has its own; give only a token")
        return remote_store(url, settings)
    embedder = _embedder(embedder, settings)
    _check_parts(reranker, tokens, clock)
    secret = _audit_secret(settings)
    time = clock or SystemClock()
    models = _models(model, settings, time)
    policies = Policies(settings.policy, time)
    db, ids = _database(target, settings, create=create), Ids()
    dimensions, name = (1, None) if embedder is None else (embedder.dimensions, embedder.model_id)
    engine = Engine(
        db=db,
        indexes=IndexCache(dimensions, name, settings.index_budget_mb << 20),
        policies=policies,
        embedder=embedder,
        asked=None if embedder is None else lru_cache(QUESTIONS)(partial(embed_question, embedder)),
        reranker=reranker,
        tokens=tokens,
        models=models,
        clock=time,
        ids=ids,
        journal=Journal(
            db, time, ids, secret, timed=clock is None, receipt_days=settings.receipt_days
        ),
        worker=Worker(timed=clock is None),
        usage=Usage(db, time),
        figures=Figures(time),
        settings=settings,
        audit_key=secret,
    )
    engine.worker.engine = engine
    store = Store(engine)
    _check_key(store, engine)
    if verify:
        _verify(store, engine)
    return store


def _server(target: object, settings: Settings) -> str | None:
    """Return the address of the server that has the store, or None."""
    url = server_named(target, settings)
    if settings.mode == "synced" and url is None:
        raise ConfigurationError(
            "mode 'synced' needs the https:// address of a server as the store"
        )
    if url is not None and settings.mode not in ("local", "synced"):
        raise ConfigurationError(f"mode {settings.mode!r} uses no socket: name no server")
    return url


def remote_store(url: str, settings: Settings) -> Store:
    """Return the store on a server."""
    from simonides.api.remote.face import Remote, RemoteStore

    token = None if settings.token is None else settings.token.get_secret_value()
    return RemoteStore(Remote(url, token))


def _check_key(store: Store, engine: Engine) -> None:
    """Close a store with another audit key."""
    from simonides.govern import audit

    try:
        audit.check_key(engine)
    except KeyUnavailable:
        store.close()
        raise


def _verify(store: Store, engine: Engine) -> None:
    """Check the whole audit chain; close a store that does not pass."""
    from simonides.govern import audit

    report = audit.verify_all(engine, Principal(GLOBAL, actor="open", is_admin=True))
    if not report:
        store.close()
        problem = f"{len(report.problems)} changes outside simonides: {report.problems[0]}"
        raise StoreCorrupt(engine.db.location, problem)


def _check_parts(reranker: object, tokens: object, clock: object) -> None:
    if reranker is not None and not isinstance(reranker, Reranker):
        raise ConfigurationError("reranker needs rerank(query, texts)")
    if tokens is not None and not callable(tokens):
        raise ConfigurationError("tokens is a function of a text that returns a number")
    if clock is not None and not hasattr(clock, "now_ms"):
        raise ConfigurationError("clock needs now_ms()")


def _audit_secret(settings: Settings) -> bytes:
    """Return the key of the audit codes; empty without one."""
    if settings.audit_key is None:
        return b""
    secret = settings.audit_key.get_secret_value().encode()
    if not secret:
        raise KeyUnavailable("the audit key is empty")
    return blake(b"", secret)


def settings_of(settings: Settings | None, **given: str | bool | None) -> Settings:
    """Return the settings, those of the environment for None, with what else was given."""
    if settings is None:
        settings = Settings()
    elif not isinstance(settings, Settings):
        raise ConfigurationError(f"settings must be a Settings, not {type(settings).__name__}")
    changes = {name: value for name, value in given.items() if value is not None}
    return Settings(**{**settings.model_dump(), **changes})


def _models(given: Model | str | None, settings: Settings, clock: Clock) -> LanguageModels | None:
    """Return the chosen language model; a key in the environment alone chooses none."""
    chosen = settings.model if given is None else given
    if chosen is None:
        return None
    if settings.mode != "local":
        raise ConfigurationError(f"mode {settings.mode!r} uses no socket: choose no model")
    from simonides.models.language import LanguageModels

    return LanguageModels(chosen, settings, clock)


def _embedder(given: Embedder | str | None, settings: Settings) -> Embedder | None:
    if given is None:
        from simonides.models.encoder import Encoder

        return Encoder()
    if given == "none":
        return None
    if isinstance(given, str) and ":" in given and settings.mode == "local":
        from simonides.models.named import NamedEmbedder

        return NamedEmbedder(given, settings.model_timeout_s)
    if not isinstance(given, Embedder):
        problem = "needs model_id, dimensions and encode(), or is 'none' or a provider's model"
        raise ConfigurationError(f"embedder {problem}, such as openai:text-embedding-3-small")
    return given


def _database(
    target: str | os.PathLike[str] | None, settings: Settings, *, create: bool
) -> Database:
    named, key = store_named(target, settings), key_of(settings)
    wait = settings.busy_timeout_s
    if named is not None and is_postgres(named):
        from simonides.storage.postgres import Postgres

        if key is not None:
            raise ConfigurationError("key encrypts SQLite files; encrypt a server's disks instead")
        owner_url = owner_url_of(settings)
        return Postgres(named, connections=settings.pool_size, wait_s=wait, owner_url=owner_url)
    from simonides.storage.sqlite import Sqlite

    path = file_of(named)
    return Sqlite(
        path,
        key=key if path is not None else None,
        create=create,
        wait_s=wait,
        readers=settings.pool_size,
        synchronous=settings.synchronous,
    )


def is_postgres(named: str) -> bool:
    """Whether a store is named by the address of a PostgreSQL database."""
    return named.lower().startswith(("postgresql://", "postgres://"))


def key_of(settings: Settings) -> str | None:
    """Return the key that encrypts a file, or None."""
    return None if settings.key is None else settings.key.get_secret_value()


def owner_url_of(settings: Settings) -> str | None:
    """Return the address of a PostgreSQL store as its tables' owner, or None."""
    return None if settings.owner_url is None else settings.owner_url.get_secret_value()


def store_named(target: str | os.PathLike[str] | None, settings: Settings) -> str | None:
    """Return the path or address of a store; None means the default."""
    if target is not None and not isinstance(target, (str, os.PathLike)):
        raise ConfigurationError(f"a store is a path or URL, not {type(target).__name__}")
    named = settings.store if target is None else text("target", os.fspath(target))
    if settings.mode == "local":
        return named
    if target is not None and named != ":memory:":
        raise ConfigurationError(f"mode {settings.mode!r} keeps nothing: name no store")
    return ":memory:"


def file_of(named: str | None) -> Path | None:
    """Return the file of a SQLite store by its name; None for one in memory."""
    scheme = named.partition("://")[0].lower() if named and "://" in named else ""
    if scheme == "sqlite" and ":///" in (named or ""):
        named = (named or "").partition(":///")[2]
    elif scheme:
        raise ConfigurationError(
            f"{scheme}:// is not a store in a file; use sqlite:///path or postgresql://…"
        )
    if named is not None and named[:1] in ("", "~"):
        raise ConfigurationError("the store's path is empty or begins with ~, which shells expand")
    path = None if named == ":memory:" else Path(named or default_store()).absolute()
    # Files beside it have longer names; most systems take 255 bytes.
    if path is not None and (len(path.name.encode()) > 215 or len(str(path).encode()) > 500):
        raise ConfigurationError("the store's path is longer than 500 bytes, or its name than 215")
    return path
