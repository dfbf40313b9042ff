"""Commands in nine languages other than English: what is understood, and what is left alone.

The sentences stand in ``commands``, one file per language. ``commands`` pairs a sentence with what
comes of it: ``key=value``, ``category:`` for text that is kept as it was said, ``-key`` for what is
to be forgotten, ``control`` where nothing may be remembered. ``others`` gives nothing.
"""

import time
import tomllib
from pathlib import Path

import pytest
from capture_utterances import CONTROLLED, PASSING, RETRACTIONS, SHOULD, SHOULD_NOT

from simonides.capture.languages.commands import commands_of
from simonides.capture.languages.han_variants import simplified
from simonides.capture.languages.load import NAMES, candidates, load
from simonides.capture.rules.clauses import MEMORY_CONTROL
from simonides.capture.rules.extract import TURN_SCOPED, Extraction, examine
from simonides.capture.sentences import plain_text, sentences
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import Candidate
from simonides.text import patterns

ANA = Scope("acme", "ana")
SAID = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "commands").glob("*.toml"))
}
COMMANDS = [(text, expected) for said in SAID.values() for text, *expected in said["commands"]]
OTHERS = [text for said in SAID.values() for text in said["others"]]
ENGLISH = [
    *(says.text for says in SHOULD), *SHOULD_NOT, *CONTROLLED, *(said for said, *_ in RETRACTIONS),
    *PASSING, "Avoid em dashes", "Utilize online resources", "No soy milk please", "Tom uses vim",
    "Moved to El Paso", "Call me Ella", "Never use emojis", "Bonjour, I live in Oslo.",
    "Ciao, call me Tom.", "Use Comic Sans.", "Utilise metric units.", "Note: see the appendix",
    "My name is Maria del Carmen Ruiz.", "I work at Crédit Agricole.", "Notes on usage: always on",
    "I love the song 告白气球", "I live in Москва",
]  # fmt: skip


def examined(text: str) -> Extraction:
    return examine(Turn(role=Role.USER, text=text), ANA)


def told(one: Candidate, text: str) -> str:
    start, end = one.metadata["span"]
    assert one.quote == text[start:end] != ""
    assert not one.marks
    if one.retracts:
        return f"-{one.retracts}"
    return f"{one.key}={one.content}" if one.key else f"{one.category}:"


def test_each_language_has_a_file_of_sentences() -> None:
    assert set(SAID) == set(NAMES)
    for said in SAID.values():
        assert len(said["commands"]) + len(said["others"]) >= 25


