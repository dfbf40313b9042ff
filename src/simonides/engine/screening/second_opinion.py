"""Asks external checkers about candidates before they are judged: a finder, then a classifier.

The finder adds findings. The slower classifier gives a second opinion on suspicious text. Both run
outside every turn.

The classifier sees poison findings only, at the severities that policy names. Their texts must be
whole and short, and must hold nothing that policy keeps private; their number is limited. The
opinion becomes part of the finding. Policy decides what follows from it, and the text's label does
not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from simonides.domain.errors import ModelError
from simonides.domain.policy.hygiene import Action
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import NO_USAGE, Candidate, Usage
from simonides.domain.writing.finding import Concern, Finding, Opinion, SecondLook
from simonides.engine.core import Runtime, account_of, ails
from simonides.engine.screening.screen import findings_of
from simonides.policy import Policy
from simonides.ports import Classifier

CLASSIFIER, FINDER = "classifier", "finder"
"""Names of classifier and finder in the model errors of ``status``."""

BEFORE = "before it waited"
"""Replaces the classifier's id where only its opinion is known."""

MAX_CHARS = 4_000
"""Longest text that is classified, in characters; chosen. A part of a longer text would not show
the intent of the whole.
"""

_FIELDS = ("content", "quote")
"""Fields of a candidate that are classified; names and numbers are not."""


class Screened(NamedTuple):
    """Findings after the second opinion.

    Attributes:
        findings: Of each candidate, in their order.
        usage: Cost of the model calls.
    """

    findings: Sequence[Sequence[Finding]]
    usage: Usage = NO_USAGE


async def second_looks(runtime: Runtime, asked: Sequence[tuple[Candidate, Policy]]) -> Screened:
    """Screen candidates, with the finder's help, and have suspicious findings classified.

    After one failure, a finder or classifier is not called again for the same write.

    Args:
        runtime: With a finder or a classifier, or both.
        asked: Candidates of one write, each with the policy of its scope.
    """
    looker = _Screener(runtime)
    findings = [await looker.findings(*each) for each in asked]
    return Screened(findings, looker.usage)


async def more_in(runtime: Runtime, text: str) -> Sequence[Finding]:
    """Return the finder's findings in a text; empty without a finder or if it fails."""
    return await _Screener(runtime).found_in(text)


def looked_at_before(candidate: Candidate, reasons: Sequence[str]) -> list[Finding]:
    """Return the findings in a held candidate, with the opinions that were given before.

    A person's decision triggers no new classification, and the detectors alone might differ.

    Args:
        candidate: As it was held.
        reasons: Why it was held.
    """
    return [_with_opinion(each, reasons) for each in findings_of(candidate)]


def _with_opinion(found: Finding, reasons: Sequence[str]) -> Finding:
    looks = (SecondLook(opinion, BEFORE) for opinion in Opinion)
    opinion = next((look for look in looks if look.reason(found.mark) in reasons), None)
    return found if opinion is None else replace(found, second=opinion)


def looks_again(runtime: Runtime) -> bool:
    """Whether any external checker is configured."""
    models = runtime.models
    by_model = models.second_look is not None and models.meter is not None
    return by_model or models.classifier is not None or models.finder is not None


class _Screener:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._classifiers: dict[Scope, Classifier | None] = {}
        self._opinions: dict[str, SecondLook] = {}
        self._has_classifier_failed = self._has_finder_failed = False
        self.usage = NO_USAGE

    async def findings(self, candidate: Candidate, policy: Policy) -> list[Finding]:
        found = (*findings_of(candidate), *await self._more(candidate))
        owner = candidate.scope.owner
        if not found or _is_private(found, policy) or self._classifier(owner) is None:
            return [*found]
        return [await self._looked_at(each, candidate, policy) for each in found]

    async def _more(self, candidate: Candidate) -> list[Finding]:
        more: list[Finding] = []
        for field in _FIELDS:
            text = getattr(candidate, field)
            if text is not None and not (field == "quote" and text == candidate.content):
                seen = await self.found_in(text)
                more += [replace(each, field=field) for each in seen]
        return more

    async def found_in(self, text: str) -> Sequence[Finding]:
        finder = self._runtime.models.finder
        if finder is None or self._has_finder_failed:
            return ()
        try:
            seen = await self._runtime.aside(partial(finder.find, text))
        except ModelError as error:
            self._has_finder_failed = True
            ails(self._runtime, FINDER, error)
            return ()
        ails(self._runtime, FINDER, None)
        return seen

    async def _looked_at(self, found: Finding, candidate: Candidate, policy: Policy) -> Finding:
        text = _text_of(candidate, found)
        if text is None or not _is_due(found, policy):
            return found
        if text not in self._opinions:
            if len(self._opinions) >= policy.hygiene.second_looks:
                return found
            self._opinions[text] = await self._asked(text, policy, candidate.scope.owner)
        return replace(found, second=self._opinions[text])

    def _classifier(self, owner: Scope) -> Classifier | None:
        """Return the configured classifier, or one made of the owner's language model account."""
        if owner not in self._classifiers:
            runtime, found = self._runtime, self._runtime.models.classifier
            make_classifier = runtime.models.second_look
            account = account_of(runtime, owner) if make_classifier is not None else None
            if found is None and make_classifier is not None and account is not None:
                found = make_classifier(account)
            self._classifiers[owner] = found
        return self._classifiers[owner]

    async def _asked(self, text: str, policy: Policy, owner: Scope) -> SecondLook:
        classifier = self._classifier(owner)
        if classifier is None or self._has_classifier_failed:
            return SecondLook(Opinion.FAILED, classifier.classifier_id if classifier else "")
        try:
            said = await classifier.classify(text, deadline_s=policy.budgets.seconds)
        except ModelError as error:
            self._has_classifier_failed = True
            self.usage += error.usage or NO_USAGE
            ails(self._runtime, CLASSIFIER, error)
            return SecondLook(Opinion.FAILED, classifier.classifier_id)
        ails(self._runtime, CLASSIFIER, None)
        self.usage += said.usage
        return SecondLook(said.opinion, classifier.classifier_id)


def _is_due(found: Finding, policy: Policy) -> bool:
    rules = policy.hygiene
    is_minded = rules.action_on(found) is not Action.ALLOW
    return found.concern is Concern.POISON and found.severity in rules.second_look and is_minded


def _is_private(found: Sequence[Finding], policy: Policy) -> bool:
    """Whether a candidate holds a finding that policy keeps from models: a secret, for one."""
    others = (each for each in found if each.concern is not Concern.POISON)
    return any(policy.hygiene.action_on(each) is not Action.ALLOW for each in others)


def _text_of(candidate: Candidate, found: Finding) -> str | None:
    """Return the whole text of a finding, if it can be classified."""
    text = getattr(candidate, found.field) if found.field in _FIELDS else None
    return text if isinstance(text, str) and len(text) <= MAX_CHARS else None
