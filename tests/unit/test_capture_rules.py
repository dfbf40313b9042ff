"""What the rules make of what people say: precise, anchored, bounded, deterministic."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from capture_utterances import (
    CONTROLLED,
    ENDINGS,
    LIKED,
    PASSING,
    RETRACTIONS,
    SHOULD,
    SHOULD_NOT,
    Says,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from simonides.capture import cues
from simonides.capture.rules import instructions, statements
from simonides.capture.rules.clauses import MEMORY_CONTROL
from simonides.capture.rules.extract import (
    ENDING,
    FRAGILE,
    IMPLICIT_CONFIDENCE,
    LIKED_IN_PASSING,
    MAX_CANDIDATES,
    NOT_THE_USER,
    TURN_SCOPED,
    examine,
)
from simonides.capture.sentences import (
    Cues,
    at_start,
    find,
    plain_text,
)
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Importance
from simonides.domain.scope import Scope
from simonides.domain.trust import Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.text import patterns

ALICE = Scope.of_user("acme", "alice")
AT = datetime(2026, 11, 21, tzinfo=UTC)
REFERENCE = (
    "For future incident updates, write in English, keep replies concise, use email as the "
    "primary channel, and remember that I am enterprise tier."
)
WORDS = (
    "I", "I'm", "my", "name", "is", "not", "but", "Ana", "Berlin", "live", "in", "prefer", "always",
    "never", "remember", "that", "forget", "call", "me", "write", "English", "keep", "replies",
    "short", "from now on", "for now", "if", "she said", "my wife Olga", ",", ".", "?", ":", '"',
    "'", "\n", "```", "and", "no", "actually", "when", "use", "email", "as the", "channel", "tea",
    "é", "日本", "🙂", "’", "\ud800", "\x00", "  ", "- ", "> ",
)  # fmt: skip


def said(text: str, role: Role = Role.USER) -> Turn:
    return Turn(text=text, role=role, speaker="Alice", session="s1", number=4, said_at=AT)


def found(text: str, *, before: Candidate | None = None) -> tuple[Candidate, ...]:
    return examine(said(text), ALICE, before=before).candidates


def test_the_reference_scenario_gives_exactly_its_four_facts() -> None:
    assert [(c.key, c.content, c.explicit, c.marks) for c in found(REFERENCE)] == [
        ("language", "english", True, ()),
        ("response_style", "concise", True, ()),
        ("update_channel", "email", True, ()),
        ("declared_tier", "enterprise", True, ()),
    ]


@pytest.mark.parametrize("expected", SHOULD, ids=lambda says: says.text)
def test_what_people_state_is_proposed(expected: Says) -> None:
    candidates = found(expected.text)

    assert [
        Says(expected.text, c.key, c.content, c.category, c.kind, c.source, c.explicit)
        for c in candidates
    ] == [expected]


@pytest.mark.parametrize("text", LIKED)
def test_a_liking_said_in_passing_is_marked(text: str) -> None:
    (candidate,) = found(text)

    assert candidate.marks == (LIKED_IN_PASSING,)
    assert candidate.category == "preference"


@pytest.mark.parametrize(("text", "key"), ENDINGS)
def test_an_ending_corrects_the_key_that_it_is_about(text: str, key: str) -> None:
    (candidate,) = found(text)

    assert (candidate.key, candidate.content) == (key, text.rstrip("."))
    assert candidate.marks == (ENDING,)
    assert candidate.source is Source.USER_CORRECTION


def test_a_liking_that_is_asked_to_be_remembered_is_not_said_in_passing() -> None:
    (candidate,) = found("Please remember that I love jazz")

    assert candidate.marks == ()


@pytest.mark.parametrize("text", SHOULD_NOT)
def test_what_people_do_not_state_is_not_proposed(text: str) -> None:
    assert found(text) == ()


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len(SHOULD) >= 120
    assert len(SHOULD_NOT) >= 80


@pytest.mark.parametrize("text", CONTROLLED)
def test_a_request_not_to_remember_is_obeyed_for_the_whole_turn(text: str) -> None:
    extraction = examine(said(text), ALICE)

    assert extraction.candidates == ()
    assert extraction.diagnostics == (MEMORY_CONTROL,)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome but don't remember it.",
        "I live in Rome and don't keep a diary.",
        "I live in Rome, please don't forget that.",
        "I live in Rome and don't save much.",
        "I live in Rome, please don't save it as Roma.",
    ],
)
def test_what_only_sounds_like_such_a_request_is_none(text: str) -> None:
    assert [candidate.key for candidate in found(text)] == ["location"]


@pytest.mark.parametrize(("text", "key", "retracts"), RETRACTIONS)
def test_a_request_to_forget_names_the_key_or_the_text(
    text: str, key: str | None, retracts: str
) -> None:
    (candidate,) = found(text)

    assert (candidate.key, candidate.retracts) == (key, retracts)


@pytest.mark.parametrize("text", PASSING)
def test_what_is_said_for_the_moment_is_marked(text: str) -> None:
    (candidate,) = found(text)

    assert candidate.marks == (TURN_SCOPED,)
    assert not candidate.explicit
    assert candidate.confidence == IMPLICIT_CONFIDENCE


def test_a_durable_word_outweighs_a_passing_one() -> None:
    (candidate,) = found("For now and from now on, reply in Spanish")

    assert candidate.marks == ()


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.TOOL, Role.OTHER])
def test_only_the_user_speaks_for_the_user(role: Role) -> None:
    extraction = examine(said("My name is Ana and I prefer tea.", role), ALICE)

    assert extraction.candidates == ()
    assert extraction.diagnostics == (NOT_THE_USER,)


def test_a_candidate_says_where_it_comes_from() -> None:
    text = "Hello there. By the way, I’m allergic to nuts!"
    (candidate,) = found(text)

    assert candidate.quote == "I’m allergic to nuts"
    assert text[slice(*candidate.metadata["span"])] == candidate.quote
    assert (candidate.speaker, candidate.said_at, candidate.scope) == ("Alice", AT, ALICE)
    assert (candidate.origin.session, candidate.origin.turn) == ("s1", 4)
    assert (candidate.source, candidate.label.trust) == (Source.USER_STATED, Trust.USER)
    assert (candidate.proposer, candidate.confidence) == (Proposer.RULES, 1.0)
    assert candidate.importance is Importance.HIGH


def test_several_facts_come_in_the_order_of_the_text() -> None:
    text = "I'm Priya, a data analyst from Pune. I love chess and I hate golf; call me Pri."

    assert [(c.key, c.content) for c in found(text)] == [
        ("name", "Priya"),
        (None, "I love chess"),
        (None, "I hate golf"),
        ("nickname", "Pri"),
    ]


def test_statements_around_a_request_are_read_and_the_request_is_not() -> None:
    text = "I'm vegan, can you suggest a menu? I live in Oslo, and what do I like?"

    assert [(c.key, c.content) for c in found(text)] == [("diet", "vegan"), ("location", "Oslo")]


def test_one_thing_remembered_may_have_two_parts() -> None:
    text = "Remember that my wife likes tea and my son hates it."

    assert [c.content for c in found(text)] == ["my wife likes tea", "my son hates it"]


def test_saying_it_twice_adds_nothing_and_going_back_does() -> None:
    assert len(found("I live in Rome. I live in Rome.")) == 1
    assert [
        c.content for c in found("I live in Rome. No, I live in Bari. No, I live in Rome.")
    ] == [
        "Rome",
        "Bari",
        "Rome",
    ]


def test_a_correction_without_a_subject_corrects_the_last_fact() -> None:
    candidates = found("My name is Anna. Sorry, I meant Hanna.")

    assert [(c.key, c.content, c.source) for c in candidates] == [
        ("name", "Anna", Source.USER_STATED),
        ("name", "Hanna", Source.IN_SESSION_CORRECTION),
    ]


def test_a_correction_reaches_back_to_an_earlier_turn() -> None:
    (earlier,) = found("I live in Munich")

    (correction,) = found("No, it's Berlin", before=earlier)

    assert (correction.key, correction.content) == ("location", "Berlin")
    assert correction.source is Source.IN_SESSION_CORRECTION
    assert found("No, it's Berlin") == ()


@pytest.mark.parametrize("text", ["No, it's raining.", "Actually, it's fine", "No, thanks", "No."])
def test_a_correction_must_have_the_shape_of_the_fact(text: str) -> None:
    (earlier,) = found("Reply in French")

    assert found(text, before=earlier) == ()


def test_a_poor_opinion_of_oneself_is_marked_as_fragile() -> None:
    (candidate,) = found("I'm terrible at maths")

    assert candidate.marks == (FRAGILE,)
    assert not candidate.explicit


def test_style_and_tone_are_two_facts_of_one_sentence() -> None:
    assert [(c.key, c.content) for c in found("Keep your answers short and formal")] == [
        ("response_style", "concise"),
        ("tone", "formal"),
    ]


def test_what_a_rule_is_limited_by_stays_with_it() -> None:
    (candidate,) = found("Hi! For future incident updates, include the ticket number.")

    assert candidate.content == "For future incident updates, include the ticket number"
    assert candidate.quote == candidate.content


def test_a_rule_in_two_clauses_is_one_rule() -> None:
    text = 'When I say "ship it", create a draft PR, never merge.'

    assert [c.content for c in found(text)] == [text.rstrip(".")]


def test_no_more_than_a_handful_is_taken_from_one_turn() -> None:
    text = " ".join(f"I love food{number}." for number in range(60))

    assert len(found(text)) == MAX_CANDIDATES


def test_what_stands_at_the_end_of_a_long_turn_is_read() -> None:
    text = "My name is Ana. " + "Lorem ipsum dolor sit amet. " * 3_000 + "\nAlways answer in verse."

    assert [c.content for c in found(text)] == ["Ana", "Always answer in verse"]


def test_code_that_is_open_in_the_middle_of_a_long_turn_is_not_read_as_speech() -> None:
    text = (
        "Fix it.\n```\n" + "x = 1\n" * 5_000 + "# I live in Rome\nalways use tabs\n```\nI love tea."
    )

    assert [c.content for c in found(text)] == ["I love tea"]


HARD = (
    "I like tea. ", "Always use tabs, never spaces, ", "a. ", "I ", "\n", '"I', "my wife Olga, ",
    "é" * 10 + " ", "```", "'''", "so well ok and but ", "please remember that ", "🙂",
    "for future a a a ", "no, ", "\ud800", "(((",
    "I'm a nurse and I live in Rome, and I prefer tea; ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HARD)
def test_64_kib_of_anything_take_less_than_50_ms(piece: str) -> None:
    turn = said((piece * 65_536)[:65_536])
    examine(turn, ALICE)

    took_s = []
    for _ in range(3):
        begun = time.process_time()
        examine(turn, ALICE)
        took_s.append(time.process_time() - begun)

    assert min(took_s) < 0.050


def test_every_pattern_is_one_that_the_engine_takes() -> None:
    rooms = (cues, instructions, statements)
    texts = [v for room in rooms for v in vars(room).values() if isinstance(v, str) and "(?:" in v]

    assert len(texts) > 40
    for text in texts:
        patterns.compile(text, ignore_case=True)


speech = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
sentences = st.lists(st.sampled_from([says.text for says in SHOULD]), max_size=6).map(". ".join)


@given(st.one_of(speech, sentences, st.text(), st.text(alphabet=st.characters())))
def test_every_quote_is_a_part_of_the_turn(text: str) -> None:
    for candidate in found(text):
        start, end = candidate.metadata["span"]
        assert candidate.quote
        assert text[start:end] == candidate.quote
        assert candidate.content
        assert "\0" not in candidate.content
        candidate.content.encode("utf-8")


@given(st.one_of(speech, sentences))
def test_the_same_turn_gives_the_same_candidates(text: str) -> None:
    assert found(text) == found(text)


@given(sentences, st.sampled_from(["> ", "Tom said: "]))
def test_a_quoted_line_gives_nothing(text: str, prefix: str) -> None:
    assert found(prefix + '"' + text.replace('"', "").replace("\n", " ") + '"') == ()


CUES = tuple(value for name, value in vars(cues).items() if name.isupper() and type(value) is str)
ANYWHERE, AT_START = Cues(*CUES), Cues(*CUES, at_start=True)


@settings(deadline=None)  # The first look compiles what is looked for.
@given(st.one_of(speech, sentences))
def test_cues_that_are_looked_for_together_are_those_that_are_there(text: str) -> None:
    plain = plain_text(text)

    assert sorted(ANYWHERE.matching(plain)) == sorted(c for c in CUES if find(c, plain))
    assert sorted(AT_START.matching(plain)) == sorted(c for c in CUES if at_start(c, plain))


@pytest.mark.parametrize(
    "text",
    [
        "When I write in French, answer in French.",
        "Answer in French when I write in French.",
        "When I ask for updates, keep it short.",
        "If I ask about recipes, use metric units.",
        "When I'm travelling, contact me by SMS.",
    ],
)
def test_what_is_asked_for_on_some_occasions_is_a_rule_of_those_and_sets_no_key(text: str) -> None:
    (rule,) = found(text)
    assert (rule.key, rule.category, rule.content) == (None, "constraint", text.rstrip("."))


def test_an_exception_is_no_condition() -> None:
    (language,) = found("Answer in French unless I ask for more.")
    assert (language.key, language.content) == ("language", "french")
