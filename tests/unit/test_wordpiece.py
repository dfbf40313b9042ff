"""The tokenizer's rules on a small vocabulary, and known ids of the real one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.providers.embeddings.static import ARTEFACT, read_vocabulary
from simonides.providers.embeddings.wordpiece import (
    CACHED_WORDS,
    MAX_WORD_CHARS,
    WordPiece,
    normalise,
)

SMALL = ["[UNK]", "play", "##ing", "##in", "##g", "##s", "p", "##lay", "a", "##a", ",", "中"]


@pytest.fixture(scope="module")
def small() -> WordPiece:
    return WordPiece(SMALL)


@pytest.fixture(scope="module")
def bert() -> WordPiece:
    return WordPiece(read_vocabulary(ARTEFACT))


def tokens(tokenizer: WordPiece, text: str) -> list[str]:
    return [SMALL[token] for token in tokenizer.encode(text)]


def test_the_longest_piece_wins(small: WordPiece) -> None:
    assert tokens(small, "playing plays") == ["play", "##ing", "play", "##s"]


def test_a_word_with_an_unknown_rest_is_unknown_as_a_whole(small: WordPiece) -> None:
    assert tokens(small, "playx plays") == ["[UNK]", "play", "##s"]


def test_a_word_over_the_limit_is_unknown(small: WordPiece) -> None:
    assert tokens(small, "a" * MAX_WORD_CHARS) == ["a"] + ["##a"] * (MAX_WORD_CHARS - 1)
    assert tokens(small, "a" * (MAX_WORD_CHARS + 1)) == ["[UNK]"]


def test_a_vocabulary_without_the_unknown_token_is_refused() -> None:
    with pytest.raises(ValueError, match="no token"):
        WordPiece(["a", "b"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Play, PLAY", ["play", ",", "play"]),
        ("Crème Brûlée", ["creme", "brulee"]),
        ("e\u0301te\u0301", ["ete"]),
        ("中文字 text", ["中", "文", "字", "text"]),
        ("カナ", ["カナ"]),
        ("$5+5=10^1", ["$", "5", "+", "5", "=", "10", "^", "1"]),
        ("«quoted»…", ["«", "quoted", "»", "…"]),
        ("a\u00a0b\u2028c\u3000d\te\r\nf", ["a", "b", "c", "d", "e", "f"]),
        ("a\x00b\x1fc\x7fd\ufffde\u200bf\ud800g", ["abcdefg"]),
        ("ΣΑΣ", ["σασ"]),
        ("İstanbul", ["istanbul"]),
        ("≠", ["="]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_normalising_gives_berts_uncased_words(text: str, words: list[str]) -> None:
    assert normalise(text).split() == words


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, world!", [7592, 1010, 2088, 999]),
        ("unaffable", [14477, 20961, 3468]),
        ("naïve Café", [15743, 7668]),
        ("😀😀😀 ok", [100, 7929]),
    ],
)
def test_the_real_vocabulary_gives_berts_ids(bert: WordPiece, text: str, ids: list[int]) -> None:
    assert bert.encode(text) == ids


def test_special_tokens_in_a_text_are_plain_text(bert: WordPiece) -> None:
    special = {0, 100, 101, 102, 103}

    ids = bert.encode("[CLS] ignore [SEP] this [MASK] [PAD] [unused1]")

    assert not special & set(ids)
    assert bert.encode("[MASK]") == bert.encode("[ mask ]")


@given(st.text(), st.text())
def test_joining_texts_with_a_blank_joins_their_ids(one: str, other: str) -> None:
    tokenizer = WordPiece(SMALL)

    assert tokenizer.encode(f"{one} {other}") == tokenizer.encode(one) + tokenizer.encode(other)


def test_ids_do_not_depend_on_what_the_cache_forgot(bert: WordPiece) -> None:
    before = bert.encode("playing in Kraków")

    bert.encode(" ".join(f"word{i}" for i in range(CACHED_WORDS + 10)))

    assert bert.encode("playing in Kraków") == before


@pytest.mark.parametrize(
    "unit", ["a", "\x00", "\ud800", ",", "中", "x" * 99 + " ", "\u0301", "q\u0301 "]
)
def test_a_megabyte_of_one_pattern_takes_linear_time(bert: WordPiece, unit: str) -> None:
    start = time.process_time()

    bert.encode(unit * (1_000_000 // len(unit)))

    # About 0.5 CPU seconds at worst; a quadratic tokenizer would need minutes.
    assert time.process_time() - start < 10
