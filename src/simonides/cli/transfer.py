"""Commands that carry data: export, restore, backup, migrate and sync, with progress shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from simonides.cli import render
from simonides.cli.options import (
    Options,
    ProgressBar,
    progress_bar,
    refuse_if,
)
from simonides.domain.errors import InvalidInput, MoveRefused, StoreError
from simonides.domain.value import Value

if TYPE_CHECKING:
    from simonides.api.migrate.migrate import Migration, Progress
    from simonides.api.sync import Store
    from simonides.domain.operations.portable import CarryProgress
    from simonides.domain.operations.sync import OwnerSync, SyncReport, SyncStatus
    from simonides.ports import MemoryStore, MovableStore

sync_app = typer.Typer(
    help="Exchange this replica with its remote.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

RESTORE_WORD = "restore"
"""What has to be typed before a store goes back to a backup."""

_SQLITE = b"SQLite format 3\0"
"""What a store's file begins with; an export begins with a brace."""

LABEL_EVERY_S = 1.0
"""Seconds between new labels. Without a terminal each new label is a line of the log."""

SYNC_COUNTS = {
    "pushed": "came to the remote",
    "pulled": "came from it",
    "changed": "changed",
    "conflicts": "gave way to what the other side had said",
    "forgotten": "were forgotten on the other side and are gone",
    "consents": "consents",
    "reviews": "reviews",
}

Scopes = Annotated[
    list[str] | None, typer.Option("--scope", help="Only its owner, by path; may be repeated.")
]


def export(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to, JSON Lines.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there.")
    ] = False,
) -> None:
    """Write everything of the user or session that is named to a file."""
    chosen: Options = context.obj
    with chosen.open(context) as store, progress_bar("exporting") as bar:
        memory = chosen.memory(store)
        report = memory.export(file, overwrite=overwrite, progress=_carried(bar))
    chosen.show(report, _report_fields)


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
        _confirm_restore(file)
    with chosen.open(context) as opened, progress_bar("restoring") as bar:
        report: Any = (
            opened.restore_backup(file)
            if is_store
            else chosen.memory(opened).restore(file, progress=_carried(bar))
        )
    chosen.show(report, _report_fields)


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
    with chosen.open(context) as store, progress_bar("backing up") as bar:
        report = store.backup(to, keep=keep, progress=bar.moved)
    chosen.show(report, _report_fields)


def migrate(
    context: typer.Context,
    source: Annotated[str, typer.Option("--from", help="Path or URL of the store to move.")],
    target: Annotated[str, typer.Option("--to", help="Path or URL of an empty store.")],
) -> None:
    """Move a whole store to another; run again after an interruption, it goes on."""
    chosen: Options = context.obj
    chosen.require_store(context)
    chosen.show(asyncio.run(_migrate(source, target)), render.migration)


@sync_app.callback()
def sync(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Exchange once, and end; else again and again.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Compare everything, not only what was changed.")
    ] = False,
    scope: Scopes = None,
) -> None:
    """Bring this replica and its remote to the same; of --user or --session if named, else of all
    that are here.
    """
    if context.invoked_subcommand is not None:
        return
    chosen = _synced(context)
    with chosen.open(context) as store:
        _register_principal(chosen, store)
        if once:
            _show_sync(chosen, store.sync(scopes=_scopes_of(chosen, scope), full=full))
            return
        _sync_forever(chosen, store, _scopes_of(chosen, scope), full=full)


@sync_app.command("status")
def sync_status(context: typer.Context) -> None:
    """Say what the remote has not seen, without asking it."""
    chosen = _synced(context)
    with chosen.open(context) as store:
        _register_principal(chosen, store)
        found = store.sync_status()
    chosen.show(found, _sync_standing)


def _confirm_restore(backup: Path) -> None:
    """End with exit code 1 unless the word was typed."""
    question = (
        f"Every owner goes back to {backup}; what was written since is gone, unless you take a "
        f"backup first. Type {RESTORE_WORD!r} to go back"
    )
    if typer.prompt(question, err=True) != RESTORE_WORD:
        typer.echo("simonides: nothing was restored", err=True)
        refuse_if(True)


def _is_store(file: Path) -> bool:
    if not file.is_file():
        raise InvalidInput("restore", f"{file} is not a file")
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE


