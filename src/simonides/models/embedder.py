"""Texts to vectors: the interfaces of models that a caller may bring, and the checked call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simonides.core.errors import SimonidesError
from simonides.text.analyse import is_latin


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Thread-safe.

    Attributes:
        model_id: Names the model and its version; vectors under different ids are not compared.
        dimensions: Length of a vector.

    One that knows more than Latin script says so by an attribute ``is_multilingual``; of others,
    texts in other scripts are searched by their words alone.
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


class TokenCounter(Protocol):
    """Counts the tokens of a text as the user's model does. Thread-safe."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens."""


class EmbedderFailed(SimonidesError, RuntimeError):
    """The embedder raised an error, or returned something else than vectors."""

    hint = "check the embedder; until then words alone are searched"
    retryable = True


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a vector for each text, shape (n, dimensions), float32.

    Raises:
        EmbedderFailed: If the embedder fails, or its answer has another shape or is not finite.
    """
    if not getattr(embedder, "is_multilingual", False):
        texts = [text if is_latin(text) else "" for text in texts]
    try:
        found = np.asarray(embedder.encode(texts), np.float32)
    except Exception as error:
        raise EmbedderFailed(f"{embedder.model_id}: {type(error).__name__}") from error
    if found.shape != (len(texts), embedder.dimensions) or not np.isfinite(found).all():
        wanted = f"finite vectors of shape ({len(texts)}, {embedder.dimensions})"
        raise EmbedderFailed(f"{embedder.model_id}: returned no {wanted}")
    return found
