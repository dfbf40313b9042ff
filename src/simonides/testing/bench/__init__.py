"""Benchmarks of the command line."""

from simonides.testing.bench.growth import (
    GROWTH,
    Grown,
    check_plot,
    grow,
    plot,
)
from simonides.testing.bench.latency import Latency
from simonides.testing.bench.measure import (
    RANKINGS,
    BenchReport,
    Quality,
    measure,
)
from simonides.testing.bench.questions import Question, known_items, read_questions

__all__ = [
    "GROWTH",
    "RANKINGS",
    "BenchReport",
    "Grown",
    "Latency",
    "Quality",
    "Question",
    "check_plot",
    "grow",
    "known_items",
    "measure",
    "plot",
    "read_questions",
]
