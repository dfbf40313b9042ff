"""Tokens: the estimate, and counting them exactly by a file or a function."""

import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from simonides.providers.token_counters import CountedBy, TokenizerFile
from simonides.settings import Settings
from simonides.text.tokens import estimate_tokens


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


def tokenizer_json(**more: Any) -> str:
    """A tokenizer of three words, as a publisher ships one; all else is one token a word."""
    made = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {"[UNK]": 0, "never": 1, "drop": 2, "users": 3},
            "unk_token": "[UNK]",
        },
    }
    return json.dumps(made | more)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json())
    return path


def test_a_tokenizer_file_counts_exactly(tokenizer: Path) -> None:
    counter = TokenizerFile(tokenizer)

    assert [counter.count(text) for text in ("", "Never drop users", "a\ud800 b")] == [0, 3, 3]
    assert counter.counter_id.startswith("tokenizer ")


def test_a_file_that_cuts_texts_for_its_model_counts_all_of_them(tmp_path: Path) -> None:
    cutting = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(truncation=cutting))

    assert TokenizerFile(path).count("never drop users " * 10) == 30
    assert TokenizerFile(path).counter_id != "tokenizer " + "0" * 12


def test_the_setting_names_the_file_and_receipts_name_the_counter(tokenizer: Path) -> None:
    with simonides.open(":memory:", settings=Settings(tokenizer=tokenizer)) as store:
        page = store.memory(user="ana").digest("x").receipt.page

    assert page is not None
    assert page.counter == TokenizerFile(tokenizer).counter_id


def test_any_function_counts(tmp_path: Path) -> None:
    with simonides.open(":memory:", tokens=len) as store:
        assert store.runtime.models.tokens.count("four") == 4
        assert store.runtime.models.tokens.counter_id == "function builtins.len"
        with store.memory(user="ana").task("x") as task:
            assert task.add({"role": "user", "content": "hello"}).tokens == 5
    mine = CountedBy(len, "letters 1")
    with simonides.open(":memory:", tokens=mine) as store:
        assert store.runtime.models.tokens is mine
    for wrong in (5, "cl100k"):
        with pytest.raises(simonides.ConfigurationError, match="tokens must be"):
            simonides.open(tmp_path / "m.db", tokens=cast("Any", wrong))
    assert not [*tmp_path.iterdir()], "nothing was opened for it"


@pytest.mark.parametrize("content", [None, b"{}", b"\xff", b"[1"])
def test_a_file_that_is_no_tokenizer_is_a_typed_error(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(simonides.ConfigurationError, match=r"tokenizer\.json"):
        simonides.open(":memory:", settings=Settings(tokenizer=path))


def test_without_the_library_the_extra_is_named(
    tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)

    with pytest.raises(simonides.MissingExtra, match="pip install 'tokenizers>="):
        TokenizerFile(tokenizer)
