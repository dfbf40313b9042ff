"""Relevance can be compared between questions and stores: what a floor keeps and empties."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.retrieval.query.pool import Floats, Pool
from simonides.retrieval.ranking import calibration
from simonides.retrieval.ranking.calibration import (
    Calibration,
    Measures,
    log_odds_behind,
    measure,
)
from simonides.retrieval.ranking.signals import Signals
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

FLOOR = 0.75
DAY = datetime(2024, 3, 1, 9, tzinfo=UTC)
FACTS = (
    ("Deploys services to a Kubernetes cluster with Helm charts", ("k8s", "kube")),
    ("Uses Fastify for HTTP services rather than Express", ("Fastify",)),
    ("Frontend is React 18 with Tailwind", ("ReactJS",)),
    ("Failed messages go to a dead letter queue", ("DLQ",)),
    ("Uses Vitest for all testing", ("vitest",)),
)


def recalling(drafts: Sequence[simonides.Draft]) -> Memory:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    memory = Store(core).memory(user="ana")
    memory.remember_many(drafts)
    return memory


def turns(said: Sequence[str], *, apart: bool = False) -> list[simonides.Draft]:
    return [
        simonides.Draft(
            text,
            kind="episodic",
            category="turn",
            session=f"s{place}" if apart else "s",
            turn=place,
            speaker=("Ana", "Ben")[place % 2],
            at=DAY + timedelta(days=place),
        )
        for place, text in enumerate(said)
    ]


def relevance(memory: Memory, question: str, text: str) -> float:
    hits = {hit.record.content: hit for hit in memory.recall(question, limit=50)}
    return hits[text].why["relevance"]


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("what's my k8s deploy story?", 0),
        ("should I use Express or Fastify?", 1),
        ("how do we replay messages from the dead letter queue?", 3),
    ],
)
def test_a_handful_of_facts_answers_above_the_default_floor(question: str, place: int) -> None:
    memory = recalling([simonides.Draft(text, tags=tags) for text, tags in FACTS])

    found = [hit.record.content for hit in memory.recall(question, min_relevance=FLOOR)]

    assert found[:1] == [FACTS[place][0]]


def test_a_handful_of_facts_says_nothing_of_what_it_does_not_hold() -> None:
    memory = recalling([simonides.Draft(text, tags=tags) for text, tags in FACTS])

    for question in ("When did Melanie paint a sunrise?", "Which violinist plays on Sunday?"):
        assert not memory.recall(question, min_relevance=FLOOR)


def test_what_the_turns_around_hold_of_a_question_makes_an_answer_likelier() -> None:
    said = ["The marathon in Lisbon was hot.", "Ben ran in sandals.", "His medal is bronze."]
    question = "Which medal did Ben win at the hot marathon in Lisbon?"

    together = relevance(recalling(turns(said)), question, said[0])
    scattered = relevance(recalling(turns(said, apart=True)), question, said[0])

    assert together > scattered


def test_words_that_one_row_holds_together_make_an_answer_likelier_than_scattered_ones() -> None:
    question = "Which bronze medal did the runner from Lisbon win?"
    filler = [f"Nothing much to tell today, day {day}." for day in range(12)]
    together = ["Her bronze medal hangs there.", "A runner she knows is in Lisbon.", "Well."]
    scattered = ["Her medal hangs there.", "A runner she knows wears bronze.", "Lisbon."]

    found = [
        recalling(turns([*said, *filler])).recall(question)[0].why["relevance"]
        for said in (together, scattered)
    ]

    assert found[0] > found[1]


def test_relevance_tells_rows_apart_however_much_a_long_question_finds() -> None:
    said = [
        "我上个星期天和我的老朋友王小明一起去北京颐和园划船看荷花吃午饭拍照片",
        "我上个星期天和王小明去北京颐和园划船",
    ]
    filler = [f"今天第{number}次喝绿茶" for number in range(12)]
    memory = recalling([simonides.Draft(text) for text in [*said, *filler]])

    first, second = memory.recall(said[0] + "吗?", limit=2)

    assert 1.0 > first.why["relevance"] > second.why["relevance"]


def test_a_row_close_behind_the_best_is_nearly_as_relevant_and_an_average_one_is_not() -> None:
    odds = log_odds_behind(2.0, np.array([0.0, 0.2, 0.5, 1.0]), Calibration().nothing)

    assert odds.tolist() == sorted(odds, reverse=True)
    assert odds[0] == 2.0 > odds[1] > 1.8
    assert odds[2] < 1.0
    assert odds[3] == Calibration().nothing


@pytest.fixture
def covers(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """By how much each recall finds its question covered."""
    covers: list[float] = []

    def watching(pool: Pool, signals: Signals, total: Floats) -> Measures:
        covers.append(measure(pool, signals, total).cover)
        return measure(pool, signals, total)

    monkeypatch.setattr(calibration, "measure", watching)
    return covers


def test_a_date_in_the_question_is_covered_by_what_was_said_that_day(
    covers: list[float],
) -> None:
    said = [f"We talked about painting number {number}." for number in range(12)]
    memory = recalling(turns(said, apart=True))

    memory.recall("Which painting on 3 March 2024?")
    memory.recall("Which painting on 3 March 2019?")

    assert covers[0] == 1.0 > covers[1]


def test_of_few_rows_words_that_any_request_may_hold_are_hardly_missed(
    covers: list[float],
) -> None:
    memory = recalling([simonides.Draft("I prefer aisle seats")])

    memory.recall("could you please recommend a seat")
    memory.recall("accordion lessons and a seat")

    assert covers[0] > 0.6 > 0.4 > covers[1]
