"""Conversations in any order of time: what may be said, in whatever order, breaks no prompt."""

import re
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

KEYED = [("city", "Porto"), ("city", "Oslo"), ("language", "German"), ("allergy", "nuts")]
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)

hours = st.integers(-400, 400)
turns = st.tuples(st.just("add"), st.sampled_from(SAID), hours)
told = st.tuples(st.just("remember"), st.sampled_from(KEYED), hours)
changes = st.tuples(st.sampled_from(["correct", "forget"]), st.integers(0, 9), hours)


def done(memory, verb, what, at):
    """Carry out a step; a correction or deletion concerns one of what is there."""
    if verb == "add":
        memory.add(what, at=at)
    elif verb == "remember":
        memory.remember(what[1], key=what[0], at=at)
    elif records := memory.list():
        record = records[what % len(records)]
        memory.correct(record, "It is Hull") if verb == "correct" else memory.forget(record)


@given(
    st.lists(st.one_of(turns, told, changes), min_size=2, max_size=9), st.sampled_from(QUESTIONS)
)
def test_no_order_of_statements_breaks_a_prompt(steps, question):
    with simonides.testing.open(clock=simonides.testing.ManualClock(NOW)) as store:
        memory = store.memory(user="ana")
        for verb, what, later in steps:
            done(memory, verb, what, NOW + timedelta(hours=later))
        digest = memory.digest(question)
        shown = [id for item in digest.items for id in item.ids]
        assert len(shown) == len(set(shown))
        memory.recall(question)
        memory.profile()
        memory.task("Plan the week").prompt()


dated = st.lists(st.one_of(turns, told), min_size=2, max_size=6, unique_by=lambda each: each[2])


@given(dated.flatmap(lambda steps: st.tuples(st.just(steps), st.permutations(steps))))
def test_the_order_of_arrival_changes_no_state_and_no_prompt(orders):
    seen = []
    for steps in orders:
        with simonides.testing.open(clock=simonides.testing.ManualClock(NOW)) as store:
            memory = store.memory(user="ana")
            for number, (verb, what, later) in enumerate(steps):
                at = NOW + timedelta(hours=later)
                one = memory.session(f"s{number}") if verb == "add" else memory
                done(one, verb, what, at)
            facts = {(each.key, each.content) for each in memory.list() if each.category != "turn"}
            texts = [f"{memory.digest(question)}" for question in QUESTIONS]
            texts.append(f"{memory.profile()}")
            seen.append((facts, [re.sub(r"\[[0-9a-f]{8}", "[", text) for text in texts]))
    assert seen[0] == seen[1]


def test_a_correction_stands_before_what_it_corrects_and_only_the_older_is_marked():
    with simonides.testing.open() as store:
        memory = store.memory(user="ana")
        memory.add("My birthday is on 4 May")
        memory.add("Sorry, my birthday is on 3 May")
        shown = memory.digest("When is my birthday?").items
        assert ["earlier" in item.marks for item in shown] == [False, True]
        assert "3 May" in shown[0].line
