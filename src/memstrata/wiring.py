"""The composition root: the one place that chooses adapters and puts the parts together."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memstrata.adapters.store_memory import DictStore
from memstrata.adapters.system import (
    PatientAlarm,
    SystemAlarm,
    SystemClock,
    SystemIds,
    on_a_thread,
    on_the_spot,
)
from memstrata.choosing import (
    beside_store,
    choose_models,
    hold_to_store,
)
from memstrata.domain.collecting import GcRules
from memstrata.domain.errors import ConfigurationError, MissingExtra
from memstrata.domain.value import shown
from memstrata.language.tokens import TokenEstimate
from memstrata.manager import Services
from memstrata.manager.background import Background
from memstrata.manager.backing_up import Backups
from memstrata.manager.collecting import keep_house
from memstrata.manager.housekeeping import Housekeeping
from memstrata.manager.journal import ReadJournal
from memstrata.manager.metering import Meter
from memstrata.manager.reindexing import Remaker
from memstrata.opening import Keys, open_sessions, open_store, place_of
from memstrata.policy.book import PolicyBook
from memstrata.ports import (
    Alarm,
    Anchor,
    Capability,
    Clock,
    CodedStore,
    Embedder,
    Ids,
    KeyRing,
    KeyVault,
    LanguageModel,
    MemoryStore,
    Reranker,
    RevertibleStore,
    TokenCounter,
)
from memstrata.retrieval.cache import IndexCache
from memstrata.retrieval.fusion import Fusion, FusionMode
from memstrata.retrieval.indexer import Indexer
from memstrata.strata import AsyncStrata

if TYPE_CHECKING:
    from memstrata.settings import Settings

_MIB = 1024 * 1024


def assemble(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str = "local",
    settings: Settings | None = None,
    inline: bool,
    model: LanguageModel | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    alarm: Alarm | None = None,
    sweeps: Alarm | None = None,
    tokens: TokenCounter | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
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
        mode: ``local``; ``incognito`` (``guest``) keeps everything in memory and uses no model.
        settings: None reads the environment.
        inline: Whether store calls may block the calling thread.
        model: Language model to use instead of the settings'.
        clock: Time; None means the machine's.
        ids: Ids; None means random UUIDv7.
        alarm: Time that comes round; None means the machine's, or none beside a clock that is not:
            the journal of reads is then written before captures and on close.
        sweeps: What wakes who collects once a day; None means the machine's alarm, or none beside
            a clock or an alarm that is not: nothing is collected by surprise.
        tokens: Token counter; None means the estimate of SPEC WM-7.
        embedder: Embedder to use instead of the settings'; who brings one closes it.
        reranker: Reranker to use instead of the settings', likewise.
        key_ring: Master keys to use instead of the settings'; in memory there is nothing to key.
        anchor: Where it is noted how far owners have come, instead of the settings'; likewise.
        key_vault: The keys by which what is kept is encrypted, instead of the settings'; likewise.
        filling: Whether another store is to be moved here, or on its way here already.
        as_is: Whether a store that is not encrypted is opened though it should be, to be moved.

    Raises:
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        ConfigurationError: If the mode or the URL is of no known kind, a database was not prepared
            for the role, or an embedder has more dimensions than can be kept.
        MissingExtra: If the kind of store, the embedder or the reranker is not installed.
        PolicyInvalid: If the policy file is broken.
        StoreError: If the store cannot be opened.
    """
    from memstrata.settings import Settings

    chosen = Settings() if settings is None else settings
    if mode not in ("local", "incognito", "guest"):
        raise ConfigurationError(f"mode must be local, incognito or guest, not {shown(mode)}")
    hidden = mode != "local"
    policies = PolicyBook(chosen.policy)
    models = choose_models(chosen, embedder, reranker, hidden=hidden)
    indexes = IndexCache(Indexer(models.embedder), budget_bytes=chosen.index_budget_mb * _MIB)
    rings = alarm or (SystemAlarm() if clock is None else None)
    keys = Keys(key_ring, anchor, rings, key_vault, as_is=as_is)
    store: MemoryStore = DictStore()
    if not hidden:
        store = open_store(target, chosen, inline=inline, filling=filling, keys=keys)
    hold_to_store(policies, store)
    shares_a_loop = Capability.INLINE not in store.capabilities
    # A caller without a loop of his own waits himself. Over a server's store all of them share
    # one, which a model that takes its time must not stop.
    waits_himself = inline and not (models.are_slow and shares_a_loop)
    time, aside = clock or SystemClock(), on_the_spot if waits_himself else on_a_thread
    remaker = Remaker(
        store,
        indexes,
        time,
        aside,
        lambda owner: policies.policy_for(owner.org).ceilings,
    )
    found, problems = (None, ()) if hidden or model is not None else _model(chosen)
    asked, counter = None if hidden else model or found, tokens or TokenEstimate()
    services = Services(
        store=store,
        indexes=indexes,
        policies=policies,
        clock=time,
        ids=ids or SystemIds(),
        journal=ReadJournal(store, rings),
        reindexing=Background(remaker, _patient(chosen, clock, alarm)),
        backups=_backups(store, chosen, clock, alarm, keys, inline=inline),
        aside=aside,
        sessions=open_sessions(store, chosen, inline=inline),
        model=None if asked is None else Meter(asked, store, time, counter),
        fusion=Fusion(
            mode=FusionMode(chosen.fusion),
            hybrid_weight=chosen.hybrid_weight,
            rrf_k=chosen.rrf_k,
        ),
        tokens=counter,
        mode="incognito" if hidden else "local",
        problems=(*problems, *models.problems),
        reranker=models.reranker,
        rerank_candidates=chosen.rerank_candidates,
        closers=models.closers,
        housekeeping=Housekeeping(sweeps or _sweeping(chosen, clock, alarm, hidden=hidden)),
        gc_rules=GcRules(history_days=chosen.history_days),
        coded=cast("CodedStore", store) if Capability.CODED in store.capabilities else None,
    )
    keep_house(services)
    return AsyncStrata(services)


