"""Data for operators: status, metrics, safety records, feedback."""

from simonides.engine.operations.audit_list import AuditFilter, list_events
from simonides.engine.operations.metrics import Monitoring, metrics_of, warm_metrics
from simonides.engine.operations.safety_records import (
    Recorder,
    RecordKeeper,
    SafetyRecordStore,
    secret_of,
)
from simonides.engine.operations.status import status_of

__all__ = [
    "AuditFilter",
    "Monitoring",
    "RecordKeeper",
    "Recorder",
    "SafetyRecordStore",
    "list_events",
    "metrics_of",
    "secret_of",
    "status_of",
    "warm_metrics",
]
