"""What a scope ought to hold, told by a dictionary: what whole lives are played against."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

TRUST = {
    "user_stated": 3,
    "user_correction": 3,
    "tool_verified": 2,
    "agent_inferred": 1,
    "external": 0,
}
CONFIDENCE = {"user_stated": 1.0, "tool_verified": 0.9, "agent_inferred": 0.6, "external": 0.3}
FACT_DAYS = 365


@dataclass
class Fact:
    """What stands under one key, and how many versions there were."""

    value: str
    source: str
    confidence: float
    expires: datetime
    made: datetime
    versions: int = 1
    verified: bool = False

    def left(self, now: datetime) -> float:
        """Return what is left of its confidence (LT-7)."""
        if self.source != "agent_inferred" or self.verified:
            return self.confidence
        return max(self.confidence - 0.05 * ((now - self.made) / timedelta(days=30)), 0.0)

    def says(self, value: str) -> bool:
        return self.value.strip().casefold() == value.strip().casefold()


@dataclass
class Shelf:
    """The keyed facts of one scope."""

    facts: dict[str, Fact] = field(default_factory=dict)

    def standing(self, now: datetime) -> dict[str, Fact]:
        """Return what has not expired."""
        return {key: fact for key, fact in self.facts.items() if now < fact.expires}

    def told(self, key: str, value: str, source: str, now: datetime, days: float | None) -> str:
        """Take in a statement and return what it comes to (LT-3)."""
        confidence = CONFIDENCE.get(source, 1.0)
        end = now + timedelta(days=FACT_DAYS if days is None else days)
        known = self.facts.get(key)
        if known is None or now >= known.expires:
            versions = 1 if known is None else known.versions + 1
            self.facts[key] = Fact(value, source, confidence, end, now, versions)
            return "created"
        if known.says(value):
            return self._repeated(known, source, confidence, end)
        outside = source == "external" and known.source != "external"
        if source != "user_correction" and (outside or confidence < known.left(now)):
            known.versions += 1
            return "touched"
        self.facts[key] = Fact(value, source, confidence, end, now, known.versions + 1)
        return "superseded"

    def _repeated(self, known: Fact, source: str, confidence: float, end: datetime) -> str:
        if known.source == "external" != source and TRUST[source] == TRUST["user_stated"]:
            # What its user says himself is a version of his own.
            known.versions, known.verified = known.versions + 1, True
            known.source, known.confidence, known.expires = source, confidence, end
            return "superseded"
        if known.source == "external" or TRUST[source] < TRUST[known.source]:
            known.expires = max(known.expires, end)
            return "refreshed"
        known.expires, stood = end, known.source
        if confidence > known.confidence:
            known.source, known.confidence = source, confidence
        same_user = TRUST[source] == TRUST[stood] == TRUST["user_stated"]
        if source == stood or same_user:
            return "refreshed"
        known.verified = True
        return "bumped"

    def corrected(self, key: str, value: str, now: datetime) -> str:
        """Take in a correction by name: whatever stands gives way, be it to the same words in other
        letters.
        """
        stood = self.standing(now).get(key)
        if stood is None or stood.value == value:
            return self.told(key, value, "user_correction", now, None)
        end = now + timedelta(days=FACT_DAYS)
        self.facts[key] = Fact(value, "user_correction", 1.0, end, now, stood.versions + 1)
        return "superseded"
