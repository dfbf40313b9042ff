"""What is meant for the conversation, and what for one answer of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.capture.cues import lasts_for_session, within_session


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("For this session, answer in French.", "answer in French."),
        ("Answer in French in this conversation only.", "Answer in French ."),
        ("Just for the rest of this chat keep it short.", "keep it short."),
        ("Throughout our discussion use metric units.", "use metric units."),
        ("I book a session for this trip.", "I book a session for this trip."),
        ("This session is dull.", "This session is dull."),
    ],
)
def test_the_words_that_limit_a_statement_to_the_session_are_blank(said: str, meant: str) -> None:
    blank = within_session(said)

    assert len(blank) == len(said), "places stay as they are"
    assert " ".join(blank.split()) == meant


@pytest.mark.parametrize(
    "said",
    ["Reply in French for now.", "Today keep it short.", "Use bullets until I say otherwise."],
)
def test_for_now_lasts_until_the_talk_is_over(said: str) -> None:
    assert lasts_for_session(said)


@pytest.mark.parametrize(
    "said",
    [
        "Just this once, reply in French.",
        "Reply in French for this answer, today.",
        "Reply in French.",
        "Todays are not tonights.",
    ],
)
def test_one_answer_is_not_the_talk(said: str) -> None:
    assert not lasts_for_session(said)


@given(st.text(max_size=200))
def test_any_text_keeps_its_length(said: str) -> None:
    assert len(within_session(said)) == len(said)
