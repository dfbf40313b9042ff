"""Output of a command: JSON for programs, text for people, and whether the verb refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from simonides.cli import render, reports
from simonides.domain.conversation.add_report import AddReport
from simonides.domain.conversation.session import LoggedEntry, OpenSession, SessionEndReport
from simonides.domain.conversation.task import TaskReport
from simonides.domain.event import Event
from simonides.domain.governance.consent import Consent, ConsentChange
from simonides.domain.governance.erasure import ErasureReceipt, ErasureState, ReceiptCheck
from simonides.domain.governance.held import Held
from simonides.domain.governance.policy_dry_run import DryRun
from simonides.domain.governance.review import Review
from simonides.domain.governance.safety_record import FeedbackRecord, RecordsPurged, SafetyRecord
from simonides.domain.memory import Record
from simonides.domain.operations.dream import Consolidation, ConsolidationStatus
from simonides.domain.operations.gc import GcReport
from simonides.domain.operations.hygiene_scan import HygieneReport, Scan, StoreScan
from simonides.domain.operations.reindex import ReindexReport
from simonides.domain.operations.sync import SyncReport, SyncStatus
from simonides.domain.policy.ceilings import UsageReport
from simonides.domain.policy.hygiene import Action
from simonides.domain.reading.digest import Digest, Verification
from simonides.domain.reading.document import SourceReport
from simonides.domain.reading.profile import Profile
from simonides.domain.reading.recall import Explanation, Recall
from simonides.domain.reading.receipt import Receipt
from simonides.domain.scope import Grant
from simonides.domain.value import Value, plain
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.engine.core import AuditReport
from simonides.transfer.transcript_import import ImportReport

if TYPE_CHECKING:
    from simonides.api.sync import Memory

_TEXTS: Mapping[type, Callable[[Any], str]] = {
    AddReport: render.add_report,
    AuditReport: reports.audit,
    Consent: reports.consent,
    ConsentChange: reports.consent_change,
    Consolidation: reports.consolidation,
    Digest: str,
    Profile: lambda value: render.visible_lines(str(value)),
    DryRun: reports.policy_dry_run,
    ErasureReceipt: reports.erasure,
    Event: reports.event,
    Explanation: render.explanation,
    FeedbackRecord: reports.feedback_record,
    GcReport: reports.gc,
    Grant: reports.grant,
    Held: render.held,
    HygieneReport: reports.hygiene,
    ImportReport: reports.import_report,
    LoggedEntry: reports.entry,
    OpenSession: reports.open_session,
    Receipt: render.receipt,
    ReceiptCheck: reports.receipt_check,
    RecordsPurged: reports.purged,
    Recall: render.recall,
    ReindexReport: reports.reindexed,
    Review: render.review,
    SafetyRecord: reports.safety_record,
    Scan: reports.text_scan,
    SessionEndReport: reports.session_ended,
    SourceReport: reports.source,
    StoreScan: reports.store_scan,
    SyncReport: reports.sync_report,
    SyncStatus: reports.sync_status,
    TaskReport: reports.task_report,
    UsageReport: reports.usage,
    Verification: render.verification,
}

_ITEMS: Mapping[str, Callable[[Any], str]] = {
    "history": render.version,
    "maintenance consolidations": reports.consolidation_line,
}
"""Commands whose list shows an item otherwise than its type's text."""


def as_json(value: Any) -> str:
    """Return JSON, indented."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2)


def text_of(value: Any, verb: str, memory: Memory | None = None) -> str:
    """Return the text of a result.

    Args:
        value: What the verb returned.
        verb: Words of the command.
        memory: Reads the memories that a write displaced; None leaves them out.
    """
    if isinstance(value, Outcome):
        is_forgetting = any(reason.startswith("count:") for reason in value.reasons)
        return render.forgotten(value) if is_forgetting else render.with_displaced(value, memory)
    text = _TEXTS.get(type(value))
    if text is not None:
        return text(value)
    if isinstance(value, tuple | list):
        show = _ITEMS.get(verb, _item)
        return "\n".join(map(show, value)) or render.NOTHING
    if value is None:
        return render.NOTHING
    if isinstance(value, Value):
        return render.fields(value.to_dict())
    return render.fields(value) if isinstance(value, Mapping) else str(value)


def is_refused(value: Any, verb: str) -> bool:
    """Whether the exit code is 1: the verb refused, failed in part, or found nothing to show."""
    if isinstance(value, Outcome):
        # A rejected candidate is dropped, as was asked.
        was_asked = verb == "pending reject" and value.kind is OutcomeKind.DROPPED
        return value.refused and not was_asked and "dry_run" not in value.reasons
    if isinstance(value, Consolidation):
        return value.status is ConsolidationStatus.UNDONE and bool(value.left)
    if isinstance(value, ImportReport):
        return any(each.kind is OutcomeKind.BLOCKED for each in value.outcomes)
    if isinstance(value, ErasureReceipt):
        return value.state is ErasureState.PENDING
    if isinstance(value, SessionEndReport):
        failed = any(note.startswith("failed:") for note in value.diagnostics)
        return failed or not (value.already or value.entries)
    if isinstance(value, Scan):
        return value.action is Action.BLOCK
    if isinstance(value, StoreScan):
        return any(each.action is Action.BLOCK for memory in value.found for each in memory.seen)
    if isinstance(value, tuple):
        return any(isinstance(each, SourceReport) and bool(each.problem) for each in value)
    return value is None or getattr(value, "ok", True) is False


def _item(value: Any) -> str:
    return render.listed(value) if isinstance(value, Record) else text_of(value, "")
