"""The verbs of the digest: one for a prompt, and what its receipt is good for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from simonides.cli import render
from simonides.cli.options import Filter, Options, Scopes, json_of, refuse_if
from simonides.domain.errors import InvalidInput
from simonides.domain.receipt import Receipt

Given = Annotated[Path, typer.Argument(help="What `--json digest` or `--json recall` printed.")]


def digest(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What the prompt is about.")],
    known_at: Annotated[str | None, typer.Option(help="As believed then, ISO 8601.")] = None,
    valid_at: Annotated[str | None, typer.Option(help="As true then, ISO 8601.")] = None,
    floor: Annotated[float | None, typer.Option(help="Least relevance; 0 for none.")] = None,
    max_items: Annotated[int | None, typer.Option(help="At most so many memories.")] = None,
    max_chars: Annotated[int | None, typer.Option(help="At most so many characters.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="At most so many tokens.")] = None,
    preferences: Annotated[
        bool, typer.Option("--preferences", help="Show preferences whatever is asked.")
    ] = False,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind.")] = None,
    scope: Scopes = None,
    filter: Filter = None,
) -> None:
    """Show the block of memories that belongs into a prompt about something."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).digest(
            query,
            known_at=known_at,
            valid_at=valid_at,
            floor=floor,
            max_items=max_items,
            max_chars=max_chars,
            max_tokens=max_tokens,
            preference_bias=preferences,
            kinds=kind,
            scopes=scope,
            filter=json_of("--filter", filter),
        )
    chosen.show(found, str)


def push(
    context: typer.Context,
    about: Annotated[str, typer.Argument(help="What the task or session is about.")] = "",
) -> None:
    """Show what goes before a model at the start of a task or session."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).push(about)
    chosen.show(found, str)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument()],
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", help="At most this many.")] = None,
    layer: Annotated[
        str,
        typer.Option(
            help="l2: memory; l1: the log of --session; l3: documents of SIMONIDES_KNOWLEDGE; all."
        ),
    ] = "l2",
) -> None:
    """Show what a model's search_memory would find, as the block that it would be given."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).search_memory(query, layer, top_k)
    chosen.show(found, str)


def tool(context: typer.Context) -> None:
    """Show the definition of search_memory for a model, as JSON."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).search_tool()
    chosen.show(found, render.as_json)


def receipts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Of the newest.")] = 20,
) -> None:
    """Show what was put before a model, oldest first; with --json, for replay."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).receipts(limit=limit)
    chosen.show(found, render.receipts)


def verify(
    context: typer.Context,
    file: Given,
    answer: Annotated[str, typer.Argument(help="A text that cites memories by their ids.")],
) -> None:
    """Check that what an answer cites was really shown, and shows in it."""
    chosen: Options = context.obj
    with chosen.open(context) as strata:
        found = chosen.manager(strata).verify(answer, _receipt(file))
    chosen.show(found, render.verification)
    refuse_if(not found.ok)


def replay(context: typer.Context, file: Given) -> None:
    """Show again the digest or recall that a receipt is of, byte for byte."""
    chosen: Options = context.obj
    receipt = _receipt(file)
    recalled = receipt.page is None
    with chosen.open(context) as strata:
        manager = chosen.manager(strata)
        found = manager.replay_recall(receipt) if recalled else manager.replay(receipt)
    chosen.show(found, render.recall if recalled else str)
    typer.echo(f"simonides: {found.made}", err=True)


def _receipt(file: Path) -> Receipt:
    try:
        raw: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(str(file), f"cannot be read as JSON: {error}") from error
    # A whole digest or recall has its receipt within.
    return Receipt.from_dict(raw.get("receipt", raw) if isinstance(raw, dict) else raw)
