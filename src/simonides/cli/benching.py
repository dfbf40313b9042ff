"""The verb that measures recall on a user's own memories."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simonides
from simonides.cli.options import Options
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Memory

if TYPE_CHECKING:
    from simonides.bench import Grown, Question
    from simonides.settings import Settings


def bench(
    context: typer.Context,
    questions: Annotated[
        Path | None, typer.Option(help="Your questions, JSON Lines; else made of the memories.")
    ] = None,
    transcript: Annotated[
        Path | None, typer.Option(help="Measure on this transcript, not on the store.")
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Questions to make.")] = 200,
    growth: Annotated[
        int | None, typer.Option(help="Time owners of up to so many memories, too.")
    ] = None,
    plot_to: Annotated[
        Path | None, typer.Option("--plot", help="Draw latency against size, as PNG.")
    ] = None,
) -> None:
    """Measure how well and how fast your own memories are found; the store stays as it is."""
    from simonides.bench import BenchReport, check_plot, measure, plot
    from simonides.cli.bench_tables import tables
    from simonides.manager.asking import MAX_LISTED
    from simonides.settings import Settings

    chosen: Options = context.obj
    if plot_to is not None:
        if growth is None:
            raise InvalidInput("--plot", "needs --growth N, the largest size to draw")
        check_plot(plot_to)
    with _target(chosen, transcript) as target:
        settings = Settings()
        with simonides.open(target, mode="local", settings=settings) as strata:
            manager = chosen.manager(strata)
            owner, memories = manager.principal.home.path, manager.list(limit=MAX_LISTED)
        asked = _questions(questions, queries, memories)
        quality, latency = measure(target, chosen.manager, asked, settings=settings)
    grown = () if growth is None else _grown(memories, asked, growth, settings)
    report = BenchReport(
        store="a temporary file" if transcript is not None else str(chosen.store or settings.store),
        owner=owner,
        memories=len(memories),
        questions=len(asked),
        judged=questions is not None,
        quality=quality,
        latency=latency,
        growth=grown,
    )
    chosen.show(report, tables)
    if plot_to is not None:
        plot(grown, plot_to)


@contextmanager
def _target(chosen: Options, transcript: Path | None) -> Iterator[str | None]:
    """Give the store that is measured: the one that was named, or one of a transcript alone."""
    from simonides.cli.importing import import_file

    if transcript is None:
        yield chosen.store
        return
    with tempfile.TemporaryDirectory(prefix="simonides-bench-") as folder:
        path = str(Path(folder) / "transcript.db")
        with simonides.open(path, mode="local") as strata:
            import_file(chosen.manager(strata), transcript)
        yield path


def _questions(file: Path | None, queries: int, memories: Sequence[Memory]) -> tuple[Question, ...]:
    from simonides.bench import known_items, read_questions
    from simonides.cli.importing import lines_of

    if file is not None:
        return read_questions(lines_of(file), memories)
    made = known_items(memories, queries)
    if not made:
        raise InvalidInput(
            "store", "no memory here has words enough to ask for; try --transcript FILE"
        )
    return made


def _grown(
    memories: Sequence[Memory],
    asked: tuple[Question, ...],
    growth: int,
    settings: Settings,
) -> tuple[Grown, ...]:
    from simonides.bench import grow

    texts, queries = [memory.content for memory in memories], [one.text for one in asked]
    made = []
    for grown in grow(texts, queries, growth, settings=settings):
        typer.echo(f"timed at {grown.memories:,} memories", err=True)
        made.append(grown)
    return tuple(made)
