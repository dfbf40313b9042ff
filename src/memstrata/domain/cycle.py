"""What a hygiene cycle over what is stored has found and done (HY-8)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from memstrata.domain.decision import NO_USAGE, Usage
from memstrata.domain.value import Value


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
            :class:`~memstrata.domain.review.ReviewStatus`.
        stale: Memories that count as stale; collecting deals with them.
        sensitive: Memories in which something sensitive was found.
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
    sensitive: int = 0
    left: int = 0
    asked: int = 0
    unasked: int = 0
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()

    def plus(self, **counts: int) -> HygieneReport:
        """Return the report with more of some counts."""
        return replace(self, **{name: getattr(self, name) + more for name, more in counts.items()})

    def told(self, usage: Usage, *diagnostics: str) -> HygieneReport:
        """Return the report with what a model cost besides, and what went wrong with it."""
        more = (*self.diagnostics, *diagnostics)
        return replace(self, usage=self.usage + usage, diagnostics=more)

    @property
    def counts(self) -> dict[str, int]:
        """Every count by its name, in the order of the attributes."""
        names = [each.name for each in fields(self) if each.name not in _NO_COUNTS]
        return {name: getattr(self, name) for name in names}


_NO_COUNTS = frozenset({"dry_run", "usage", "diagnostics"})
