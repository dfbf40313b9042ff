"""How a query speaks decides what is weighed: questions, messages and remarks."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.reading.recall import Hit
from simonides.retrieval.ranking.evidence import MESSAGE
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

DAY = datetime(2024, 3, 1, 9, tzinfo=UTC)
CHATTER = tuple(f"That sounds great, I am so happy for you, day {number}!" for number in range(12))


def recalling(drafts: Sequence[simonides.Draft]) -> Memory:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    memory = Store(core).memory(user="ana")
    memory.remember_many(drafts)
    return memory


def session(name: str, said: Sequence[str], day: int = 0) -> list[simonides.Draft]:
    return [
        simonides.Draft(
            text,
            kind="episodic",
            category="turn",
            session=name,
            turn=place,
            speaker=("Ana", "Ben")[place % 2],
            at=DAY + timedelta(days=day, minutes=place),
        )
        for place, text in enumerate(said)
    ]


def found(memory: Memory, query: str) -> dict[str, Hit]:
    return {hit.record.content: hit for hit in memory.recall(query, limit=50)}


def test_a_message_is_answered_from_the_session_that_its_words_are_spread_over() -> None:
    spread = ["The garden needs a plan.", "Roses, then.", "And a hedge.", "A pond too."]
    dense = ["Is there a plan for the garden?", "Not yet.", "Fine.", "See you."]
    memory = recalling([*session("spread", spread), *session("dense", dense)])

    hits = found(memory, "Hello. I drew the garden plan with roses, a hedge and a pond.")

    lifts = {text: hit.why["whole_session"] for text, hit in hits.items()}
    assert len({lifts[text] for text in spread if text in lifts}) == 1
    assert lifts[spread[1]] > lifts[dense[0]]


@pytest.mark.parametrize(
    ("query", "is_weighed"),
    [
        ("That helped. What is next for the garden?", True),
        ("That helped. Who planted the garden?", False),
        ("What is next for the garden?", False),
    ],
    ids=["message-that-asks", "message", "question"],
)
def test_what_was_said_lately_counts_only_where_a_message_asks_for_it(
    query: str, is_weighed: bool
) -> None:
    old, new = session("old", ["The garden is dry."]), session("new", ["The garden is wet."], 9)

    hits = found(recalling([*old, *new]), query)

    if is_weighed:
        assert hits["The garden is wet."].why["recency"] == MESSAGE.recency
        assert hits["The garden is wet."].why["recency"] > hits["The garden is dry."].why["recency"]
    else:
        assert all("recency" not in hit.why for hit in hits.values())


def test_a_remark_finds_the_reason_it_goes_back_to_without_a_word_in_common() -> None:
    aim = "I save every month because I want to see glaciers in Norway."
    memory = recalling([*session("talk", CHATTER), *session("aim", [aim])])

    hits = found(memory, "Booked flights to Oslo, my fjord cruise sails in June.")

    assert next(iter(hits)) == aim
    assert hits[aim].why["reasons"] > 0
    assert hits[CHATTER[0]].why["reasons"] == 0
    assert not {"neighbours", "pairs", "session"} & hits[aim].why.keys()


def test_where_nothing_was_said_turn_by_turn_every_query_is_read_as_a_question() -> None:
    memory = recalling([simonides.Draft(f"The {name} is old") for name in ("garden", "pond")])

    for query in ("I dug my garden.", "Hello. I dug my garden."):
        why = found(memory, query)["The garden is old"].why
        assert not {"reasons", "whole_session", "recency"} & why.keys()


def test_meaning_is_weighed_apart_from_what_all_memories_have_in_common() -> None:
    odd = "Our cat Miso has kidney trouble."
    memory = recalling([simonides.Draft(text) for text in (*CHATTER, odd)])

    hits = found(memory, "That is so great! Which animal is ill?")

    vectors = np.array([hits[text].why["vector"] for text in CHATTER])
    assert hits[odd].why["vector"] > vectors.max() + 0.5


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did Ana paint yesterday?", 29),
        ("What did Ana paint two weeks ago?", 16),
        ("What did Ana paint 29 days ago?", 1),
    ],
)
def test_how_long_ago_is_told_from_when_the_question_is_asked(question: str, day: int) -> None:
    clock = ManualClock(DAY + timedelta(days=30))
    core = assemble(":memory:", settings=Settings(), inline=True, clock=clock, ids=CountingIds())
    memory = Store(core).memory(user="ana")
    for each in (1, 16, 29):
        memory.remember_many(session(f"s{each}", [f"I did paint picture {each}."], each))

    best = memory.recall(question, limit=1)[0]

    assert best.record.content == f"I did paint picture {day}."
    assert best.why["date"] > 0
