"""Garbage collection of aged memories: rules and report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from simonides.domain.value import Value


class Rule(StrEnum):
    """The rule that applies to a memory in one run; at most one per memory.

    - ``hard_expired``: past its hard expiry; evicted.
    - ``soft_expired``: past its soft expiry and unread for 30 days; evicted.
    - ``in_review``: the same for a spared category; a person is asked and nothing is changed.
    - ``superseded_old``, ``evicted_old``: superseded or evicted longer ago than time travel
      reaches; purged.
    - ``stale_marked``: confidence below 0.3 and unconfirmed for 60 days; marked stale.
    - ``queued``: staleness above 0.9; marked stale.
    - ``stale_evicted``: marked stale by an earlier run; evicted.
    - ``restored``: marked stale by an earlier run, but read or confirmed since; active again.
    - ``read_noted``: read recently, but soon stale for ranking; its state records the last read.
    """

    HARD_EXPIRED = "hard_expired"
    SOFT_EXPIRED = "soft_expired"
    IN_REVIEW = "in_review"
    SUPERSEDED_OLD = "superseded_old"
    EVICTED_OLD = "evicted_old"
    STALE_MARKED = "stale_marked"
    QUEUED = "queued"
    STALE_EVICTED = "stale_evicted"
    RESTORED = "restored"
    READ_NOTED = "read_noted"

    @property
    def purges(self) -> bool:
        """Whether rows are physically removed."""
        return self in (Rule.SUPERSEDED_OLD, Rule.EVICTED_OLD)

    @property
    def evicts(self) -> bool:
        """Whether the memory is no longer recalled."""
        return self in (Rule.HARD_EXPIRED, Rule.SOFT_EXPIRED, Rule.STALE_EVICTED)


def code_of_ids(ids: Iterable[str]) -> str:
    """Return the set digest of memories collected together, for their audit event.

    It is the hexadecimal SHA-256 of the sorted ids, each followed by a line feed. The states of
    these memories begin at the time of the event, so a reader of the rows can verify the digest.
    It reveals no id to a reader that does not know all of them.
    """
    return hashlib.sha256("".join(f"{id}\n" for id in sorted(ids)).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class GcRules(Value):
    """Thresholds of garbage collection; times in days.

    Attributes:
        unread_days: Unread time after which a memory past its soft expiry is evicted.
        history_days: Retention of superseded and evicted memories, and of receipts.
        doubtful_below: Confidence below which a memory is doubtful.
        unverified_days: Time that a doubtful memory may wait for confirmation.
        queue_above: Staleness above which a memory is queued for eviction.
        wait_days: Minimum time between a stale mark and eviction. Chosen: one run a day is usual,
            and two concurrent runs must have the effect of one.
        spared: Categories that only hard expiry evicts: instructions of users to agents.
    """

    unread_days: float = 30
    history_days: float = 90
    doubtful_below: float = 0.3
    unverified_days: float = 60
    queue_above: float = 0.9
    wait_days: float = 1
    spared: frozenset[str] = frozenset({"preference", "constraint"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport(Value):
    """Result of a collection, final or so far.

    Attributes:
        dry_run: Whether nothing was written; the counts then are hypothetical.
        owners: Finished owners.
        of: All owners.
        rows: Memories considered, of any status.
        counts: Number of memories under each rule; see :class:`Rule`.
        reads_folded: Entries of the read journal folded into counts.
        receipts_old: Receipts and floors of digests removed because of their age.
        left: Memories skipped because of a concurrent change; the next run checks them again.
        busy: Owners skipped because another worker is collecting there.
    """

    dry_run: bool = False
    owners: int = 0
    of: int = 0
    rows: int = 0
    counts: Mapping[Rule, int] = field(default_factory=lambda: MappingProxyType({}))
    reads_folded: int = 0
    receipts_old: int = 0
    left: int = 0
    busy: int = 0

    def __getitem__(self, rule: str) -> int:
        """Return the number of memories under a rule."""
        return self.counts.get(Rule(rule), 0)

    @property
    def evicted(self) -> int:
        """Number of evicted memories."""
        return sum(count for rule, count in self.counts.items() if rule.evicts)

    @property
    def purged(self) -> int:
        """Number of physically removed rows."""
        return sum(count for rule, count in self.counts.items() if rule.purges)

    def counted(self, rule: Rule, memories: int) -> GcReport:
        """Return the report with ``memories`` added to a rule's count."""
        if not memories:
            return self
        counts = {**self.counts, rule: self.counts.get(rule, 0) + memories}
        return replace(self, counts=MappingProxyType({r: counts[r] for r in Rule if r in counts}))

    def plus(self, other: GcReport) -> GcReport:
        """Return the sum of both reports; ``of`` and ``dry_run`` are this one's."""
        found = replace(
            self,
            owners=self.owners + other.owners,
            rows=self.rows + other.rows,
            reads_folded=self.reads_folded + other.reads_folded,
            receipts_old=self.receipts_old + other.receipts_old,
            left=self.left + other.left,
            busy=self.busy + other.busy,
        )
        for rule, count in other.counts.items():
            found = found.counted(rule, count)
        return found
