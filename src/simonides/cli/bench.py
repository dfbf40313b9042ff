"""Commands that measure recall on the user's own memories, and the demo.

``bench`` prints tables of quality and latency. ``demo`` plays two sessions over one store file,
each in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simonides
from simonides.cli.options import Options, lines_of, options_of, refuse_if
from simonides.domain.errors import InvalidInput
from simonides.domain.memory import Record

if TYPE_CHECKING:
    from rich.table import Table

    from simonides.settings import Settings
    from simonides.testing.bench import BenchReport, Grown, Question

FIRST_TURN = (
    "For future incident updates, write in English, keep replies concise, use email as the "
    "primary channel, and remember that I am enterprise tier."
)
SECOND_TURN = "Draft an update on the payment incident: card payments fail for some customers"
AUDITED_QUERY = "where should incident updates go?"


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
    from simonides.engine.recall import MAX_LISTED
    from simonides.settings import Settings
    from simonides.testing.bench import BenchReport, check_plot, measure, plot

    chosen = options_of(context)
    if plot_to is not None:
        if growth is None:
            raise InvalidInput("--plot", "needs --growth N, the largest size to draw")
        check_plot(plot_to)
    with _target(chosen, transcript) as target:
        settings = Settings()
        with simonides.open(target, mode="local", settings=settings) as opened:
            memory = chosen.memory(opened)
            owner, memories = chosen.owner_path(), memory.list(limit=MAX_LISTED)
        asked = _questions(questions, queries, memories)
        quality, latency = measure(target, chosen.memory, asked, settings=settings)
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
    chosen.show(report, _tables)
    if plot_to is not None:
        plot(grown, plot_to)


def demo(
    context: typer.Context,
    keep: Annotated[Path | None, typer.Option(help="Keep the store here.")] = None,
) -> None:
    """Remember in one process, apply in another: two sessions over one file."""
    del context
    refuse_if(not _play(keep))


@contextmanager
def _target(chosen: Options, transcript: Path | None) -> Iterator[str | None]:
    """Give the store that is measured: the one that was named, or one of a transcript alone."""
    if transcript is None:
        yield chosen.store
        return
    with tempfile.TemporaryDirectory(prefix="simonides-bench-") as folder:
        path = str(Path(folder) / "transcript.db")
        with simonides.open(path, mode="local") as store:
            chosen.memory(store).data.import_from(transcript, learn=False)
        yield path


def _questions(file: Path | None, queries: int, memories: Sequence[Record]) -> tuple[Question, ...]:
    from simonides.testing.bench import known_items, read_questions

    if file is not None:
        return read_questions(lines_of(file), memories)
    made = known_items(memories, queries)
    if not made:
        raise InvalidInput(
            "store", "no memory here has words enough to ask for; try --transcript FILE"
        )
    return made


def _grown(
    memories: Sequence[Record],
    asked: tuple[Question, ...],
    growth: int,
    settings: Settings,
) -> tuple[Grown, ...]:
    from simonides.testing.bench import grow

    texts, queries = [memory.content for memory in memories], [one.text for one in asked]
    made = []
    for grown in grow(texts, queries, growth, settings=settings):
        typer.echo(f"timed at {grown.memories:,} memories", err=True)
        made.append(grown)
    return tuple(made)


def _tables(report: BenchReport) -> str:
    """Return a table each for quality, latency and growth, as wide as the terminal."""
    # Imported here: rich takes longer to import than most commands take to run.
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    with console.capture() as captured:
        asked = "your questions" if report.judged else "questions of half their own words"
        console.print(f"{report.memories:,} memories of {report.owner}, {report.questions} {asked}")
        console.print(_quality(report))
        console.print(_latency(report))
        if report.growth:
            console.print(_growth(report))
    return captured.get().rstrip()


def _quality(report: BenchReport) -> Table:
    table = _table("ranking", "recall@1", "recall@5", "recall@10", "MRR", "nDCG@10")
    for one in report.quality:
        found = (one.recall_at_1, one.recall_at_5, one.recall_at_10, one.mrr, one.ndcg_at_10)
        table.add_row(one.ranking, *(f"{value:.3f}" for value in found))
    return table


def _latency(report: BenchReport) -> Table:
    table = _table("ms", "calls", "p50", "p95", "worst")
    for one in report.latency:
        times = (f"{value:.2f}" for value in (one.p50, one.p95, one.worst))
        table.add_row(one.name, str(one.calls), *times)
    return table


def _growth(report: BenchReport) -> Table:
    table = _table("memories", *(f"{one.name} p50 / p95" for one in report.growth[0].latency))
    for grown in report.growth:
        cells = (f"{one.p50:.2f} / {one.p95:.2f}" for one in grown.latency)
        table.add_row(f"{grown.memories:,}", *cells)
    return table


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _play(keep: Path | None) -> bool:
    """Play both sessions, each in a process of its own; returns whether all went well."""
    with tempfile.TemporaryDirectory() as temporary:
        store = str(keep or Path(temporary) / "demo.db")
        steps = (
            (
                "Session 1, first process. The user says:",
                FIRST_TURN,
                ("agent", "capture", FIRST_TURN),
            ),
            ("What is stored now, and on what grounds:", "", ("list",)),
            ("What would be recalled, and why:", AUDITED_QUERY, ("recall", AUDITED_QUERY)),
            (
                "Session 2, second process. The user asks:",
                SECOND_TURN,
                ("agent", "answer", SECOND_TURN),
            ),
            ("Who wrote what, proved by the chain of audit events:", "", ("admin", "check-audit")),
        )
        return all(_play_step(title, said, store, verb) for title, said, verb in steps)


def _play_step(title: str, said: str, store: str, verb: tuple[str, ...]) -> bool:
    typer.echo(f"\n── {title}")
    if said:
        typer.echo(f"   “{said}”\n")
    session = "session-1" if "capture" in verb else "session-2"
    # Both sessions are over one file, whatever mode is set for other stores.
    chosen = ["--mode", "local", "--store", store, "--user", "ana"]
    command = [sys.executable, "-m", "simonides", *chosen]
    done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [*command, "--session", session, *verb],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    # That the store is new needs no telling here.
    shown = done.stdout if done.returncode == 0 else done.stdout + done.stderr
    typer.echo("\n".join(f"   {line}" for line in shown.splitlines()))
    return done.returncode == 0
