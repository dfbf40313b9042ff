"""Calls an embedder of any origin, and checks what it returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simonides.core.errors import SimonidesError
from simonides.models.protocols import Embedder


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
