"""An embedder by name, such as ``openai:text-embedding-3-small``, through pydantic-ai."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simonides.core.errors import ConfigurationError, MissingExtra
from simonides.models.embedder import EmbedderFailed
from simonides.models.event_loop import EventLoop


class NamedEmbedder:
    """An `Embedder` whose vectors come from a provider: texts leave the machine.

    Attributes:
        model_id: Its name.
        dimensions: Length of a vector.
    """

    is_multilingual = True

    def __init__(self, name: str, seconds: float) -> None:
        """Ask the provider for one vector, which tells the dimensions.

        Args:
            name: As pydantic-ai names it.
            seconds: Most time for one request.

        Raises:
            ConfigurationError: If the name is unknown, a key is missing, or the extra is.
            EmbedderFailed: If the provider does not answer.
        """
        try:
            from pydantic_ai import Embedder
            from pydantic_ai.embeddings import infer_embedding_model
            from pydantic_ai.exceptions import UserError
        except ImportError as error:
            raise MissingExtra("llm", "an embedder by name") from error
        try:
            self._embedder = Embedder(infer_embedding_model(name))
        except (UserError, ValueError, ImportError) as error:
            raise ConfigurationError(f"embedder {name!r}: {error}") from error
        self.model_id, self._seconds = name, seconds
        self._loop = EventLoop()
        try:
            self.dimensions = len(self._encoded(["dimensions"])[0])
        except Exception as error:
            raise EmbedderFailed(f"{name}: {error}") from error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector for each text, shape (n, dimensions); zeros for an empty one."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        filled = [position for position, text in enumerate(texts) if text.strip()]
        if filled:
            vectors[filled] = self._encoded([texts[position] for position in filled])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)

    def close(self) -> None:
        """End its thread."""
        self._loop.close()

    def after_fork(self) -> None:
        """Begin anew in a child process."""
        self._loop.after_fork()

    def _encoded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = self._loop.run(self._embedder.embed_documents(list(texts)), self._seconds)
        return np.array(made.embeddings, np.float32)
