"""Stub."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from simonides.domain.conversation.add_report import SkippedMessage
from simonides.domain.conversation.message import Message


@dataclass(frozen=True, slots=True)
class Parsed:
    """Stub."""

    messages: tuple[Message, ...]
    skipped: tuple[SkippedMessage, ...] = ()


def parse_messages(raw: Any, *, at: datetime | str | None = None, me: str | None = None) -> Parsed:
    """Stub."""
    given = [raw] if isinstance(raw, (str, dict, Message)) else list(raw)
    return Parsed(
        tuple(
            m
            if isinstance(m, Message)
            else Message("user", m, at=at)
            if isinstance(m, str)
            else Message(**{"at": at, **m})
            for m in given
        )
    )
