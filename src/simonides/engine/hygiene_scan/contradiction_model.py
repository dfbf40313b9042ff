"""Asks a language model which near statements contradict, where the rules cannot tell.

The model is asked outside any turn, once per scan of an owner's memories. Policy limits the number
of pairs. A verdict becomes a finding, applied under the owner's turn if both statements still
exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simonides.capture.rules import UNPROVEN, gaps
from simonides.domain.errors import CeilingReached, ModelError
from simonides.domain.governance.contradiction import Pair, Relation, Verdict
from simonides.domain.operations.hygiene_scan import HygieneReport
from simonides.domain.writing.decision import NO_USAGE
from simonides.engine.capture import failure_of
from simonides.engine.core import Runtime, ails
from simonides.hygiene.contradiction import RULE, judge, may_be_shown, verdicts_of
from simonides.policy import Policy
from simonides.ports import LanguageModel

MODEL = "model"
"""Name of the language model among the failing components in ``status``. A failure in the daily
scan is reported only there."""


UNLIKE = "same_but_unlike"
"""Diagnostic: the model called two texts the same that differ in a number, date, name or denial."""

_TELLING = frozenset(UNPROVEN)


class Opinion(NamedTuple):
    """The model's verdicts.

    Attributes:
        found: Pairs that the model relates to each other, with its verdict.
        report: The given report plus the questions asked, their cost and any problems.
    """

    found: tuple[tuple[Pair, Verdict], ...]
    report: HygieneReport


async def opinion(
    runtime: Runtime,
    policy: Policy,
    pairs: Sequence[Pair],
    report: HygieneReport,
    model: LanguageModel | None,
) -> Opinion:
    """Ask the model about the pairs that it may see, the newest statement first.

    A failing model yields a diagnostic. Without a model, or if policy allows no pairs, nothing
    happens.

    Args:
        runtime: The open simonides.
        policy: Policy of the owner's org.
        pairs: Near statements that the rules do not relate.
        report: The report so far.
        model: The owner's model account, or None.
    """
    most = policy.hygiene.model_pairs
    allowed = policy.digest.sensitivities
    seen = [pair for pair in pairs if all(may_be_shown(side, allowed) for side in pair)]
    if model is None or not most or not seen:
        return Opinion((), report)
    # Newest statement first. The sort is stable, so one statement's pairs stay nearest first.
    seen.sort(key=lambda pair: pair.newer.created_at, reverse=True)
    asked = seen[:most]
    report = report.plus(asked=len(asked), unasked=len(seen) - len(asked))
    try:
        answer = await judge(model, asked, deadline_s=policy.budgets.seconds)
    except ModelError as error:
        if not isinstance(error, CeilingReached):
            ails(runtime, MODEL, error)
        return Opinion((), report.told(error.usage or NO_USAGE, failure_of(error)))
    ails(runtime, MODEL, None)
    said, wrong = verdicts_of(answer.value, len(asked))
    related = {place: said[place] for place in sorted(said) if said[place] is not Relation.NEITHER}
    unlike = [
        p for p, each in related.items() if each is Relation.SAME and not _may_be_one(asked[p])
    ]
    wrong = (*wrong, UNLIKE) if unlike else wrong
    found = tuple(
        (asked[place], Verdict(relation, RULE))
        for place, relation in related.items()
        if place not in unlike
    )
    return Opinion(found, report.told(answer.usage, *wrong))


def _may_be_one(pair: Pair) -> bool:
    """Whether two texts can be one statement: neither has a number, date, name or denial of its
    own.
    """
    one, other = pair.older.content, pair.newer.content
    apart = {*gaps(one, other), *gaps(other, one)}
    return apart.isdisjoint(_TELLING)
