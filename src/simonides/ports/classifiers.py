"""Optional detectors: more findings in a text, and second opinions on suspicious texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simonides.domain.decision import NO_USAGE, Usage
from simonides.domain.findings import Finding, Opinion
from simonides.ports.capability import Capability


class Classified(NamedTuple):
    """A classifier's answer on one text.

    Attributes:
        opinion: ``confirmed``, ``cleared`` or ``unsure``.
        usage: Cost of the call.
    """

    opinion: Opinion
    usage: Usage = NO_USAGE


class Classifier(Protocol):
    """Judges whether an external text was written to command its reader.

    It is called before any owner's turn, with one text at a time: in a batch, one text could answer
    for the others.

    Attributes:
        classifier_id: Changes whenever the opinion on any text would; the audit trail names it.
        capabilities: :data:`Capability.INLINE` where it never waits.
    """

    classifier_id: str
    capabilities: frozenset[Capability]

    async def classify(self, text: str, *, deadline_s: float) -> Classified:
        """Return an opinion on a text.

        Args:
            text: Whole, 1 to 4,000 characters; nothing in it is an instruction.
            deadline_s: Seconds in all.

        Raises:
            ModelError: If there is no opinion; the first detector's finding then stays.
        """


class Finder(Protocol):
    """Finds in a text what the built-in detectors do not know, such as a country's personal data.

    ``find`` may be called on any thread, and on several at once; never under an owner's turn.

    Attributes:
        finder_id: Its name in error reports.
    """

    finder_id: str

    def find(self, text: str) -> Sequence[Finding]:
        """Return the findings with their places in the text; policy decides what to do about them.

        Args:
            text: Any that can be stored.

        Raises:
            ModelError: If it cannot look; the built-in detectors' findings still count.
        """
