"""The composition root: chooses adapters and builds the runtime. No other module does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from simonides.api.open.language_model import choose_model
from simonides.api.open.models import (
    ChosenModels,
    add_folders,
    check_encryption,
    choose_models,
    choose_tokens,
    closing_on_error,
    sidecar_path,
)
from simonides.api.open.store import (
    Keys,
    choose_mode,
    choose_remote,
    open_records,
    open_sessions,
    open_store,
    place_of,
)
from simonides.api.session import follow_sessions
from simonides.api.store import AsyncStore
from simonides.domain.conversation.session import Eviction, SessionRules
from simonides.domain.errors import ConfigurationError
from simonides.domain.governance.safety_record import RecordRules
from simonides.domain.operations.gc import GcRules
from simonides.domain.operations.metrics import thresholds_with
from simonides.domain.policy.working import WorkingRules
from simonides.domain.scope import OrgRule
from simonides.engine.core import (
    Counters,
    ModelBudget,
    ModelHealth,
    Models,
    NotedPolicies,
    Parts,
    ReindexQueue,
    Runtime,
)
from simonides.engine.edit import Deliveries
from simonides.engine.forgetting import PendingErasures
from simonides.engine.knowledge import Library
from simonides.engine.maintenance import DailyGc, Reindexer, ReindexWorker, schedule_daily_gc
from simonides.engine.operations import Monitoring, SafetyRecordStore
from simonides.engine.recall import ReadJournal, WarmSessions
from simonides.engine.sessions import (
    BackgroundExtraction,
    IdleSessionEnder,
    ProcessSessions,
    schedule_idle_end,
)
from simonides.engine.write import Rates
from simonides.policy import PolicyBook
from simonides.ports import (
    Alarm,
    Anchor,
    Aside,
    Capability,
    Classifier,
    Clock,
    Embedder,
    Finder,
    Ids,
    KeyRing,
    KeyVault,
    LanguageModel,
    MemoryStore,
    Reranker,
    RevertibleStore,
    TokenCounter,
)
from simonides.providers.classifiers import ModelClassifier
from simonides.providers.system import (
    SystemAlarm,
    SystemClock,
    SystemIds,
    ThreadedAlarm,
    run_in_thread,
    run_inline,
    start_in_thread,
)
from simonides.retrieval.index import IndexCache, Indexer
from simonides.retrieval.ranking import Fusion, FusionMode
from simonides.storage.process_caches import DroppingAlarm, forget_cached
from simonides.storage.sqlite.file.schema import IN_MEMORY
from simonides.transfer.backup.create import Backups
from simonides.transfer.sync.replica import Replica

if TYPE_CHECKING:
    from simonides.settings import Settings

_MIB = 1024 * 1024


def assemble(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    remote: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    inline: bool,
    model: LanguageModel | str | None = None,
    clock: Clock | None = None,
    create: bool = True,
    ids: Ids | None = None,
    alarm: Alarm | None = None,
    sweeps: Alarm | None = None,
    idling: Alarm | None = None,
    tokens: TokenCounter | Callable[[str], int] | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    classifier: Classifier | None = None,
    finder: Finder | None = None,
    key_ring: KeyRing | None = None,
    anchor: Anchor | None = None,
    key_vault: KeyVault | None = None,
    filling: bool = False,
    as_is: bool = False,
) -> AsyncStore:
    """Open a store and build the runtime over it.

    Args:
        target: Path, ``sqlite:///path``, ``postgresql://…`` or ``:memory:``; None means the
            settings' store, or a file in the user's data directory.
        mode: ``local``; ``incognito`` (``guest``) keeps everything in memory and uses no model;
            ``synced`` exchanges the store with a remote one; None means the settings'.
        remote: Path or URL of the remote store; None means the settings'.
        settings: None reads the environment.
        inline: Whether store calls may block the calling thread.
        model: Language model to use instead of the settings', guarded like theirs (docs/models.md);
            or the name of one, such as ``openai:gpt-5-mini``.
        clock: Time; None means the machine's.
        create: Whether the first write may make a file that is not there.
        ids: Ids; None means random UUIDv7.
        alarm: Timer for the read journal. None means the machine's. With a ``clock`` there is then
            no timer: the journal is written before captures and on close.
        sweeps: Timer of the daily garbage collection. None means the machine's. With a ``clock`` or
            an ``alarm`` there is then no timer, so that a test sees no unexpected collection.
        idling: Timer that ends idle sessions; None as for ``sweeps``.
        tokens: Token counter, or a function that counts; None means the settings' tokenizer, or
            else the documented estimate.
        embedder: Embedder to use instead of the settings'; the caller closes it.
        reranker: Reranker to use instead of the settings'; the caller closes it.
        classifier: Gives a second opinion on suspicious content; the caller closes it.
        finder: Additional detector of personal data in texts.
        key_ring: Master keys to use instead of the settings'; a store in memory uses none.
        anchor: Records the position of each owner, instead of the settings'; a store in memory uses
            none.
        key_vault: Encryption keys to use instead of the settings'; a store in memory uses none.
        filling: Whether another store is about to be moved here, or its move was interrupted.
        as_is: Whether a plain store may be opened although it should be encrypted, to be moved.

    Raises:
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        ConfigurationError: If the mode or the URL is of no known kind, a store is named although
            the settings' mode is incognito, a database was not prepared for the role, or an
            embedder has more dimensions than the limit.
        MissingExtra: If the kind of store, the embedder or the reranker is not installed.
        PolicyInvalid: If the policy file is broken.
        StoreError: If the store cannot be opened.
    """
    from simonides.settings import Settings

    chosen = Settings() if settings is None else settings
    mode, closers = choose_mode(mode, target, chosen), list[Callable[[], None]]()
    hidden = mode == "incognito"
    if hidden:
        chosen, alarm = _hidden(chosen, clock, alarm, closers)
    parts, time = _rules_of(chosen, mode), clock or SystemClock()
    language = choose_model(chosen, model, time.monotonic, hidden=hidden)
    policies, counter = PolicyBook(chosen.policy), choose_tokens(chosen, tokens)
    models = choose_models(chosen, embedder, reranker, hidden=hidden)
    indexes = IndexCache(Indexer(models.embedder), budget_bytes=chosen.index_budget_mb * _MIB)
    rings = alarm or (SystemAlarm() if clock is None else None)
    keys = Keys(key_ring, anchor, rings, key_vault, as_is=as_is)
    named = IN_MEMORY if hidden else target
    store = open_store(named, chosen, inline=inline, filling=filling, create=create, keys=keys)
    how: dict[str, Any] = {"inline": inline, "clock": clock, "ids": ids, "key_ring": key_ring}
    opens = partial(assemble, mode="local", embedder=models.embedder, **how)
    with closing_on_error(store):
        check_encryption(policies, store)
        replica = _replica(mode, remote, store, chosen, opens, _alarm_or_default(clock, alarm))
        records = open_records(target, chosen, store, keys=keys)
    aside, blocking = _work_runners(store, models, inline=inline)
    remaker, counters = Reindexer(store, indexes, time, aside, policies.ceilings_of), Counters(time)
    meter = ModelBudget.of(language.model, store, time, counter, counters)
    asked = _asked_models(chosen, models, language, counter, meter)
    reindexing = ReindexWorker(remaker, _slow_job_alarm(chosen, clock, alarm))
    parts.add(
        counters,
        ReadJournal(store, rings),
        reindexing,
        DailyGc(
            sweeps or _gc_alarm(chosen, clock, alarm, hidden=hidden), is_daily=chosen.gc == "daily"
        ),
        *(() if replica is None else (replica,)),
        BackgroundExtraction(_idle_session_alarm(chosen, clock, alarm)),
        IdleSessionEnder(idling or _default_alarm(clock, alarm)),
        _backups(store, chosen, clock, alarm, keys, inline=inline),
        Deliveries(replica),
        SafetyRecordStore(records, blocking, RecordRules(chosen.safety_days, chosen.feedback_days)),
        _library(chosen, indexes, policies, time, blocking, store.location, hidden=hidden),
    )
    parts.add_as(ReindexQueue, reindexing)
    runtime = Runtime(
        store=store,
        sessions=open_sessions(store),
        indexes=indexes,
        clock=time,
        ids=ids or SystemIds(),
        policies=policies,
        models=replace(asked, classifier=None if hidden else classifier, finder=finder),
        aside=aside,
        parts=parts,
    )
    return AsyncStore(_with_background_jobs(runtime), (*models.closers, *closers))


def _work_runners(store: MemoryStore, models: ChosenModels, *, inline: bool) -> tuple[Aside, Aside]:
    """Return where slow work runs without blocking the caller's event loop.

    The first is for memories, the second for records and documents, whose calls block.
    """
    shares_a_loop = Capability.INLINE not in store.capabilities
    blocking = run_inline if inline and not shares_a_loop else run_in_thread
    # A caller without an event loop waits itself. Over a server's store all callers share one
    # loop, which a slow model must not stop.
    runs_inline = inline and not (models.are_slow and shares_a_loop)
    return run_inline if runs_inline else run_in_thread, blocking


def _with_background_jobs(runtime: Runtime) -> Runtime:
    """Register the background jobs; they start when the runtime is entered."""
    schedule_daily_gc(runtime)
    replica = runtime.parts.get(Replica)
    if replica is not None:
        replica.serve(runtime)
    follow_sessions(runtime)
    schedule_idle_end(runtime)
    return runtime


def _asked_models(
    settings: Settings,
    chosen: ChosenModels,
    health: ModelHealth,
    tokens: TokenCounter,
    meter: ModelBudget | None,
) -> Models:
    """Return the models for reads and writes, without classifier and finder."""
    return Models(
        meter=meter,
        health=health,
        tokens=tokens,
        second_look=ModelClassifier if settings.second_look == "model" else None,
        reranker=chosen.reranker,
        rerank_candidates=settings.rerank_candidates,
        problems=chosen.problems,
    )


def _rules_of(settings: Settings, mode: str) -> Parts:
    """Return the parts that depend on the settings alone."""
    parts, session_rules = Parts(), _session_rules(settings)
    parts.add(
        Fusion(
            mode=FusionMode(settings.fusion),
            hybrid_weight=settings.hybrid_weight,
            rrf_k=settings.rrf_k,
        ),
        GcRules(history_days=settings.history_days),
        session_rules,
        WarmSessions(session_rules),
        _working_rules(settings),
        Monitoring(mode, thresholds_with(settings.alerts)),
        ProcessSessions(end_on_close=settings.end_sessions_on_close),
        NotedPolicies(),
        OrgRule(settings.require_org),
        PendingErasures(),
        Rates(),
    )
    return parts


def _working_rules(settings: Settings) -> WorkingRules:
    """Return the limits of a task's working memory."""
    return WorkingRules(
        observations=settings.working_observations,
        observation_chars=settings.working_observation_chars,
        constraints=settings.working_constraints,
        scratchpad_chars=settings.working_scratchpad_chars,
        conversation_tokens=settings.conversation_tokens,
        warn_at=settings.conversation_warn_at,
        kept_chars=settings.task_kept_chars,
        task_days=settings.task_days,
    )