def _patient(settings: Settings, clock: Clock | None, alarm: Alarm | None) -> Alarm | None:
    """Return what wakes those who take long, or None where nothing is to be done of itself."""
    if settings.reindex == "manual":
        return None
    return alarm or (PatientAlarm() if clock is None else None)


def _sweeping(
    settings: Settings, clock: Clock | None, alarm: Alarm | None, *, hidden: bool
) -> Alarm | None:
    """Return what wakes the daily collecting, or None where there is to be none."""
    given = clock is not None or alarm is not None
    return None if hidden or given or settings.gc == "manual" else PatientAlarm()


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
        changed["key_vault"] = settings.key_vault or beside_store(Path(store.location))
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
        alarm=alarm or (PatientAlarm() if clock is None else None),
    )


def new_key(name: str) -> str:
    """Return a new key as a line of a key ring; see ``memstrata keys new``.

    Raises:
        KeyUnavailable: If the name cannot be one.
    """
    from memstrata.adapters import key_ring

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
            how: dict[str, Any] = {"filling": filling, "as_is": not filling}
            opened.append(assemble(name, settings=settings, inline=True, **how))
            undo.push_async_callback(opened[-1].close)
        yield opened[0], opened[1]


def _model(settings: Settings) -> tuple[LanguageModel | None, tuple[str, ...]]:
    """Return the settings' model, and what is wrong if it was wished for and cannot be had.

    A key in the environment may be there for others: without the extra the rules work on, and
    ``status`` says so.
    """
    if settings.openai_api_key is None:
        return None, ()
    from memstrata.adapters.model_openai import OpenAIModel

    try:
        return OpenAIModel(
            api_key=settings.openai_api_key.get_secret_value(),
            base_url=settings.openai_base_url,
            model=settings.openai_model,
            timeout_s=settings.openai_timeout_seconds,
        ), ()
    except MissingExtra as missing:
        return None, (f"OPENAI_API_KEY is set and no model takes part: {missing}",)
