"""Texts to vectors: the interfaces of models that a caller may bring, and the checked call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from simonides.core.errors import SimonidesError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Thread-safe.

    Attributes:
        model_id: Names the model and its version; vectors under different ids are not compared.
        dimensions: Length of a vector.

    One that knows more than Latin script says so by an attribute ``is_multilingual``; of others,
    texts in other scripts are searched by their words alone. One with linear heads on its vectors
    has an attribute ``wish_heads``, see `Encoder`.
    """

    model_id: str
    dimensions: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, shape (n, dimensions); zeros for a text without meaning."""


class Encoded(NamedTuple):
    """A text as vectors.

    Attributes:
        whole: The vector of the text, of length 1; zeros for a text without meaning.
        ids: Ids of its tokens in the embedder's vocabulary, each once, shape (tokens,).
        tokens: Their vectors in signed bytes, of length 127, shape (tokens, dimensions).

    Of an embedder that gives one vector a text, `ids` and `tokens` are empty.
    """

    whole: NDArray[np.float32]
    ids: NDArray[np.uint16]
    tokens: NDArray[np.int8]


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An `Embedder` that also gives the vectors of a text's tokens, for late interaction."""

    def encode_tokens(self, texts: Sequence[str], most: int = ...) -> Sequence[Encoded]:
        """Return the vectors of each text, with at most so many tokens of each."""

    def pieces(self, word: str) -> Sequence[int]:
        """Return the ids of the tokens of a word."""


QUESTIONS = 256
"""Questions whose vectors are kept."""

QUESTION_TOKENS = 256
"""Tokens of a question that count."""

MAX_TOKENS = 30
"""Tokens of a text that are kept: with their ids 3,900 bytes."""


@runtime_checkable
class Reranker(Protocol):
    """Looks at the best hits of a query again. Thread-safe."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text; a higher one bears more on the query."""


TokenCounter = Callable[[str], int]
"""Counts the tokens of a text as the user's model does. Thread-safe."""


class EmbedderFailed(SimonidesError, RuntimeError):
    """The embedder raised an error, or returned something else than vectors."""

    hint = "check the embedder; until then words alone are searched"
    retryable = True


def embed(
    embedder: Embedder, texts: Sequence[str], *, most_tokens: int = MAX_TOKENS
) -> list[Encoded]:
    """Return the vectors of each text, with at most so many tokens of each.

    Raises:
        EmbedderFailed: If the embedder fails, or its answer has another shape or is not finite.
    """
    import numpy as np

    from simonides.text.analyse import is_latin

    if not getattr(embedder, "is_multilingual", False):
        texts = [text if is_latin(text) else "" for text in texts]
    try:
        if isinstance(embedder, TokenEmbedder):
            vectors = list(embedder.encode_tokens(texts, most_tokens))
        else:
            wholes = np.asarray(embedder.encode(texts), np.float32)
            vectors = [Encoded(whole, *no_tokens(embedder.dimensions)) for whole in wholes]
    except Exception as error:
        raise EmbedderFailed(f"{embedder.model_id}: {type(error).__name__}") from error
    fits = all(each.whole.shape == (embedder.dimensions,) for each in vectors)
    if (
        len(vectors) != len(texts)
        or not fits
        or not all(np.isfinite(e.whole).all() for e in vectors)
    ):
        wanted = f"finite vectors of shape ({len(texts)}, {embedder.dimensions})"
        raise EmbedderFailed(f"{embedder.model_id}: returned no {wanted}")
    return vectors


def no_tokens(dimensions: int) -> tuple[NDArray[np.uint16], NDArray[np.int8]]:
    """Return the ids and vectors of no token."""
    import numpy as np

    return np.zeros(0, np.uint16), np.zeros((0, dimensions), np.int8)


def embed_question(embedder: Embedder, text: str) -> Encoded:
    """Return the vectors of a question, with as many tokens as count.

    Raises:
        EmbedderFailed: As for `embed`.
    """
    return embed(embedder, [text], most_tokens=QUESTION_TOKENS)[0]
