"""Normal form, content hash and what counts as a text."""

import contextlib
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.errors import InvalidInput
from simonides.text.normalise import check_text, content_hash, normalise

any_text = st.text(st.characters())  # lone surrogates included


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  Hello\t\n World ", "hello world"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("Straße", "strasse"),
        ("e\u0301 É", "é é"),
        ("ﬁne", "fine"),
        ("ＡＢＣ①", "abc1"),
        ("", ""),
    ],
)
def test_width_case_composition_and_white_space_do_not_matter(text: str, normal: str) -> None:
    assert normalise(text) == normal


@given(any_text)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)

    assert normalise(once) == once


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_cut_for_ascii_gives_what_the_long_way_gives(text: str) -> None:
    assert normalise(text) == normalise(text + " é").removesuffix("é").rstrip()


def test_equal_statements_have_equal_hashes() -> None:
    assert content_hash("I  like TEA") == content_hash("i like tea")
    assert content_hash("i like tea") == hashlib.sha256(b"i like tea").hexdigest()


def test_different_numbers_have_different_hashes() -> None:
    assert content_hash("3 cups") != content_hash("4 cups")


def test_a_proper_text_passes_as_it_is() -> None:
    assert check_text("content", " Привет, 世界 🍕 ", 100) == " Привет, 世界 🍕 "


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (None, "must be text, not NoneType"),
        (b"bytes", "must be text, not bytes"),
        (3, "must be text, not int"),
        ("", "must not be empty or blank"),
        (" \t\n\u2003", "must not be empty or blank"),
        ("a\0b", r"holds NUL \(U\+0000\) at character 1"),
        ("ab\ud800", r"holds a lone surrogate U\+D800 at character 2"),
    ],
)
def test_what_is_no_text_is_refused_with_its_field(raw: object, problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"^metadata.note: {problem}"):
        check_text("metadata.note", raw, 100)


def test_size_counts_bytes_and_the_limit_is_inclusive() -> None:
    assert check_text("content", "é" * 50, 100) == "é" * 50

    with pytest.raises(InvalidInput, match="has 102 bytes in UTF-8; at most 100 bytes are allowed"):
        check_text("content", "é" * 51, 100)


def test_a_huge_text_is_refused_by_its_length() -> None:
    with pytest.raises(InvalidInput, match="has 1,000,000 characters; at most 65,536 bytes"):
        check_text("content", "a" * 1_000_000, 65_536)


@given(any_text)
def test_any_text_is_either_accepted_or_a_typed_error(text: str) -> None:
    with contextlib.suppress(InvalidInput):
        assert len(check_text("content", text, 50).encode()) <= 50
