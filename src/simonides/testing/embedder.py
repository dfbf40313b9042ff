"""A small embedder: fast, the same on every machine, without meaning."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simonides.models.embedder import MAX_TOKENS, Encoded
from simonides.text.analyse import analyse

UNIT = 127.0 / 128.0**0.5
"""Of each of 128 numbers, so that a vector of them is 127 long."""


class SmallEmbedder:
    """Texts are as alike as they share words; a `TokenEmbedder` for tests that need no meaning.

    Attributes:
        model_id: Its name.
        dimensions: Length of a vector, 128.
    """

    model_id, dimensions = "small-for-tests", 128

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text, shape (n, 128); zeros for one without words."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for term in analyse(text):
                row += _direction(term)
            row /= max(float(np.sqrt(row @ row)), 1e-6)
        return vectors

    def encode_tokens(self, texts: Sequence[str], most: int = MAX_TOKENS) -> list[Encoded]:
        """Return the vectors of each text, and of its first distinct words."""
        vectors = []
        for text, whole in zip(texts, self.encode(texts), strict=True):
            terms = {_id(term): term for term in analyse(text)}
            ids = list(terms)[:most]
            rows = np.array([_direction(terms[id]) for id in ids]).reshape(-1, self.dimensions)
            tokens = np.rint(rows * UNIT).astype(np.int8)
            vectors.append(Encoded(whole, np.array(ids, np.uint16), tokens))
        return vectors

    def pieces(self, word: str) -> Sequence[int]:
        """Return the ids of the terms of a word."""
        return [_id(term) for term in analyse(word)]


@lru_cache(maxsize=8_192)
def _direction(term: str) -> NDArray[np.int8]:
    """Return 128 signs: of two terms they are nearly at right angles."""
    return np.unpackbits(np.frombuffer(_code(term), np.uint8)).astype(np.int8) * 2 - 1


def _id(term: str) -> int:
    return int.from_bytes(_code(term)[:2], "big")


def _code(term: str) -> bytes:
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).digest()
