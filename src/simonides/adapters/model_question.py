"""What a language model is asked, in the words that each way of asking for structure needs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from simonides.domain.decision import Usage

MAX_REPAIR_CHARS = 8_000
"""How much of a wrong answer is shown to the model again; chosen, about 2,000 tokens."""


class Rung(Enum):
    """How structure is asked for, most binding first; no endpoint knows all of them."""

    SCHEMA = "json_schema"
    TOOL = "tool"
    OBJECT = "json_object"
    PROMPT = "prompted"


@dataclass(slots=True)
class Call:
    """One question's budget and what it has cost so far.

    Attributes:
        ends_at: When the deadline passes, on the clock of who asks.
        usage: Of every request that was sent.
    """

    ends_at: float
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        system: Instructions.
        user: The question and its material.
        schema: JSON Schema of the answer, as plain data.
        name: Of the schema.
        exchange: A wrong answer and what is wrong with it, where there is one.
    """

    system: str
    user: str
    schema: Any
    name: str
    exchange: tuple[dict[str, str], ...] = ()

    def instructions(self, rung: Rung) -> str:
        """Return the instructions, with the schema where the rung does not carry it elsewhere."""
        if rung in (Rung.SCHEMA, Rung.TOOL):
            return encodable(self.system)
        shown = json.dumps(self.schema, ensure_ascii=False, sort_keys=True)
        return encodable(
            f"{self.system}\n\nReply with one JSON value and nothing else. It follows this schema:"
            f"\n{shown}"
        )

    def turns(self) -> list[dict[str, str]]:
        """Return what is said after the instructions, beginning and ending with the user."""
        return [{"role": "user", "content": encodable(self.user)}, *self.exchange]

    def repaired(self, answer: str, wrong: str) -> Question:
        """Return the question with the wrong answer and what is wrong with it behind it."""
        exchange = (
            {"role": "assistant", "content": encodable(answer[:MAX_REPAIR_CHARS]) or "(empty)"},
            {
                "role": "user",
                "content": f"That cannot be used: {wrong}. Reply again, corrected, with JSON only.",
            },
        )
        return Question(self.system, self.user, self.schema, self.name, exchange)


def encodable(text: str) -> str:
    """Return a text that can be sent: lone surrogates come in with broken text and escaped JSON."""
    return text.encode("utf-8", "replace").decode("utf-8")
