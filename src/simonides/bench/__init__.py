"""How good and how fast recall is on a user's own memories.

Nothing here writes to the store that is looked at: what needs writing is done in a temporary one.
"""

from simonides.bench.growth import GROWTH, Grown, check_plot, grow, plot
from simonides.bench.latency import Latency
from simonides.bench.measure import RANKINGS, BenchReport, Quality, measure
from simonides.bench.questions import Question, known_items, read_questions

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
