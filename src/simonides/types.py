"""Types of results and arguments that a program seldom names; for annotations and checks."""

from __future__ import annotations

from simonides.agent.result import AgentRun
from simonides.core.clock import Clock
from simonides.core.outcome import Event, EventType
from simonides.core.policy import Policy
from simonides.core.record import Partition, Triple
from simonides.core.results import (
    AuditReport,
    Buffer,
    Conversation,
    Meeting,
    ModelUsage,
    SessionReport,
    TaskReport,
    ToolReply,
    Verification,
    Waiting,
)
from simonides.core.scope import Principal, Right, Scope
from simonides.data.results import ImportReport, Inspection
from simonides.govern.alerts import Alert
from simonides.govern.rights import Grant
from simonides.knowledge.results import DocumentSource, SourceReport
from simonides.life.results import (
    Collection,
    Consolidation,
    HygieneReport,
    Insight,
    Latency,
    Metrics,
    StoreMetrics,
)
from simonides.models.embedder import Embedder, Reranker, TokenCounter
from simonides.safety.results import Feedback, SafetyRecord

__all__ = [
    "AgentRun", "Alert", "AuditReport", "Buffer", "Clock", "Collection", "Consolidation",
    "Conversation", "DocumentSource", "Embedder", "Event", "EventType", "Feedback", "Grant",
    "HygieneReport", "ImportReport", "Insight", "Inspection", "Latency", "Meeting", "Metrics",
    "ModelUsage", "Partition", "Policy", "Principal", "Reranker", "Right", "SafetyRecord", "Scope",
    "SessionReport", "SourceReport", "StoreMetrics", "TaskReport", "TokenCounter", "ToolReply",
    "Triple", "Verification", "Waiting",
]  # fmt: skip
