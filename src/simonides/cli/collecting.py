"""Collecting what has aged out, with progress and a table of what it came to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options

if TYPE_CHECKING:
    from simonides.domain.collecting import GcReport

MEANINGS = {
    "hard_expired": "evicted: their life is over",
    "soft_expired": "evicted: due for review, and nobody read them for 30 days",
    "in_review": "spared: they wait for somebody to confirm or correct them",
    "superseded_old": "purged: they gave way longer ago than history is kept",
    "evicted_old": "purged: they were evicted longer ago than history is kept",
    "stale_marked": "marked stale: hardly any confidence is left",
    "queued": "marked stale: old, and nobody reads them",
    "stale_evicted": "evicted: marked stale a day ago or longer, and not read since",
    "restored": "not stale any more: somebody read or confirmed them",
    "read_noted": "noted: somebody reads them, so they are not stale",
}


def gc(
    context: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    scope: Annotated[
        list[str] | None, typer.Option(help="Only its owner's, by path; may be repeated.")
    ] = None,
) -> None:
    """Collect what has aged out: of --user or --session if named, else of everybody."""
    chosen: Options = context.obj
    one = chosen.user is not None or chosen.session is not None
    if one and scope:
        raise typer.BadParameter("name a user or session before the verb, or scopes, not both")
    with (
        chosen.open(context) as strata,
        typer.progressbar(length=1, label="collecting", file=sys.stderr) as bar,
    ):

        def show(report: GcReport) -> None:
            bar.length = max(report.of, 1)
            bar.update(report.owners - bar.pos)

        if one:
            report = chosen.manager(strata).gc(dry_run=dry_run, progress=show)
        else:
            report = strata.gc(dry_run=dry_run, scopes=scope or None, progress=show)
    if chosen.json:
        typer.echo(render.as_json(report))
    else:
        _print(report)


def _print(report: GcReport) -> None:
    # Not imported with the others: it is slower than most verbs are.
    from rich.console import Console
    from rich.table import Table

    title = "What would be done (nothing was)" if report.dry_run else "What was done"
    table = Table("rule", "memories", "meaning", title=title, title_justify="left")
    for rule, count in report.counts.items():
        table.add_row(rule.value, f"{count:,}", MEANINGS[rule.value])
    console = Console()
    if report.counts:
        console.print(table)
    else:
        console.print("nothing has aged out")
    folded, gone = ("to fold", "to go") if report.dry_run else ("folded", "gone")
    told = [
        f"{report.owners:,} of {report.of:,} owners, {report.rows:,} memories looked at",
        f"{report.reads_folded:,} notes of reads {folded}",
        f"{report.receipts_old:,} old receipts {gone}",
    ]
    if report.left:
        told.append(f"{report.left:,} changed meanwhile and are left to the next run")
    if report.busy:
        told.append(f"{report.busy:,} owners are being collected by another worker")
    console.print("\n".join(told), highlight=False)
