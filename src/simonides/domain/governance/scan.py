"""What a look for secrets and personal data tells: classes and places, never the words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from simonides.domain.policy.hygiene import Action
from simonides.domain.value import Value
from simonides.domain.writing.finding import Finding


@dataclass(frozen=True, slots=True)
class Seen(Value):
    """A finding, and what policy does about it.

    Attributes:
        finding: What, and where.
        action: What would become of a text with it.
    """

    finding: Finding
    action: Action


@dataclass(frozen=True, slots=True)
class Scan(Value):
    """What hygiene says of one text.

    Attributes:
        seen: By detector, then place.
    """

    seen: tuple[Seen, ...]

    @property
    def action(self) -> Action:
        """The strictest: what would become of the text, were it to be remembered."""
        order = list(Action)
        return min((each.action for each in self.seen), key=order.index, default=Action.ALLOW)


@dataclass(frozen=True, slots=True)
class ScannedMemory(Value):
    """A stored memory in which something was found.

    Attributes:
        id: Of the memory.
        owner: Canonical path of whose it is.
        status: Where in its life it is: superseded ones are looked at too.
        seen: What, by field.
    """

    id: str
    owner: str
    status: str
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class StoreScan(Value):
    """What hygiene says of what is stored.

    Attributes:
        looked_at: Memories, all versions counted.
        found: Those with findings, by owner, then id.
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
