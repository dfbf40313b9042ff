"""Sentences that say two things: each half is found, and nobody else's half is the speaker's."""

import pytest

from simonides.capture.rules.extract import examine
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.scope import Scope

ALICE = Scope.of_user("acme", "alice")

BOTH = [
    ("I'm vegetarian and I live in Lisbon", ["diet=vegetarian", "location=Lisbon"]),
    ("call me Ana and always answer in French", ["nickname=Ana", "language=french"]),
    ("My name is Tom and I work at Siemens.", ["name=Tom", "employer=Siemens"]),
    ("I live in Porto and my dog is called Rex.", ["location=Porto"]),
    ("Please be concise and use metric units.", ["response_style=concise", "units=metric"]),
    ("I'm allergic to peanuts and I love sushi.", ["allergic to peanuts", "I love sushi"]),
    ("I'm a nurse and live in Leeds.", ["occupation=nurse", "location=Leeds"]),
    ("i'm a nurse and live in leeds", ["occupation=nurse", "location=leeds"]),
    (
        "I am vegan, live in Oslo and work as a teacher.",
        ["diet=vegan", "location=Oslo", "occupation=teacher"],
    ),
    ("I hate cilantro but love basil.", ["hate cilantro", "love basil"]),
    ("Call me Sam and keep your answers short.", ["nickname=Sam", "response_style=concise"]),
    ("My birthday is March 3 and I live in Ghent.", ["birthday=March 3", "location=Ghent"]),
    ("I'm 34 years old and live in Recife.", ["location=Recife"]),
    (
        "I'm on the enterprise plan and prefer updates by email.",
        ["declared_tier=enterprise", "update_channel=email"],
    ),
    (
        "I live in Faro, speak Greek and work as a cook.",
        ["location=Faro", "occupation=cook"],
    ),
    ("I'm Maria, I live in Turin, and I'm vegan.", ["name=Maria", "location=Turin", "diet=vegan"]),
    (
        "Remember that I'm gluten-free and that I live in Cork.",
        ["diet=gluten_free", "location=Cork"],
    ),
    ("I go by Lex and my pronouns are they/them.", ["nickname=Lex", "pronouns=they/them"]),
    ("My brother and I live in Oslo and work at IKEA", ["location=Oslo", "employer=IKEA"]),
    ("I work as a cook and don't eat pork.", ["occupation=cook", "I don't eat pork"]),
]

NOT_OURS = [
    "I saw people who love sushi and live in Oslo.",
    "I'd like to live in Rome and work at Fiat.",
    "I want to move away and live in Oslo.",
    "I have a sister who is a nurse and lives in Leeds.",
    "My sister is vegan and lives in Oslo.",
    "If I live in Oslo and work at IKEA, what tax do I pay?",
    "I could stay here and live in Oslo.",
    "I let Tom stay and work at IKEA.",
    "Write a story in which I am a king and live in Avalon.",
    "They said I'm vegan and live in Rome.",
    "I'm worried about my files, like my photos.",
    "I moved to the next step and started over.",
]


def proposed(text: str) -> list[str]:
    found = examine(Turn(text=text, role=Role.USER), ALICE).candidates
    for one in found:
        assert one.quote is not None
        assert one.quote in text
    return [f"{one.key}={one.content}" if one.key else one.content for one in found]


@pytest.mark.parametrize(("text", "wanted"), BOTH)
def test_every_half_is_found(text: str, wanted: list[str]) -> None:
    found = proposed(text)

    for half in wanted:
        assert any(half == one or ("=" not in half and half in one) for one in found), found


@pytest.mark.parametrize("text", NOT_OURS)
def test_what_is_not_said_of_the_speaker_is_not_taken_for_it(text: str) -> None:
    assert proposed(text) == []


def test_a_half_without_its_subject_says_it_and_quotes_what_was_said() -> None:
    found = examine(
        Turn(text="I am tired and prefer strong coffee", role=Role.USER), ALICE
    ).candidates

    assert [(one.content, one.quote) for one in found] == [
        ("I prefer strong coffee", "prefer strong coffee")
    ]
    assert found[0].metadata["span"] == (15, 35)


def test_two_tastes_of_one_kind_stay_one_statement() -> None:
    assert proposed("I like hiking and hate running") == ["I like hiking and hate running"]


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Neovim",
        "I've moved to Vim now",
        "We moved to PostgreSQL",
        "I moved to NixOS last year",
        "We have moved to Kubernetes",
        "I moved from Emacs to Helix",
        "I moved to DuckDB",
        "i moved to neovim",
    ],
)
def test_nobody_lives_in_a_program(text: str) -> None:
    assert not any(one.startswith("location=") for one in proposed(text))


@pytest.mark.parametrize("place", ["Kyoto", "Leeds", "Phoenix", "San Jose", "Laos", "Nice"])
def test_people_live_in_towns(place: str) -> None:
    assert proposed(f"I moved to {place}") == [f"location={place}"]
