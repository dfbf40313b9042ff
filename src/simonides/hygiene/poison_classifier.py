"""How likely it is that a text was written to command a model, by a small linear classifier (HY-6).

The weights lie beside this, made by ``scripts/build_poison_classifier.py``; origin and licences of
what they were trained on are in the NOTICE beside them, figures in docs/hygiene.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from simonides.language.ngrams import LinearModel

_PLACE = "poison_weights"
_DIGITS = str.maketrans("123456789", "000000000")


class _Model(NamedTuple):
    """The weights, and what turns a sum of them into a probability."""

    linear: LinearModel
    slope: float
    offset: float
    threshold: float


def shaped(text: str) -> str:
    """Return a folded text in the form that the classifier reads: no digit but 0, single spaces."""
    return " ".join(text.translate(_DIGITS).split())


def probabilities(texts: Sequence[str]) -> list[float]:
    """Return for each text how likely it is that it is an attack, from 0 to 1.

    As calibrated on texts of which a half are attacks; what share of the texts that somebody
    fetches are attacks nobody knows.

    Args:
        texts: Each shaped.
    """
    model = _model()
    return [_sigmoid(model.slope * each + model.offset) for each in model.linear.sums(texts)]


def threshold(fills: float = 1.0) -> float:
    """Return the probability from which on a text counts as an attack.

    Args:
        fills: How many texts were looked at for one; with it the odds that are asked for rise, so
            that as few harmless ones are marked (Bonferroni's bound).
    """
    single = _model().threshold
    odds = single / (1 - single) * max(fills, 1.0)
    return odds / (1 + odds)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > 0 else math.exp(value) / (1 + math.exp(value))


@cache
def _model() -> _Model:
    place = files("simonides.hygiene") / _PLACE
    told = json.loads((place / "manifest.json").read_text("utf-8"))
    with (place / "weights.npy").open("rb") as stream:
        linear = LinearModel.of_file(stream)
    return _Model(linear, told["slope"], told["offset"], told["threshold"])
