"""What is to be done about what hygiene finds, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from simonides.domain.value import Value
from simonides.domain.writing.finding import (
    Concern,
    Finding,
    Opinion,
    Severity,
)


class Action(StrEnum):
    """What becomes of a text with a finding, strictest first.

    ``block``: it is not stored. ``hold``: it waits, recalled by nobody, until somebody decides
    about it; no secret does, for what waits may lie there in plain: a policy file that would have
    it so is refused, and other policies block. ``redact``: the place is struck out, the rest is
    stored; where that leaves nothing usable, as in a key, it is blocked. ``encrypt``: it is stored
    as ``sensitive``, by a store that seals what lies in it; no other takes a policy that says so.
    ``flag``: it is stored as ``sensitive``, and the trail says why. ``allow``: nothing.
    """

    BLOCK = "block"
    HOLD = "hold"
    REDACT = "redact"
    ENCRYPT = "encrypt"
    FLAG = "flag"
    ALLOW = "allow"


_SETTLED = (Opinion.CONFIRMED, Opinion.CLEARED)

PERSONAL_RULES = (
    "email", "phone", "card", "iban", "ssn", "national-id", "ip", "address", "driver-licence",
)  # fmt: skip
"""Rules of the detector of personal data; few enough to have an action each."""

CLASSES = frozenset(
    {concern.value for concern in Concern}
    # Of some 200 rules for secrets those that go by the words around: others know a format.
    | {"secret:password", "secret:assigned"}
    | {f"{Concern.PERSONAL}:{rule}" for rule in PERSONAL_RULES}
)
"""What a policy may name an action for: a concern, or a mark of it, which counts before that."""

STRUCK_OUT = "[redacted {}]"
"""What stands in the place of what was redacted; the mark goes in."""

TEXT_FIELDS = frozenset({"content", "quote", "speaker", "tags", "metadata", "triple"})
"""Fields in which a place can be struck out; the rest are names, which would name another thing."""


def no_actions() -> Mapping[str, Action]:
    """Return a mapping that names no class."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class HygieneRules(Value):
    """What policy does about findings.

    Attributes:
        high: Action on what is of high severity and of no class below.
        suspicious: The same for what is suspicious.
        classes: Actions by class, see :data:`CLASSES`.
        model_pairs: Of how many pairs of statements a language model, where there is one, is asked
            in one look through an owner's memories whether they contradict each other; 0
            for none.
        second_look: Of which severities poison is looked at again before it is judged, where there
            is a classifier for that.
        second_looks: At how many texts of one write at most.
        confirmed: Action on what the second look confirms.
        cleared: The same for what it clears. The text stays external all the same.
    """

    high: Action = Action.BLOCK
    suspicious: Action = Action.FLAG
    classes: Mapping[str, Action] = field(default_factory=no_actions)
    model_pairs: int = 20  # chosen: some 2,000 tokens of sentences as people say them
    # Chosen: what a rule is sure of is not for a model to talk away.
    second_look: tuple[Severity, ...] = (Severity.SUSPICIOUS,)
    second_looks: int = 5  # chosen: one question each, while somebody waits
    confirmed: Action = Action.BLOCK
    cleared: Action = Action.ALLOW

    @property
    def encrypts(self) -> bool:
        """Whether any action takes a store that seals."""
        named = (self.high, self.suspicious, self.confirmed, self.cleared)
        return Action.ENCRYPT in (*named, *self.classes.values())

    def action_on(self, finding: Finding) -> Action:
        """Return what is done: by what a second look has settled; else by the finding's mark, else
        its concern, else its severity.
        """
        if finding.second is not None and finding.second.opinion in _SETTLED:
            is_sure = finding.second.opinion is Opinion.CONFIRMED
            return self._possible(self.confirmed if is_sure else self.cleared, finding)
        named = self.classes.get(finding.mark) or self.classes.get(finding.concern)
        if named is None:
            named = self.high if finding.severity is Severity.HIGH else self.suspicious
        return self._possible(named, finding)

    def _possible(self, named: Action, finding: Finding) -> Action:
        """Return an action, or the stricter one where it cannot be done."""
        if named is Action.REDACT and finding.field not in TEXT_FIELDS:
            return Action.BLOCK
        if named is Action.HOLD and finding.concern is Concern.SECRET:
            return Action.BLOCK
        return named
