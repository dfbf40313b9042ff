"""What every verb works with: the runtime, events, tombstones, counters, periodic work."""

from simonides.engine.core.audit_chain import (
    PAGE,
    AuditProblem,
    AuditReport,
    verify,
    verify_digest,
    verify_erasure,
    verify_owner,
)
from simonides.engine.core.counters import Counters
from simonides.engine.core.deletion_log import BY_KEY, Told, Trail
from simonides.engine.core.event_recorder import EventRecorder
from simonides.engine.core.idempotency import (
    Answers,
    answer_of,
    marks_of,
    request_of,
    tombstoned,
    write_name,
)
from simonides.engine.core.incarnation import (
    ERASED_SINCE,
    Incarnation,
    going_on,
    last_erasure,
    life_of,
)
from simonides.engine.core.model_budget import ModelBudget, booked
from simonides.engine.core.periodic import Drive, PeriodicJob, PeriodicTask
from simonides.engine.core.policy_changes import NotedPolicies, note_policy
from simonides.engine.core.prefetch import Prefetch
from simonides.engine.core.runtime import (
    ModelHealth,
    Models,
    Parts,
    ReindexQueue,
    Runtime,
    account_of,
    ails,
    may_embed,
)
from simonides.engine.core.tombstones import (
    SAID_ANEW,
    renumbered,
    standing_again,
    tombstones,
    with_derived,
)

__all__ = [
    "BY_KEY",
    "ERASED_SINCE",
    "PAGE",
    "SAID_ANEW",
    "Answers",
    "AuditProblem",
    "AuditReport",
    "Counters",
    "Drive",
    "EventRecorder",
    "Incarnation",
    "ModelBudget",
    "ModelHealth",
    "Models",
    "NotedPolicies",
    "Parts",
    "PeriodicJob",
    "PeriodicTask",
    "Prefetch",
    "ReindexQueue",
    "Runtime",
    "Told",
    "Trail",
    "account_of",
    "ails",
    "answer_of",
    "booked",
    "going_on",
    "last_erasure",
    "life_of",
    "marks_of",
    "may_embed",
    "note_policy",
    "renumbered",
    "request_of",
    "standing_again",
    "tombstoned",
    "tombstones",
    "verify",
    "verify_digest",
    "verify_erasure",
    "verify_owner",
    "with_derived",
    "write_name",
]
