"""A question to a language model, phrased for each output mode."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from simonides.domain.writing.decision import Usage

MAX_REPAIR_CHARS = 8_000
"""How much of a wrong answer is sent back; chosen, about 2,000 tokens."""


class OutputMode(Enum):
    """How structured output is requested, strictest first; no endpoint supports all of them."""

    SCHEMA = "json_schema"
    TOOL = "tool"
    OBJECT = "json_object"
    PROMPT = "prompted"


@dataclass(slots=True)
class Call:
    """One question's deadline, on the caller's clock, and its usage so far."""

    ends_at: float
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        system: Instructions.
        user: The question and its material.
        schema: JSON Schema of the answer, as plain data.
        name: Of the schema.
        exchange: A wrong answer and its error, for a repair.
    """

    system: str
    user: str
    schema: Any
    name: str
    exchange: tuple[dict[str, str], ...] = ()

    def instructions(self, mode: OutputMode) -> str:
        """Return the instructions, with the schema in words where the mode does not carry it."""
        if mode in (OutputMode.SCHEMA, OutputMode.TOOL):
            return encodable(self.system)
        shown = json.dumps(self.schema, ensure_ascii=False, sort_keys=True)
        return encodable(
            f"{self.system}\n\nReply with one JSON value and nothing else. It follows this schema:"
            f"\n{shown}"
        )

    def turns(self) -> list[dict[str, str]]:
        """Return the messages after the instructions; first and last are the user's."""
        return [{"role": "user", "content": encodable(self.user)}, *self.exchange]

    def repaired(self, answer: str, wrong: str) -> Question:
        """Return the question with a wrong answer and its error appended."""
        exchange = (
            {"role": "assistant", "content": encodable(answer[:MAX_REPAIR_CHARS]) or "(empty)"},
            {
                "role": "user",
                "content": f"That cannot be used: {wrong}. Reply again, corrected, with JSON only.",
            },
        )
        return Question(self.system, self.user, self.schema, self.name, exchange)


def encodable(text: str) -> str:
    """Replace lone surrogates, which broken text and escaped JSON bring in."""
    return text.encode("utf-8", "replace").decode("utf-8")
