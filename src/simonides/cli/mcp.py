"""Commands that let assistants use this memory through MCP."""

# Annotations are values here: as texts, typer would evaluate each of them three times.
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from typer import Argument, Option

import simonides
from simonides.cli.commands import by_hand

KEPT = ("user", "org", "agent", "purpose")
"""Global options that the server gets. A store's address may hold a password and is none."""

Name = Annotated[
    str,
    Argument(
        metavar="CLIENT",
        help="claude-desktop, claude-code, cursor, vscode, codex, windsurf, or all that are here.",
    ),
]
Yes = Annotated[bool, Option("--yes", help="Write without asking.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show the change only.")]


@by_hand("mcp", "install")
def install(context: typer.Context, client: Name, yes: Yes = False, dry_run: DryRun = False) -> Any:
    """Let an assistant use this memory: show the change of its settings, ask, and write it."""
    from simonides.core.scope import principal_of
    from simonides.server.clients import entry_for

    named = context.find_root().params
    if not named["user"]:
        raise simonides.OwnerRequired("name the user that the assistant works for (user=…)")
    principal_of(**{name: named[name] for name in KEPT})  # a wrong name is an error now, not later
    options = [part for name in KEPT if named[name] for part in (f"--{name}", named[name])]
    if store := named["store"]:
        if "://" in store:
            problem = "an address may hold a password; set SIMONIDES_STORE for the assistant"
            raise simonides.InvalidInput("store", problem)
        options += ["--store", str(Path(store).absolute())]
    return _changed(context, client, entry_for(options), is_asked=not yes, is_dry=dry_run)


@by_hand("mcp", "uninstall")
def uninstall(
    context: typer.Context, client: Name, yes: Yes = False, dry_run: DryRun = False
) -> Any:
    """Take this memory out of the settings of an assistant, and leave the rest as it was."""
    return _changed(context, client, None, is_asked=not yes, is_dry=dry_run)


def _changed(
    context: typer.Context,
    client: str,
    entry: dict[str, Any] | None,
    *,
    is_asked: bool,
    is_dry: bool,
) -> dict[str, Any]:
    """Plan all changes, show them, ask, and write them; one that is refused stops all."""
    from simonides.core.settings import home
    from simonides.server.clients import apply, plan

    place, as_json = home(), context.find_root().params["json"]
    changes = [plan(name, place, entry) for name in _names(client, place)]
    is_needed = any(each.kind != "none" for each in changes) and not is_dry
    is_asked = is_asked and is_needed
    if is_asked or not as_json:
        lines = (line for each in changes for line in each.diff)
        _print(lines, sys.stderr if as_json else sys.stdout)
    if is_asked and not _is_agreed():
        return {"written": False}
    rows = [
        {"client": each.client, "change": each.kind, "path": str(each.path)} for each in changes
    ]
    if as_json:
        rows = [row | {"diff": "\n".join(c.diff)} for row, c in zip(rows, changes, strict=True)]
    if is_needed:
        for each in changes:
            apply(each)
    return {"written": is_needed, "clients": rows}


def _print(lines: Iterable[str], stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"  # a terminal may not know every character
    for line in lines:
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def _names(client: str, place: Any) -> list[str]:
    from simonides.server.clients import NAMES, clients

    if client in NAMES:
        return [client]
    if client != "all":
        raise simonides.InvalidInput("client", f"must be one of {', '.join(NAMES)}, or all")
    found = [name for name, each in clients(place).items() if each.folder.is_dir()]
    if not found:
        raise simonides.ConfigurationError(
            f"no client is installed here; name one of {', '.join(NAMES)}"
        )
    return found


def _is_agreed() -> bool:
    print("Write this? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
