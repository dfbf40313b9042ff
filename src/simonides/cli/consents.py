"""Saying what is not to be remembered, and whether anything is recalled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli.options import Key, Options
from simonides.domain.consent import About
from simonides.domain.errors import InvalidInput

if TYPE_CHECKING:
    from simonides.domain.consent import Consent, ConsentChange

app = typer.Typer(help="What is not to be remembered.", no_args_is_help=True, rich_markup_mode=None)

Category = Annotated[str | None, typer.Option(help="A category of the policy.")]


@app.command()
def refuse(
    context: typer.Context,
    key: Key = None,
    category: Category = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Also forget what there is, with all versions.")
    ] = False,
) -> None:
    """Have nothing remembered under a key or in a category; what there is, is hidden."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        change = chosen.manager(strata).refuse(key, category=category, remove=remove)
    chosen.show(change, _changed)


@app.command()
def allow(context: typer.Context, key: Key = None, category: Category = None) -> None:
    """Take a refusal back, or spare a key though its category is refused."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        change = chosen.manager(strata).allow(key, category=category)
    chosen.show(change, _changed)


@app.command()
def recall(
    context: typer.Context,
    switch: Annotated[str, typer.Argument(metavar="on|off", help="Which way.")],
) -> None:
    """Switch recall of everything that is remembered of the user off, or on again."""
    chosen: Options = context.obj
    if switch not in ("on", "off"):
        raise InvalidInput("recall", "must be on or off")
    with chosen.open(context) as strata:
        change = chosen.manager(strata).set_recall(switch == "on")
    chosen.show(change, _changed)


@app.command("list")
def list_consents(context: typer.Context) -> None:
    """Show what was refused and allowed."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        consents = chosen.manager(strata).consents()
    chosen.show(consents, _all)


def _changed(value: ConsentChange) -> str:
    parts = [_line(value.consent), "" if value.changed else "as before"]
    parts += [f"{value.removed} removed" if value.removed else ""]
    parts += [f"{value.released} held back let go" if value.released else ""]
    return ", ".join(filter(None, parts))


def _all(values: Sequence[Consent]) -> str:
    return "\n".join(map(_line, values)) or "nothing refused"


def _line(value: Consent) -> str:
    if value.about is About.RECALL:
        return f"recall is {'on' if value.allowed else 'off'}"
    return f"{'allowed' if value.allowed else 'refused'} {value.about} {value.name}"
