"""What models have cost, by day, and what they may."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli.options import Options
from simonides.domain.ceilings import DayUsage, Limits, UsageReport


def usage(
    context: typer.Context,
    days: Annotated[int, typer.Option(help="So many days back, today included.")] = 30,
) -> None:
    """Show what language models and embedders have cost by day, and the ceilings in force."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = chosen.manager(strata).usage(days=days)
    chosen.show(report, _lines)


def _lines(report: UsageReport) -> str:
    ceilings = report.ceilings
    named = {"operation": ceilings.write, "owner's day": ceilings.owner_day}
    named["org's day"] = ceilings.org_day
    limits = [_row(f"ceiling of an {name}", _shown(limit)) for name, limit in named.items()]
    used = [_row(each.day, _counts(each)) for each in report.days or (report.today,)]
    return "\n".join((_row("", ("calls", "tokens", "embedded")), *used, *limits))


def _counts(day: DayUsage) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in (day.calls, day.tokens, day.embedded))


def _shown(limits: Limits) -> tuple[str, ...]:
    told = (limits.calls, limits.tokens, limits.embedded)
    return tuple("none" if limit is None else f"{limit:,}" for limit in told)


def _row(name: str, cells: tuple[str, ...]) -> str:
    return f"{name:<28}" + "".join(f"{cell:>14}" for cell in cells)
