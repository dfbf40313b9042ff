"""memstrata: a memory system for LLM agents.

```python
import memstrata

with memstrata.open("memory.db") as strata:
    memory = strata.manager(user="alice")
    memory.remember("Always deploy to us-east-1", key="deploy_region", category="preference")
    print(memory.recall("where do I deploy?")[0].memory.content)
```

Importing it is cheap: what opens a store is loaded when one is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memstrata._version import __version__
from memstrata.domain.ageing import Access, Ageing
from memstrata.domain.backups import BackupReport, RestoredStore
from memstrata.domain.carried import CarryProgress, ExportReport, RestoreReport
from memstrata.domain.ceilings import Ceilings, DayUsage, Limits, UsageReport
from memstrata.domain.coding import KeysReport
from memstrata.domain.collecting import GcReport
from memstrata.domain.consent import Consent, ConsentChange
from memstrata.domain.cycle import HygieneReport
from memstrata.domain.decision import CaptureReport, Outcome, OutcomeKind, Usage
from memstrata.domain.digest import Digest, DigestItem, Verification
from memstrata.domain.dream import Dream, DreamItem, DreamStatus, DreamStep
from memstrata.domain.erasure import ErasureReceipt, ErasureState, ReceiptCheck
from memstrata.domain.errors import (
    CarryRefused,
    CeilingReached,
    ConfigurationError,
    IdempotencyMismatch,
    InvalidInput,
    InvalidScope,
    KeyDestroyed,
    KeyUnavailable,
    MemstrataError,
    MissingExtra,
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
    MoveRefused,
    NotReplayable,
    OwnerRequired,
    PhaseError,
    PolicyInvalid,
    QuotaExceeded,
    ScopeDenied,
    SessionEnded,
    SourceUnavailable,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    Tampered,
    TaskUnderWay,
    UndoRefused,
)
from memstrata.domain.event import Event, EventType
from memstrata.domain.findings import Concern, Finding, Opinion, SecondLook, Severity
from memstrata.domain.held import Held
from memstrata.domain.hindsight import DryRun, Fate, PastWrite, Rejudged
from memstrata.domain.hygiene import Action
from memstrata.domain.knowledge import Found, Passage, Skipped, SourceReport
from memstrata.domain.layer import Layer
from memstrata.domain.memory import Draft, Importance, Kind, Memory, Origin, Status, Triple
from memstrata.domain.recall import Explanation, Hit, Recall
from memstrata.domain.receipt import Made, Receipt, Trigger
from memstrata.domain.records import (
    FeedbackRecord,
    RecordsPurged,
    SafetyRecord,
    SafetySeverity,
)
from memstrata.domain.reindexing import ReindexReport
from memstrata.domain.review import Keep, Review, ReviewStatus
from memstrata.domain.scanning import Scan, ScannedMemory, Seen, StoreScan
from memstrata.domain.scope import Grant, Principal, Right, Scope
from memstrata.domain.session import Entry, EntryKind, LoggedEntry, OpenSession
from memstrata.domain.session_end import EndedBy, SessionEndReport
from memstrata.domain.syncing import OwnerSync, SyncReport, SyncStatus
from memstrata.domain.task import TaskPhase, TaskReport
from memstrata.domain.tool import Tool, ToolReply
from memstrata.domain.trust import Sensitivity, Source, Trust
from memstrata.domain.working import Constraint, Message, Pressure, Talk

if TYPE_CHECKING:
    from memstrata.adapters.classifying import FunctionClassifier, ModelClassifier
    from memstrata.adapters.knowledge_folder import FolderSource
    from memstrata.adapters.knowledge_http import HttpSource
    from memstrata.adapters.presidio import PresidioFinder
    from memstrata.audit import AuditProblem, AuditReport
    from memstrata.blocking import Admin, MemoryManager, Session, Strata, Task, Triggers
    from memstrata.integrations.wrap import wrap
    from memstrata.integrations.wrap_memory import WrappedMemory
    from memstrata.manager import (
        AsyncAdmin,
        AsyncMemoryManager,
        AsyncSession,
        AsyncTask,
        AsyncTriggers,
        TriggerMode,
    )
    from memstrata.ports import (
        Anchor,
        Classifier,
        Embedder,
        Finder,
        KeyRing,
        KeyVault,
        Reranker,
        TokenCounter,
    )
    from memstrata.settings import Settings
    from memstrata.strata import AsyncStrata

_LAZY = {
    "Admin": "memstrata.blocking",
    "AsyncAdmin": "memstrata.manager",
    "AsyncMemoryManager": "memstrata.manager",
    "AsyncSession": "memstrata.manager",
    "AsyncStrata": "memstrata.strata",
    "AsyncTask": "memstrata.manager",
    "AsyncTriggers": "memstrata.manager",
    "AuditProblem": "memstrata.audit",
    "AuditReport": "memstrata.audit",
    "FolderSource": "memstrata.adapters.knowledge_folder",
    "FunctionClassifier": "memstrata.adapters.classifying",
    "HttpSource": "memstrata.adapters.knowledge_http",
    "MemoryManager": "memstrata.blocking",
    "ModelClassifier": "memstrata.adapters.classifying",
    "PresidioFinder": "memstrata.adapters.presidio",
    "Session": "memstrata.blocking",
    "Settings": "memstrata.settings",
    "Strata": "memstrata.blocking",
    "Task": "memstrata.blocking",
    "TriggerMode": "memstrata.manager",
    "Triggers": "memstrata.blocking",
    "WrappedMemory": "memstrata.integrations.wrap_memory",
    "wrap": "memstrata.integrations.wrap",
}


def open(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    remote: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    classifier: Classifier | None = None,
    finder: Finder | None = None,
    key_ring: KeyRing | None = None,
    anchor: Anchor | None = None,
    key_vault: KeyVault | None = None,
    tokens: TokenCounter | Callable[[str], int] | None = None,
) -> Strata:
    """Open a memstrata for callers without an event loop.

    Args:
        target: A path, ``sqlite:///path``, ``postgresql://user@host/database`` or ``:memory:``;
            None means what the settings name, or a file in the user's data directory. The file is
            made if there is none; a database is prepared by ``memstrata db init``.
        mode: ``local``; ``incognito`` (``guest``), which keeps everything in memory; or
            ``synced``, a replica of another store that works without it (docs/modes.md). None
            means what the settings name, ``local`` if they do not.
        remote: Mode ``synced``: path or URL of that other store; None means the settings'.
        settings: None reads the environment.
        embedder: A model of your own instead of the settings', see
            :class:`memstrata.ports.Embedder`; it is yours to close.
        reranker: Likewise, see :class:`memstrata.ports.Reranker`.
        classifier: What looks a second time at what seems to be planted instead of the settings',
            see :class:`memstrata.ports.Classifier`.
        finder: What finds more personal data in texts, see :class:`memstrata.ports.Finder`.
        key_ring: Master keys instead of the settings', see docs/keys.md.
        anchor: Where it is noted how far owners have come, instead of the settings'; likewise.
        key_vault: The keys by which what is kept is encrypted, instead of the settings'; it is
            yours to close, see docs/encryption.md.
        tokens: What counts tokens for budgets instead of the settings' tokenizer or the estimate:
            see :class:`memstrata.ports.TokenCounter`, or a function of a text.

    Raises:
        ConfigurationError: If a setting, the mode or the URL is wrong, a store is named where the
            settings alone make it incognito, or an extra is missing.
        PolicyInvalid: If the policy file is broken.
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        StoreError: If the store cannot be opened.
    """
    from memstrata.blocking import Strata
    from memstrata.wiring import assemble

    made = assemble(
        target,
        mode=mode,
        remote=remote,
        settings=settings,
        inline=True,
        embedder=embedder,
        reranker=reranker,
        classifier=classifier,
        finder=finder,
        key_ring=key_ring,
        anchor=anchor,
        key_vault=key_vault,
        tokens=tokens,
    )
    return Strata(made)


def aopen(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    remote: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    classifier: Classifier | None = None,
    finder: Finder | None = None,
    key_ring: KeyRing | None = None,
    anchor: Anchor | None = None,
    key_vault: KeyVault | None = None,
    tokens: TokenCounter | Callable[[str], int] | None = None,
) -> AsyncStrata:
    """Open a memstrata for an event loop: ``async with memstrata.aopen("memory.db") as strata``.

    The arguments and errors are those of :func:`open`.
    """
    from memstrata.wiring import assemble

    return assemble(
        target,
        mode=mode,
        remote=remote,
        settings=settings,
        inline=False,
        embedder=embedder,
        reranker=reranker,
        classifier=classifier,
        finder=finder,
        key_ring=key_ring,
        anchor=anchor,
        key_vault=key_vault,
        tokens=tokens,
    )


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'memstrata' has no attribute {name!r}")


__all__ = [
    "Access",
    "Action",
    "Admin",
    "Ageing",
    "AsyncAdmin",
    "AsyncMemoryManager",
    "AsyncSession",
    "AsyncStrata",
    "AsyncTask",
    "AsyncTriggers",
    "AuditProblem",
    "AuditReport",
    "BackupReport",
    "CaptureReport",
    "CarryProgress",
    "CarryRefused",
    "CeilingReached",
    "Ceilings",
    "Concern",
    "ConfigurationError",
    "Consent",
    "ConsentChange",
    "Constraint",
    "DayUsage",
    "Digest",
    "DigestItem",
    "Draft",
    "Dream",
    "DreamItem",
    "DreamStatus",
    "DreamStep",
    "DryRun",
    "EndedBy",
    "Entry",
    "EntryKind",
    "ErasureReceipt",
    "ErasureState",
    "Event",
    "EventType",
    "Explanation",
    "ExportReport",
    "Fate",
    "FeedbackRecord",
    "Finding",
    "FolderSource",
    "Found",
    "FunctionClassifier",
    "GcReport",
    "Grant",
    "Held",
    "Hit",
    "HttpSource",
    "HygieneReport",
    "IdempotencyMismatch",
    "Importance",
    "InvalidInput",
    "InvalidScope",
    "Keep",
    "KeyDestroyed",
    "KeyUnavailable",
    "KeysReport",
    "Kind",
    "Layer",
    "Limits",
    "LoggedEntry",
    "Made",
    "Memory",
    "MemoryManager",
    "MemstrataError",
    "Message",
    "MissingExtra",
    "ModelClassifier",
    "ModelError",
    "ModelGarbled",
    "ModelTimeout",
    "ModelUnavailable",
    "MoveRefused",
    "NotReplayable",
    "OpenSession",
    "Opinion",
    "Origin",
    "Outcome",
    "OutcomeKind",
    "OwnerRequired",
    "OwnerSync",
    "Passage",
    "PastWrite",
    "PhaseError",
    "PolicyInvalid",
    "PresidioFinder",
    "Pressure",
    "Principal",
    "QuotaExceeded",
    "Recall",
    "Receipt",
    "ReceiptCheck",
    "RecordsPurged",
    "ReindexReport",
    "Rejudged",
    "RestoreReport",
    "RestoredStore",
    "Review",
    "ReviewStatus",
    "Right",
    "SafetyRecord",
    "SafetySeverity",
    "Scan",
    "ScannedMemory",
    "Scope",
    "ScopeDenied",
    "SecondLook",
    "Seen",
    "Sensitivity",
    "Session",
    "SessionEndReport",
    "SessionEnded",
    "Settings",
    "Severity",
    "Skipped",
    "Source",
    "SourceReport",
    "SourceUnavailable",
    "Status",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreScan",
    "StoreUnavailable",
    "Strata",
    "SyncReport",
    "SyncStatus",
    "Talk",
    "Tampered",
    "Task",
    "TaskPhase",
    "TaskReport",
    "TaskUnderWay",
    "Tool",
    "ToolReply",
    "Trigger",
    "TriggerMode",
    "Triggers",
    "Triple",
    "Trust",
    "UndoRefused",
    "Usage",
    "UsageReport",
    "Verification",
    "WrappedMemory",
    "__version__",
    "aopen",
    "open",
    "wrap",
]
