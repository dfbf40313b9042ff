"""Writing memories: judge candidates, prepare the batch, commit it in the owner's write turn."""

from simonides.engine.write.companion_writes import Decided, ExtraChanges, is_unchanged
from simonides.engine.write.echo_filter import REPEATED, EchoFilter
from simonides.engine.write.evidence import EVIDENCE_GONE, fallen_among, settle, withdraw, withdrawn
from simonides.engine.write.outcomes import Release
from simonides.engine.write.prepare import NOT_WAITING, PreparedBatch, QuotaCheck
from simonides.engine.write.quotas import Rates, ScopeQuotas, raise_if_over_quota, too_many_tasks
from simonides.engine.write.rules.conflict import ROUNDING
from simonides.engine.write.rules.derivation import derived
from simonides.engine.write.rules.insight import INSIGHT, is_standing
from simonides.engine.write.rules.near import repeated
from simonides.engine.write.rules.pending import Pending
from simonides.engine.write.rules.versions import confirmed, superseded, under_review, untrue
from simonides.engine.write.write_turn import WriteTurn, indexed_version
from simonides.engine.write.writer import Writer

__all__ = [
    "EVIDENCE_GONE",
    "INSIGHT",
    "NOT_WAITING",
    "REPEATED",
    "ROUNDING",
    "Decided",
    "EchoFilter",
    "ExtraChanges",
    "Pending",
    "PreparedBatch",
    "QuotaCheck",
    "Rates",
    "Release",
    "ScopeQuotas",
    "WriteTurn",
    "Writer",
    "confirmed",
    "derived",
    "fallen_among",
    "indexed_version",
    "is_standing",
    "is_unchanged",
    "raise_if_over_quota",
    "repeated",
    "settle",
    "superseded",
    "too_many_tasks",
    "under_review",
    "untrue",
    "withdraw",
    "withdrawn",
]
