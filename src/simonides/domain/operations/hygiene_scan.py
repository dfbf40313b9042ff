"""Reports of hygiene cycles, and results of scans for secrets and personal data.

A scan's result has classes and places, never the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from simonides.domain.policy.hygiene import Action
from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage
from simonides.domain.writing.finding import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class HygieneReport(Value):
    """Counts of one cycle; hypothetical for a dry run.

    Attributes:
        dry_run: Whether nothing was written.
        owners: Finished owners.
        memories: Live memories considered, without verbatim turns and other episodes.
        duplicates: Duplicate statements; the later one was superseded.
        updates: Statements superseded by a later one of the same subject.
        resolved: Contradictions decided by a clear gap of confidence.
        contradictions: Contradictions that newly wait for a person.
        reviews_expired: Reviews that expired without a decision; see
            :class:`~simonides.domain.governance.review.ReviewStatus`.
        stale: Memories that count as stale; garbage collection handles them.
        held_expired: Held candidates deleted because no decision, or no support, came in time.
        sensitive: Memories with findings on which the present policy would act; None if not
            scanned.
        classes: The same by mark, ``personal:email``; a memory counts under each of its marks.
        left: Findings skipped because a memory was changed concurrently.
        asked: Pairs that a language model was asked about.
        unasked: Pairs beyond the limit ``model_pairs`` of the policy.
        usage: Cost of the model.
        diagnostics: Short names of why the model gave no answer, or of errors in its answer.
    """

    dry_run: bool = False
    owners: int = 0
    memories: int = 0
    duplicates: int = 0
    updates: int = 0
    resolved: int = 0
    contradictions: int = 0
    reviews_expired: int = 0
    stale: int = 0
    held_expired: int = 0
    sensitive: int | None = None
    left: int = 0
    asked: int = 0
    unasked: int = 0
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()
    classes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def plus(self, **counts: int) -> HygieneReport:
        """Return the report with increased counts; None counts as 0."""
        more: dict[str, Any] = {
            name: (getattr(self, name) or 0) + count for name, count in counts.items()
        }
        return replace(self, **more)

    def seen(self, marks: Mapping[str, int]) -> HygieneReport:
        """Return the report with more memories by mark, sorted by mark."""
        names = sorted({*self.classes, *marks})
        total = {name: self.classes.get(name, 0) + marks.get(name, 0) for name in names}
        return replace(self, classes=MappingProxyType(total))

    def told(self, usage: Usage, *diagnostics: str) -> HygieneReport:
        """Return the report with more model cost and diagnostics."""
        more = (*self.diagnostics, *diagnostics)
        return replace(self, usage=self.usage + usage, diagnostics=more)

    @property
    def counts(self) -> dict[str, int | None]:
        """Every count by its name, in the order of the attributes; None if not scanned."""
        names = [each.name for each in fields(self) if each.name not in _NO_COUNTS]
        return {name: getattr(self, name) for name in names}


_NO_COUNTS = frozenset({"dry_run", "usage", "diagnostics", "classes"})


@dataclass(frozen=True, slots=True)
class Seen(Value):
    """A finding with policy's action.

    Attributes:
        finding: The rule and the place.
        action: Action on a text with this finding.
    """

    finding: Finding
    action: Action


@dataclass(frozen=True, slots=True)
class Scan(Value):
    """Result of a hygiene scan of one text.

    Attributes:
        seen: Findings, by detector, then place.
    """

    seen: tuple[Seen, ...]

    @property
    def action(self) -> Action:
        """The strictest action, which applies if the text is to be remembered."""
        order = list(Action)
        return min((each.action for each in self.seen), key=order.index, default=Action.ALLOW)


@dataclass(frozen=True, slots=True)
class ScannedMemory(Value):
    """A stored memory with findings.

    Attributes:
        id: Id of the memory.
        owner: Canonical path of its owner.
        status: Its status; superseded memories are scanned too.
        seen: Findings, by field.
    """

    id: str
    owner: str
    status: str
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class StoreScan(Value):
    """Result of a hygiene scan of the store.

    Attributes:
        looked_at: Number of scanned memories, all versions counted.
        found: Memories with findings, by owner, then id.
    """

    looked_at: int
    found: tuple[ScannedMemory, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Memories by mark, the most frequent first, then by name."""
        marks = Counter(
            mark for memory in self.found for mark in {each.finding.mark for each in memory.seen}
        )
        return dict(sorted(marks.items(), key=lambda pair: (-pair[1], pair[0])))
