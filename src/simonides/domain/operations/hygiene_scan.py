"""What a hygiene cycle over what is stored has found and done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from simonides.domain.value import Value
from simonides.domain.writing.decision import NO_USAGE, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class HygieneReport(Value):
    """Counts of one cycle; of a dry run, of what would have been done.

    Attributes:
        dry_run: Whether nothing was written.
        owners: Owners done with.
        memories: Memories looked at: what stands, verbatim turns and other episodes apart.
        duplicates: Statements that stood twice; the later one gave way.
        updates: Statements that a later one of the same subject displaced.
        resolved: Contradictions that a clear gap of confidence decided.
        contradictions: Contradictions that wait for a person from now on.
        reviews_expired: Reviews that nobody has decided in time; see
            :class:`~simonides.domain.governance.review.ReviewStatus`.
        stale: Memories that count as stale; collecting deals with them.
        held_expired: Candidates let go that waited for somebody to decide, or for words that bear
            them out, and have waited too long.
        sensitive: Memories in which something was found about which policy, as it is today, would
            do something; None where nothing was looked at.
        classes: The same by mark, ``personal:email``; one with several counts for each.
        left: Findings left alone because a memory was changed meanwhile.
        asked: Pairs that a language model was asked about.
        unasked: Pairs that it was not asked about: policy's ``model_pairs`` allow no more at once.
        usage: What the model cost.
        diagnostics: Why the model said nothing, or what was wrong in its answer; short names.
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
        """Return the report with more of some counts; one that is None starts from 0."""
        more: dict[str, Any] = {
            name: (getattr(self, name) or 0) + count for name, count in counts.items()
        }
        return replace(self, **more)

    def seen(self, marks: Mapping[str, int]) -> HygieneReport:
        """Return the report with more memories by mark, in the order of the marks' names."""
        names = sorted({*self.classes, *marks})
        total = {name: self.classes.get(name, 0) + marks.get(name, 0) for name in names}
        return replace(self, classes=MappingProxyType(total))

    def told(self, usage: Usage, *diagnostics: str) -> HygieneReport:
        """Return the report with what a model cost besides, and what went wrong with it."""
        more = (*self.diagnostics, *diagnostics)
        return replace(self, usage=self.usage + usage, diagnostics=more)

    @property
    def counts(self) -> dict[str, int | None]:
        """Every count by its name, in the order of the attributes; None: not looked at."""
        names = [each.name for each in fields(self) if each.name not in _NO_COUNTS]
        return {name: getattr(self, name) for name in names}


_NO_COUNTS = frozenset({"dry_run", "usage", "diagnostics", "classes"})
