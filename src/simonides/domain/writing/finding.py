"""Hygiene findings: the rule and the place in the text, never the matched words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.value import Value


class Concern(StrEnum):
    """Kind of problem found in a text."""

    SECRET = "secret"  # noqa: S105 - what the concern is called
    PERSONAL = "personal"
    POISON = "poison"


class Severity(StrEnum):
    """How certain and how serious a finding is; policy decides the action."""

    HIGH = "high"
    SUSPICIOUS = "suspicious"


class Opinion(StrEnum):
    """Verdict of the second check on a suspected finding.

    ``confirmed`` and ``cleared`` have their own actions in policy. ``unsure``, and ``failed`` if
    the classifier did not answer, leave the action of the first check.
    """

    CONFIRMED = "confirmed"
    CLEARED = "cleared"
    UNSURE = "unsure"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SecondLook(Value):
    """A second, more expensive check of a finding.

    Attributes:
        opinion: The verdict.
        by: Id of the classifier.
    """

    opinion: Opinion
    by: str

    def reason(self, mark: str) -> str:
        """Return its reason code in reasons and events."""
        return f"second_look_{self.opinion}:{mark}"


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """One match of a detector in one text.

    Attributes:
        concern: Kind of problem.
        rule: Name of the matching rule in the rules' table.
        severity: How certain and how serious.
        start: Offset of the first character in the text.
        end: Offset after the last character.
        score: From 0 to 1; 1 if the rule has no degrees.
        field: Part of the memory: ``content``, ``key``, ``metadata`` and so on.
        second: Result of the second check, or None without one.
    """

    concern: Concern
    rule: str
    severity: Severity
    start: int
    end: int
    score: float = 1.0
    field: str = "content"
    second: SecondLook | None = None

    @property
    def mark(self) -> str:
        """Its name in candidates, reasons and events."""
        return f"{self.concern}:{self.rule}"
