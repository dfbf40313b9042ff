"""Two or three memories and one question, which is what a newcomer sees first."""

from collections.abc import Sequence

import pytest

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

FLOOR = 0.75
UNRELATED = (
    "The heating in the kitchen makes a strange sound",
    "Carlos is looking for a new flat near the river",
    "Bought two tickets for the concert in the old town",
    "The quarterly report goes to Mr Santos",
    "Wants to learn the accordion one day",
    "The garden fence has to be painted green",
    "Lent the tent to a neighbour in spring",
)

ANSWERED = (
    (("I prefer aisle seats",), "which seat should I book?", 0),
    (
        ("I prefer aisle seats", "My sister lives in Porto"),
        "Should I get a window or an aisle seat?",
        0,
    ),
    (("I am allergic to peanuts",), "Is there any food I am allergic to?", 0),
    (
        ("I'm allergic to peanuts", "I work night shifts"),
        "what should I avoid because of my allergy?",
        0,
    ),
    (("My sister lives in Porto", "I have two cats"), "where does my sister live?", 0),
    (
        ("I have two cats called Miso and Nori", "My car is a blue Skoda"),
        "what are the names of my cats?",
        0,
    ),
    (("Never deploy on Fridays",), "can we deploy this on Friday?", 0),
    (
        ("Never deploy on Fridays", "The staging database is reset every night"),
        "when is the staging database reset?",
        1,
    ),
    (
        ("Always write commit messages in English", "Use tabs in Makefiles"),
        "in which language should I write the commit message?",
        0,
    ),
    (
        ("Invoices must be sent before the 5th of each month",),
        "By when do invoices have to be sent?",
        0,
    ),
    (
        ("The office key hangs by the fridge", "My bike is at the repair shop", "I like jazz"),
        "where is my bike?",
        1,
    ),
    (("I run every morning before work", "I like jazz"), "what kind of music do I like?", 1),
    (("My flight to Oslo leaves on 12 May at 7:40",), "when does my flight to Oslo leave?", 0),
    (("I take my coffee black, without sugar",), "how do I take my coffee?", 0),
    (
        ("My daughter Emma starts school in September", "We are vegetarians"),
        "when does Emma start school?",
        0,
    ),
    (
        ("We are vegetarians", "Our anniversary is on 3 June", "The landlord's name is Mr Keller"),
        "who is our landlord?",
        2,
    ),
    (("The API rate limit is 100 requests per minute",), "What's the rate limit of the API?", 0),
    (
        ("We use PostgreSQL 16 in production", "The frontend is written in Svelte"),
        "which database do we use in production?",
        0,
    ),
    (
        ("We use PostgreSQL 16 in production", "The frontend is written in Svelte"),
        "what is the frontend written in?",
        1,
    ),
    (
        ("Please keep answers short", "I prefer metric units"),
        "should distances be in metric units?",
        1,
    ),
    (
        ("Call the dentist about the appointment", "Buy milk"),
        "what did I want to ask the dentist?",
        0,
    ),
    (("My doctor told me to drink less coffee",), "what did my doctor tell me?", 0),
    (
        ("My budget for the new laptop is 1200 euros", "I prefer 14 inch screens"),
        "how much can I spend on a laptop?",
        0,
    ),
    (
        ("My budget for the new laptop is 1200 euros", "I prefer 14 inch screens"),
        "which screen size do I prefer?",
        1,
    ),
    (("Ich fahre jeden Tag mit dem Fahrrad zur Arbeit",), "Wie fahre ich zur Arbeit?", 0),
    (
        ("Ich bin gegen Nüsse allergisch", "Meine Schwester wohnt in Bremen"),
        "Wo wohnt meine Schwester?",
        1,
    ),
    (("我对花生过敏", "我住在上海"), "我对什么过敏?", 0),
    (("我的女儿叫小雨",), "我的女儿叫什么?", 0),
    (("Моя сестра живёт в Казани", "Я не ем мясо"), "Где живёт моя сестра?", 0),
    (("Мой любимый цвет зелёный",), "Какой мой любимый цвет?", 0),
)
"""Memories, a question, and the place of the one that answers it."""

