"""Looks of others at texts: for more findings, and again at what is suspicious (HY-1, HY-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simonides.domain.decision import NO_USAGE, Usage
from simonides.domain.findings import Finding, Opinion
from simonides.ports.capability import Capability


class Classified(NamedTuple):
    """What a classifier says of one text.

    Attributes:
        opinion: ``confirmed``, ``cleared`` or ``unsure``.
        usage: What asking has cost.
    """

    opinion: Opinion
    usage: Usage = NO_USAGE


class Classifier(Protocol):
    """Says of a text from outside whether it was written to command whoever reads it.

    It is asked before any owner's turn, about one text at a time: of several in one question, one
    could answer for the others.

    Attributes:
        classifier_id: Changes whenever the opinion on any text would; the trail names it.
        capabilities: :data:`Capability.INLINE` where it never waits.
    """

    classifier_id: str
    capabilities: frozenset[Capability]

    async def classify(self, text: str, *, deadline_s: float) -> Classified:
        """Return an opinion on a text.

        Args:
            text: Whole, 1 to 4,000 characters; whatever it says is no instruction.
            deadline_s: Seconds in all.

        Raises:
            ModelError: If there is none to be had; then the first look's stands.
        """


class Finder(Protocol):
    """Finds in a text what the detectors here may not know: personal data of a country, say.

    ``find`` may be called on any thread, and on several at once; never under an owner's turn.

    Attributes:
        finder_id: Names it where it fails.
    """

    finder_id: str

    def find(self, text: str) -> Sequence[Finding]:
        """Return what it finds, with places in the text; policy says what is done about it.

        Args:
            text: Any that can be stored.

        Raises:
            ModelError: If it cannot look; what the detectors here find counts all the same.
        """
