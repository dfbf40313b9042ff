"""Models: texts to vectors, one question to one structured answer, and what a text costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from memstrata.domain.decision import Usage
from memstrata.ports.capability import Capability

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Texts to unit vectors.

    Attributes:
        model_id: Changes whenever the vector of any text would.
        dimensions: Length of a vector, at most 1,024 (so that int8 dot products stay exact).
        scripts: Unicode scripts that the model knows, for example ``Latin``; recall leaves the
            dense part out for texts mainly in others.
    """

    model_id: str
    dimensions: int
    scripts: frozenset[str]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors of shape (len(texts), dimensions).

        A text with nothing in it that the model knows gives the zero vector. The vector of a
        text does not depend on what is encoded beside it. Any text is accepted.
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
    """One question, one structured answer."""

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
