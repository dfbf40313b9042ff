"""Types of results and arguments that a program seldom names; for annotations and checks."""

from simonides.domain.ageing import Access, Ageing
from simonides.domain.conversation.session import (
    EndedBy,
    Entry,
    EntryKind,
    LoggedEntry,
    OpenSession,
    SessionEndReport,
)
from simonides.domain.conversation.task import TaskPhase, TaskReport
from simonides.domain.event import Event, EventType
from simonides.domain.governance.consent import Consent, ConsentChange
from simonides.domain.governance.erasure import ErasureReceipt, ErasureState, ReceiptCheck
from simonides.domain.governance.held import Held
from simonides.domain.governance.policy_dry_run import DryRun, Fate, PastWrite, Rejudged
from simonides.domain.governance.review import Keep, Review, ReviewStatus
from simonides.domain.governance.safety_record import (
    FeedbackRecord,
    RecordsPurged,
    SafetyRecord,
    SafetySeverity,
)
from simonides.domain.memory import Origin, Triple
from simonides.domain.operations.backup import BackupReport, RestoredStore
from simonides.domain.operations.dream import (
    Consolidation,
    ConsolidationItem,
    ConsolidationStatus,
    ConsolidationStep,
)
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import (
    HygieneReport,
    Scan,
    ScannedMemory,
    Seen,
    StoreScan,
)
from simonides.domain.operations.portable import CarryProgress, ExportReport, RestoreReport
from simonides.domain.operations.reindex import KeysReport, ReindexReport
from simonides.domain.operations.sync import OwnerSync, SyncReport, SyncStatus
from simonides.domain.policy.ceilings import Ceilings, DayUsage, Limits, UsageReport
from simonides.domain.policy.hygiene import Action
from simonides.domain.policy.working import ConversationMessage, Pressure, Talk
from simonides.domain.reading.cue import Layer
from simonides.domain.reading.digest import DigestItem, Tool, ToolReply, Verification
from simonides.domain.reading.document import Found, Passage, Skipped, SourceReport
from simonides.domain.reading.receipt import Made, Trigger
from simonides.domain.scope import Grant, Principal, Right, Scope
from simonides.domain.writing.decision import CaptureReport, Usage
from simonides.domain.writing.finding import Concern, Finding, Opinion, SecondLook, Severity
from simonides.engine.core import AuditProblem, AuditReport

__all__ = [
    "Access",
    "Action",
    "Ageing",
    "AuditProblem",
    "AuditReport",
    "BackupReport",
    "CaptureReport",
    "CarryProgress",
    "Ceilings",
    "Concern",
    "Consent",
    "ConsentChange",
    "Consolidation",
    "ConsolidationItem",
    "ConsolidationStatus",
    "ConsolidationStep",
    "ConversationMessage",
    "DayUsage",
    "DigestItem",
    "DryRun",
    "EndedBy",
    "Entry",
    "EntryKind",
    "ErasureReceipt",
    "ErasureState",
    "Event",
    "EventType",
    "ExportReport",
    "Fate",
    "FeedbackRecord",
    "Finding",
    "Found",
    "GcReport",
    "Grant",
    "Held",
    "HygieneReport",
    "Keep",
    "KeysReport",
    "Layer",
    "Limits",
    "LoggedEntry",
    "Made",
    "OpenSession",
    "Opinion",
    "Origin",
    "OwnerSync",
    "Passage",
    "PastWrite",
    "Pressure",
    "Principal",
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
    "SecondLook",
    "Seen",
    "SessionEndReport",
    "Severity",
    "Skipped",
    "SourceReport",
    "StoreScan",
    "SyncReport",
    "SyncStatus",
    "Talk",
    "TaskPhase",
    "TaskReport",
    "Tool",
    "ToolReply",
    "Trigger",
    "Triple",
    "Usage",
    "UsageReport",
    "Verification",
]
