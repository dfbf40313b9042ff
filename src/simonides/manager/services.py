"""What every verb works with, put together once by the composition root."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from simonides.domain.collecting import GcRules
from simonides.domain.metrics import THRESHOLDS, Threshold
from simonides.domain.scope import Principal, Scope
from simonides.domain.session import SessionRules
from simonides.domain.working import WorkingRules
from simonides.language.tokens import TokenEstimate
from simonides.manager.background import Background
from simonides.manager.backing_up import Backups
from simonides.manager.counting import Counters
from simonides.manager.following import Following
from simonides.manager.housekeeping import Housekeeping
from simonides.manager.journal import ReadJournal
from simonides.manager.library import Library
from simonides.manager.metering import Meter
from simonides.manager.rates import Rates
from simonides.manager.rounds import Rounds, idle_rounds
from simonides.manager.shelves import Shelves
from simonides.policy.book import PolicyBook
from simonides.ports import (
    Aside,
    Classifier,
    Clock,
    CodedStore,
    Finder,
    Ids,
    LanguageModel,
    MemoryStore,
    Reranker,
    SessionStore,
    TokenCounter,
)
from simonides.retrieval.cache import IndexCache
from simonides.retrieval.fusion import Fusion
from simonides.session import HotSessions

if TYPE_CHECKING:
    from simonides.manager.replica import Replica


class Departing:
    """Sessions that end with the process that opened them; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], tuple[Principal, str]] = {}

    def add(self, principal: Principal, session: str) -> None:
        """Have a session ended when simonides is closed."""
        with self._lock:
            self._sessions[principal.home.owner.path, session] = principal, session

    def discard(self, principal: Principal, session: str) -> None:
        """Leave a session alone: it has ended, or is to outlive this process."""
        with self._lock:
            self._sessions.pop((principal.home.owner.path, session), None)

    def taken(self) -> tuple[tuple[Principal, str], ...]:
        """Return them, for whoever ends them now."""
        with self._lock:
            left, self._sessions = tuple(self._sessions.values()), {}
        return left


class ModelHealth(Protocol):
    """What whoever chose the language model can tell of it."""

    def report(self) -> dict[str, Any]:
        """Return provider, model, who is left out and why, and how it is."""

    def ailments(self) -> tuple[str, ...]:
        """Return what is wrong with it now."""


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of an open simonides.

    Attributes:
        store: Rows.
        indexes: Warm owner indexes, with the analyser and embedder that make them.
        policies: Policy per org.
        clock: Time.
        ids: Ids and salts.
        sessions: What was observed in sessions, until they are finalised.
        session_rules: When a session counts as left, and how much of it is kept warm.
        hot: What of sessions is in memory.
        following: Has what sessions logged looked at while nobody waits.
        model: What a language model is asked through, or None: then rules decide.
        fusion: How recall ranks.
        journal: What readers did, until it is written.
        reindexing: Makes index entries of another model or analyser anew.
        records: Safety records and feedback, which lie apart, and how long they are kept.
        backups: Takes backups, on time too.
        library: Sources of documents (KN-1).
        counters: What this process has done.
        aside: Where work of more than a millisecond is done.
        tokens: Counts tokens for budgets.
        mode: ``local``, ``incognito`` or ``synced``.
        problems: What was asked for and could not be had, for ``status``.
        undelivered: Work between owners that could not be carried out when last tried: id of the
            item to the name of the error. No content, no scope: everybody may see ``status``.
        noted: Hash of the policy that this process has seen on record, by org.
        classifier: Looks a second time at what is suspicious, or None (HY-2).
        second_look: Makes a classifier of the language model where none was handed in, or None.
        finder: Finds in texts what the detectors here may not know, or None.
        reranker: Reads the best again, or None.
        rerank_candidates: How many of them.
        housekeeping: Collects once a day what has aged out.
        idling: Ends sessions that nobody goes on with, from time to time.
        departing: Sessions that end with this process.
        gc_rules: By what memories that have aged out are collected.
        ailing: Which models failed when they were last asked, and why.
        sought: What nobody should find any more of subjects whose erasure is not complete; in
            memory only.
        coded: The store, if it is under a key ring.
        closers: What lets go of connections that the parts hold.
        thresholds: From which figures on somebody should look.
        rates: How fast this process writes, and how much orgs have.
        language: Which language model takes part, which do not and why, and how it is.
        working_rules: Within which bounds the working memory of tasks stays.
        collects: Whether owners are collected once a day, other than when asked for.
        replica: What exchanges this store with its remote, in mode ``synced``.
    """

    store: MemoryStore
    indexes: IndexCache
    policies: PolicyBook
    clock: Clock
    ids: Ids
    journal: ReadJournal
    reindexing: Background
    records: Shelves
    backups: Backups
    library: Library
    counters: Counters
    aside: Aside
    sessions: SessionStore
    session_rules: SessionRules = field(default_factory=SessionRules)
    hot: HotSessions = field(default_factory=lambda: HotSessions(SessionRules()))
    following: Following = field(default_factory=Following)
    model: Meter | None = None
    fusion: Fusion = field(default_factory=Fusion)
    tokens: TokenCounter = field(default_factory=TokenEstimate)
    mode: str = "local"
    problems: tuple[str, ...] = ()
    undelivered: dict[str, str] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    second_look: Callable[[LanguageModel], Classifier] | None = None
    classifier: Classifier | None = None
    finder: Finder | None = None
    reranker: Reranker | None = None
    rerank_candidates: int = 30
    housekeeping: Housekeeping = field(default_factory=Housekeeping)
    idling: Rounds = field(default_factory=lambda: idle_rounds(None))
    departing: Departing = field(default_factory=Departing)
    gc_rules: GcRules = field(default_factory=GcRules)
    ailing: dict[str, str] = field(default_factory=dict)
    sought: dict[Scope, tuple[bytes, ...]] = field(default_factory=dict)
    coded: CodedStore | None = None
    closers: tuple[Callable[[], None], ...] = ()
    thresholds: tuple[Threshold, ...] = THRESHOLDS
    rates: Rates = field(default_factory=Rates)
    language: ModelHealth | None = None
    working_rules: WorkingRules = field(default_factory=WorkingRules)
    collects: bool = True
    replica: Replica | None = None
