"""Exchanging a replica with its remote: once, or for as long as this runs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli.options import Options
from simonides.domain.errors import StoreError

if TYPE_CHECKING:
    from simonides.blocking import Strata
    from simonides.domain.syncing import OwnerSync, SyncReport, SyncStatus

sync_app = typer.Typer(
    help="Exchange this replica with its remote.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

MEANINGS = {
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
    with chosen.open(context) as strata:
        _follow(chosen, strata)
        if once:
            _show(chosen, strata.sync(scopes=_named(chosen, scope), full=full))
            return
        _go_on(chosen, strata, _named(chosen, scope), full=full)


@sync_app.command()
def status(context: typer.Context) -> None:
    """Say what the remote has not seen, without asking it."""
    chosen = _synced(context)
    with chosen.open(context) as strata:
        _follow(chosen, strata)
        found = strata.sync_status()
    chosen.show(found, _standing)


def _synced(context: typer.Context) -> Options:
    """Return the options with the one mode that these verbs are for."""
    chosen: Options = context.obj
    chosen.require_store(context)
    return replace(chosen, mode="synced")


def _follow(chosen: Options, strata: Strata) -> None:
    if chosen.user is not None or chosen.session is not None:
        chosen.manager(strata)


def _named(chosen: Options, scopes: list[str] | None) -> list[str] | None:
    """Return the scopes to be exchanged: those named, else the principal's, else all."""
    if scopes or (chosen.user is None and chosen.session is None):
        return scopes or None
    from simonides.domain.scope import Principal

    principal = Principal.resolve(
        user=chosen.user, org=chosen.org, task=chosen.task, session=chosen.session
    )
    return [principal.home.owner.path]


def _go_on(chosen: Options, strata: Strata, scopes: list[str] | None, *, full: bool) -> None:
    """Exchange until somebody ends it; a remote that is away is waited for."""
    from simonides.settings import Settings

    every_s = Settings().sync_every_seconds
    try:
        while True:
            try:
                _show(chosen, strata.sync(scopes=scopes, full=full))
                full = False
            except StoreError as error:
                typer.echo(f"simonides: {error}", err=True)
            time.sleep(every_s)
    except KeyboardInterrupt:
        return


def _show(chosen: Options, report: SyncReport) -> None:
    chosen.show(report, _lines)


def _lines(report: SyncReport) -> str:
    if not report.owners:
        return f"nobody is exchanged with {report.remote} yet; name a --user, or write something"
    return "\n".join(f"{owner.owner}  {_told(owner)}" for owner in report.owners)


def _told(owner: OwnerSync) -> str:
    parts = [f"{n:,} {MEANINGS[what]}" for what in MEANINGS if (n := getattr(owner, what))]
    parts += [f"{count:,} stay where they are: {why}" for why, count in owner.refused.items()]
    parts += ["erased, as it was there"] if owner.erased else []
    return ", ".join(parts) or "the same on both sides"


def _standing(status: SyncStatus) -> str:
    lines = [f"remote  {status.remote}"]
    lines += [
        f"{path}  {count:,} revisions not seen there" if count else f"{path}  all seen there"
        for path, count in status.owners.items()
    ]
    return "\n".join([*lines, *([f"problem  {status.problem}"] if status.problem else [])])
