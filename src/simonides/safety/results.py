"""What recording and reading return: safety records and feedback."""

from datetime import datetime
from typing import Literal

from simonides.core.record import Value

Level = Literal["low", "high", "critical"]
FeedbackSource = Literal["user", "program", "model"]


class _Entry(Value):
    id: str
    at: datetime
    expires_at: datetime
    note: str | None
    user_code: str | None
    session_code: str | None


class SafetyRecord(_Entry):
    """A record that something unsafe was said or done.

    Attributes:
        id: Its id.
        at: When it was recorded.
        expires_at: When it will be deleted, 90 days later.
        kind: What it was, such as ``self_harm``.
        level: ``low``, ``high`` or ``critical``.
        note: What else is to be known, with masks for secrets, personal data and names; or None.
        user_code: Equal for all records of one user, and not the user's id; None without a user.
        session_code: Equal for all records of one conversation of a user; None without one.
    """

    kind: str
    level: Level


class Feedback(_Entry):
    """What somebody thought of an answer or a conversation.

    Attributes:
        id: Its id.
        at: When it was recorded.
        expires_at: When it will be deleted, 180 days later.
        label: The verdict, such as ``helpful``.
        source: Who gave it: ``user``, ``program`` or ``model``.
        note: What else is to be known, with masks for secrets, personal data and names; or None.
        user_code: Equal for all records of one user, and not the user's id; None without a user.
        session_code: Equal for all records of one conversation of a user; None without one.
    """

    label: str
    source: FeedbackSource
