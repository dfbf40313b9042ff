"""What hygiene finds in a text: a rule and a place, never the words themselves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simonides.domain.value import Value


class Concern(StrEnum):
    """What is the matter with a piece of a text."""

    SECRET = "secret"  # noqa: S105 - what the concern is called
    PERSONAL = "personal"
    POISON = "poison"


class Severity(StrEnum):
    """How sure and how grave it is; what follows from it is for policy to say."""

    HIGH = "high"
    SUSPICIOUS = "suspicious"


class Opinion(StrEnum):
    """What a second look says of what a first one suspects.

    ``confirmed`` and ``cleared`` have actions of their own in policy; ``unsure``, and ``failed``
    where nobody answered, leave what the first look makes of it.
    """

    CONFIRMED = "confirmed"
    CLEARED = "cleared"
    UNSURE = "unsure"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SecondLook(Value):
    """A second, dearer look at a finding.

    Attributes:
        opinion: What it says.
        by: Id of the classifier that looked.
    """

    opinion: Opinion
    by: str

    def reason(self, mark: str) -> str:
        """Return how reasons and events name it."""
        return f"second_look_{self.opinion}:{mark}"


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """One thing that a detector saw in one text.

    Attributes:
        concern: What is the matter.
        rule: Name of the rule that found it, as the rules' own table has it.
        severity: How grave.
        start: First character of it in the text.
        end: The character behind it.
        score: From 0 to 1; 1 where the rule knows no degrees.
        field: Which part of a memory the text is: ``content``, ``key``, ``metadata`` and so on.
        second: What a second look said of it, or None where nobody looked again.
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
        """What a candidate, a reason and an event call it."""
        return f"{self.concern}:{self.rule}"
