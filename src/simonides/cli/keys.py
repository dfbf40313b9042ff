"""The keys that a store is kept under: making one, and bringing a store under it."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli import render
from simonides.cli.options import Options

keys_app = typer.Typer(
    help="The keys a store is kept under.", no_args_is_help=True, rich_markup_mode=None
)


@keys_app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="What the key is called, 2026-11 for example.")],
) -> None:
    """Print a new key as a line of a key ring; it is kept nowhere."""
    from simonides.wiring import new_key

    typer.echo(new_key(name))


@keys_app.command("adopt")
def adopt(
    context: typer.Context,
    scope: Annotated[
        list[str] | None, typer.Option(help="Only its owner's, by path; may be repeated.")
    ] = None,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes",
            help="Take what stands there for what was written; for a scope that you looked at.",
        ),
    ] = False,
) -> None:
    """Code what was written before there was a key ring; run again, it goes on."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = strata.rekey(scopes=scope or None, adopt=True, accept=accept_changes)
    chosen.show(report, lambda made: render.fields(made.to_dict()))


@keys_app.command("rotate")
def rotate(context: typer.Context) -> None:
    """Bring everything under the first key of the ring; run again, it goes on."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        report = strata.rekey()
    chosen.show(report, lambda made: render.fields(made.to_dict()))


@keys_app.command("sweep")
def sweep(context: typer.Context) -> None:
    """Remove what an old copy has brought back of users whose keys were destroyed."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        swept = strata.sweep()
    chosen.show({"swept": swept}, render.fields)
