"""What is kept back until somebody decides: listing, releasing, discarding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options, refuse_if
from simonides.digest.text import visible

if TYPE_CHECKING:
    from simonides.domain.held import Held

held_app = typer.Typer(
    help="What is kept back until somebody decides.", no_args_is_help=True, rich_markup_mode=None
)

_Id = Annotated[str, typer.Argument(help="Of what waits.")]
_Why = Annotated[str, typer.Option(help="Why; for the audit trail.")]
_Scope = Annotated[str | None, typer.Option(help="org or a path; the user's own if left out.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(held_app, name="held")


@held_app.command("list")
def list_held(context: typer.Context, scope: _Scope = None) -> None:
    """Show what waits, oldest first, and why."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).held(scope=scope)
    chosen.show(found, _lines)


@held_app.command("release")
def release(context: typer.Context, id: _Id, reason: _Why = "", scope: _Scope = None) -> None:
    """Store what waits, as far as policy lets it by now."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        outcome = chosen.manager(strata).release(id, reason=reason, scope=scope)
    chosen.show(outcome, render.outcome)
    refuse_if(not outcome.stored)


@held_app.command("discard")
def discard(context: typer.Context, id: _Id, reason: _Why = "", scope: _Scope = None) -> None:
    """Let go of what waits."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        outcome = chosen.manager(strata).discard(id, reason=reason, scope=scope)
    chosen.show(outcome, render.outcome)
    refuse_if("not_found" in outcome.reasons)


def _lines(value: Sequence[Held]) -> str:
    lines = []
    for held in value:
        lines.append(f"{held.id}  {held.held_at:%Y-%m-%d}  ({', '.join(held.reasons)})")
        lines.append(f"  {held.candidate.label.trust}: {visible(held.candidate.content)}")
    return "\n".join(lines) or render.NOTHING
