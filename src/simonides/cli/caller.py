"""What commands share: the store, the memory of the caller, arguments as they were given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import typer

import simonides
from simonides.cli.client import IDENTITY

ADMINISTRATOR = "command-line"
"""Name of an administrator in the audit trail if --actor names none."""


@dataclass(frozen=True)
class Call:
    """Where a command runs.

    Attributes:
        out: Where the result goes.
        err: Where errors go.
        read: Reads standard input to its end.
        variables: Global options that variables of the caller give, where a resident runs it.
        lend: Lends the open store of a resident; None means that the command opens it.
    """

    out: TextIO
    err: TextIO
    read: Callable[[], bytes] = lambda: sys.stdin.buffer.read()
    variables: dict[str, str] | None = None
    lend: Callable[[], AbstractContextManager[simonides.Store]] | None = None


def open_store(context: typer.Context, *, is_brief: bool = True) -> simonides.Store:
    """Open the store; it is closed with the context, when the command has ended.

    One that a resident lends stays open.

    A conversation goes on with the next command, so closing does not end it.

    Args:
        context: Of the command.
        is_brief: Whether the command encodes few texts: onnxruntime then takes longer to load than
            it saves.
    """
    call: Call = context.find_root().obj
    if call.lend is not None:
        return context.with_resource(call.lend())
    from simonides.core.settings import server_named

    target, settings = context.find_root().params["store"], simonides.Settings(end_on_close=False)
    embedder = None
    if is_brief and server_named(target, settings) is None:
        from simonides.models import Encoder

        embedder = Encoder("numpy")
    return context.with_resource(simonides.open(target, settings=settings, embedder=embedder))


def memory(context: typer.Context) -> simonides.Memory:
    """Return the memory of the caller."""
    named = context.find_root().params
    return open_store(context).memory(**{name: named[name] for name in IDENTITY})


def lasting_memory(context: typer.Context, *, actor: str) -> simonides.Memory:
    """Return the memory of the caller, for a command that runs for long.

    Args:
        context: Of the command.
        actor: Its name in the audit trail if --actor names none.
    """
    from simonides.cli.resident import listening

    store, named = open_store(context, is_brief=False), context.find_root().params
    context.with_resource(listening(store))
    memory = store.memory(**{n: named[n] for n in IDENTITY} | {"actor": named["actor"] or actor})
    store._engine.worker.begin()
    return memory


def admin(context: typer.Context) -> simonides.Admin:
    """Return the administrator."""
    return open_store(context).admin(context.find_root().params["actor"] or ADMINISTRATOR)


def org(context: typer.Context, *, is_needed: bool) -> str | None:
    """Return the organisation that the caller names."""
    named: str | None = context.find_root().params["org"]
    if named is None and is_needed:
        raise simonides.InvalidInput("org", "name the organisation")
    return named


def given(context: typer.Context) -> dict[str, Any]:
    """Return the arguments of a command that were given or have a default."""
    params = context.params.items()
    return {name: v for name, v in params if name != "task_name" and v not in (None, ())}


@contextmanager
def progress_of(context: typer.Context) -> Iterator[Callable[[int], None]]:
    """Give a function that shows how many items are done, on one line of a terminal."""
    err, has_shown = context.find_root().obj.err, False

    def show(items: int) -> None:
        nonlocal has_shown
        if err.isatty():
            print(f"\r{items:,} items", end="", file=err, flush=True)
            has_shown = True

    yield show
    if has_shown:
        print(file=err)


def parsed(param: typer.CallbackParam, value: str | None) -> Any:
    """Return the value of a JSON option."""
    import json

    try:
        return None if value is None else json.loads(value)
    except (ValueError, RecursionError) as error:
        raise simonides.InvalidInput(str(param.name), f"is not valid JSON: {error}") from error


def read_argument(context: typer.Context, value: str | None) -> str | None:
    """Return the value of an argument; ``-`` means what stands on standard input."""
    if value != "-" or context.resilient_parsing:
        return value
    try:
        call: Call = context.find_root().obj
        return call.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"standard input is not UTF-8: {error}") from error
