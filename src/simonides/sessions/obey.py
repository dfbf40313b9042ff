"""Does what a user asks of the memory in a conversation, and says so."""

from __future__ import annotations

from simonides.capture.commands import Kind, Reading
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.results import Asked
from simonides.core.scope import Principal
from simonides.sessions.reading import points_back
from simonides.text.topics import how_many, is_everything, is_session
from simonides.write import privacy

ANSWERS = {
    Kind.UNSAFE: "This is no rule: it would switch off a safeguard.",
    Kind.ONE_OFF: "This holds for now, not as a rule.",
    Kind.OFF_RECORD: "This is not kept.",
}
"""Requests that need nothing done."""

NOT_UNDERSTOOD = "What should be forgotten, or not be kept?"


def obey(engine: Engine, who: Principal, session: str, reading: Reading, *, cut: bool) -> Asked:
    """Do what a clause asks for, or ask back.

    Args:
        engine: The store.
        who: The user.
        session: The conversation.
        reading: What is asked.
        cut: Whether the message itself is what the user does not want to be kept.
    """
    about = reading.about
    match reading.kind:
        case Kind.UNSAFE | Kind.ONE_OFF | Kind.OFF_RECORD:
            return _told(reading, ANSWERS[reading.kind])
        case Kind.REFUSE | Kind.FORGET | Kind.UNSAY if points_back(reading):
            if cut:
                return _told(reading, ANSWERS[Kind.OFF_RECORD])
            count = privacy.forget_last_said(engine, who, session, how_many(about))
            return _told(reading, _counted(count, "what you said last"))
        case Kind.REFUSE | Kind.FORGET if is_session(about):
            count = privacy.forget_session(engine, who, session)
            said = _counted(count, "this conversation")
            if reading.kind is Kind.REFUSE:
                privacy.refuse(engine, who, session=session)
                said = f"{said} Nothing more of it is kept."
            return _told(reading, said)
        case Kind.REFUSE | Kind.FORGET if is_everything(about):
            return _asked_back(engine, who, session, reading, "Everything? Then erase the memory.")
        case Kind.REFUSE:
            return _refused(engine, who, session, reading)
        case Kind.FORGET:
            count = privacy.forget_topic(engine, who, about)
            return _told(reading, _counted(count, about))
        case _:
            return _asked_back(engine, who, session, reading, NOT_UNDERSTOOD)


def _refused(engine: Engine, who: Principal, session: str, reading: Reading) -> Asked:
    try:
        privacy.refuse(engine, who, about=reading.about)
    except InvalidInput:
        return _asked_back(engine, who, session, reading, NOT_UNDERSTOOD)
    said = f"Nothing about {reading.about} is kept from now on, and what is known is not used."
    return _told(reading, said)


def _told(reading: Reading, answer: str) -> Asked:
    return Asked(kind=reading.kind.value, about=reading.about, answer=answer)


def _asked_back(
    engine: Engine, who: Principal, session: str, reading: Reading, question: str
) -> Asked:
    privacy.ask_back(engine, who, reading.about, session)
    return Asked(kind=reading.kind.value, about=reading.about, answer=question, done=False)


def _counted(count: int, about: str) -> str:
    if not count:
        return f"Nothing is remembered about {about}."
    return f"Forgotten: {count} {'memory' if count == 1 else 'memories'} about {about}."
