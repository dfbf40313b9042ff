"""What sounds as if it asked something of the memory is asked back, and never more."""

from __future__ import annotations

import numpy as np
import pytest

import simonides.testing
from simonides.capture.asks import in_reach, is_trained_with, sounds_asked
from simonides.models import Encoder

ASKS = [
    "Could you let go of my shoe size?",
    "The thing with my cousin and the loan, I'd sleep better if you had no trace of it.",
    "I don't want my salary popping up again.",
]
LOOKS = [
    "Could you let go of the rope at three?",
    "My cousin lost the loan papers and there is no trace of them.",
    "I don't want my salary to be paid late again.",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder()


def sounds(encoder: Encoder, sentence: str) -> bool:
    [vector] = encoder.encode([sentence])
    return in_reach(sentence) and sounds_asked(sentence, vector)


@pytest.mark.parametrize("sentence", ASKS)
def test_a_request_in_words_of_its_own_sounds_like_one(encoder: Encoder, sentence: str) -> None:
    assert sounds(encoder, sentence)


@pytest.mark.parametrize("sentence", [*LOOKS, "", "?", "ok"])
def test_other_sentences_do_not(encoder: Encoder, sentence: str) -> None:
    assert not sounds(encoder, sentence)


class Counting:
    model_id, dimensions = "another-model", 8

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts):
        self.encoded += texts
        return np.tile(np.eye(8, dtype=np.float32)[0], (len(texts), 1))


def test_an_embedder_of_another_model_is_not_asked_for_it() -> None:
    assert not is_trained_with("another-model")
    embedder = Counting()
    with simonides.testing.open(embedder=embedder) as store:
        ana = store.memory(user="ana")
        ana.add("My shoe size is 39.")
        embedder.encoded.clear()
        report = ana.add(ASKS[0])
    assert not report.lines[0].asked
    assert embedder.encoded == [ASKS[0]]  # once, as a turn


@pytest.mark.real_encoder
def test_the_user_is_asked_what_is_meant_and_nothing_is_lost(tmp_path) -> None:
    with simonides.open(tmp_path / "memory.db") as store:
        ana = store.memory(user="ana")
        ana.add("My shoe size is 39. I also like hiking.")
        report = ana.add(ASKS[0])
        [asked] = [each for line in report.lines for each in line.asked]
        assert (asked.kind, asked.done) == ("unclear", False)
        assert asked.answer.endswith("\n- My shoe size is 39.\nForget it?")  # and no more of it
        assert len(ana.pending.list()) == 1
        assert "My shoe size is 39." in str(ana.digest("What is my shoe size?"))
        assert ASKS[0] in [record.content for record in ana.list()]


@pytest.mark.real_encoder
def test_nobody_is_asked_about_what_the_memory_does_not_hold(tmp_path) -> None:
    with simonides.open(tmp_path / "memory.db") as store:
        ana = store.memory(user="ana")
        ana.add("I like hiking.")
        assert not any(line.asked for line in ana.add(ASKS[0]).lines)
