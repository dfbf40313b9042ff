"""The composition root: the one place that chooses adapters and puts the parts together."""

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
from simonides.api.store import AsyncStrata
from simonides.domain.conversation.session import Eviction, SessionRules
from simonides.domain.errors import ConfigurationError
from simonides.domain.governance.safety_record import RecordRules
from simonides.domain.operations.gc import GcRules
from simonides.domain.operations.metrics import thresholds_with
from simonides.domain.policy.working import WorkingRules
from simonides.engine.core.counters import Counters
from simonides.engine.core.model_budget import ModelBudget
from simonides.engine.core.policy_changes import NotedPolicies
from simonides.engine.core.runtime import (
    ModelHealth,
    Models,
    Parts,
    ReindexQueue,
    Runtime,
)
from simonides.engine.edit.outbox import Deliveries
from simonides.engine.forgetting.erase import PendingErasures
from simonides.engine.knowledge.library import Library
from simonides.engine.maintenance.daily_gc import DailyGc
from simonides.engine.maintenance.gc import schedule_daily_gc
from simonides.engine.maintenance.reindex import Reindexer
from simonides.engine.maintenance.reindex_worker import ReindexWorker
from simonides.engine.operations.metrics import Monitoring
from simonides.engine.operations.safety_records import SafetyRecordStore
from simonides.engine.recall.read_journal import ReadJournal
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.engine.sessions.background_extract import BackgroundExtraction
from simonides.engine.sessions.idle import IdleSessionEnder, ProcessSessions, schedule_idle_end
from simonides.engine.write.quotas import Rates
from simonides.policy.registry import PolicyBook
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
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.ranking.fusion import Fusion, FusionMode
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
    model: LanguageModel | None = None,
    clock: Clock | None = None,
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
) -> AsyncStrata:
    """Open a store and put everything above it together.

    Args:
        target: Path, ``sqlite:///path``, ``postgresql://…`` or ``:memory:``; None means the
            settings' store, or a file in the user's data directory.
        mode: ``local``; ``incognito`` (``guest``) keeps everything in memory and uses no model;
            ``synced`` exchanges the store with a remote one; None means the settings'.
        remote: Path or URL of that; None means the settings'.
        settings: None reads the environment.
        inline: Whether store calls may block the calling thread.
        model: Language model to use instead of the settings', guarded like theirs
            (docs/models.md).
        clock: Time; None means the machine's.
        ids: Ids; None means random UUIDv7.
        alarm: Time that comes round; None means the machine's, or none beside a clock that is not:
            the journal of reads is then written before captures and on close.
        sweeps: What wakes who collects once a day; None means the machine's alarm, or none beside
            a clock or an alarm that is not: nothing is collected by surprise.
        idling: What wakes who ends sessions that nobody goes on with; likewise.
        tokens: Token counter, or a function that counts; None means the settings' tokenizer, or
            else the documented estimate.
        embedder: Embedder to use instead of the settings'; who brings one closes it.
        reranker: Reranker to use instead of the settings', likewise.
        classifier: Looks a second time at what is suspicious; likewise.
        finder: Finds in texts what the detectors here may not know.
        key_ring: Master keys to use instead of the settings'; in memory there is nothing to key.
        anchor: Where it is noted how far owners have come, instead of the settings'; likewise.
        key_vault: The keys by which what is kept is encrypted, instead of the settings'; likewise.
        filling: Whether another store is to be moved here, or on its way here already.
        as_is: Whether a store that is not encrypted is opened though it should be, to be moved.

    Raises:
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        ConfigurationError: If the mode or the URL is of no known kind, a store is named that the
            settings' mode would leave alone, a database was not prepared for the role, or an
            embedder has more dimensions than can be kept.
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
    store = open_store(named, chosen, inline=inline, filling=filling, keys=keys)
    how: dict[str, Any] = {"inline": inline, "clock": clock, "ids": ids, "key_ring": key_ring}
    opens = partial(assemble, mode="local", embedder=models.embedder, **how)
    with closing_on_error(store):
        check_encryption(policies, store)
        replica = _replica(mode, remote, store, chosen, opens, _patient_beside(clock, alarm))
        records = open_records(target, chosen, store, keys=keys)
    aside, beside = _asides(store, models, inline=inline)
    remaker, counters = Reindexer(store, indexes, time, aside, policies.ceilings_of), Counters(time)
    meter = ModelBudget.of(language.model, store, time, counter, counters)
    asked = _asked_models(chosen, models, language, counter, meter)
    reindexing = ReindexWorker(remaker, _patient(chosen, clock, alarm))
    parts.add(
        counters,
        ReadJournal(store, rings),
        reindexing,
        DailyGc(
            sweeps or _sweeping(chosen, clock, alarm, hidden=hidden), is_daily=chosen.gc == "daily"
        ),
        *(() if replica is None else (replica,)),
        BackgroundExtraction(_following(chosen, clock, alarm)),
        IdleSessionEnder(idling or _patient_without(clock, alarm)),
        _backups(store, chosen, clock, alarm, keys, inline=inline),
        Deliveries(replica),
        SafetyRecordStore(records, beside, RecordRules(chosen.safety_days, chosen.feedback_days)),
        _library(chosen, indexes, policies, time, beside, store.location, hidden=hidden),
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
    return AsyncStrata(_at_work(runtime), (*models.closers, *closers))


def _asides(store: MemoryStore, models: ChosenModels, *, inline: bool) -> tuple[Aside, Aside]:
    """Return where work is done that takes longer than a caller's loop should wait: with memories,
    and with records and documents, which are asked by calls that block.
    """
    shares_a_loop = Capability.INLINE not in store.capabilities
    beside = run_inline if inline and not shares_a_loop else run_in_thread
    # A caller without a loop of his own waits himself. Over a server's store all of them share
    # one, which a model that takes its time must not stop.
    waits_himself = inline and not (models.are_slow and shares_a_loop)
    return run_inline if waits_himself else run_in_thread, beside


def _at_work(runtime: Runtime) -> Runtime:
    """Tell those who work of themselves what there is to do; they begin when somebody enters."""
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
    """Return the models that a read or a write may ask, without classifier and finder."""
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
    """Return those parts that settings say all about; more are added to them."""
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
        ProcessSessions(),
        NotedPolicies(),
        PendingErasures(),
        Rates(),
    )
    return parts


def _working_rules(settings: Settings) -> WorkingRules:
    """Return within which bounds the working memory of tasks stays."""
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
    opens: Callable[..., AsyncStrata],
    rounds: Alarm | None,
) -> Replica | None:
    """Return what exchanges a store with its remote, of itself where time comes round; None in
    other modes.
    """
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
    """Return settings and alarm of what leaves nothing behind, and have it let go of at the end:
    backups lie where a caller says or nowhere.
    """
    if alarm is not None or clock is None:
        alarm = dropping = DroppingAlarm(alarm or SystemAlarm())
        closers.append(dropping.drop)
    closers.append(forget_cached)
    return settings.model_copy(update={"backup_dir": None}), alarm


def _patient(settings: Settings, clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return what wakes those who take long, or None where nothing is to be done of itself."""
    if settings.reindex == "manual":
        return None
    return _patient_beside(clock, alarm)


