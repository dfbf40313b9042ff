"""What is left of a statement when it is reworded, and when it says something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.capture.pasted import without_digests
from simonides.domain.reading.digest import (
    CLOSE,
    NOTE,
    OPEN,
    TITLE,
)
from simonides.text.similarity.fingerprint import (
    fingerprint,
    repeats,
    terms_of,
    whole_text_id,
)

ID = "01a203ab-34d8-78ed-96d2-6ff99b746b16"
LINE = f'- [fact] "I love tea" ({ID}; user_stated 2026-11-22 1.00; stale?)'


def says_again(said: str, *known: str, speaker: str = "") -> bool:
    texts = [terms_of(fingerprint(text)) for text in known]
    return repeats(fingerprint(said), texts, terms_of(fingerprint(speaker)))


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("i LIVE in berlin!!", "User lives in Berlin"),
        ("in Berlin is where I reside", "User lives in Berlin"),
        ("As you said, I live in Berlin", "User lives in Berlin"),
        ("we bought a big house in 1999", "User purchased a large home in 1999"),
        ("two cats, Tom and Kit", "I have 2 cats, Tom and Kit, and one dog"),
        ("I never eat fish", "User does not eat fish"),
        ("我住在柏林", "用户住在柏林"),
    ],
)
def test_a_statement_is_known_again(said: str, known: str) -> None:
    assert says_again(said, known)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I live in Bremen", "User lives in Berlin"),
        ("I don't live in Berlin", "User lives in Berlin"),
        ("I live in Berlin", "User no longer lives in Berlin"),
        ("three cats, Tom and Kit", "I have 2 cats, Tom and Kit"),
        ("I live in Berlin with Tom", "User lives in Berlin"),
        ("tea", "User loves tea"),
        ("I love tea", "When it rains an aunt of mine would love some green tea and cake"),
        ("我住在汉堡", "用户住在柏林"),
        ("", "User lives in Berlin"),
    ],
)  # fmt: skip
def test_another_is_told_from_it(said: str, known: str) -> None:
    assert not says_again(said, known)


def test_of_several_statements_each_must_be_known() -> None:
    known = ("User lives in Berlin", "User loves green tea")

    assert says_again("I live in Berlin and I love green tea", *known)
    assert not says_again("I live in Berlin and I love Rex", *known)
    assert says_again("Ana lives in Berlin", *known, speaker="Ana")


@given(st.text(max_size=60))
def test_a_text_is_itself_whatever_it_is(text: str) -> None:
    assert whole_text_id(text) == whole_text_id(f" {text.upper().lower()}.") or not text.isascii()
    assert all(0 <= term < 2**32 for term in terms_of(fingerprint(text)))


@pytest.mark.parametrize(
    "pasted",
    [
        f"{TITLE}\n{NOTE}\n{OPEN}\n{LINE}\n{CLOSE}",
        LINE,
        f"> {LINE}",
        f"{OPEN} whatever stands here {CLOSE}",
        TITLE,
    ],
)
def test_a_pasted_digest_is_blank_and_nothing_else_is(pasted: str) -> None:
    text = f"I love my job.\n{pasted}\nI love - [tea] (too)."

    left = without_digests(text)

    assert len(left) == len(text)
    assert [line for line in left.split("\n") if line.strip()] == [
        "I love my job.",
        "I love - [tea] (too).",
    ]


@given(st.lists(st.sampled_from([OPEN, CLOSE, TITLE, LINE, "\n", "\ud800", "é", "- [", "a"])))
def test_places_stay_what_they_were(pieces: list[str]) -> None:
    text = "".join(pieces)

    left = without_digests(text)

    assert len(left) == len(text)
    assert all(new == old or new == " " for new, old in zip(left, text, strict=True))
