"""Interfaces of the models that a caller may bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Thread-safe.

    Attributes:
        model_id: Names the model and its version; vectors under different ids are not compared.
        dimensions: Length of a vector.
    """

    model_id: str
    dimensions: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, shape (n, dimensions); zeros for a text without meaning."""


@runtime_checkable
class Reranker(Protocol):
    """Looks at the best hits of a query again. Thread-safe."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text; a higher one bears more on the query."""
