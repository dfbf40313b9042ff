"""Policy's actions on hygiene findings, by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from simonides.domain.value import Value
from simonides.domain.writing.finding import Concern, Finding, Opinion, Severity


class Action(StrEnum):
    """Action on a text with a finding, strictest first.

    - ``block``: the text is not stored.
    - ``hold``: it is never recalled until a person decides. Secrets are never held, because held
      text may be stored unencrypted: a policy file that holds secrets is refused, and other
      policies block them instead.
    - ``redact``: the match is redacted and the rest stored; where the rest is unusable, as in a
      key, the text is blocked.
    - ``encrypt``: it is stored as ``sensitive``, and only by an encrypting store; other stores
      refuse such a policy.
    - ``flag``: it is stored as ``sensitive``, and the audit trail has the reason.
    - ``allow``: no action.
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
"""Rules of the detector of personal data; few enough for one action each."""

CLASSES = frozenset(
    {concern.value for concern in Concern}
    # These two of some 200 secret rules match by the words around; the others match a format.
    | {"secret:password", "secret:assigned"}
    | {f"{Concern.PERSONAL}:{rule}" for rule in PERSONAL_RULES}
)
"""Classes with an action in a policy: a concern, or a mark, which overrides its concern."""

STRUCK_OUT = "[redacted {}]"
"""Replacement for redacted text; filled with the mark."""

TEXT_FIELDS = frozenset({"content", "quote", "speaker", "tags", "metadata", "triple"})
"""Fields that can be redacted; the others are names, which must not change."""


def no_actions() -> Mapping[str, Action]:
    """Return a mapping that names no class."""
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class HygieneRules(Value):
    """Policy for findings.

    Attributes:
        high: Action on findings of high severity without a class in ``classes``.
        suspicious: Action on suspicious findings without a class in ``classes``.
        classes: Actions by class, see :data:`CLASSES`.
        model_pairs: Most pairs of statements that a language model, if configured, checks for
            contradiction in one scan of an owner's memories; 0 for none.
        second_look: Severities of poison findings that a classifier, if configured, checks again
            before the judgement.
        second_looks: Most texts of one write with a second check.
        confirmed: Action on confirmed findings.
        cleared: Action on cleared findings. The text stays external.
    """

    high: Action = Action.BLOCK
    suspicious: Action = Action.FLAG
    classes: Mapping[str, Action] = field(default_factory=no_actions)
    model_pairs: int = 20  # chosen: some 2,000 tokens of sentences as people say them
    # Chosen: a model must not overrule a certain rule.
    second_look: tuple[Severity, ...] = (Severity.SUSPICIOUS,)
    second_looks: int = 5  # chosen: one question each, while the caller waits
    confirmed: Action = Action.BLOCK
    cleared: Action = Action.ALLOW

    @property
    def encrypts(self) -> bool:
        """Whether any action needs an encrypting store."""
        named = (self.high, self.suspicious, self.confirmed, self.cleared)
        return Action.ENCRYPT in (*named, *self.classes.values())

    def action_on(self, finding: Finding) -> Action:
        """Return the action: by a settled second check, else mark, else concern, else severity."""
        if finding.second is not None and finding.second.opinion in _SETTLED:
            is_sure = finding.second.opinion is Opinion.CONFIRMED
            return self._possible(self.confirmed if is_sure else self.cleared, finding)
        named = self.classes.get(finding.mark) or self.classes.get(finding.concern)
        if named is None:
            named = self.high if finding.severity is Severity.HIGH else self.suspicious
        return self._possible(named, finding)

    def _possible(self, named: Action, finding: Finding) -> Action:
        """Return the action, or ``block`` if it is impossible for the finding."""
        if named is Action.REDACT and finding.field not in TEXT_FIELDS:
            return Action.BLOCK
        if named is Action.HOLD and finding.concern is Concern.SECRET:
            return Action.BLOCK
        return named
