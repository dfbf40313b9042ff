"""Does what a user asks of the memory in a conversation, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from simonides.capture.commands import Request, Understood
from simonides.change import privacy
from simonides.change.matching import Found, named
from simonides.core.engine import Engine
from simonides.core.errors import InvalidInput
from simonides.core.results import Asked
from simonides.core.scope import Principal
from simonides.sessions.reading import points_back
from simonides.text.topics import EVERYTHING, how_many, is_everything, is_session

ANSWERS = {
    Request.UNSAFE: "This is not kept as a rule: it would switch off a safeguard.",
    Request.ONE_OFF: "This holds for now, not as a rule.",
    Request.OFF_RECORD: "This is not kept.",
}
"""Requests that need nothing done."""


MOST_LINES = 10
"""Memories that an answer lists. Set by judgement."""


MOST_ABOUT_CHARS = 100
"""A longer text names nothing in an answer. Set by judgement."""


def carry_out(
    engine: Engine, who: Principal, reading: Understood, *, cut: bool, confirmed: bool = False
) -> Asked:
    """Do what a clause asks for, or ask back.

    Args:
        engine: The store.
        who: The user.
        reading: What is asked.
        cut: Whether the message itself is what the user does not want to be kept.
        confirmed: Whether the user was asked before whether everything is to be forgotten.
    """
    about, done, gone = reading.about, True, privacy.Gone(0)
    match reading.kind:
        case Request.UNSAFE | Request.ONE_OFF | Request.OFF_RECORD:
            answer = ANSWERS[reading.kind]
        case Request.REFUSE | Request.FORGET | Request.UNSAY if points_back(reading) and cut:
            answer = ANSWERS[Request.OFF_RECORD]
        case Request.REFUSE | Request.FORGET | Request.UNSAY if points_back(reading):
            gone = privacy.forget_last_said(engine, who, how_many(about))
            answer = _counted(gone, "what you said last")
        case Request.AGREED:
            about, gone = privacy.forget_asked(engine, who, bytes.fromhex(about))
            answer = _counted(gone, "you" if is_everything(about) else about)
        case Request.REFUSE | Request.FORGET if is_session(about):
            gone = privacy.forget_session(engine, who)
            answer = _counted(gone, "this conversation")
            if reading.kind is Request.REFUSE:
                privacy.refuse(engine, who, session=who.conversation)
                answer = f"{answer} Nothing more of it is kept."
        case Request.REFUSE | Request.FORGET if is_everything(about):
            answer, done, gone = _everything(engine, who, confirmed=confirmed)
        case Request.REFUSE if _is_refused(engine, who, about):
            answer, done = _hidden(engine, who, about)
        case Request.FORGET:
            answer, done, gone = _forgotten(engine, who, about)
        case _:
            answer, done = _unclear(engine, who, about), False
    return Asked(kind=reading.kind.value, about=about, answer=answer, done=done, undo=gone.undo)


def _everything(
    engine: Engine, who: Principal, *, confirmed: bool
) -> tuple[str, bool, privacy.Gone]:
    if confirmed:
        gone = privacy.forget_everything(engine, who)
        return _counted(gone, "you"), True, gone
    privacy.ask_back(engine, who, EVERYTHING)
    answer = "Everything? Say yes, and all that is remembered is forgotten."
    return answer, False, privacy.Gone(0)


def _is_refused(engine: Engine, who: Principal, about: str) -> bool:
    """Refuse a topic, if the words name one."""
    with suppress(InvalidInput):
        privacy.refuse(engine, who, about=about)
        return True
    return False


def _hidden(engine: Engine, who: Principal, about: str) -> tuple[str, bool]:
    """Return what the user is told of a refusal, and whether all of it is clear."""
    hits, answer = named(engine, who, about), f"Nothing about {about} is kept from now on."
    if hits.exact:
        answer = f"{answer} What is known is not used:{_lines(hits.exact)}"
    if hits.likely:
        privacy.ask_back(engine, who, about, hits)
        return f"{answer} {_question(hits.likely)}", False
    return answer if hits.exact else f"{answer} Nothing is found under these words.", True


def _forgotten(engine: Engine, who: Principal, about: str) -> tuple[str, bool, privacy.Gone]:
    """Forget what some words name; return what the user is told, whether it is done, and what."""
    hits, left, gone = privacy.forget_named(engine, who, about)
    if left:
        return f"This could not be forgotten:{_lines(left)}", False, gone
    answer = f"{_counted(gone, about).removesuffix('.')}:{_lines(hits.exact)}\n"
    if hits.likely:
        return (answer if hits.exact else "") + _question(hits.likely), False, gone
    if not hits.exact:
        return f"Nothing is found under the words {about!r}; say it in others.", False, gone
    return answer.strip(), True, gone


def _unclear(engine: Engine, who: Principal, about: str) -> str:
    """Ask what is meant, and show what may be; nothing is hidden, as perhaps nothing is wished."""
    hits = named(engine, who, about)
    likely = [*hits.exact, *hits.likely][:MOST_LINES]
    if likely:
        privacy.ask_back(engine, who, about, hits._replace(exact=[], likely=likely, sure=0))
        return _question(likely)
    privacy.ask_back(engine, who, about)
    words = f" about {about}" if 0 < len(about) < MOST_ABOUT_CHARS else ""
    return f"What{words} should be forgotten, or not be kept?"


def _question(choices: Sequence[Found]) -> str:
    memories = "a memory" if len(choices) == 1 else f"{len(choices)} memories"
    which = "it" if len(choices) == 1 else "them"
    return f"I found {memories} that may be meant:{_lines(choices)}\nForget {which}?"


def _lines(memories: Sequence[Found]) -> str:
    texts = list(dict.fromkeys(each.text for each in memories))
    more = [f"and {len(texts) - MOST_LINES} more"] if len(texts) > MOST_LINES else []
    return "".join(f"\n- {text}" for text in [*texts[:MOST_LINES], *more])


def _counted(gone: privacy.Gone, about: str) -> str:
    if not gone.number:
        return f"Nothing is remembered about {about}."
    return f"Forgotten: {gone.number} {'memory' if gone.number == 1 else 'memories'} about {about}."
