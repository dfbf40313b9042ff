"""Models: texts to vectors, one question to one structured answer, and what a text costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from simonides.domain.decision import Usage
from simonides.ports.capability import Capability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


TYPICAL_UNRELATED = 0.18
"""The cosine of unrelated texts that ranking is fitted to: the embedded embedder's, measured as the
mean over pairs of eight everyday sentences on different subjects."""


class Embedder(Protocol):
    """Texts to unit vectors.

    ``encode`` may be called on any thread, and on several at once. Where :data:`Capability.INLINE`
    is not declared it is called neither on an event loop nor under an owner's turn.

    Attributes:
        model_id: Changes whenever the vector of any text would.
        dimensions: Length of a vector, at most 1,024 (so that int8 dot products stay exact).
        scripts: Unicode scripts that the model knows, for example ``Latin``; recall leaves the
            dense part out for texts mainly in others.
        capabilities: What it can do beyond this port; an embedder may leave it out that can
            nothing.
        unrelated: For each script, the cosine of two texts in it that have nothing to do with each
            other, on average, under 1. Models differ in it, from 0 to .8 and more; what ranks and
            tells relevance sees cosines as if it were :data:`TYPICAL_UNRELATED`, which is meant
            where a script, or all of it, is left out. May be known from the first query on only.
    """

    model_id: str
    dimensions: int
    scripts: frozenset[str]
    capabilities: frozenset[Capability]
    unrelated: Mapping[str, float]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors of shape (len(texts), dimensions).

        A text with nothing in it that the model knows gives the zero vector. The vector of a
        text does not depend on what is encoded beside it. Any text is accepted.

        Raises:
            ModelError: If the model gave no usable vectors; what asked goes on without.
        """


class QueryEmbedder(Embedder, Protocol):
    """An embedder that must know what is asked from what is remembered.

    It declares :data:`Capability.QUERIES`; ``encode`` is then for what is remembered.
    """

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries; else as :meth:`encode`."""


class Reranker(Protocol):
    """Reads a query and the texts that ranking found, and says which serve it better (RE-10).

    ``score`` may be called on any thread, and on several at once. Where
    :data:`Capability.INLINE` is not declared it is not called on an event loop.

    Attributes:
        model_id: Changes whenever the order of any texts would; receipts name it.
        capabilities: What it can do beyond this port; may be left out where that is nothing.
    """

    model_id: str
    capabilities: frozenset[Capability]

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite number for each text, higher for what serves the query better.

        Only the order of numbers counts, on any scale. Any text is accepted.

        Raises:
            ModelError: If the model gave no usable scores; the order then stays as it was.
        """


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A structured answer of a language model: parsed JSON, not yet believed (LM-3).

    Attributes:
        value: Whatever JSON the model gave; validated by who asked.
        usage: Calls and tokens.
        model: Name of the model that answered.
    """

    value: Any
    usage: Usage
    model: str


class LanguageModel(Protocol):
    """One question, one structured answer.

    Attributes:
        capabilities: What it can do beyond this port.
        model_id: Its name.

    A model that may send several requests for one question, to retry or to repair, says how many
    at the most in an attribute ``most_requests``, by which ceilings reserve (FX-11); without it, 1.
    """

    capabilities: frozenset[Capability]
    model_id: str

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """Ask for JSON that follows a schema.

        Args:
            system: Instructions.
            user: The question and its material.
            schema: JSON Schema of the answer; the adapter asks the provider to hold to it, tries
                once more with the error when the answer does not, and then gives up.
            name: Short name of the schema.
            deadline_s: Seconds in all, retries and repair included.

        Raises:
            ModelTimeout: Time-out, connection failure, 429 or 5xx after the allowed retries.
            ModelUnavailable: Credentials refused.
            ModelGarbled: Empty, not JSON, or off the schema after the repair attempt.

        Each of them carries the usage of all that was asked before it.
        """

    async def close(self) -> None:
        """Release connections."""


class TokenCounter(Protocol):
    """How many tokens a text costs (WM-7).

    Attributes:
        counter_id: Changes whenever the count of any text would; receipts name it.
    """

    counter_id: str

    def count(self, text: str) -> int:
        """Return the tokens of a text, at once and the same for the same text; 0 for the empty
        one. Any text is accepted.
        """
