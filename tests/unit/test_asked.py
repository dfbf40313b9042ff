"""What people ask about themselves finds what is stored under the key that they ask for."""

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.retrieval.ranking.evidence import Weights
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.text.questions.answer_keys import NO_KEYS
from simonides.text.questions.intent import read_question

FLOOR = 0.75
"""The policy's default."""
OTHERS = (
    "Prefers green tea",
    "The piano is out of tune",
    "Ordered two blue chairs",
    "Runs by the lake on Sundays",
    "The vendor raised prices",
    "Reads crime novels",
    "Has a dentist in Porto",
    "Sold the old car",
    "Cooks on Fridays",
)


def recalling(facts: Sequence[tuple[str, str]], **chosen: object) -> Memory:
    """A memory with facts, each as key and value, and notes that answer nothing."""
    core = assemble(
        ":memory:",
        settings=Settings(**chosen),  # type: ignore[arg-type]
        inline=True,
        clock=ManualClock(),
        ids=CountingIds(),
    )
    memory = Store(core).memory(user="ana")
    drafts = [simonides.Draft(value, key=key) for key, value in facts]
    memory.remember_many([*drafts, *map(simonides.Draft, OTHERS if len(facts) > 1 else ())])
    return memory


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("Where do I live?", "location"),
        ("where do i currently live", "home_location"),
        ("Hey, do you know which city I live in?", "location"),
        ("Where am I from?", "hometown"),
        ("What's my name?", "name"),
        ("Who am I?", "name"),
        ("Tell me my name", "name"),
        ("What did I say my name was?", "name"),
        ("What is the user's name?", "name"),
        ("what should you call me?", "nickname"),
        ("when is my birthday?", "birthday"),
        ("what am I allergic to?", "allergies"),
        ("which language should replies be in?", "language"),
        ("What language do I want answers in?", "language"),
        ("How long should your answers be?", "response_length"),
        ("I'm off to lunch. Where do I work?", "employer"),
        ("what is my favourite colour?", "favorite_color"),
        ("which color do I like best?", "favorite_color"),
        ("what color is my favorite?", "favorite_color"),
        ("What's my wife's name?", "wife_name"),
        ("Who is my wife?", "wife_name"),
        ("what is the name of my dog?", "dog_name"),
        ("what's my dog called?", "dog_name"),
        ("What is my cousin's shoe size?", "cousin_shoe_size"),
        ("What is my shoe size?", "shoe_size"),
        ("What car do I drive?", "car"),
        ("When is my dentist appointment?", "dentist_appointment"),
        ("Where is my office?", "office"),
        ("which seat do I prefer?", "seat_preference"),
        ("how do I take my coffee?", "coffee_preference"),
        ("what's the default branch?", "default_branch"),
        ("Which branch is our default?", "default_branch"),
    ],
)
def test_a_question_asks_for_a_key(question: str, key: str) -> None:
    assert key in {*chain(*read_question(question).keys)}


@pytest.mark.parametrize(
    "question",
    [
        "Where do you live?",
        "Where does she live?",
        "Where am I?",
        "How is my wife?",
        "When is my car?",
        "I live where you live.",
        "My name",
        "And my birthday",
        "What should I do?",
        "What do I do?",
        "What car should I buy?",
        "How should I answer?",
        "What is Anna's favorite color?",
        "What is the capital of Portugal?",
        "Call me later",
        "绿茶是我的?",
        "My dog is ill and I do not know what my vet wants me to give it",
    ],
)
def test_a_question_about_something_else_asks_for_none(question: str) -> None:
    assert read_question(question).keys == NO_KEYS


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("Where does my cousin live?", {"location", "cousin"}),
        ("Where is my wife?", {"location", "wife", "wife_name"}),
        ("What is my cousin's name?", {"name", "nickname", "wife_name"}),
        ("When is my wife's birthday?", {"birthday", "wife", "wife_name"}),
        ("Where does my team work?", {"team", "employer"}),
        ("What is my name tag?", {"name"}),
        ("What is my mother's maiden name?", {"name", "mother_name"}),
        ("what is my first language?", {"language", "programming_language"}),
    ],
)
def test_what_belongs_to_somebody_else_is_not_asked_for(question: str, keys: set[str]) -> None:
    assert keys.isdisjoint(chain(*read_question(question).keys))