@pytest.mark.parametrize(("text", "expected"), COMMANDS)
def test_a_command_is_understood(text: str, expected: list[str]) -> None:
    found = examined(text)

    if expected == ["control"]:
        assert found.diagnostics == (MEMORY_CONTROL,)
        assert found.candidates == ()
    else:
        assert [told(one, text) for one in found.candidates] == expected


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_command_gives_nothing(text: str) -> None:
    assert examined(text).candidates == ()


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_read_as_english(text: str) -> None:
    plain = plain_text(text)

    assert not [
        plain[start:end]
        for start, end in sentences(plain, [])
        if commands_of(plain[start:end], start)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_of_a_language_compiles_and_has_one_group_at_most(name: str) -> None:
    language = load(name)

    for _, pattern in language.commands:
        groups = patterns.compile(rf"(?:{pattern})|").match("")
        assert groups is not None
        assert len(groups.groupdict()) <= 1
        # What is read is group 1.
        assert not groups.groupdict() or pattern.count("(?P<") == 1
    for cue in language.cues.values():
        patterns.compile(cue, ignore_case=True)
    assert not patterns.compile(language.any_command, ignore_case=True).match("")


HARD = (
    ("german", "Nenn mich Tom, ", ("—", ",", "und ", "(", "immer ", '"')),
    ("spanish", "Llámame Tom, ", ("—", ";", "y ", "siempre ", "usa ")),
    ("portuguese", "Me chame de Tom, ", ("—", "(", "e ", "nunca ")),
    ("french", "Appelle-moi Tom, ", ("—", ";", "et ", "toujours ")),
    ("italian", "Chiamami Tom, ", ("—", ";", "e ", "sempre ")),
    ("dutch", "Noem me Tom, ", ("—", ",", "en ", "altijd ")),
    ("russian", "Зови меня Том, ", ("—", ",", "и ", "всегда ")),
    ("chinese", "叫我小王，", (": ", "二", "记住", "我", "不要")),
    ("japanese", "ケンと呼んで、", ("—", "の", "東京に住んでいます、", "ので、")),
)


@pytest.mark.parametrize(
    ("text", "name"), [(lead + piece * 200, name) for name, lead, row in HARD for piece in row]
)
def test_what_is_read_of_64_kib_is_read_in_time(text: str, name: str) -> None:
    # As many sentences as are read of a turn, in as many letters.
    turn = Turn(role=Role.USER, text="\n".join([text[:150]] * 60)[:9_000])
    assert load(name) in candidates(text[:150])
    examine(turn, ANA)

    took_s = []
    for _ in range(3):
        begun = time.process_time()
        examine(turn, ANA)
        took_s.append(time.process_time() - begun)

    # Catches what grows with the square of the text, which takes a second and more.
    assert min(took_s) < 0.250


def test_reading_all_languages_by_turns_compiles_no_pattern_twice() -> None:
    def compiled() -> int:
        for text, _ in COMMANDS:
            examined(text)
        return patterns.compile.cache_info().misses

    assert compiled() == compiled()


def test_a_fact_in_another_language_gives_nothing() -> None:
    for text in ("Ich heiße Ana und wohne in Berlin.", "Vivo en Roma.", "我住在北京，是老师"):
        assert examined(text) == Extraction()


def test_a_command_beside_english_is_understood() -> None:
    found = examined("I live in Oslo. Nenn mich Olga.").candidates

    assert [(one.key, one.content) for one in found] == [("location", "Oslo"), ("nickname", "Olga")]


def test_a_control_in_another_language_holds_for_english_too() -> None:
    assert examined("Merk dir das nicht. I live in Oslo.").diagnostics == (MEMORY_CONTROL,)


def test_two_commands_of_one_sentence_are_two() -> None:
    text = "Nenn mich Ana und antworte immer auf Deutsch."
    found = examined(text).candidates

    assert [(one.key, one.content) for one in found] == [
        ("nickname", "Ana"),
        ("language", "german"),
    ]


def test_a_rule_of_some_occasions_keeps_its_condition() -> None:
    text = "Als ik in het Frans schrijf, antwoord dan in het Frans."
    (rule,) = examined(text).candidates

    assert (rule.key, rule.category, rule.content) == (None, "constraint", text.rstrip("."))
    assert rule.explicit


def test_a_note_keeps_the_statement_without_the_command() -> None:
    (note,) = examined("Bitte merk dir, dass unser Hund Filou heißt.").candidates

    assert (note.content, note.explicit) == ("unser Hund Filou heißt", True)


def test_a_note_may_stand_behind_its_statement() -> None:
    for text in (
        "Der Müll wird donnerstags abgeholt, merk dir das.",
        "Der Müll wird donnerstags abgeholt. Merk dir das.",
    ):
        (note,) = examined(text).candidates
        assert note.content == "Der Müll wird donnerstags abgeholt"


def test_what_points_back_at_a_command_is_no_second_note() -> None:
    (rule,) = examined("Nenn mich Tom. Merk dir das.").candidates

    assert rule.key == "nickname"


def test_a_style_without_a_lasting_word_may_be_meant_once() -> None:
    (once,) = examined("Sé breve.").candidates
    (always,) = examined("De ahora en adelante, sé breve.").candidates

    assert (once.explicit, once.kind) == (False, "procedural")
    assert always.explicit


def test_a_command_for_the_moment_is_marked() -> None:
    (name,) = examined("Heute nenn mich Tom.").candidates

    assert name.marks == (TURN_SCOPED,)


def test_traditional_characters_are_read_as_simplified_ones() -> None:
    assert simplified("以後請用繁體中文回答") == "以后请用繁体中文回答"


@pytest.mark.parametrize("text", ["Я живу в Києві.", "Запам'ятай це, і називай мене Сашко."])
def test_letters_that_russian_does_not_have_tell_another_language(text: str) -> None:
    assert candidates(text) == ()
