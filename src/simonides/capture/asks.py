"""Estimates whether a sentence asks something of the memory, where no wording says so.

A logistic regression on the words and pairs of words of a sentence and on its vector, trained on
requests and look-alikes by several hands (`benchmarks/asks.py`). Its answer can only have the user
asked.
"""

from __future__ import annotations

import math
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[?!]")
_EDGE = "\n"

REACH = 5.0
"""What a vector may add to the words. Of 4 to 7: at 5 a twelfth of the requests is lost that the
whole would find, and of ordinary sentences 11 % need a vector (`benchmarks/asks.py`)."""


def in_reach(sentence: str) -> bool:
    """Whether the words of a sentence let it be asked for its vector: of ordinary ones 11 % do."""
    return _of_words(sentence) > -REACH


def is_trained_with(model_id: str) -> bool:
    """Whether the weights are of the vectors of an embedder, by its id."""
    return model_id == _model().id


def sounds_asked(sentence: str, vector: Floats) -> bool:
    """Whether a sentence sounds as if it asked something of the memory.

    Of the sentences of users that ask nothing .3 % do.

    Args:
        sentence: Its text.
        vector: Of length 1, from the embedder that the weights were trained with.
    """
    return _of_words(sentence) + float(vector @ _model().of_vector) > 0


def _of_words(sentence: str) -> float:
    model = _model()
    known = [model.places[each] for each in features(sentence) if each in model.places]
    return float(model.weights[known].sum()) / math.sqrt(max(len(known), 1)) - model.floor


def features(sentence: str) -> set[str]:
    """Return the words of a sentence and its pairs of neighbours, its edges among them."""
    words = [word.lower() for word in _WORD.findall(sentence)]
    pairs = zip([_EDGE, *words], [*words, _EDGE], strict=True)
    return {*words, *(" ".join(pair) for pair in pairs)}


class _Model(NamedTuple):
    id: str  # of the encoder
    places: dict[str, int]
    weights: Floats
    of_vector: Floats
    floor: float


@cache
def _model() -> _Model:
    with (files("simonides.capture") / "asks.npz").open("rb") as stream:
        data = np.load(stream, allow_pickle=False)
        places = {name: number for number, name in enumerate(data["features"].tolist())}
        weights = data["weights"].astype(np.float32)
        return _Model(str(data["model"]), places, weights, data["of_vector"], float(data["floor"]))
