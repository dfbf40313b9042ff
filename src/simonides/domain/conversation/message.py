"""A message of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Message(Value):
    """A message."""

    role: str
    content: str
    name: str | None = None
    at: datetime | str | None = None
    id: str | None = None
    failed: bool = False
    importance: str = "normal"
    key: str | None = None
    metadata: Mapping[str, Any] | None = None
