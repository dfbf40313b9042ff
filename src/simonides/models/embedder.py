"""Turning texts into vectors: interfaces of models, and the call that checks an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simonides.core.errors import SimonidesError


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


class EmbedderFailed(SimonidesError, RuntimeError):
    """The embedder raised an error, or returned something else than vectors."""

    hint = "check the embedder; until then words alone are searched"
    retryable = True


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a vector for each text, shape (n, dimensions), float32.

    Raises:
        EmbedderFailed: If the embedder fails, or its answer has another shape or is not finite.
    """
    try:
        found = np.asarray(embedder.encode(texts), np.float32)
    except Exception as error:
        raise EmbedderFailed(f"{embedder.model_id}: {type(error).__name__}") from error
    if found.shape != (len(texts), embedder.dimensions) or not np.isfinite(found).all():
        wanted = f"finite vectors of shape ({len(texts)}, {embedder.dimensions})"
        raise EmbedderFailed(f"{embedder.model_id}: returned no {wanted}")
    return found
