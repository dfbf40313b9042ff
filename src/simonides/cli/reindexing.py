"""Making index entries anew with progress shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options, refuse_if

if TYPE_CHECKING:
    from simonides.domain.reindexing import ReindexReport


def reindex(
    context: typer.Context,
    scope: Annotated[
        list[str] | None, typer.Option(help="Only its owner's, by path; may be repeated.")
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Go back to this model, though a newer one was used.")
    ] = False,
) -> None:
    """Make index entries anew that another model or analyser made; answers stay as they are."""
    chosen: Options = context.obj
    with (
        chosen.open(context) as strata,
        typer.progressbar(length=1, label="reindexing", file=sys.stderr) as bar,
    ):

        def show(report: ReindexReport) -> None:
            bar.length = max(report.of, 1)
            bar.update(report.owners - bar.pos)

        report = strata.reindex(scopes=scope or None, adopt=adopt, progress=show)
    chosen.show(report, render.reindexed)
    refuse_if(not report.ok)
