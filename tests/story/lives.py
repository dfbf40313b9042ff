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
FLOOR = 0.5
"""Under it nothing inferred is stored."""
FACT_DAYS = 365
MONTH = timedelta(days=30)
LOSS = MONTH / 500
"""In which an inference loses a ten-thousandth of its confidence, which is lost whole."""
HISTORY = timedelta(days=90)


@dataclass
class Fact:
    """What stands under one key, and how many versions there were.

    Attributes:
        soft: When it is up for review, None for never.
        said: When it was last said, confirmed or changed.
        read: When it was last recalled.
        marked: When it was marked stale, if it is.
        id: Of the version that stands.
        shared: Whether a version of it was promoted to another owner.
    """

    value: str
    source: str
    confidence: float
    expires: datetime
    made: datetime
    versions: int = 1
    verified: bool = False
    soft: datetime | None = None
    said: datetime | None = None
    read: datetime | None = None
    marked: datetime | None = None
    id: str = ""
    shared: bool = False

    def __post_init__(self) -> None:
        if self.said is None:
            self.said, self.soft = self.made, reviewed(self.made, self.expires)

    def left(self, now: datetime) -> float:
        """Return what is left of its confidence."""
        if TRUST[self.source] != TRUST["agent_inferred"] or self.verified:
            return self.confidence
        return max(round(self.confidence - (now - self.made) // LOSS / 10_000, 6), 0.0)

    def is_unsure(self, now: datetime) -> bool:
        """Whether policy would not have it stored anew."""
        return TRUST[self.source] == TRUST["agent_inferred"] and self.left(now) < FLOOR

    def says(self, value: str) -> bool:
        return self.value.strip().casefold() == value.strip().casefold()

    def is_unread(self, now: datetime) -> bool:
        return self.read is None or now - self.read >= MONTH

    def staleness(self, now: datetime) -> float:
        """Return how stale it is."""
        said = self.said or self.made
        age = min((now - said) / max(self.expires - said, timedelta(microseconds=1)), 1)
        return (0.4 * age + 0.3 * self.is_unread(now)) / 0.7

    def doubtful(self, now: datetime) -> str | None:
        """Return why it would be marked stale, if it would."""
        waits = not self.verified and now - self.made >= timedelta(days=60)
        if waits and self.left(now) < 0.3:
            return "stale_marked"
        return "queued" if self.staleness(now) > 0.9 else None

    def due(self, now: datetime) -> str | None:
        """Return the rule of collecting that it is under, if any."""
        if now >= self.expires:
            return "hard_expired"
        spared = TRUST[self.source] == TRUST["user_stated"]
        if self.marked is not None:
            was_read = self.read is not None and self.read >= self.marked
            if spared or was_read or not self.doubtful(now):
                return "restored"
            return "stale_evicted" if now - self.marked >= timedelta(days=1) else None
        if self.soft is not None and now >= self.soft:
            if spared:
                return "in_review"
            if self.is_unread(now) and now - (self.said or self.made) >= MONTH:
                return "soft_expired"
        return None if spared else self.doubtful(now)


def reviewed(now: datetime, ends: datetime) -> datetime | None:
    """Return when something said now is up for review: not if it ends before."""
    return now + MONTH if now + MONTH < ends else None


@dataclass
class Rest:
    """A chain of which nothing stands any more, until history ends."""

    gone: datetime
    shared: bool


@dataclass
class Shelf:
    """The keyed facts of one scope."""

    facts: dict[str, Fact] = field(default_factory=dict)
    rests: dict[str, list[Rest]] = field(default_factory=dict)

    def standing(self, now: datetime) -> dict[str, Fact]:
        """Return what has not expired."""
        return {key: fact for key, fact in self.facts.items() if now < fact.expires}

    def told(self, key: str, value: str, source: str, now: datetime, days: float | None) -> str:
        """Take in a statement and return what it comes to."""
        end = now + timedelta(days=FACT_DAYS if days is None else days)
        return self.given(key, Fact(value, source, CONFIDENCE.get(source, 1.0), end, now))

    def given(self, key: str, new: Fact) -> str:
        """Take in a statement with a confidence and an end of its own."""
        known, now = self.facts.get(key), new.made
        if known is None or now >= known.expires:
            if known is not None:
                new.versions, new.shared = known.versions + 1, known.shared
            self.facts[key] = new
            return "created"
        if known.says(new.value):
            return self._repeated(known, new)
        outside = new.source == "external" and known.source != "external"
        weaker = new.confidence < known.left(now)
        if new.source != "user_correction" and (outside or weaker):
            known.versions += 1
            known.said = now
            known.marked = None if known.marked is None else now
            return "touched"
        new.versions, new.shared = known.versions + 1, known.shared
        self.facts[key] = new
        return "superseded"

    def _repeated(self, known: Fact, new: Fact) -> str:
        known.said = new.made
        if known.source == "external" != new.source and TRUST[new.source] == TRUST["user_stated"]:
            # What its user says himself is a version of his own.
            known.versions, known.verified, known.marked = known.versions + 1, True, None
            known.source, known.confidence = new.source, new.confidence
            known.expires, known.soft, known.made = new.expires, new.soft, new.made
            return "superseded"
        if known.source == "external" or TRUST[new.source] < TRUST[known.source]:
            known.expires = max(known.expires, new.expires)
            both = known.soft is not None and new.soft is not None
            known.soft = max(known.soft, new.soft) if both else None
            known.marked = None if known.marked is None else new.made
            return "refreshed"
        known.expires, known.soft, stood = new.expires, new.soft, known.source
        known.marked = None
        if (new.confidence, TRUST[new.source]) > (known.confidence, TRUST[known.source]):
            known.source, known.confidence = new.source, new.confidence
        same_user = TRUST[new.source] == TRUST[stood] == TRUST["user_stated"]
        if new.source == stood or same_user:
            return "refreshed"
        known.verified = True
        return "bumped"

    def corrected(self, key: str, value: str, now: datetime) -> str:
        """Take in a correction by name: whatever stands gives way, be it to the same words in other
        letters.
        """
        stood = self.standing(now)[key]
        if stood.value == value:
            return self.told(key, value, "user_correction", now, None)
        end = now + timedelta(days=FACT_DAYS)
        new = Fact(value, "user_correction", 1.0, end, now, stood.versions + 1)
        self.facts[key] = new
        new.shared = stood.shared
        return "superseded"

    def confirmed(self, key: str, now: datetime) -> None:
        """Take in that somebody vouches for a fact."""
        fact = self.facts[key]
        fact.verified, fact.said, fact.marked = True, now, None
        fact.soft = reviewed(now, fact.expires)

    def collected(self, now: datetime) -> dict[str, list[str]]:
        """Collect what has aged out, and return the keys under each rule."""
        found: dict[str, list[str]] = {}
        for key, rests in [*self.rests.items()]:
            self.rests[key] = [r for r in rests if r.shared or now - r.gone < HISTORY]
        for key, fact in [*self.facts.items()]:
            rule = fact.due(now)
            if rule is None:
                continue
            found.setdefault(rule, []).append(key)
            if rule in ("stale_marked", "queued"):
                fact.marked = now
            elif rule == "restored":
                fact.marked = None
            elif rule != "in_review":
                self.rests.setdefault(key, []).append(Rest(now, fact.shared))
                del self.facts[key]
        return found

    def removed(self, key: str) -> bool:
        """Forget a key and return whether there was anything."""
        rests = self.rests.pop(key, [])
        return self.facts.pop(key, None) is not None or bool(rests)
