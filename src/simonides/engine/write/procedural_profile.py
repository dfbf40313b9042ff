"""Limits the active rules of a user's procedural profile; surplus rules are archived.

Rules are counted under the owner's turn, on a current index. So concurrent writers neither exceed
the limit nor lose a rule.
"""

from __future__ import annotations

from functools import partial

from simonides.domain.event import EventType
from simonides.domain.memory import Kind, Record, Status
from simonides.domain.policy.quotas import Eviction
from simonides.domain.scope import Scope
from simonides.domain.value import to_us
from simonides.engine.core import EventRecorder
from simonides.engine.write.quotas import is_kept
from simonides.engine.write.rules.pending import Pending
from simonides.engine.write.rules.retention import archived, worth
from simonides.retrieval.index import OwnerIndex, eviction_candidates, of_kind

BEYOND_CAP = "procedural_rules"
"""Prefix of the reason for archiving a rule; the limit follows."""


def archive_beyond(
    limit: int | None, owner: Scope, index: OwnerIndex, pending: Pending, recorder: EventRecorder
) -> None:
    """Archive the least useful of a user's own rules if a batch exceeds the limit.

    Older rules go before those of the batch; pinned rules and constraints go last. Rules of a task
    or an org do not belong to a user's profile.
    """
    if limit is None or owner.user is None:
        return
    added = [memory for memory in pending.added if _counts(memory, owner)]
    if not added:
        return
    rows = of_kind(index.rows_of(owner, False), Kind.PROCEDURAL)  # noqa: FBT003 - no turns
    standing = {row.id: memory for row in rows if (memory := pending.by_id(row.id)) is not None}
    active = {id: memory for id, memory in standing.items() if _counts(memory, owner)}
    over = len(active) + len(added) - limit
    if over <= 0:
        return
    now = to_us(recorder.moment.now)
    ranked = [row for row in rows if row.id in active]
    first = eviction_candidates(ranked, now, partial(worth, eviction=Eviction.VALUE), len(ranked))
    plain, kept = ([active[s.id] for s in first if s.is_kept is late] for late in (False, True))
    for memory in added:
        (kept if is_kept(memory) else plain).append(memory)
    going = [*plain, *kept][:over]
    for memory in going:
        pending.restate(archived(memory, recorder.moment))
        reasons = (f"{BEYOND_CAP}:{limit}",)
        recorder.record(EventType.ARCHIVED, memory.scope, subjects=(memory.id,), reasons=reasons)


def _counts(memory: Record, owner: Scope) -> bool:
    is_rule = memory.kind is Kind.PROCEDURAL and memory.scope == owner
    return is_rule and memory.status is Status.ACTIVE
