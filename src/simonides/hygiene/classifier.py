"""Estimates by a linear classifier how likely a text is an instruction to a model.

The features of a text are its words, pairs and triples of words, and all runs of 3 to 5 characters.
Each is hashed to one of `BUCKETS` numbers, so there is no vocabulary, and any language and spelling
has features. The NOTICE beside the weights names the training data and the recipe.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Units = NDArray[np.uint32]
"""Hashes of characters or words, or numbers of the texts that hold them."""

_BUCKET_BITS = 19
BUCKETS = 1 << _BUCKET_BITS
"""Number of features; the weights are of one byte each."""

MAX_TEXTS = 1 << (32 - _BUCKET_BITS)
"""Maximum number of texts in one call: the number of a text and that of a feature share 32 bits."""

# Odd constants of the 32-bit golden ratio and of the mixers of xxHash and Murmur. The trained
# weights need exactly these.
_SPREAD, _STEP, _MIX = 0x9E3779B1, 0x85EBCA77, 0x2C1B3C6D
_WORD_SALT = 0x51
_DIGITS = str.maketrans("123456789", "000000000")


def probabilities(texts: Sequence[str]) -> list[float]:
    """Return for each text the probability that it is an instruction to a model.

    Calibrated on texts of which half were attacks.

    Args:
        texts: In lower case; at least one and at most `MAX_TEXTS`.
    """
    weights, manifest = _model()
    rows, columns = _features([" ".join(text.translate(_DIGITS).split()) for text in texts])
    counts = np.bincount(rows, minlength=len(texts))
    sums = np.bincount(rows, weights[columns], minlength=len(texts))
    logits = sums / np.sqrt(np.maximum(counts, 1)) * manifest["slope"] + manifest["offset"]
    return [1 / (1 + math.exp(-max(each, -700.0))) for each in logits.tolist()]


def threshold(size: float) -> float:
    """Return the least probability of an attack for a text that is ``size`` times one piece.

    A longer text has more pieces that may look bad by chance, so the required odds rise with the
    size (Bonferroni's bound).
    """
    single: float = _model()[1]["threshold"]
    odds = single / (1 - single) * max(size, 1.0)
    return odds / (1 + odds)


@cache
def _model() -> tuple[NDArray[np.int8], dict[str, Any]]:
    folder = files("simonides.hygiene") / "weights"
    with (folder / "weights.npy").open("rb") as stream:
        weights = np.load(stream, allow_pickle=False)
    return weights, json.loads((folder / "manifest.json").read_text("utf-8"))


def _features(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the features of texts, each once for a text: numbers of texts, and of features."""
    joined = "".join(f" {text} " for text in texts)
    codes = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    lengths = [len(text) + 2 for text in texts]
    owners = np.repeat(np.arange(len(texts), dtype=np.uint32) << np.uint32(_BUCKET_BITS), lengths)
    spread = (codes + np.uint32(1)) * np.uint32(_SPREAD)
    spread ^= spread >> np.uint32(15)
    runs = [(codes[:0], owners[:0]), *_runs(spread, owners, (3, 4, 5), salt=0)]
    runs += _runs(*_words(codes, spread, owners), (1, 2, 3), salt=_WORD_SALT)
    hashes = np.concatenate([run for run, _ in runs])
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(_MIX)
    hashes ^= hashes >> np.uint32(15)
    hashes *= np.uint32(_SPREAD)
    pairs = np.concatenate([owner for _, owner in runs]) | hashes >> np.uint32(32 - _BUCKET_BITS)
    pairs.sort()
    once = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=once[1:])
    pairs = pairs[once].astype(np.int64)
    return pairs >> _BUCKET_BITS, pairs & (BUCKETS - 1)


def _words(codes: Units, spread: Units, owners: Units) -> tuple[Units, Units]:
    """Return a hash of each word, and the text that holds it."""
    # Letters of ASCII in lower case, digits, apostrophe, low line, and all beyond ASCII.
    inside = (codes >= 0x80) | ((codes >= 97) & (codes <= 122)) | ((codes >= 48) & (codes <= 57))
    places = np.flatnonzero(inside | (codes == 39) | (codes == 95))
    opens = np.ones(len(places), np.bool_)
    np.not_equal(places[1:] - places[:-1], 1, out=opens[1:])
    firsts = np.flatnonzero(opens)
    # A letter counts by its place in the word; otherwise "on" and "no" would be equal.
    at = places - places[firsts][np.cumsum(opens) - 1]
    placed = spread[places] * (at.astype(np.uint32) * np.uint32(2 * _STEP & 0xFFFFFFFF) + 1)
    placed ^= placed >> np.uint32(13)
    return np.add.reduceat(placed, firsts, dtype=np.uint32), owners[places[firsts]]


def _runs(
    units: Units, owners: Units, lengths: Sequence[int], *, salt: int
) -> list[tuple[Units, Units]]:
    """Return for each length the hashes of the runs of units within one text, and these texts."""
    runs = []
    rolled = units
    for length in range(1, min(max(lengths), len(units)) + 1):
        if length > 1:
            rolled = rolled[:-1] * np.uint32(_STEP) + units[length - 1 :]
        if length in lengths:
            salted = rolled + np.uint32((salt + length) * _MIX & 0xFFFFFFFF)
            first = owners[: len(rolled)]
            if owners[0] != owners[-1]:
                inside = first == owners[length - 1 :]
                salted, first = salted[inside], first[inside]
            runs.append((salted, first))
    return runs
