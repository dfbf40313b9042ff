"""Estimate by a linear classifier how likely a text was written to command a model.

``scripts/build_poison_classifier.py`` makes the weights in ``poison_weights``. Their NOTICE names
the training data and its licences; docs/policy.md has the measured figures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from simonides.text import LinearModel

_PLACE = "weights"
_DIGITS = str.maketrans("123456789", "000000000")


class _Model(NamedTuple):
    """The weights, and how a sum of them becomes a probability."""

    linear: LinearModel
    slope: float
    offset: float
    threshold: float


def classifier_text(text: str) -> str:
    """Return a folded text as the classifier reads it: every digit as 0, single spaces."""
    return " ".join(text.translate(_DIGITS).split())


def probabilities(texts: Sequence[str]) -> list[float]:
    """Return the probability of an attack for each :func:`classifier_text`.

    Calibrated on texts of which half are attacks; the share among fetched texts is unknown.
    """
    model = _model()
    return [_sigmoid(model.slope * each + model.offset) for each in model.linear.sums(texts)]


def threshold(windows: float = 1.0) -> float:
    """Return the least probability of an attack in a text of so many windows.

    The required odds rise with the windows, so that no more harmless texts are marked (Bonferroni's
    bound).
    """
    single = _model().threshold
    odds = single / (1 - single) * max(windows, 1.0)
    return odds / (1 + odds)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > 0 else math.exp(value) / (1 + math.exp(value))


@cache
def _model() -> _Model:
    place = files(__package__) / _PLACE
    manifest = json.loads((place / "manifest.json").read_text("utf-8"))
    with (place / "weights.npy").open("rb") as stream:
        linear = LinearModel.of_file(stream)
    return _Model(linear, manifest["slope"], manifest["offset"], manifest["threshold"])