@given(st.lists(st.sampled_from("what where is my our of name s the do i you default ?".split())))
def test_any_words_are_read(words: list[str]) -> None:
    assert len(read_question(" ".join(words)).keys) == 2


def test_what_is_asked_for_is_above_the_floor_though_it_has_no_word_in_common() -> None:
    memory = recalling([("location", "Lisbon"), ("name", "Ana Costa"), ("diet", "vegan")])

    (hit,) = memory.recall("Where do I live?", min_relevance=FLOOR)

    assert hit.record.content == "Lisbon"
    assert hit.why["asked"] == Weights().asked
    assert not memory.recall("Where does my cousin live?", min_relevance=FLOOR)


@pytest.mark.parametrize("key", ["shoe_size", "shoe-size", "user_shoe_size"])
def test_a_key_may_be_written_as_people_write_them(key: str) -> None:
    memory = recalling([(key, "42")])

    assert [
        hit.record.key for hit in memory.recall("What's my shoe size?", min_relevance=FLOOR)
    ] == [key]


@pytest.mark.parametrize("fusion", ["conversational", "rrf", "weighted", "hybrid"])
def test_without_an_embedder_the_default_ranking_alone_looks_for_keys(fusion: str) -> None:
    memory = recalling([("location", "Lisbon"), ("diet", "vegan")], embedder="none", fusion=fusion)

    hits = memory.recall("Where do I live?")

    assert [hit.record.key for hit in hits] == ["location"] * (fusion == "conversational")


def test_what_is_no_longer_told_is_not_found_by_its_key() -> None:
    memory = recalling([("location", "Lisbon"), ("diet", "vegan")])
    memory.remember("Porto", key="location")
    assert [
        hit.record.content for hit in memory.recall("Where do I live?", min_relevance=FLOOR)
    ] == ["Porto"]

    memory.forget("location")

    assert not memory.recall("Where do I live?", min_relevance=FLOOR)


def test_the_key_of_a_nearer_scope_answers() -> None:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    store = Store(core)
    store.memory(user="ana").remember("Lisbon", key="location")
    task = store.memory(user="ana").task(name="trip").memory
    task.remember("Porto", key="location")

    assert [hit.record.content for hit in task.recall("Where do I live?")] == ["Porto"]


def test_what_an_organisation_holds_answers_how_to_reply_and_nothing_about_who_asks() -> None:
    store = Store(
        assemble(
            ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
        )
    )
    store.admin(actor="root").grant("ana", "org_write")
    ana = store.memory(user="ana")
    ana.remember(Draft("Berlin HQ", key="location", scope="org"))
    ana.remember(Draft("formal", key="tone", scope="org"))

    assert not ana.recall("Where do I live?", min_relevance=FLOOR)
    assert [
        hit.record.content for hit in ana.recall("What tone should you use?", min_relevance=FLOOR)
    ] == ["formal"]

    ana.remember("Lisbon", key="home_location")
    assert [hit.record.content for hit in ana.recall("Where do I live?", min_relevance=FLOOR)] == [
        "Lisbon"
    ]


def test_a_digest_tells_the_user_what_they_told() -> None:
    memory = recalling([("location", "Lisbon"), ("diet", "vegan")])
    memory.add("Call me Ana.")

    assert "Lisbon" in memory.digest("Where do I live?").text
    assert "Ana" in memory.digest("What's my name?").text
    assert "Lisbon" not in memory.digest("Where does my cousin live?").text


@pytest.mark.parametrize(("begins", "keys"), [("ok " * 20, True), ("ok " * 60, False)])
def test_a_sentence_is_looked_at_as_far_as_people_ask(begins: str, keys: bool) -> None:
    assert ("location" in read_question(f"{begins}where do I live?").keys.own) is keys
    assert read_question(f"{begins}where does my sister live?").of_others.keys == (
        read_question("where does my sister live?").of_others.keys if keys else ()
    )
