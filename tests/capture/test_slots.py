"""Keyed facts: each line of the data files, and sentences that state nothing."""

import pytest

from simonides.capture.slots import Slot, is_for_now, slots_of
from simonides.capture.wordings import LANGUAGES, load_wordings
from simonides.core.policy import SINGLE, canonical, folded

SLOTS = load_wordings("slots.toml")


def _rows(language: str, name: str) -> list[list[str]]:
    return load_wordings(f"languages/{language}.toml").rows.get(name, [])


CASES = [
    pytest.param(key, case, value, id=f"{key}-{row}")
    for key, rows in SLOTS.rows.items()
    for row, (_, case, value) in enumerate(rows)
]
NAMES = [
    pytest.param(case, name, id=f"{language}-{row}")
    for language in LANGUAGES
    for row, (_, case, name) in enumerate(_rows(language, "preferred_name"))
]


@pytest.mark.parametrize(("key", "case", "value"), CASES)
def test_each_wording_gives_its_value(key: str, case: str, value: str) -> None:
    assert Slot(key, value) in slots_of(case)


@pytest.mark.parametrize(("case", "value"), NAMES)
def test_call_me_is_read_in_each_language(case: str, value: str) -> None:
    assert Slot("preferred_name", value) in slots_of(case)


@pytest.mark.parametrize(
    "text",
    [
        "Maybe I live in Rome.",
        "I'm not vegan.",
        "Am I allergic to nuts?",
        "I used to live in Leipzig.",
        "My wife works at Siemens.",
        "I'm in Paris this week.",
        "I'm allergic to Mondays.",
        "I wish I lived in Rome.",
        "If I live in Rome, I'll learn Italian.",
        "I'm married to my job.",
        "Call me later.",
        "Call me maybe",
        "I'm 20 minutes late.",
        "I was a teacher.",
        "They usually message me on WhatsApp.",
        "I no longer work for Siemens.",
    ],
)
def test_what_is_not_stated_of_the_speaker_gives_nothing(text: str) -> None:
    assert slots_of(text) == []


def test_keys_have_one_name() -> None:
    assert folded("Home Location") == folded("city") == "location"
    assert folded("occupation") == "role"
    assert folded("favourite_colour") == "favourite_colour"
    assert canonical("Timezone") == canonical("time-zone") == "time_zone"
    assert canonical("Garden-Gate") == "Garden-Gate"
    assert set(SLOTS.rows) >= SINGLE - {"preferred_name"}


def test_passing_moments_are_for_now() -> None:
    assert is_for_now("I'm in Paris this week.")
    assert is_for_now("Just for this recipe, use imperial units.")
    assert not is_for_now("I live in Rome.")
