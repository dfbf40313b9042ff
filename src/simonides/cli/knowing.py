"""Documents on the command line: which sources there are, and what they say (KN-1)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli.options import Options, refuse_if
from simonides.cli.render import NOTHING
from simonides.domain.knowledge import citation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from simonides.blocking import Strata
    from simonides.domain.knowledge import SourceReport
    from simonides.domain.recall import Recall

LONGEST_S = 600.0
"""How long folders may take to be read, in seconds; nobody asks twice on a command line."""

knowledge_app = typer.Typer(
    help="Documents: looked up, never remembered.", no_args_is_help=True, rich_markup_mode=None
)

Folders = Annotated[
    list[Path] | None,
    typer.Option("--folder", help="A folder of documents, besides SIMONIDES_KNOWLEDGE."),
]


@knowledge_app.command("list")
def list_sources(context: typer.Context, folder: Folders = None) -> None:
    """Show the sources of documents, and what of them cannot be read; ends with 1 if one fails."""
    chosen: Options = context.obj
    with _opened(context, folder) as strata:
        found = chosen.manager(strata).knowledge(within_s=LONGEST_S)
    chosen.show(found, _of_sources)
    refuse_if(any(source.problem for source in found))


@knowledge_app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    folder: Folders = None,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="At most this many.")] = 5,
) -> None:
    """Show the passages that serve a query, each with where it stands."""
    chosen: Options = context.obj
    with _opened(context, folder) as strata:
        manager = chosen.manager(strata)
        manager.knowledge(within_s=LONGEST_S)
        found = manager.recall(query, layer="l3", limit=top_k)
    chosen.show(found, _of_passages)


def _opened(
    context: typer.Context, folders: Sequence[Path] | None
) -> AbstractContextManager[Strata]:
    chosen: Options = context.obj
    from simonides.settings import Settings

    settings = Settings()
    named = (*settings.knowledge, *(folders or ()))
    settings = settings.model_copy(update={"knowledge": named})
    return chosen.open(context, settings)


def _of_sources(values: Sequence[SourceReport]) -> str:
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


def _of_passages(value: Recall) -> str:
    lines = []
    for rank, hit in enumerate(value, start=1):
        heading = str(hit.memory.metadata.get("heading", ""))
        text = " ".join(hit.memory.content.split())
        lines += [
            f"{rank:>2}. {hit.score:.3f}  {citation(hit.memory)}{f'  ({heading})' * bool(heading)}",
            f"      {text[:300]}{'…' * (len(text) > 300)}",
            f"      careful: {', '.join(hit.warnings)}  {hit.memory.id}",
        ]
    if value.degraded:
        lines.append(f"without: {', '.join(value.degraded)}")
    return "\n".join(lines) or NOTHING
