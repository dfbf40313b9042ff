"""Looking again through what is stored, with a line for each count."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli.options import Options
from simonides.domain.cycle import HygieneReport

MEANINGS = {
    "owners": "owners done with",
    "memories": "memories looked at",
    "duplicates": "said twice: the later one gave way",
    "updates": "displaced by a later word on the same",
    "resolved": "contradictions that a clear gap of confidence decided",
    "contradictions": "contradictions that wait for a person: see 'review list'",
    "reviews_expired": "reviews that nobody decided in time",
    "stale": "stale: 'gc' deals with them",
    "held_expired": "held back, and nobody decided or bore it out in time",
    "sensitive": "with something in them that policy minds: see 'scan --memories'",
    "left": "changed meanwhile and left to the next run",
    "asked": "pairs that the language model was asked about",
    "unasked": "pairs that it was not asked about: see 'model_pairs' in the policy",
}


def hygiene(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
) -> None:
    """Look for repetitions, contradictions and what is stale or sensitive in what is stored."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = chosen.manager(strata).hygiene(dry_run=dry_run)
    chosen.show(report, _lines)


def _lines(report: HygieneReport) -> str:
    title = "What would be done (nothing was)" if report.dry_run else "What was done"
    counted = [f"{count:>8,}  {MEANINGS[name]}" for name, count in report.counts.items() if count]
    if not report.sensitive:
        looked = "not looked for" if report.sensitive is None else f"{0:>8}"
        counted.append(f"{looked}  {MEANINGS['sensitive']}")
    marks = [f"{count:>8,}    {mark}" for mark, count in report.classes.items()]
    wrong = [f"the language model: {name}" for name in report.diagnostics]
    return "\n".join((title, *counted, *marks, *wrong))