def _report_fields(report: Value) -> str:
    return render.fields(report.to_dict())


def _carried(bar: ProgressBar) -> Callable[[CarryProgress], None]:
    """Return a callback that shows the progress of an export or a restore."""

    def show(progress: CarryProgress) -> None:
        bar.labelled(progress.step)
        bar.moved(progress.lines, progress.of)

    return show


async def _migrate(source: str, target: str) -> Migration:
    """Move one store to another, or continue an interrupted move, and compare answers.

    Raises:
        ConfigurationError: If one of the stores is not named well.
        MoveRefused: See :func:`simonides.api.migrate.migrate.migrate`.
        StoreError: If a store failed. Running the command again continues from there.
    """
    # Imported here: no other command needs these, and --help must be quick.
    from simonides.api.migrate import migrate as moving
    from simonides.api.migrate.spot_check import recalls
    from simonides.api.open.assemble import open_for_move

    async with open_for_move(source, target) as (one, other):
        with progress_bar("moving") as bar:
            return await moving.migrate(
                _movable(one.runtime.store),
                _movable(other.runtime.store),
                recalls=recalls(one, other),
                progress=_moved(bar),
            )


def _moved(bar: ProgressBar) -> Callable[[Progress], None]:
    """Return a callback that shows the progress of a migration."""
    labelled_at = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal labelled_at
        if time.monotonic() - labelled_at >= LABEL_EVERY_S:
            labelled_at = time.monotonic()
            bar.labelled(f"moving {progress.owner} ({progress.rows:,} rows so far)")
        bar.moved(progress.owners, progress.of)

    return show


def _movable(store: MemoryStore) -> MovableStore:
    from simonides.ports import Capability

    if Capability.MOVABLE not in store.capabilities:
        raise MoveRefused("unsupported", store.location, "this kind of store cannot be moved")
    return cast("MovableStore", store)


def _synced(context: typer.Context) -> Options:
    """Return the options with the one mode that these verbs are for."""
    chosen: Options = context.obj
    chosen.require_store(context)
    return replace(chosen, mode="synced")


def _register_principal(chosen: Options, store: Store) -> None:
    if chosen.user is not None or chosen.session is not None:
        chosen.memory(store)


def _scopes_of(chosen: Options, scopes: list[str] | None) -> list[str] | None:
    """Return the scopes to be exchanged: those named, else the principal's, else all."""
    if scopes or (chosen.user is None and chosen.session is None):
        return scopes or None
    from simonides.domain.scope import Principal

    principal = Principal.resolve(
        user=chosen.user, org=chosen.org, task=chosen.task, session=chosen.session
    )
    return [principal.home.owner.path]


def _sync_forever(chosen: Options, store: Store, scopes: list[str] | None, *, full: bool) -> None:
    """Exchange until somebody ends it; a remote that is away is waited for."""
    from simonides.settings import Settings

    every_s = Settings().sync_every_seconds
    try:
        while True:
            try:
                _show_sync(chosen, store.sync(scopes=scopes, full=full))
                full = False
            except StoreError as error:
                typer.echo(f"simonides: {error}", err=True)
            time.sleep(every_s)
    except KeyboardInterrupt:
        return


def _show_sync(chosen: Options, report: SyncReport) -> None:
    chosen.show(report, _sync_lines)


def _sync_lines(report: SyncReport) -> str:
    if not report.owners:
        return f"nobody is exchanged with {report.remote} yet; name a --user, or write something"
    return "\n".join(f"{owner.owner}  {_owner_sync(owner)}" for owner in report.owners)


def _owner_sync(owner: OwnerSync) -> str:
    parts = [f"{n:,} {SYNC_COUNTS[what]}" for what in SYNC_COUNTS if (n := getattr(owner, what))]
    parts += [f"{count:,} stay where they are: {why}" for why, count in owner.refused.items()]
    parts += ["erased, as it was there"] if owner.erased else []
    return ", ".join(parts) or "the same on both sides"


def _sync_standing(status: SyncStatus) -> str:
    lines = [f"remote  {status.remote}"]
    lines += [
        f"{path}  {count:,} revisions not seen there" if count else f"{path}  all seen there"
        for path, count in status.owners.items()
    ]
    return "\n".join([*lines, *([f"problem  {status.problem}"] if status.problem else [])])
