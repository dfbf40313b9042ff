"""The estimate of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.language.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("中文字", 2),
        ("カタカナ文字", 4),
        ("한국어", 2),
        ("中文字abcd", 3),
    ],
)
def test_four_characters_or_one_and_a_half_of_cjk_make_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(st.characters()), st.text(st.characters()))
def test_longer_text_never_costs_less(head: str, tail: str) -> None:
    assert estimate_tokens(head) <= estimate_tokens(head + tail)
