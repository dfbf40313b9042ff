"""What is asked of somebody else is not answered by what is stored of the user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.retrieval.ranking.evidence import Weights
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.text.questions.intent import read_question
from simonides.text.questions.relations import NO_OTHERS

FLOOR = 0.75
"""The policy's default."""
PROFILE = {
    "shoe_size": "42",
    "birthday": "12 April",
    "name": "Ana Costa",
    "favorite_color": "green",
    "diet": "vegetarian",
    "location": "Lisbon",
    "dog_name": "Biscuit",
    "seat": "aisle",
}


@pytest.fixture
def memory() -> Memory:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    memory = Store(core).memory(user="ana")
    memory.remember_many([simonides.Draft(value, key=key) for key, value in PROFILE.items()])
    return memory


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("What is my cousin's shoe size?", "shoe_size"),
        ("what is the shoe size of my cousin?", "shoe_size"),
        ("Do you know my older brother's shoe size", "shoe_size"),
        ("What's my cousin Rui’s shoe size?", "shoe_size"),
        ("What is my wife's mother's name?", "name"),
        ("what's the name of my cousin's dog?", "dog_name"),
        ("where does my twin sister live?", "location"),
        ("what does my twin do for a living?", "occupation"),
        ("where is my parents' house?", "home"),
        ("is my wife vegetarian?", "diet"),
        ("I'm off. When is our babysitter's birthday?", "birthday"),
    ],
)
def test_what_is_asked_of_somebody_else_is_known(question: str, key: str) -> None:
    asked = read_question(question)

    assert key in asked.of_others.keys
    assert key not in asked.keys.own


@pytest.mark.parametrize(
    "question",
    [
        "What is my shoe size?",
        "What's my shoe size, and my cousin's?",
        "what is her shoe size?",
        "where does my family live?",
        "when is my dentist's appointment?",
        "when is my friend's wedding?",
        "should I call my sister?",
        "my",
        "my older",
        "my cousin's",
    ],
)
def test_what_may_be_the_users_is_asked_of_nobody_else(question: str) -> None:
    assert "shoe_size" not in read_question(question).of_others.keys
    assert not {"appointment", "wedding", "location"} & {*read_question(question).of_others.keys}


def test_who_asks_of_both_is_shown_their_own() -> None:
    asked = read_question("When is my birthday? And when is my wife's birthday?")

    assert "birthday" in asked.keys.own
    assert asked.of_others == NO_OTHERS


@given(st.lists(st.sampled_from("my our of the cousin dogs twin older s is where rui ?".split())))
def test_any_words_are_read(words: list[str]) -> None:
    found = read_question(" ".join(words))

    assert not {*found.of_others.keys} & {*found.keys.own}


@pytest.mark.parametrize(
    "question",
    [
        "What is my cousin's shoe size?",
        "When is my mother's birthday?",
        "What is my wife's favourite color?",
        "Is my brother a vegetarian?",
        "Where do my parents live?",
        "What is my cousin's dog's name?",
    ],
)
def test_what_the_user_said_of_themselves_does_not_answer_it(memory: Memory, question: str) -> None:
    assert not memory.recall(question, min_relevance=FLOOR)
    assert not [each for each in memory.digest(question).items if each.section != "core"]


def test_what_was_said_of_whom_it_is_asked_of_is_the_first_hit(memory: Memory) -> None:
    memory.remember("My cousin Rui has shoe size 45")

    hits = memory.recall("What is my cousin's shoe size?")

    assert hits[0].record.content == "My cousin Rui has shoe size 45"
    assert memory.recall("What is my shoe size?")[0].record.content == "42"
    own = next(
        hit for hit in memory.recall("my brother's shoe size?") if hit.record.content == "42"
    )
    assert own.why["asked"] == -Weights().asked


@pytest.mark.parametrize(
    "told", ["My cousin Rui lives in Porto", "Rui is my cousin", "Rui, our neighbour, is late"]
)
def test_who_is_known_by_name_is_somebody_else(memory: Memory, told: str) -> None:
    assert (
        memory.recall("What is Rui's shoe size?", min_relevance=FLOOR)[0].record.key == "shoe_size"
    )

    memory.remember(told)

    hits = memory.recall("What is Rui’s shoe size?", min_relevance=FLOOR)
    assert "shoe_size" not in [hit.record.key for hit in hits]
    assert (
        memory.recall("What is Ana's shoe size?", min_relevance=FLOOR)[0].record.key == "shoe_size"
    )
    assert memory.recall("Shoe size?", min_relevance=FLOOR)[0].record.key == "shoe_size"


@pytest.mark.parametrize("question", ["Rui's", "What's", "When is Rui's wedding?", "'s", "Rui’s s"])
def test_a_name_that_asks_for_nothing_is_read(question: str) -> None:
    assert read_question(question).of_others == NO_OTHERS


def test_what_names_somebody_under_a_key_may_be_about_them(memory: Memory) -> None:
    memory.remember("green; my wife's is blue", key="favorite_color")

    hits = memory.recall("What is my wife's favorite color?", min_relevance=FLOOR)

    assert [hit.record.key for hit in hits] == ["favorite_color"]
