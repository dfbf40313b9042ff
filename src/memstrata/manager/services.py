"""What every verb works with, put together once by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memstrata.domain.collecting import GcRules
from memstrata.domain.scope import Scope
from memstrata.domain.session import SessionRules
from memstrata.language.tokens import TokenEstimate
from memstrata.manager.background import Background
from memstrata.manager.backing_up import Backups
from memstrata.manager.counting import Counters
from memstrata.manager.housekeeping import Housekeeping
from memstrata.manager.journal import ReadJournal
from memstrata.manager.metering import Meter
from memstrata.manager.rates import Rates
from memstrata.policy.book import PolicyBook
from memstrata.ports import (
    Aside,
    Clock,
    CodedStore,
    Ids,
    MemoryStore,
    Reranker,
    SessionStore,
    TokenCounter,
)
from memstrata.retrieval.cache import IndexCache
from memstrata.retrieval.fusion import Fusion


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of an open memstrata.

    Attributes:
        store: Rows.
        indexes: Warm owner indexes, with the analyser and embedder that make them.
        policies: Policy per org.
        clock: Time.
        ids: Ids and salts.
        sessions: What was observed in sessions, until they are finalised.
        session_rules: When a session counts as left, and how much of it is kept warm.
        model: What a language model is asked through, or None: then rules decide.
        fusion: How recall ranks.
        journal: What readers did, until it is written.
        reindexing: Makes index entries of another model or analyser anew.
        backups: Takes backups, on time too.
        aside: Where work of more than a millisecond is done.
        tokens: Counts tokens for budgets.
        mode: ``local`` or ``incognito``.
        problems: What was asked for and could not be had, for ``status``.
        undelivered: Work between owners that could not be carried out when last tried: id of the
            item to the name of the error. No content, no scope: everybody may see ``status``.
        noted: Hash of the policy that this process has seen on record, by org.
        reranker: Reads the best again, or None.
        rerank_candidates: How many of them.
        housekeeping: Collects once a day what has aged out.
        gc_rules: By what memories that have aged out are collected.
        ailing: Which models failed when they were last asked, and why.
        sought: What nobody should find any more of subjects whose erasure is not complete; in
            memory only.
        coded: The store, if it is under a key ring.
        closers: What lets go of connections that the parts hold.
        counters: What this process has done.
        rates: How fast this process writes, and how much orgs have.
    """

    store: MemoryStore
    indexes: IndexCache
    policies: PolicyBook
    clock: Clock
    ids: Ids
    journal: ReadJournal
    reindexing: Background
    backups: Backups
    aside: Aside
    sessions: SessionStore
    session_rules: SessionRules = field(default_factory=SessionRules)
    model: Meter | None = None
    fusion: Fusion = field(default_factory=Fusion)
    tokens: TokenCounter = field(default_factory=TokenEstimate)
    mode: str = "local"
    problems: tuple[str, ...] = ()
    undelivered: dict[str, str] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    reranker: Reranker | None = None
    rerank_candidates: int = 30
    housekeeping: Housekeeping = field(default_factory=Housekeeping)
    gc_rules: GcRules = field(default_factory=GcRules)
    ailing: dict[str, str] = field(default_factory=dict)
    sought: dict[Scope, tuple[bytes, ...]] = field(default_factory=dict)
    coded: CodedStore | None = None
    closers: tuple[Callable[[], None], ...] = ()
    counters: Counters = field(default_factory=Counters)
    rates: Rates = field(default_factory=Rates)
