"""Measures recall over one owner's memories: how much of the evidence is found, and how fast."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import simonides
from simonides.api.sync import Memory, Store
from simonides.domain.reading.recall import Recall
from simonides.domain.value import Value
from simonides.engine.recall import ReadJournal
from simonides.settings import Settings
from simonides.testing.bench.growth import Grown
from simonides.testing.bench.latency import Latency, timed
from simonides.testing.bench.questions import Question

RANKINGS: Mapping[str, Mapping[str, object]] = {
    "as set": {},
    "keywords only": {"fusion": "hybrid", "hybrid_weight": 0.0},
    "vectors only": {"fusion": "hybrid", "hybrid_weight": 1.0},
}
"""Rankings that are compared, by the settings that make them."""

DEPTH = 10
"""Hits that are looked at."""

FIRST_RECALLS = 5
"""Times that the store is opened, to measure the first recall of a process."""

Timer: TypeAlias = Callable[[], float]
"""Monotonic seconds."""

Enter: TypeAlias = Callable[[Store], Memory]
"""Returns the memory manager of the measured owner for an open store."""


@dataclass(frozen=True, slots=True)
class Quality(Value):
    """Quality of a ranking, as means over all questions.

    Attributes:
        ranking: Its name.
        recall_at_1: Share of the evidence in the first hit, 0 to 1.
        recall_at_5: The same for the first five.
        recall_at_10: The same for the first ten.
        mrr: Reciprocal rank of the first hit with evidence, 0 if none of ten has any.
        ndcg_at_10: Discounted cumulative gain over the best possible (Järvelin, Kekäläinen 2002),
            each piece of evidence worth the same.
    """

    ranking: str
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr: float
    ndcg_at_10: float


@dataclass(frozen=True, slots=True)
class BenchReport(Value):
    """The results of a benchmark.

    Attributes:
        store: Location of the store.
        owner: Path of the measured scope.
        memories: Number of memories visible to it.
        questions: Number of questions.
        judged: Whether the questions are the user's own; else they were made of the memories.
        quality: One for each ranking.
        latency: One for each timed call.
        growth: Latency over the size of an owner, if requested.
    """

    store: str
    owner: str
    memories: int
    questions: int
    judged: bool
    quality: tuple[Quality, ...]
    latency: tuple[Latency, ...]
    growth: tuple[Grown, ...] = ()


def measure(
    target: str | None,
    enter: Enter,
    questions: Sequence[Question],
    *,
    settings: Settings,
    timer: Timer = time.perf_counter,
) -> tuple[tuple[Quality, ...], tuple[Latency, ...]]:
    """Ask every question with every ranking, then time what an application does.

    Args:
        target: Path or URL of the store, as :func:`simonides.open` takes it; None for the default.
        enter: Returns the memory manager of the measured owner.
        questions: At least one.
        settings: The settings of the user's applications.
        timer: Gives seconds.

    Raises:
        ConfigurationError: If the settings do not fit.
        StoreError: If the store cannot be read.
    """
    quality, latency = [], []
    for name, changed in RANKINGS.items():
        ranked = settings.model_copy(update=changed)
        with simonides.open(target, mode="local", settings=ranked) as store:
            store.runtime.part(ReadJournal).mute()
            memory = enter(store)
            found = [memory.recall(question.text, limit=DEPTH) for question in questions]
            quality.append(judge(name, questions, found))
            if not changed:
                recalls = [partial(memory.recall, question.text) for question in questions]
                digests = [partial(memory.digest, question.text) for question in questions]
                latency += [timed("recall", recalls, timer), timed("digest", digests, timer)]
    first = [_first(target, enter, question, settings) for question in questions[:FIRST_RECALLS]]
    return tuple(quality), (timed("open and first recall", first, timer), *latency)


def _first(
    target: str | None, enter: Enter, question: Question, settings: Settings
) -> Callable[[], object]:
    def ask() -> object:
        with simonides.open(target, mode="local", settings=settings) as store:
            store.runtime.part(ReadJournal).mute()
            return enter(store).recall(question.text)

    return ask


def judge(name: str, questions: Sequence[Question], found: Sequence[Recall]) -> Quality:
    """Return the quality of a ranking.

    Args:
        name: Of the ranking.
        questions: At least one.
        found: Its hits for each question.
    """
    places = [
        [place for place, hit in enumerate(hits, start=1) if hit.record.id in question.evidence]
        for question, hits in zip(questions, found, strict=True)
    ]
    sizes = [len(question.evidence) for question in questions]
    pairs = list(zip(places, sizes, strict=True))

    def recall(depth: int) -> float:
        return _mean(sum(place <= depth for place in at) / size for at, size in pairs)

    return Quality(
        ranking=name,
        recall_at_1=recall(1),
        recall_at_5=recall(5),
        recall_at_10=recall(10),
        mrr=_mean(1 / min(at) if at else 0.0 for at in places),
        ndcg_at_10=_mean(_gain(at) / _gain(range(1, min(size, DEPTH) + 1)) for at, size in pairs),
    )


def _gain(places: Sequence[int]) -> float:
    return sum(1 / math.log2(place + 1) for place in places)


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)
