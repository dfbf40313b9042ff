"""Hashed n-grams of words and characters, and a linear model over them.

The features of a text are its words, pairs and triples of words, and all runs of 3 to 5 characters.
Each is hashed to one of :data:`BUCKETS` numbers. There is no vocabulary, so any language and
spelling has features. A linear model is then one weight a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BUCKET_BITS = 19
BUCKETS = 1 << BUCKET_BITS
"""Chosen: features of a training set of 25,000 texts then seldom collide. A model of one byte a
number is half a megabyte."""

CHARACTER_RUNS = (3, 4, 5)
WORD_RUNS = (1, 2, 3)

MOST_TEXTS = 1 << (32 - BUCKET_BITS)
"""Batch size: a text and a feature share 32 bits."""

# Odd constants of the 32-bit golden ratio and of xxHash's and Murmur's mixers. Others would spread
# bits as well, but the trained weights need these.
_SPREAD, _STEP, _MIX = 0x9E3779B1, 0x85EBCA77, 0x2C1B3C6D
_WORD_SALT = 0x51


def pieces(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the features of texts: rising numbers of texts, and of their features.

    A feature counts once for a text. Takes time linear in the texts, except for sorting the
    numbers.

    Args:
        texts: At most :data:`MOST_TEXTS`, in the form that the model was trained on.
    """
    import numpy as np

    joined = "".join(f" {text} " for text in texts)
    codes = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    lengths = [len(text) + 2 for text in texts]
    of_text = np.repeat(np.arange(len(texts), dtype=np.uint32) << np.uint32(BUCKET_BITS), lengths)
    spread = (codes + np.uint32(1)) * np.uint32(_SPREAD)
    spread ^= spread >> np.uint32(15)
    keys = _runs(spread, of_text, CHARACTER_RUNS, salt=0)
    words, owners = _words(codes, spread, of_text)
    keys += _runs(words, owners, WORD_RUNS, salt=_WORD_SALT)
    found = np.concatenate([np.zeros(0, np.uint32), *keys])
    found.sort()
    once = np.ones(len(found), np.bool_)
    np.not_equal(found[1:], found[:-1], out=once[1:])
    found = found[once].astype(np.int64)
    return found >> BUCKET_BITS, found & (BUCKETS - 1)


class LinearModel:
    """A linear model with a weight of one byte for each hashed feature."""

    def __init__(self, weights: NDArray[np.int8]) -> None:
        self._weights = weights

    @classmethod
    def of_file(cls, stream: IO[bytes]) -> LinearModel:
        """Read the weights from a file in NumPy's format.

        Raises:
            ValueError: If it holds anything else.
        """
        import numpy as np

        weights = np.load(stream, allow_pickle=False)
        if weights.shape != (BUCKETS,) or weights.dtype != np.int8:
            raise ValueError(
                f"weights: {BUCKETS:,} bytes are needed, not {weights.dtype} {weights.shape}"
            )
        return cls(weights)

    def sums(self, texts: Sequence[str]) -> list[float]:
        """Return for each text the sum of its feature weights over the root of their count."""
        import numpy as np

        found: list[float] = []
        for at in range(0, len(texts), MOST_TEXTS):
            part = texts[at : at + MOST_TEXTS]
            rows, columns = pieces(part)
            counts = np.bincount(rows, minlength=len(part))
            totals = np.bincount(rows, self._weights[columns], minlength=len(part))
            found += map(float, totals / np.sqrt(np.maximum(counts, 1)))
        return found


def _words(
    codes: NDArray[np.uint32], spread: NDArray[np.uint32], of_text: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return a hash of each word, and the text that holds it."""
    import numpy as np

    # Letters of ASCII in lower case, digits, apostrophe, low line, and all beyond ASCII.
    inside = (codes >= 0x80) | ((codes >= 97) & (codes <= 122)) | ((codes >= 48) & (codes <= 57))
    inside |= (codes == 39) | (codes == 95)
    places = np.flatnonzero(inside)
    if not len(places):
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    opens = np.ones(len(places), np.bool_)
    np.not_equal(places[1:] - places[:-1], 1, out=opens[1:])
    firsts = np.flatnonzero(opens)
    # A letter counts by its place in the word; otherwise "on" and "no" would be equal.
    place = places - np.repeat(places[firsts], np.diff(firsts, append=len(places)))
    placed = spread[places] * (
        place.astype(np.uint32) * np.uint32(_STEP) * np.uint32(2) + np.uint32(1)
    )
    placed ^= placed >> np.uint32(13)
    return np.add.reduceat(placed, firsts, dtype=np.uint32), of_text[places[firsts]]


def _runs(
    units: NDArray[np.uint32], owners: NDArray[np.uint32], lengths: Sequence[int], *, salt: int
) -> list[NDArray[np.uint32]]:
    """Return text and number of every run of units within one text."""
    import numpy as np

    keys = []
    rolled = units
    for length in range(1, max(lengths) + 1):
        if length > len(units):
            break
        if length > 1:
            rolled = rolled[:-1] * np.uint32(_STEP) + units[length - 1 :]
        if length in lengths:
            mixed = rolled + np.uint32((salt + length) * _MIX & 0xFFFFFFFF)
            mixed ^= mixed >> np.uint32(16)
            mixed *= np.uint32(_MIX)
            mixed ^= mixed >> np.uint32(15)
            mixed *= np.uint32(_SPREAD)
            key = owners[: len(mixed)] | (mixed >> np.uint32(32 - BUCKET_BITS))
            last = owners[length - 1 :]
            keys.append(key if owners[0] == owners[-1] else key[owners[: len(mixed)] == last])
    return keys
