"""One utterance of a conversation, as capture sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from simonides.domain.memory import Origin
from simonides.domain.trust import Source
from simonides.domain.value import Value


class Role(StrEnum):
    """Role of the speaker, from the agent's view; only ``user`` speaks for the user."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    OTHER = "other"

    @property
    def source(self) -> Source:
        """Source of a turn of this role; other people and unverified tool results are external."""
        return _SOURCE[self]


_SOURCE = {
    Role.USER: Source.USER_STATED,
    Role.ASSISTANT: Source.AGENT_INFERRED,
    Role.TOOL: Source.EXTERNAL,
    Role.OTHER: Source.EXTERNAL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn(Value):
    """One utterance of one speaker.

    Attributes:
        text: Verbatim; captured spans and quotes refer to exactly this text.
        role: Role of the speaker; ``other`` if not given.
        speaker: Name, if known.
        session: Conversation, if known.
        number: Place in the session, from 0, if known.
        said_at: Time, if known.
    """

    text: str
    role: Role = Role.OTHER
    speaker: str | None = None
    session: str | None = None
    number: int | None = None
    said_at: datetime | None = None

    @property
    def origin(self) -> Origin:
        """Origin of memories captured from this turn."""
        return Origin(session=self.session, turn=self.number)
