"""A small embedder: fast, the same on every machine, without meaning."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simonides.text.analyse import analyse


class SmallEmbedder:
    """Texts are as alike as they share words; an `Embedder` for tests that need no meaning.

    Attributes:
        model_id: Its name.
        dimensions: Length of a vector, 128.
    """

    model_id, dimensions = "small-for-tests", 128

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text, shape (n, 128); zeros for one without words."""
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(found, texts, strict=True):
            for term in analyse(text):
                row += _direction(term)
            row /= max(float(np.sqrt(row @ row)), 1e-6)
        return found


@lru_cache(maxsize=8_192)
def _direction(term: str) -> NDArray[np.int8]:
    """Return 128 signs: of two terms they are nearly at right angles."""
    code = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return np.unpackbits(np.frombuffer(code, np.uint8)).astype(np.int8) * 2 - 1
