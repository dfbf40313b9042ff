"""Ending sessions from the command line: those that are due."""

from __future__ import annotations

from typing import Annotated

import typer

from memstrata.cli import render
from memstrata.cli.options import Options, refuse_if


def end(
    context: typer.Context,
    due: Annotated[
        bool, typer.Option("--due", help="All that nobody has gone on with, of every owner.")
    ] = False,
) -> None:
    """End sessions: extraction, summary, promotion; for cron, on any machine."""
    if not due:
        raise typer.BadParameter("say --due")
    chosen: Options = context.obj
    with chosen.open() as strata:
        reports = strata.end_due_sessions()
    chosen.show(reports, render.sessions_ended)
    refuse_if(any(name.startswith("failed:") for one in reports for name in one.diagnostics))
