"""One utterance of a conversation, as capture sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from simonides.domain.memory import Origin
from simonides.domain.trust import Source
from simonides.domain.value import Value


class Role(StrEnum):
    """Who spoke, seen from the agent; only ``user`` speaks for the user."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"

    @property
    def source(self) -> Source:
        """What a turn of this role counts for: people beside the user, and tools whose
        results nobody verified, are outsiders.
        """
        return _SOURCE[self]


_SOURCE = {
    Role.USER: Source.USER_STATED,
    Role.ASSISTANT: Source.AGENT_INFERRED,
    Role.TOOL: Source.EXTERNAL,
    Role.OTHER: Source.EXTERNAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Value):
    """What one speaker said in one go.

    Attributes:
        text: Verbatim; spans and quotes of what is captured refer to exactly this.
        role: Who spoke, seen from the agent. Nothing is assumed: an unnamed role is ``other``.
        speaker: Name, where known.
        session: Conversation, where known.
        number: Place in the session, from 0, where known.
        said_at: When, where known.
    """

    text: str
    role: Role = Role.OTHER
    speaker: str | None = None
    session: str | None = None
    number: int | None = None
    said_at: datetime | None = None

    @property
    def origin(self) -> Origin:
        """Where anything taken from this turn comes from."""
        return Origin(session=self.session, turn=self.number)
