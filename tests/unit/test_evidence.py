"""The evidence of the default ranking: what each piece says, in whatever order rows lie."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simonides
import simonides.engine.recall.reader as reading
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.reading.recall import Hit
from simonides.retrieval.query.pool import Pool
from simonides.retrieval.ranking.calibration import relevance
from simonides.retrieval.ranking.evidence import (
    NAMES,
    Weights,
    gather_evidence,
    weighed,
)
from simonides.retrieval.ranking.fusion import Fusion, fuse
from simonides.retrieval.ranking.signals import Signals
from simonides.retrieval.ranking.versions import newest_first
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.text.analyser import analyse
from simonides.text.questions.intent import (
    Ago,
    Form,
    Mark,
    Question,
    SaidDate,
    marks,
    read_question,
)

DAY = datetime(2024, 3, 1, 9, tzinfo=UTC)
TALK = (
    ("Ana", "Hi Ben! How was your weekend?"),
    ("Ben", "Great, I ran the Lisbon marathon on Saturday."),
    ("Ana", "Wow! How many people took part?"),
    ("Ben", "Twelve thousand. My sister cheered."),
    ("Ana", "I painted the kitchen instead."),
    ("Ben", "Which colour?"),
    ("Ana", "A light green, like the one in your garden."),
    ("Ben", "Send a picture, please."),
    ("Ana", "Here it is."),
    ("Ben", "Lovely."),
    ("Ana", "Did your sister run the marathon too?"),
    ("Ben", "No, she hurt her knee last month."),
)


def recalling(drafts: Sequence[simonides.Draft]) -> Memory:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    memory = Store(core).memory(user="ana")
    memory.remember_many(drafts)
    return memory


def turns(said: Sequence[tuple[str, str]] = TALK, session: str = "s") -> list[simonides.Draft]:
    return [
        simonides.Draft(
            text,
            kind="episodic",
            category="turn",
            session=session,
            turn=place,
            speaker=speaker,
            at=DAY + timedelta(minutes=place),
        )
        for place, (speaker, text) in enumerate(said)
    ]


def best(memory: Memory, question: str, limit: int = 12) -> tuple[Hit, ...]:
    return tuple(memory.recall(question, limit=limit))


def by_text(hits: Sequence[Hit]) -> dict[str, Hit]:
    return {hit.record.content: hit for hit in hits}


def test_a_turn_after_a_question_that_matches_is_an_answer() -> None:
    hits = by_text(best(recalling(turns()), "How many people took part?"))

    assert hits["Twelve thousand. My sister cheered."].why["answers"] > 0
    assert hits["Lovely."].why["answers"] == 0


def test_whom_a_question_names_is_preferred_as_speaker() -> None:
    hits = by_text(best(recalling(turns()), "Which marathon did Ben run?"))

    assert hits[TALK[1][1]].why["speaker"] == Weights().speaker
    assert hits[TALK[10][1]].why["speaker"] == 0
    assert hits[TALK[1][1]].why["own_words"] == Weights().own_words


def test_what_is_so_of_all_rows_makes_none_of_them_relevant() -> None:
    boat = ("Ana", "I bought a boat called Albatross.")
    facts = [simonides.Draft("I prefer aisle seats"), simonides.Draft("Porto", key="location")]
    memory = recalling([*facts, *turns([boat])])

    hits = memory.recall("seat", min_relevance=0.75)

    assert [hit.record.content for hit in hits] == ["I prefer aisle seats"]
    assert "own_words" not in hits[0].why


def test_a_question_that_names_nobody_or_everybody_prefers_no_speaker() -> None:
    memory = recalling(turns())

    for question in ("Who ran the marathon?", "What did Ana and Ben paint?"):
        assert all("speaker" not in hit.why for hit in best(memory, question))


def test_who_asks_of_himself_means_what_the_user_said() -> None:
    said = [("assistant", "Your vault code is 1234."), ("user", "I keep a vault in Basel.")]
    hits = by_text(best(recalling(turns(said)), "Where do I keep my vault?"))

    assert hits[said[1][1]].why["speaker"] > hits[said[0][1]].why["speaker"] == 0


def test_what_has_no_speaker_counts_as_that_of_whom_it_names() -> None:
    facts = [simonides.Draft("Ben owns a cabin"), simonides.Draft("The cabin was sold")]
    hits = by_text(best(recalling([*turns(), *facts]), "Does Ben own a cabin?"))

    assert hits["Ben owns a cabin"].why["speaker"] == Weights().speaker
    assert hits["The cabin was sold"].why["speaker"] == 0


@pytest.mark.parametrize(
    ("question", "piece", "text"),
    [
        ("When did Ben run the marathon?", "time", TALK[1][1]),
        ("How many thousand cheered?", "number", TALK[3][1]),
        ("What did Ana paint on 1 March 2024?", "date", TALK[4][1]),
    ],
)
def test_the_kind_of_answer_that_is_wanted_counts(question: str, piece: str, text: str) -> None:
    hits = by_text(best(recalling(turns()), question))

    assert hits[text].why[piece] > 0


def test_the_best_turn_of_a_session_lifts_the_others_in_it() -> None:
    other = turns([("Ana", "The weather is fine."), ("Ben", "It is.")], "other")
    hits = by_text(best(recalling([*turns(), *other]), "Lisbon marathon", 14))

    session = {hits[text].why["session"] for _, text in TALK if text in hits}
    assert len(session) == 1


def test_of_two_versions_the_newer_comes_first_where_the_question_asks_how_it_stands() -> None:
    said = [
        *[("user", f"Let us talk about thing number {n} of the list.") for n in range(8)],
        ("user", "My budget for the sneakers is $600 this year, my sneakers budget is final."),
        ("assistant", "Noted."),
        ("user", "My budget for the sneakers is now $650."),
        *[("assistant", f"Thing {n} is fine.") for n in range(4)],
    ]
    memory = recalling(turns(said))

    now = best(memory, "What is my budget for the sneakers?", 2)
    then = best(memory, "What was my budget for the sneakers?", 2)

    assert now[0].record.content == said[10][1]
    assert "newest" in now[0].why
    assert "newest" not in then[0].why


def test_weights_name_every_piece_of_evidence() -> None:
    found = {name: np.ones(1) for name in NAMES}

    assert weighed(found, Weights()).keys() == found.keys()


def _watched(memory: Memory, question: str) -> tuple[Pool, Signals]:
    seen: list[Any] = []
    plain = reading.rank

    def watching(pool: Any, query: Any, *rest: Any, **named: Any) -> Any:
        seen.append((pool, query))
        return plain(pool, query, *rest, **named)

    reading.rank = watching
    try:
        memory.recall(question)
    finally:
        reading.rank = plain
    pool, query = seen[0]
    return pool, Signals(pool, query.term_ids, query.vector, query.question, 0, 30.0)


def _by_content(pool: Pool, values: Any) -> dict[str, bytes]:
    return {pool.memory(slot).content: values[slot].tobytes() for slot in range(len(pool))}


QUESTIONS = (
    "When did Ben run the Lisbon marathon?",
    "How many people took part on 1 March?",
    "What is Ana's kitchen like now? I forgot the colour.",
    "sister knee marathon",
    "Hello Ben. What is next for the marathon, now that your sister is fine?",
    "I painted my kitchen because I was tired of the old colour.",
    "绿茶",
    "",
)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(len(TALK))), st.sampled_from(QUESTIONS))
def test_no_order_of_rows_changes_any_piece_of_evidence(places: list[int], question: str) -> None:
    drafts = turns()
    straight = _watched(recalling(drafts), question)
    shuffled = _watched(recalling([drafts[place] for place in places]), question)

    pieces = [gather_evidence(pool, signals) for pool, signals in (straight, shuffled)]
    assert pieces[0].keys() == pieces[1].keys()
    for name in pieces[0]:
        told = [
            _by_content(pool, piece[name])
            for (pool, _), piece in zip((straight, shuffled), pieces, strict=True)
        ]
        assert told[0] == told[1], name
    fused = [
        _by_content(pool, fuse(pool, signals, Fusion())[1])
        for pool, signals in (straight, shuffled)
    ]
    assert fused[0] == fused[1]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(QUESTIONS), st.integers(0, len(TALK)))
def test_cues_lie_between_0_and_1_and_position_is_never_negative(question: str, many: int) -> None:
    pool, signals = _watched(recalling(turns()[:many]), question)
    found = gather_evidence(pool, signals)

    for name, values in found.items():
        assert len(values) == len(pool)
        assert np.isfinite(values).all()
        if name in {"speaker", "own_words", "time", "number", "date", "recency", "reasons"}:
            assert ((values >= 0) & (values <= 1)).all()
        if name in {"pairs", "neighbours", "answers"}:
            assert (values >= 0).all()


@given(st.lists(st.floats(-5, 12, width=32), min_size=1, max_size=len(TALK)))
@settings(max_examples=50, deadline=None)
def test_relevance_lies_between_0_and_1_and_keeps_the_order_of_evidence(
    scores: list[float],
) -> None:
    pool, signals = _watched(recalling(turns()[: len(scores)]), "Lisbon marathon")
    total = np.array(scores)

    found = relevance(pool, signals, total, Fusion().calibration)
    lifts = newest_first(pool, total)

    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(total)]) >= 0).all()
    assert (lifts >= 0).all()


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("When did Ana move?", Question(wants_time=True)),
        ("What day did Ana move?", Question(wants_time=True)),
        ("How many cats were there?", Question(wants_number=True)),
        ("How much is the rent?", Question(wants_number=True, wants_latest=True)),
        ("What's the current rent?", Question(wants_latest=True)),
        ("What is the latest rent?", Question(wants_latest=True, wants_lately=True)),
        ("Where is the key?", Question(wants_latest=True)),
        ("What was the first rent?", Question()),
        ("Where did I put it?", Question(of_self=True)),
        ("I moved to Bern.", Question(of_self=True, form=Form.REMARK)),
        ("I moved to Bern, as you said.", Question(of_self=True, form=Form.MESSAGE)),
        ("That helped us. Show our plan?", Question(of_self=True, form=Form.MESSAGE)),
        ("Copy that. I will log it.", Question(of_self=True, form=Form.MESSAGE)),
        ("Okay, I packed.", Question(of_self=True, form=Form.MESSAGE)),
        ("Please cancel it", Question(form=Form.MESSAGE)),
        ("What did we say last time?", Question(of_self=True, wants_lately=True)),
        ("kubernetes deploy", Question()),
        ("Did Dr. Lee call me?", Question(of_self=True)),
        ("on 7 May 2023", Question(dates=(SaidDate(2023, 5, 7),))),
        ("in June", Question(dates=(SaidDate(None, 6, None),))),
        ("on March 3rd, 2022", Question(dates=(SaidDate(2022, 3, 3),))),
        ("since 2024-02-29", Question(dates=(SaidDate(2024, 2, 29),))),
        ("on 21.01.2024", Question(dates=(SaidDate(2024, 1, 21),))),
        ("on 7 Jan 2024", Question(dates=(SaidDate(2024, 1, 7),))),
        ("on Sept 3rd", Question(dates=(SaidDate(None, 9, 3),))),
        ("in dec 2023", Question(dates=(SaidDate(2023, 12, None),))),
        ("with Jan and Mar", Question()),
        ("in version 1.2.3", Question()),
        ("What rained yesterday?", Question(wants_lately=True, ago=Ago(1, "day"))),
        ("Who called two weeks ago?", Question(ago=Ago(2, "week"))),
        ("Who called a couple of months ago?", Question(ago=Ago(2, "month"))),
        ("Who called last year?", Question(ago=Ago(1, "year"))),
        ("Who called long ago?", Question()),
        ("ago", Question()),
        ("on 2023-02-30", Question()),
        ("She may march", Question()),
        ("绿茶", Question()),
        ("", Question()),
        ("\ud800", Question()),
    ],
)
def test_what_a_question_asks_for(text: str, asked: Question) -> None:
    assert read_question(text)._replace(date_terms=frozenset()) == asked


@given(st.text())
def test_any_text_can_be_a_question_and_have_marks(text: str) -> None:
    assert isinstance(read_question(text), Question)
    assert 0 <= marks(text, analyse(text)) < 128


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Any plans?", Mark.ASKS),
        ("去哪里？", Mark.ASKS),
        ("I'm tired", Mark.SELF),
        ("Twelve dozen", Mark.NUMBER),
        ("Room 7", Mark.NUMBER),
        ("It was yesterday", Mark.TIME),
        ("Because of the rain", Mark.WHY),
        ("Lovely.", Mark(0)),
    ],
)
def test_what_a_text_has(text: str, mark: Mark) -> None:
    assert marks(text, analyse(text)) == mark
