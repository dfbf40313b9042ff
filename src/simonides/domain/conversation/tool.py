"""A tool that a model may call, and what a call of it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simonides.domain.reading.digest import Digest
from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Tool(Value):
    """A tool as every vendor's interface describes one.

    Attributes:
        name: By which the model calls it.
        description: For the model.
        parameters: JSON Schema of its arguments; some vendors say ``input_schema``.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolReply(Value):
    """What is handed back to a model that called a tool.

    Attributes:
        text: For the model: the digest's block, or why the call was refused.
        digest: What was found; None if the call was refused.
        refused: Reason, such as ``invalid_retrieval_intent:top_k``; None if it was carried out.
    """

    text: str
    digest: Digest | None = None
    refused: str | None = None

    def __str__(self) -> str:
        return self.text
