"""The verbs about conflicts and mistakes: what a person decides, takes back, hands up."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options, refuse_if
from simonides.cli.outcomes import with_displaced

review_app = typer.Typer(
    help="What a person is asked to decide.", no_args_is_help=True, rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(review_app, name="review")
    app.command()(undo)
    app.command()(promote)


@review_app.command("list")
def list_reviews(
    context: typer.Context,
    status: Annotated[str, typer.Option(help="open, decided or expired.")] = "open",
) -> None:
    """Show memories that contradict each other, with both sides."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).reviews(status=status)
    chosen.show(found, render.reviews)


@review_app.command("decide")
def decide(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Of the review.")],
    keep: Annotated[str, typer.Option(help="a, b, both or neither.")],
    reason: Annotated[str, typer.Option(help="Why; for the audit trail.")] = "",
) -> None:
    """Keep one side of a conflict, both, or neither."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        manager = chosen.manager(strata)
        outcome = manager.decide(id, keep, reason=reason)
        said = with_displaced(outcome, manager)
    chosen.show(outcome, lambda _: said)
    refuse_if(not outcome.stored)


def undo(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="Id of the event, as --json shows it.")],
) -> None:
    """Take back what a write did: what it displaced stands again."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        outcome = chosen.manager(strata).undo(event)
    chosen.show(outcome, render.outcome)


def promote(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Of the memory.")],
    to: Annotated[str, typer.Option(help="user, org or the path of an ancestor.")],
) -> None:
    """Copy a memory upward; it passes policy again there."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        outcome = chosen.manager(strata).promote(id, to)
    chosen.show(outcome, render.outcome)
    refuse_if(not outcome.stored)
