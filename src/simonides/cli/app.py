"""The command line: the table of all commands, and errors as exit codes.

Exit codes: 0 done, 1 refused or a check failed, 2 bad usage.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

import simonides
from simonides.cli import bench, special
from simonides.cli.options import (
    BAD_USAGE,
    DONE,
    REFUSED,
    Command,
    Group,
    Options,
    options_of,
)
from simonides.cli.tree import GROUPS, MEMORY
from simonides.cli.verbs import Verb, verbs_of
from simonides.domain.errors import (
    ConfigurationError,
    InvalidInput,
    OwnerRequired,
    SimonidesError,
)

SPECIAL: dict[str, dict[str, Callable[..., None]]] = {
    "": {"demo": bench.demo},
    "db": {"init": special.init_database, "migrate": special.migrate},
    "agent": {"capture": special.agent_capture, "answer": special.agent_answer},
    "admin": {
        "bench": bench.bench,
        "check-policy": special.check_policy,
        "new-key": special.new_key,
        "sync": special.sync,
        "sync-status": special.sync_status,
    },
}
"""Commands that are no method of a memory, by group."""

_HELP = {"db": "The database.", "agent": "The reference agent."}


class _Group(Group):
    """A group made from the tree of the Python API."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        name = self.name or ""
        face = MEMORY if name == "" else GROUPS.get(name)
        made = [] if face is None else verbs_of(face, name)
        if name == "session":
            made.append(Verb(GROUPS["data"], "data", "import_from", name="import"))
        self.commands = {**{str(each.name): each for each in made}, **self.commands}

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the verb; the outermost group turns errors into a message and an exit code."""
        if ctx.parent is not None:
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except (InvalidInput, OwnerRequired, ConfigurationError) as error:
            _fail(options_of(ctx), error, BAD_USAGE)
        except SimonidesError as error:
            _fail(options_of(ctx), error, REFUSED)


def _fail(chosen: Options, error: SimonidesError, code: int) -> NoReturn:
    if chosen.json:
        told = {"code": error.code, "message": str(error), "hint": error.hint}
        typer.echo(json.dumps({"error": told}, ensure_ascii=False, indent=2), err=True)
    else:
        typer.echo(f"simonides: {error}\nhint: {error.hint}", err=True)
    raise typer.Exit(code) from error


def _version(asked: bool) -> None:
    if asked:
        typer.echo(simonides.__version__)
        raise typer.Exit(DONE)


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_version),
    ] = False,
) -> None:
    del version


def _grouped(name: str, help: str) -> typer.Typer:
    made = typer.Typer(cls=_Group, name=name, help=help, no_args_is_help=True)
    for verb, function in SPECIAL.get(name, {}).items():
        made.command(verb, cls=Command)(function)
    return made


app = typer.Typer(
    name="",
    cls=_Group,
    help=MEMORY.help,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.callback()(_root)
for _name, _face in GROUPS.items():
    app.add_typer(_grouped(_name, _face.help))
for _name, _help in _HELP.items():
    app.add_typer(_grouped(_name, _help))
for _name, _function in SPECIAL[""].items():
    app.command(_name, cls=Command)(_function)


def main() -> int:
    """Run the command line; it ends the process with its exit code."""
    app(prog_name="simonides")
    return DONE
