"""Commands that are no method of a memory: database, keys, policy file, agent, synchronisation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import simonides
from simonides.cli.options import (
    Options,
    ProgressBar,
    options_of,
    progress_bar,
    refuse_if,
)
from simonides.domain.errors import MoveRefused, StoreError

if TYPE_CHECKING:
    from simonides.api.agent import AgentResult
    from simonides.api.migrate.migrate import Migration, Progress
    from simonides.api.sync import Agent, Store
    from simonides.domain.errors import PolicyInvalid
    from simonides.ports import MemoryStore, MovableStore

POLICY_SUFFIXES = (".yaml", ".yml", ".json")

LABEL_EVERY_S = 1.0
"""Seconds between new labels. Without a terminal each new label is a line of the log."""

Scopes = Annotated[
    list[str] | None, typer.Option("--scope", help="Only its owner, by path; may be repeated.")
]


def init_database(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="postgresql://… of the role that owns the tables.")],
    app_role: Annotated[str, typer.Option(help="The role that the application connects as.")],
) -> None:
    """Create or migrate the tables of a PostgreSQL store and give a role its rights."""
    from simonides.api.open.store import init_database
    from simonides.cli.render import fields

    location, ran = init_database(url, app_role)
    prepared = {"database": location, "role": app_role, "migrations": ran}
    options_of(context).show(prepared, fields)


def migrate(
    context: typer.Context,
    source: Annotated[str, typer.Option("--from", help="Path or URL of the store to move.")],
    target: Annotated[str, typer.Option("--to", help="Path or URL of an empty store.")],
) -> None:
    """Move a whole store to another; run it again after an interruption."""
    from simonides.cli.reports import migration

    chosen = options_of(context)
    chosen.require_store(context, simonides.Settings())
    chosen.show(asyncio.run(_migrate(source, target)), migration)


def new_key(
    name: Annotated[str, typer.Argument(help="Name of the key, 2026-11 for example.")],
) -> None:
    """Print a new key as a line of a key ring; it is stored nowhere."""
    from simonides.api.open.assemble import new_key

    typer.echo(new_key(name))


def check_policy(context: typer.Context, file: Annotated[Path, typer.Argument()]) -> None:
    """Check a policy file, or a directory of them."""
    from simonides.cli.render import fields

    found = _policy_problems(file)
    for problem in found:
        typer.echo(f"simonides: {problem}", err=True)
    refuse_if(bool(found))
    options_of(context).show(_policy_summary(file), fields)


def agent_capture(context: typer.Context, message: Annotated[str, typer.Argument()]) -> None:
    """Let the reference agent store what a message gives to remember."""
    _run_agent(context, lambda agent: agent.capture(message))


def agent_answer(context: typer.Context, request: Annotated[str, typer.Argument()]) -> None:
    """Let the reference agent answer a request with what is remembered."""
    _run_agent(context, lambda agent: agent.answer(request))


def sync(
    context: typer.Context,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Exchange again and again, until interrupted.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Compare everything, not only changes.")
    ] = False,
    scope: Scopes = None,
) -> None:
    """Exchange with the remote: --user or --session if named, else all owners of this replica."""
    from simonides.cli.reports import sync_report

    chosen = _synced(context)
    with chosen.open(context) as store:
        named = scope or _own_scope(chosen, store)
        while True:
            try:
                chosen.show(store.sync(scopes=named, full=full), sync_report)
                full = False
            except StoreError as error:
                if not repeat:
                    raise
                typer.echo(f"simonides: {error}", err=True)
            if not repeat:
                return
            time.sleep(simonides.Settings().sync_every_seconds)


def sync_status(context: typer.Context) -> None:
    """Show what the remote has not seen, without asking it."""
    from simonides.cli.reports import sync_status

    chosen = _synced(context)
    with chosen.open(context) as store:
        _own_scope(chosen, store)
        chosen.show(store.sync_status(), sync_status)


def _synced(context: typer.Context) -> Options:
    """Return the options with the one mode in which a store has a remote."""
    chosen = options_of(context)
    chosen.require_store(context, simonides.Settings())
    return replace(chosen, mode="synced")


def _own_scope(chosen: Options, store: Store) -> list[str] | None:
    """Return the scope of the user or session that is named, and register it for exchange."""
    if chosen.user is None and chosen.session is None:
        return None
    chosen.memory(store)
    return [chosen.owner_path()]


def _run_agent(context: typer.Context, run: Callable[[Agent], AgentResult]) -> None:
    from simonides.cli.reports import agent

    chosen = options_of(context)
    with chosen.open(context) as store:
        result = run(store.agent(chosen.memory(store)))
    chosen.show(result, agent)
    refuse_if(result.status != "ok")


def _policy_problems(path: Path) -> tuple[PolicyInvalid, ...]:
    """Return everything that is wrong with a file, or with each file of a directory, by line."""
    from simonides.policy.file import problems_of

    is_folder = path.is_dir()
    files = (
        sorted(f for f in path.iterdir() if f.suffix in POLICY_SUFFIXES) if is_folder else [path]
    )
    return tuple(problem for file in files for problem in problems_of(file))


def _policy_summary(path: Path) -> dict[str, Any]:
    """Return version, hash and categories of a sound policy.

    Raises:
        PolicyInvalid: With file and line.
    """
    from simonides.policy import PolicyBook

    policy = PolicyBook(path).policy_for(None)
    return {
        "policy": policy.version,
        "hash": policy.hash,
        "categories": sorted(policy.categories),
    }


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
