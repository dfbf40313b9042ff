"""A measurement as tables for a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from simonides.bench import BenchReport


def tables(report: BenchReport) -> str:
    """Return a table each for quality, latency and growth, as wide as the terminal."""
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
    table = Table(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
