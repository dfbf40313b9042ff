"""Export and restore of one owner, backup and restore of a whole store, with progress shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides.cli import render
from simonides.cli.options import Options, refuse_if
from simonides.domain.errors import InvalidInput
from simonides.domain.value import Value

if TYPE_CHECKING:
    from simonides.domain.carried import CarryProgress

WORD = "restore"
"""What has to be typed before a store goes back to a backup."""

_SQLITE = b"SQLite format 3\0"
"""What a store's file begins with; an export begins with a brace."""


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command()(export)
    app.command()(restore)
    app.command()(backup)


def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to, JSON Lines.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there.")
    ] = False,
) -> None:
    """Write everything of the user or session that is named to a file."""
    chosen: Options = context.obj
    with chosen.open(context) as strata, _bar("exporting") as bar:
        manager = chosen.manager(strata)
        report = manager.export(file, overwrite=overwrite, progress=bar.carried)
    chosen.show(report, _shown)


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What export, or what backup wrote.")],
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before a store goes back to a backup.")
    ] = False,
) -> None:
    """Bring back a user from an export (--user before the verb), or a whole store from a backup."""
    chosen: Options = context.obj
    is_store = _is_store(file)
    names_owner = chosen.user is not None or chosen.session is not None
    if is_store and names_owner:
        raise InvalidInput(
            "restore",
            f"{file} is the backup of a whole store: leave out --user and --session, and every "
            "owner goes back to it; one of them alone comes back from an export",
        )
    if not is_store and not names_owner:
        raise InvalidInput(
            "restore",
            f"{file} is no backup of a store; if it is somebody's export, name whose, with --user "
            "before the verb",
        )
    if is_store and not yes and chosen.is_there(context):
        _ask(file)
    with chosen.open(context) as strata, _bar("restoring") as bar:
        report: Any = (
            strata.restore_backup(file)
            if is_store
            else chosen.manager(strata).restore(file, progress=bar.carried)
        )
    chosen.show(report, _shown)


def backup(
    context: typer.Context,
    to: Annotated[
        str | None, typer.Option(help="A directory, or a file that is not there yet.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(help="How many of the newest stay in the directory.", min=1)
    ] = None,
) -> None:
    """Back up the whole store while it is in use, and verify the backup."""
    chosen: Options = context.obj
    with chosen.open(context) as strata, _bar("backing up") as bar:
        report = strata.backup(to, keep=keep, progress=bar.moved)
    chosen.show(report, _shown)


class _Bar:
    """A progress bar on standard error."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def moved(self, behind: int, of: int) -> None:
        """Show how far it is."""
        self._bar.length = max(of, 1)
        self._bar.update(behind - self._bar.pos)

    def carried(self, progress: CarryProgress) -> None:
        """Show how far an export or a restore is."""
        self._bar.label = progress.step
        self.moved(progress.lines, progress.of)


@contextmanager
def _bar(label: str) -> Iterator[_Bar]:
    with typer.progressbar(length=1, label=label, file=sys.stderr) as bar:
        yield _Bar(bar)


def _shown(report: Value) -> str:
    return render.fields(report.to_dict())


def _ask(backup: Path) -> None:
    """End with exit code 1 unless the word was typed."""
    question = (
        f"Every owner goes back to {backup}; what was written since is gone, unless you take a "
        f"backup first. Type {WORD!r} to go back"
    )
    if typer.prompt(question, err=True) != WORD:
        typer.echo("simonides: nothing was restored", err=True)
        refuse_if(True)


def _is_store(file: Path) -> bool:
    if not file.is_file():
        raise InvalidInput("restore", f"{file} is not a file")
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE
