"""Wishes about how to answer: one slot in all languages, and what is none."""

import pytest

from simonides.capture.commands import is_whole_clause
from simonides.capture.manner import KEYS, wishes
from simonides.capture.slots import slots_of
from simonides.capture.wordings import LANGUAGES, heard, is_adverbial, load_wordings


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_names_the_same_values(language: str) -> None:
    table = load_wordings(f"languages/{language}.toml").table["manner"]
    english = load_wordings("languages/english.toml").table["manner"]
    assert {key: list(table[key]) for key in KEYS if key != "tone"} == {
        key: list(english[key]) for key in KEYS if key != "tone"
    }


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("Go back to English please", "language", "English"),
        ("Answer in French, not in English", "language", "French"),
        ("Bitte sprich Französisch mit mir", "language", "French"),
        ("A partir de ahora respuestas breves", "response_style", "short (breves)"),
        ("Je préfère des réponses détaillées", "response_style", "long (détaillées)"),
        ("Puoi darmi del tu", "tone", "casual (del tu)"),
        ("Graag in het Frans antwoorden", "language", "French"),
        ("Trata-me sempre por você", "tone", "casual (você)"),
        ("Обращайся ко мне на вы", "tone", "formal (на вы)"),
        ("以后都说英语吧", "language", "English (英语)"),
        ("もっと詳しく答えてください", "response_style", "long (詳しく)"),
    ],
)
def test_a_wish_in_any_language_sets_one_key(said: str, key: str, value: str) -> None:
    assert slots_of(said) == [(key, value)]


@pytest.mark.parametrize(
    "said",
    [
        "Translate this into French",
        "My sister answers in Dutch",
        "Ich antworte auf Englisch",
        "Write the letter in French",
        "Answer in English or in German",
        "Nur für heute: antworte auf Englisch",
        "Per questa volta rispondi in inglese",
    ],
)
def test_what_concerns_others_or_one_task_is_no_manner(said: str) -> None:
    assert slots_of(said) == []


def test_a_rule_needs_no_word_of_answering() -> None:
    assert wishes("Bitte förmlich") == {}
    assert wishes("Bitte förmlich", is_rule=True) == {"tone": "formal (förmlich)"}


def test_invisible_signs_are_not_heard() -> None:
    assert heard("Nev\u200ber **book** it\ufeff")[1] == "Never book it"
    assert heard("ＮＥＶＥＲ １")[1] == "NEVER 1"


def test_an_adverbial_says_only_how_long() -> None:
    assert is_adverbial("but only in this chat")
    assert not is_adverbial("in this chat I learned a lot")


@pytest.mark.parametrize(
    "rule",
    ["Never book", "Don't ever", "From now on", "ab jetzt nie", "Never call the", "don't tell Tom"],
)
def test_a_fragment_is_no_whole_rule(rule: str) -> None:
    assert not is_whole_clause(rule)
    assert is_whole_clause("Never tell Tom about the party")
