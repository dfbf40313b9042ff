"""Forgetting memories, one by one or all that came from somewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli.options import Filter, Key, Options, json_of, refuse_if
from simonides.cli.outcomes import forgotten
from simonides.domain.decision import OutcomeKind


def forget(
    context: typer.Context,
    id: Annotated[str | None, typer.Option(help="One memory.")] = None,
    key: Key = None,
    scope: Annotated[
        str | None, typer.Option(help="Where; alone it means everything there.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="What came from one source, and all derived from it.")
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="What was read from one URL, document or tool, and all derived from it."),
    ] = None,
    filter: Filter = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> None:
    """Delete memories with all their versions and keep them from being learned again."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        outcome = chosen.manager(strata).forget(
            id,
            key=key,
            scope=scope,
            source=source,
            origin=origin,
            filter=json_of("--filter", filter),
            dry_run=dry_run,
        )
    chosen.show(outcome, forgotten)
    refuse_if(outcome.kind is not OutcomeKind.FORGOTTEN and "dry_run" not in outcome.reasons)
