"""Embedders that do what they are told to."""

import hashlib

import numpy as np

from simonides import ModelGarbled


class HashedEmbedder:
    """Vectors out of the words of a text and its own name, and nothing else.

    Attributes:
        fails: An error that every text provokes; None for none.
        refused: Words that fail a text, with all that is encoded beside it.
        encoded: How many texts were encoded.
    """

    scripts = frozenset({"Latin"})

    def __init__(self, model_id: str = "hashed-32", dimensions: int = 32) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.fails: Exception | None = None
        self.refused: frozenset[str] = frozenset()
        self.encoded = 0

    def encode(self, texts):
        if self.fails is not None:
            raise self.fails
        if any(word in self.refused for text in texts for word in text.split()):
            raise ModelGarbled("empty", f"{self.model_id} refuses a word")
        self.encoded += len(texts)
        rows = np.array([self._row(text) for text in texts], np.float32)
        return rows.reshape(len(texts), self.dimensions)

    def _row(self, text):
        row = np.zeros(self.dimensions)
        for word in text.casefold().split():
            named = f"{self.model_id} {word}".encode("utf-8", "surrogatepass")
            seed = hashlib.shake_128(named).digest(self.dimensions)
            row += np.frombuffer(seed, np.uint8).astype(np.float64) - 127.5
        length = float(np.sqrt((row * row).sum()))
        return row / length if length else row
