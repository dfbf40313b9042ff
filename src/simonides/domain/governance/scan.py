"""Results of scans for secrets and personal data: classes and places, never the words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from simonides.domain.policy.hygiene import Action
from simonides.domain.value import Value
from simonides.domain.writing.finding import Finding


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
