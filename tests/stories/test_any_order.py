"""Conversations in any order of time: what may be said, in whatever order, breaks no prompt."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

import simonides.testing

SAID = [
    "My birthday is on 4 May", "Sorry, my birthday is on 3 May", "I live in Porto",
    "I have moved to Lisbon", "No, I meant Porto", "I work at Lidl", "I quit my job at Lidl",
    "I don't like black tea any more", "I like black tea again", "The review is on Friday",
    "The review has been moved to Monday", "Never book a middle seat",
    "You can book a middle seat again", "My name is Ana", "Call me Annie instead",
]  # fmt: skip

QUESTIONS = [
    "hello",
    "When is my birthday?",
    "Where do I live now?",
    "Book a seat",
    "What do I do?",
]

turns = st.tuples(st.sampled_from(SAID), st.integers(-400, 400))


@given(st.lists(turns, min_size=2, max_size=8), st.sampled_from(QUESTIONS))
def test_no_order_of_statements_breaks_a_prompt(said, question):
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    with simonides.testing.open(clock=simonides.testing.ManualClock(now)) as store:
        memory = store.memory(user="ana")
        for text, hours in said:
            memory.add(text, at=now + timedelta(hours=hours))
        digest = memory.digest(question)
        shown = [id for item in digest.items for id in item.ids]
        assert len(shown) == len(set(shown))
        memory.recall(question)
        memory.profile()
        memory.task("Plan the week").prompt()


def test_a_correction_stands_before_what_it_corrects_and_only_the_older_is_marked():
    with simonides.testing.open() as store:
        memory = store.memory(user="ana")
        memory.add("My birthday is on 4 May")
        memory.add("Sorry, my birthday is on 3 May")
        shown = memory.digest("When is my birthday?").items
        assert ["earlier" in item.marks for item in shown] == [False, True]
        assert "3 May" in shown[0].line
