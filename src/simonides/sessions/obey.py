"""Does what a user asks of the memory in a conversation, and says so."""

from __future__ import annotations

from contextlib import suppress

from simonides.capture.commands import Kind, Reading
from simonides.change import privacy
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.results import Asked
from simonides.core.scope import Principal
from simonides.sessions.reading import points_back
from simonides.text.topics import how_many, is_everything, is_session

ANSWERS = {
    Kind.UNSAFE: "This is no rule: it would switch off a safeguard.",
    Kind.ONE_OFF: "This holds for now, not as a rule.",
    Kind.OFF_RECORD: "This is not kept.",
}
"""Requests that need nothing done."""


def obey(engine: Engine, who: Principal, reading: Reading, *, cut: bool) -> Asked:
    """Do what a clause asks for, or ask back.

    Args:
        engine: The store.
        who: The user.

        reading: What is asked.
        cut: Whether the message itself is what the user does not want to be kept.
    """
    about, done, gone = reading.about, True, privacy.Gone(0)
    match reading.kind:
        case Kind.UNSAFE | Kind.ONE_OFF | Kind.OFF_RECORD:
            answer = ANSWERS[reading.kind]
        case Kind.REFUSE | Kind.FORGET | Kind.UNSAY if points_back(reading) and cut:
            answer = ANSWERS[Kind.OFF_RECORD]
        case Kind.REFUSE | Kind.FORGET | Kind.UNSAY if points_back(reading):
            gone = privacy.forget_last_said(engine, who, how_many(about))
            answer = _counted(gone, "what you said last")
        case Kind.REFUSE | Kind.FORGET if is_session(about):
            gone = privacy.forget_session(engine, who)
            answer = _counted(gone, "this conversation")
            if reading.kind is Kind.REFUSE:
                privacy.refuse(engine, who, session=who.conversation)
                answer = f"{answer} Nothing more of it is kept."
        case Kind.REFUSE | Kind.FORGET if is_everything(about):
            answer, done = "Everything? Then erase the memory.", False
        case Kind.REFUSE if _is_refused(engine, who, about):
            answer = f"Nothing about {about} is kept from now on, and what is known is not used."
        case Kind.FORGET:
            gone = privacy.forget_topic(engine, who, about)
            answer = _counted(gone, about)
        case _:
            answer, done = "What should be forgotten, or not be kept?", False
    if not done:
        privacy.ask_back(engine, who, about)
    return Asked(kind=reading.kind.value, about=about, answer=answer, done=done, undo=gone.undo)


def _is_refused(engine: Engine, who: Principal, about: str) -> bool:
    """Refuse a topic, if the words name one."""
    with suppress(InvalidInput):
        privacy.refuse(engine, who, about=about)
        return True
    return False


def _counted(gone: privacy.Gone, about: str) -> str:
    if not gone.number:
        return f"Nothing is remembered about {about}."
    return f"Forgotten: {gone.number} {'memory' if gone.number == 1 else 'memories'} about {about}."
