"""A message of a conversation, as a caller adds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Message(Value):
    """One message of a conversation.

    Attributes:
        role: ``user``, ``assistant``, ``tool`` or ``other``, somebody else who took part.
        content: What was said, or a tool's result.
        name: Name of the speaker, or of the tool.
        at: When it was said; None means now.
        id: The host's id of the message, or None.
        failed: Whether the tool failed; what failed is never promoted.
        importance: ``normal``, ``high`` or ``critical``.
        key: Key of the memory if the message is promoted.
        metadata: Whatever else is to be noted; JSON-ready, at most 16 KiB.
    """

    role: str
    content: str
    name: str | None = None
    at: datetime | str | None = None
    id: str | None = None
    failed: bool = False
    importance: str = "normal"
    key: str | None = None
    metadata: Mapping[str, Any] | None = None
