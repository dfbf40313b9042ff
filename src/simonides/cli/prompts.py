"""Commands that show what a model would see: digest, search, receipts, documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides.cli import render
from simonides.cli.options import (
    Filter,
    Options,
    Scopes,
    json_of,
    refuse_if,
)
from simonides.domain.errors import InvalidInput
from simonides.domain.reading.document import citation
from simonides.domain.reading.receipt import Receipt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from simonides.api.sync import Store
    from simonides.domain.reading.document import SourceReport
    from simonides.domain.reading.recall import Recall

READ_FOLDERS_S = 600.0
"""How long folders may take to be read, in seconds; nobody asks twice on a command line."""

knowledge_app = typer.Typer(
    help="Documents: looked up, never remembered.", no_args_is_help=True, rich_markup_mode=None
)

Folders = Annotated[
    list[Path] | None,
    typer.Option("--folder", help="A folder of documents, besides SIMONIDES_KNOWLEDGE."),
]

ReceiptFile = Annotated[
    Path, typer.Argument(help="What `--json digest` or `--json recall` printed.")
]


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
    with chosen.open(context) as store:
        found = chosen.memory(store).digest(
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
    with chosen.open(context) as store:
        found = chosen.memory(store).push(about)
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
    with chosen.open(context) as store:
        found = chosen.memory(store).search_memory(query, layer, top_k)
    chosen.show(found, str)


def tool(context: typer.Context) -> None:
    """Show the definition of search_memory for a model, as JSON."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).search_tool()
    chosen.show(found, render.as_json)


def receipts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Of the newest.")] = 20,
) -> None:
    """Show what was put before a model, oldest first; with --json, for replay."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).receipts(limit=limit)
    chosen.show(found, render.receipts)


def verify(
    context: typer.Context,
    file: ReceiptFile,
    answer: Annotated[str, typer.Argument(help="A text that cites memories by their ids.")],
) -> None:
    """Check that what an answer cites was really shown, and shows in it."""
    chosen: Options = context.obj
    with chosen.open(context) as store:
        found = chosen.memory(store).verify(answer, _read_receipt(file))
    chosen.show(found, render.verification)
    refuse_if(not found.ok)


def replay(context: typer.Context, file: ReceiptFile) -> None:
    """Show again the digest or recall that a receipt is of, byte for byte."""
    chosen: Options = context.obj
    receipt = _read_receipt(file)
    recalled = receipt.page is None
    with chosen.open(context) as store:
        memory = chosen.memory(store)
        found = memory.replay_recall(receipt) if recalled else memory.replay(receipt)
    chosen.show(found, render.recall if recalled else str)
    typer.echo(f"simonides: {found.made}", err=True)


@knowledge_app.command("list")
def list_sources(context: typer.Context, folder: Folders = None) -> None:
    """Show the sources of documents, and what of them cannot be read; ends with 1 if one fails."""
    chosen: Options = context.obj
    with _open_with(context, folder) as store:
        found = chosen.memory(store).knowledge(within_s=READ_FOLDERS_S)
    chosen.show(found, _sources)
    refuse_if(any(source.problem for source in found))


@knowledge_app.command("search")
def search_knowledge(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    folder: Folders = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="At most this many.")] = 5,
) -> None:
    """Show the passages that serve a query, each with where it stands."""
    chosen: Options = context.obj
    with _open_with(context, folder) as store:
        memory = chosen.memory(store)
        memory.knowledge(within_s=READ_FOLDERS_S)
        found = memory.recall(query, layer="l3", limit=top_k)
    chosen.show(found, _passages)


def _open_with(
    context: typer.Context, folders: Sequence[Path] | None
) -> AbstractContextManager[Store]:
    chosen: Options = context.obj
    from simonides.settings import Settings

    settings = Settings()
    named = (*settings.knowledge, *(folders or ()))
    settings = settings.model_copy(update={"knowledge": named})
    return chosen.open(context, settings)


def _sources(values: Sequence[SourceReport]) -> str:
    lines = []
    for value in values:
        counted = f"{value.documents} documents, {value.passages} passages"
        if value.documents is None:
            counted = "asked anew each time"
        lines.append(f"{value.name}  {value.scope}  {value.problem or counted}")
        lines += [
            f"  skipped {each.location}: {each.reason}{f' ({each.advice})' if each.advice else ''}"
            for each in value.skipped
        ]
    return "\n".join(lines) or "no source of documents; name one with --folder"


def _passages(value: Recall) -> str:
    lines = []
    for rank, hit in enumerate(value, start=1):
        heading = str(hit.record.metadata.get("heading", ""))
        text = " ".join(hit.record.content.split())
        lines += [
            f"{rank:>2}. {hit.score:.3f}  {citation(hit.record)}{f'  ({heading})' * bool(heading)}",
            f"      {text[:300]}{'…' * (len(text) > 300)}",
            f"      careful: {', '.join(hit.warnings)}  {hit.record.id}",
        ]
    if value.degraded:
        lines.append(f"without: {', '.join(value.degraded)}")
    return "\n".join(lines) or render.NOTHING


def _read_receipt(file: Path) -> Receipt:
    try:
        raw: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(str(file), f"cannot be read as JSON: {error}") from error
    # A whole digest or recall has its receipt within.
    return Receipt.from_dict(raw.get("receipt", raw) if isinstance(raw, dict) else raw)
