"""A tool that a model may call, and its reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simonides.domain.reading.digest import Digest
from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Tool(Value):
    """A tool description in the form common to all vendors.

    Attributes:
        name: Name for the model's calls.
        description: For the model.
        parameters: JSON Schema of its arguments; some vendors say ``input_schema``.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReply(Value):
    """The reply to a model's tool call.

    Attributes:
        text: For the model: the digest's block, or why the call was refused.
        digest: The memories found; None if the call was refused.
        refused: Reason, such as ``invalid_retrieval_intent:top_k``; None if it was carried out.
    """

    text: str
    digest: Digest | None = None
    refused: str | None = None

    def __str__(self) -> str:
        return self.text
