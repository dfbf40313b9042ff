"""Looking for secrets and personal data, in a text or in what is stored."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli.options import Options, refuse_if
from simonides.domain.errors import InvalidInput
from simonides.domain.hygiene import Action
from simonides.domain.trust import Source

if TYPE_CHECKING:
    from simonides.domain.scanning import Scan, Seen, StoreScan


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(scan)


def scan(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(help="A text; - reads it from standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A file in UTF-8 instead.")] = None,
    source: Annotated[
        str, typer.Option(help="Whose words these are: external for what was fetched.")
    ] = Source.USER_STATED.value,
    memories: Annotated[
        bool, typer.Option("--memories", help="What is stored of the user instead.")
    ] = False,
    store_wide: Annotated[
        bool, typer.Option("--store-wide", help="What is stored of everybody instead.")
    ] = False,
) -> None:
    """Say what hygiene finds, and what policy does about it; ends with 1 if anything is blocked."""
    if sum((text is not None, file is not None, memories, store_wide)) != 1:
        raise InvalidInput("scan", "give one of a text, --file, --memories and --store-wide")
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        if store_wide:
            found = strata.admin(by="scan").scan(org=chosen.org)
        elif memories:
            found = chosen.manager(strata).scan_memories()
        else:
            said = chosen.manager(strata).scan(_text(text, file), source=source)
            chosen.show(said, _of_text)
            refuse_if(said.action is Action.BLOCK)
            return
    chosen.show(found, _of_store)
    refuse_if(any(each.action is Action.BLOCK for memory in found.found for each in memory.seen))


def _text(text: str | None, file: Path | None) -> str:
    try:
        if file is not None:
            return file.read_text("utf-8")
        return sys.stdin.read() if text in (None, "-") else str(text)
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise InvalidInput("file", f"{file or 'standard input'}: {problem}") from error


def _of_text(value: Scan) -> str:
    lines = [_line(each) for each in value.seen]
    return "\n".join((*lines, f"as a memory: {value.action}")) if lines else "nothing found"


def _of_store(value: StoreScan) -> str:
    lines = []
    for memory in value.found:
        lines.append(f"{memory.id}  {memory.status}  {memory.owner}")
        lines += [f"  {_line(each)}" for each in memory.seen]
    lines += [f"{count:>6}  {mark}" for mark, count in value.counts.items()]
    return "\n".join((*lines, f"{len(value.found)} of {value.looked_at} memories"))


def _line(value: Seen) -> str:
    found = value.finding
    place = f"{found.field} {found.start}-{found.end}"
    return f"{found.mark:<28} {found.severity:<10} {place:<20} {value.action}"