def _library(
    settings: Settings,
    indexes: IndexCache,
    policies: PolicyBook,
    clock: Clock,
    aside: Aside,
    location: str,
    *,
    hidden: bool,
) -> Library:
    """Return the library, with the folders of the settings."""
    library = Library(
        indexes,
        policies,
        clock,
        aside,
        start_in_thread,
        location=location,
        timeout_s=settings.knowledge_timeout_seconds,
        is_hidden=hidden,
    )
    add_folders(library, settings)
    return library


def _replica(
    mode: str,
    remote: str | os.PathLike[str] | None,
    store: MemoryStore,
    settings: Settings,
    opens: Callable[..., AsyncStore],
    rounds: Alarm | None,
) -> Replica | None:
    """Return the replica that exchanges a store with its remote; None in other modes."""
    if mode != "synced":
        return None
    named = remote if remote is not None else settings.remote
    return choose_remote(named, store, settings, opens, rounds)


def _hidden(
    settings: Settings,
    clock: Clock | None,
    alarm: Alarm | None,
    closers: list[Callable[[], None]],
) -> tuple[Settings, Alarm | None]:
    """Return the settings and alarm of incognito mode.

    Backups go only where a caller says. The alarm is closed at the end.
    """
    if alarm is not None or clock is None:
        alarm = dropping = DroppingAlarm(alarm or SystemAlarm())
        closers.append(dropping.drop)
    closers.append(forget_cached)
    return settings.model_copy(update={"backup_dir": None}), alarm


