"""Collecting what has aged out: by which rules, and what it came to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from simonides.domain.value import Value


class Rule(StrEnum):
    """Why something is collected, or what else is done about its age; one per memory and run.

    ``hard_expired``: its hard expiry has passed; it is evicted. ``soft_expired``: its soft expiry
    has, and nobody has read it for 30 days; likewise. ``in_review``: so it is with one that is
    spared; a person is asked, nothing is done. ``superseded_old`` and ``evicted_old``: it gave way,
    or was collected, longer ago than time travel reaches; it is purged. ``stale_marked``: less than
    0.3 of confidence is left and nobody has confirmed it in 60 days. ``queued``: its staleness is
    above 0.9. Both are marked stale, and a later run makes them ``stale_evicted``, or ``restored``
    if somebody has read or confirmed them since. ``read_noted``: somebody reads it though ranking
    would soon take it for stale, so its state notes the last read.
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
        """Whether rows go for good."""
        return self in (Rule.SUPERSEDED_OLD, Rule.EVICTED_OLD)

    @property
    def evicts(self) -> bool:
        """Whether it is not recalled any more from then on."""
        return self in (Rule.HARD_EXPIRED, Rule.SOFT_EXPIRED, Rule.STALE_EVICTED)


def code_of_ids(ids: Iterable[str]) -> str:
    """Return what an event says of which memories were collected together: SHA-256, as hex,
    of their ids, sorted, each ended by a line feed.

    Their states begin at the time of the event, so who has the rows can compare. It tells no id to
    who does not know all of them.
    """
    return hashlib.sha256("".join(f"{id}\n" for id in sorted(ids)).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class GcRules(Value):
    """By what is collected; days.

    Attributes:
        unread_days: How long nobody must have read what is past its soft expiry.
        history_days: How long superseded and evicted memories, and receipts, are kept.
        doubtful_below: Confidence that counts as none.
        unverified_days: How long a doubtful memory may wait to be confirmed.
        queue_above: Staleness above which a memory is queued for eviction.
        wait_days: How long one marked stale stands at least. Chosen: a run a day is usual, and
            two at once must do what one does.
        spared: Categories that no rule but hard expiry evicts: what users tell agents to do.
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
    """What a collection came to, or, while it goes on, has come to so far.

    Attributes:
        dry_run: Whether nothing was written: then it is what would have been done.
        owners: Owners done with.
        of: Owners there are.
        rows: Memories looked at, whatever their status.
        counts: How many memories each rule was applied to; see :class:`Rule`.
        reads_folded: Entries of the read journal that were folded into counts.
        receipts_old: Receipts and floors of digests that went because of their age.
        left: Memories left alone because they were changed meanwhile; the next run looks again.
        busy: Owners left to another worker who is collecting there.
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
        """How many memories a rule was applied to."""
        return self.counts.get(Rule(rule), 0)

    @property
    def evicted(self) -> int:
        """How many memories are not recalled any more."""
        return sum(count for rule, count in self.counts.items() if rule.evicts)

    @property
    def purged(self) -> int:
        """How many rows went for good."""
        return sum(count for rule, count in self.counts.items() if rule.purges)

    def counted(self, rule: Rule, memories: int) -> GcReport:
        """Return the report with so many more memories under a rule."""
        if not memories:
            return self
        counts = {**self.counts, rule: self.counts.get(rule, 0) + memories}
        return replace(self, counts=MappingProxyType({r: counts[r] for r in Rule if r in counts}))

    def plus(self, other: GcReport) -> GcReport:
        """Return both together; which owners there are is this one's to say."""
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