UNANSWERED = (
    (("I prefer aisle seats",), "What is the capital of France?"),
    (("I prefer aisle seats", "My sister lives in Porto"), "what is the capital of France?"),
    (("My sister lives in Porto",), "what's the weather in Berlin tomorrow?"),
    (("I am allergic to peanuts",), "which seat should I book?"),
    (("I am allergic to peanuts", "I work night shifts"), "how do I reverse a list in Python?"),
    (("I have two cats called Miso and Nori",), "what is my phone number?"),
    (("Never deploy on Fridays",), "write a haiku about the sea"),
    (("The staging database is reset every night",), "when is my dentist appointment?"),
    (
        ("We use PostgreSQL 16 in production", "The frontend is written in Svelte"),
        "who is the product owner of the mobile app?",
    ),
    (("I like jazz", "I run every morning before work"), "how old is my brother?"),
    (("I like jazz",), "do I have any allergies?"),
    (
        ("My flight to Oslo leaves on 12 May at 7:40",),
        "what did we decide about the pricing page?",
    ),
    (
        ("I take my coffee black, without sugar", "We are vegetarians"),
        "how long does it take to get to the airport?",
    ),
    (
        ("My daughter Emma starts school in September",),
        "explain the difference between TCP and UDP",
    ),
    (
        ("Our anniversary is on 3 June", "The landlord's name is Mr Keller"),
        "what is the name of my insurance company?",
    ),
    (
        ("Invoices must be sent before the 5th of each month", "Use tabs in Makefiles"),
        "which restaurant did I like in Rome?",
    ),
    (("Please keep answers short",), "how many people live in Norway?"),
    (("My budget for the new laptop is 1200 euros",), "what size are my shoes?"),
    (
        ("My doctor told me to drink less coffee", "Buy milk"),
        "which hotel did we book for the conference?",
    ),
    (("Call the dentist about the appointment",), "translate good morning into Spanish"),
    (
        ("I work as a nurse in a hospital", "I live near the river"),
        "what is the best way to learn the guitar?",
    ),
    (("The API rate limit is 100 requests per minute",), "which colour should the logo have?"),
    (
        ("My bike is at the repair shop", "I like jazz", "I have two cats", "We are vegetarians"),
        "when does the train to Vienna leave?",
    ),
    (
        ("I prefer window seats", "I am left-handed", "My mother is called Rosa"),
        "What is the deadline of the Apollo project?",
    ),
    (("Ich fahre jeden Tag mit dem Fahrrad zur Arbeit",), "Wann hat meine Mutter Geburtstag?"),
    (
        ("Ich bin gegen Nüsse allergisch", "Meine Schwester wohnt in Bremen"),
        "Welches Auto fährt mein Chef?",
    ),
    (("我对花生过敏", "我住在上海"), "明天的会议几点开始?"),
    (("我的女儿叫小雨",), "哪家餐厅最好?"),
    (("Моя сестра живёт в Казани", "Я не ем мясо"), "Когда у меня встреча с врачом?"),
    (("Мой любимый цвет зелёный",), "Сколько стоит билет в Москву?"),
)


def having(texts: Sequence[str]) -> Memory:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    memory = Store(core).memory(user="ana")
    memory.remember_many([simonides.Draft(text) for text in texts])
    return memory


def relevance(texts: Sequence[str], question: str, text: str) -> float:
    found = {hit.record.content: hit for hit in having(texts).recall(question, limit=20)}
    return found[text].why["relevance"] if text in found else 0.0


def test_most_questions_that_a_few_memories_answer_find_the_answer_above_the_floor() -> None:
    lost = [
        question
        for texts, question, place in ANSWERED
        if relevance(texts, question, texts[place]) < FLOOR
    ]

    assert len(lost) <= len(ANSWERED) // 5, lost


def test_most_questions_that_a_few_memories_do_not_answer_find_nothing_above_the_floor() -> None:
    shown = [
        question
        for texts, question in UNANSWERED
        if having(texts).recall(question, min_relevance=FLOOR)
    ]

    assert len(shown) <= len(UNANSWERED) // 10, shown


def test_a_newcomers_only_memory_is_in_the_digest_of_a_question_that_it_answers() -> None:
    memory = having(["I am allergic to peanuts"])

    asked = memory.digest("Is there any food I am allergic to?")
    other = memory.digest("which seat should I book?")

    assert [item.record.content for item in asked.items] == ["I am allergic to peanuts"]
    assert [item.section for item in other.items] == ["core"], "an allergy is always shown"


@pytest.mark.parametrize(("texts", "question", "place"), ANSWERED)
def test_how_relevant_a_memory_is_hardly_depends_on_unrelated_ones_beside_it(
    texts: Sequence[str], question: str, place: int
) -> None:
    seen = [
        relevance((*texts, *UNRELATED[:others]), question, texts[place]) for others in (0, 1, 3, 7)
    ]

    assert max(seen) - min(seen) < 0.15


def test_a_word_that_all_memories_of_a_user_hold_is_no_rarity() -> None:
    question = "when is the deadline of the Apollo project?"
    apollo = [f"The Apollo project has {what}" for what in ("a budget", "a logo", "four testers")]
    one = ["The Apollo project has a budget", *UNRELATED[:2]]

    assert relevance(apollo, question, apollo[0]) < relevance(one, question, apollo[0])