def _slow_job_alarm(settings: Settings, clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return the timer of slow background jobs; None where there are none."""
    if settings.reindex == "manual":
        return None
    return _alarm_or_default(clock, alarm)


def _idle_session_alarm(
    settings: Settings, clock: Clock | None, alarm: Alarm | None
) -> Alarm | None:
    """Return the timer that ends idle sessions; None where only callers end them."""
    if settings.session_extraction == "manual":
        return None
    return _alarm_or_default(clock, alarm)


def _session_rules(settings: Settings) -> SessionRules:
    return SessionRules(
        idle_minutes=settings.session_idle_minutes,
        hot_entries=settings.session_hot_entries,
        hot_entries_per_user=settings.session_hot_entries_per_user,
        hot_minutes=settings.session_hot_minutes,
        eviction=Eviction(settings.session_eviction),
        hot_sessions=settings.session_hot_sessions,
    )


def _alarm_or_default(clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return the caller's alarm, else the machine's; None with a caller's clock."""
    return alarm or (ThreadedAlarm() if clock is None else None)


def _default_alarm(clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return the machine's alarm; None with a caller's clock or alarm."""
    return ThreadedAlarm() if clock is None and alarm is None else None


def _gc_alarm(
    settings: Settings, clock: Clock | None, alarm: Alarm | None, *, hidden: bool
) -> Alarm | None:
    """Return the timer of the daily garbage collection; None where there is none."""
    given = clock is not None or alarm is not None
    return None if hidden or given or settings.gc == "manual" else ThreadedAlarm()


def _backups(
    store: MemoryStore,
    settings: Settings,
    clock: Clock | None,
    alarm: Alarm | None,
    keys: Keys,
    *,
    inline: bool,
) -> Backups:
    """Return the backups of a store, on a schedule if it can be copied and a directory is set."""
    # A copy uses the keys of its store. It has no anchor, because no write follows in it.
    keys, changed = Keys(keys.ring, vault=keys.vault), dict[str, Any](anchor=None)
    if Capability.CODED not in store.capabilities:
        keys = Keys()
        changed |= dict.fromkeys(("anchor", "keys", "keys_file", "keys_command", "key_vault"))
        changed["encrypt"] = False
    elif Capability.SEALED in store.capabilities:
        changed["key_vault"] = settings.key_vault or sidecar_path(Path(store.location), "vault")
    of_copies = settings.model_copy(update=changed)
    # Verifying a copy is slow, so that it runs on threads outside a server's shared loop.
    steps_in = inline and Capability.INLINE in store.capabilities
    reopen = partial(open_store, settings=of_copies, inline=steps_in, keys=keys)
    directory = settings.backup_dir
    on_time = directory is not None and Capability.BACKUPS in store.capabilities
    # A server has no place beside it: its location is no path of this machine.
    beside = {Capability.DURABLE, Capability.BACKUPS, Capability.REVERTIBLE}
    if directory is None and store.capabilities >= beside:
        directory = Path(f"{store.location}.backups")
    return Backups(
        store,
        clock or SystemClock(),
        lambda path: cast("RevertibleStore", reopen(path)),
        directory=None if directory is None else directory.absolute(),
        every_s=settings.backup_every_minutes * 60 if on_time else None,
        keep=settings.backup_keep,
        alarm=_alarm_or_default(clock, alarm),
    )


def new_key(name: str) -> str:
    """Return a new key as a line of a key ring; see ``simonides admin new-key``.

    Raises:
        KeyUnavailable: If the name cannot be one.
    """
    from simonides.storage.encryption import key_ring

    return key_ring.new_key(name)


@asynccontextmanager
async def open_for_move(
    source: str, target: str, *, settings: Settings | None = None
) -> AsyncIterator[tuple[AsyncStore, AsyncStore]]:
    """Open the source and the target of a move; both are closed at the end.

    Raises:
        ConfigurationError: If a name is of no known kind, the source does not exist, both are the
            same, or one is in memory and would end with this process.
        StoreError: If one cannot be opened.
    """
    named = [place_of(name) for name in (source, target)]
    if named[0] == named[1]:
        raise ConfigurationError(f"{source} and {target} are the same store; name two")
    if isinstance(named[0], Path) and not named[0].exists():
        raise ConfigurationError(f"{source}: no store is there; name the one to be moved")
    async with AsyncExitStack() as undo:
        opened = []
        for name, filling in ((source, False), (target, True)):
            how: dict[str, Any] = {"mode": "local", "filling": filling, "as_is": not filling}
            opened.append(assemble(name, settings=settings, inline=True, **how))
            undo.push_async_callback(opened[-1].close)
        yield opened[0], opened[1]
