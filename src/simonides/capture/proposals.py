"""Stub."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple
from pydantic import BaseModel

INSTRUCTIONS = "x"


class Proposal(BaseModel):
    turn: int = 0
    value: str
    quote: str = ""
    key: str | None = None
    kind: Literal["fact", "preference", "rule", "event"] = "fact"
    decision: Literal["commit", "hold", "repeat", "drop"] = "commit"
    confidence: float = 0.8
    ttl_days: float | None = None
    scope: str = "user"


class Extraction(BaseModel):
    items: list[Proposal] = []
    summary: str = ""


class Checked(NamedTuple):
    fields: dict[str, Any]
    decision: str
    reasons: tuple[str, ...]


def checked(item: Proposal, text: str, *, allowed: Callable[[str], str | None]) -> Checked:
    return Checked(
        {
            "content": item.value,
            "key": item.key,
            "quote": item.quote,
            "category": allowed(item.key or "") or "fact",
        },
        item.decision,
        (),
    )


def supported_summary(summary: str, turns: Sequence[str], most: int) -> str:
    return summary[:most]
