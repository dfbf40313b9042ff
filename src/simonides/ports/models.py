"""Models: embedders, rerankers, language models and token counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from simonides.domain.writing.decision import NO_USAGE, Usage
from simonides.domain.writing.finding import Finding, Opinion
from simonides.ports.stores import Capability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


TYPICAL_UNRELATED = 0.18
"""The cosine of unrelated texts that ranking is fitted to, that of the embedded embedder. Measured:
the mean over pairs of eight everyday sentences on different subjects."""


class Embedder(Protocol):
    """Texts to unit vectors.

    ``encode`` may be called on any thread, and on several at once. Without
    :data:`Capability.INLINE` it is called neither on an event loop nor under an owner's turn.

    Attributes:
        model_id: Changes whenever the vector of any text would.
        dimensions: Length of a vector, at most 1,024 (so that int8 dot products stay exact).
        scripts: Unicode scripts that the model knows, for example ``Latin``; recall leaves the
            dense part out for texts mainly in others.
        capabilities: What it can do beyond this port; may be left out where that is nothing.
        unrelated: For each script, the mean cosine of two unrelated texts in it, under 1. Models
            differ in it, from 0 to .8 and more; ranking and relevance rescale cosines to
            :data:`TYPICAL_UNRELATED`, which is also the default for a script left out. May be known
            only from the first query on.
    """

    model_id: str
    dimensions: int
    scripts: frozenset[str]
    capabilities: frozenset[Capability]
    unrelated: Mapping[str, float]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors of shape (len(texts), dimensions).

        A text without anything that the model knows gives the zero vector. A text's vector does not
        depend on the rest of the batch. Any text is accepted.

        Raises:
            ModelError: If the model gave no usable vectors; the caller goes on without.
        """


class QueryEmbedder(Embedder, Protocol):
    """An embedder that encodes queries and stored texts differently. It declares
    :data:`Capability.QUERIES`; ``encode`` is then for stored texts.
    """

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries; otherwise as :meth:`encode`."""


class Reranker(Protocol):
    """Scores how well the texts found by ranking answer a query.

    ``score`` may be called on any thread, and on several at once. Without :data:`Capability.INLINE`
    it is not called on an event loop.

    Attributes:
        model_id: Changes whenever the order of any texts would; receipts name it.
        capabilities: What it can do beyond this port; may be left out where that is nothing.
    """

    model_id: str
    capabilities: frozenset[Capability]

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite number for each text, higher for a better answer to the query.

        Only the order counts, on any scale. Any text is accepted.

        Raises:
            ModelError: If the model gave no usable scores; the order then stays as it was.
        """


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A structured answer of a language model: parsed JSON, not yet trusted.

    Attributes:
        value: Any JSON; the caller validates it.
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

    A model that may send several requests for one question, to retry or to repair, gives their
    maximum in an attribute ``most_requests``. Ceilings reserve that many; without it, 1.
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
            schema: JSON Schema of the answer. The adapter asks the provider to enforce it. A wrong
                answer is returned to the model once with its error; then the adapter gives up.
            name: Short name of the schema.
            deadline_s: Seconds in all, retries and repair included.

        Raises:
            ModelTimeout: Time-out, connection failure, 429 or 5xx after the allowed retries.
            ModelUnavailable: Credentials refused.
            ModelGarbled: Empty, not JSON, or off the schema after the repair attempt.

        Each error carries the usage of all requests sent.
        """

    async def close(self) -> None:
        """Release connections."""


class TokenCounter(Protocol):
    """Counts the tokens of a text.

    Attributes:
        counter_id: Changes whenever the count of any text would; receipts name it.
    """

    counter_id: str

    def count(self, text: str) -> int:
        """Return the tokens of any text without waiting; deterministic, 0 for the empty text."""


class Classified(NamedTuple):
    """A classifier's answer on one text.

    Attributes:
        opinion: ``confirmed``, ``cleared`` or ``unsure``.
        usage: Cost of the call.
    """

    opinion: Opinion
    usage: Usage = NO_USAGE


class Classifier(Protocol):
    """Judges whether an external text was written to command its reader.

    It is called before any owner's turn, with one text at a time: in a batch, one text could answer
    for the others.

    Attributes:
        classifier_id: Changes whenever the opinion on any text would; the audit trail names it.
        capabilities: :data:`Capability.INLINE` where it never waits.
    """

    classifier_id: str
    capabilities: frozenset[Capability]

    async def classify(self, text: str, *, deadline_s: float) -> Classified:
        """Return an opinion on a text.

        Args:
            text: Whole, 1 to 4,000 characters; nothing in it is an instruction.
            deadline_s: Seconds in all.

        Raises:
            ModelError: If there is no opinion; the first detector's finding then stays.
        """


class Finder(Protocol):
    """Finds in a text what the built-in detectors do not know, such as a country's personal data.

    ``find`` may be called on any thread, and on several at once; never under an owner's turn.

    Attributes:
        finder_id: Its name in error reports.
    """

    finder_id: str

    def find(self, text: str) -> Sequence[Finding]:
        """Return the findings with their places in the text; policy decides what to do about them.

        Args:
            text: Any that can be stored.

        Raises:
            ModelError: If it cannot look; the built-in detectors' findings still count.
        """