def _following(settings: Settings, clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return what wakes those who follow sessions, or None where that is left to their ends."""
    if settings.session_extraction == "manual":
        return None
    return _patient_beside(clock, alarm)


def _session_rules(settings: Settings) -> SessionRules:
    return SessionRules(
        idle_minutes=settings.session_idle_minutes,
        hot_entries=settings.session_hot_entries,
        hot_entries_per_user=settings.session_hot_entries_per_user,
        hot_minutes=settings.session_hot_minutes,
        eviction=Eviction(settings.session_eviction),
        hot_sessions=settings.session_hot_sessions,
    )


def _patient_beside(clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return the alarm that was handed in, else the machine's, or none beside another clock."""
    return alarm or (ThreadedAlarm() if clock is None else None)


def _patient_without(clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return the machine's alarm, unless time is somebody else's."""
    return ThreadedAlarm() if clock is None and alarm is None else None


def _sweeping(
    settings: Settings, clock: Clock | None, alarm: Alarm | None, *, hidden: bool
) -> Alarm | None:
    """Return what wakes the daily collecting, or None where there is to be none."""
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
    """Return what takes backups; of itself where a directory is set and the store can be copied."""
    # A copy is under the keys of its store. No anchor follows it: it is not what goes on.
    keys, changed = Keys(keys.ring, vault=keys.vault), dict[str, Any](anchor=None)
    if Capability.CODED not in store.capabilities:
        keys = Keys()
        changed |= dict.fromkeys(("anchor", "keys", "keys_file", "keys_command", "key_vault"))
        changed["encrypt"] = False
    elif Capability.SEALED in store.capabilities:
        changed["key_vault"] = settings.key_vault or sidecar_path(Path(store.location), "vault")
    of_copies = settings.model_copy(update=changed)
    # Looking through a copy takes a while: on a server's shared loop, on threads beside it.
    steps_in = inline and Capability.INLINE in store.capabilities
    reopen = partial(open_store, settings=of_copies, inline=steps_in, keys=keys)
    directory = settings.backup_dir
    on_time = directory is not None and Capability.BACKUPS in store.capabilities
    if directory is None and store.capabilities >= {Capability.DURABLE, Capability.BACKUPS}:
        directory = Path(f"{store.location}.backups")
    return Backups(
        store,
        clock or SystemClock(),
        lambda path: cast("RevertibleStore", reopen(path)),
        directory=None if directory is None else directory.absolute(),
        every_s=settings.backup_every_minutes * 60 if on_time else None,
        keep=settings.backup_keep,
        alarm=_patient_beside(clock, alarm),
    )


def new_key(name: str) -> str:
    """Return a new key as a line of a key ring; see ``simonides keys new``.

    Raises:
        KeyUnavailable: If the name cannot be one.
    """
    from simonides.storage.encryption import key_ring

    return key_ring.new_key(name)


@asynccontextmanager
async def open_for_move(
    source: str, target: str, *, settings: Settings | None = None
) -> AsyncIterator[tuple[AsyncStrata, AsyncStrata]]:
    """Open the store to be moved and the one to move it to; both are closed at the end.

    Raises:
        ConfigurationError: If a name is of no known kind, the source is not there, both are the
            same, or one is in memory, where nothing outlives this process.
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
