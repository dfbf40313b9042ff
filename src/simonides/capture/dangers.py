"""What endangers the user or somebody of the household if it is overlooked.

An allergy, a condition, a medicine, what must not be eaten, what one reacts to: closed classes of
words, and about whom they are said. Medicines are known by the stems of their international names
(WHO, The use of stems in the selection of INN).
"""

from __future__ import annotations

import re

from simonides.capture.moods import Mood, Sense, Subject, opened, sense_of
from simonides.capture.wordings import class_at, class_in, class_of, plain, tongue

DANGER = "danger"
"""The category of what is learned of a danger."""

MOST_BETWEEN = 40
"""Characters between who has something and what it is; chosen."""

_NO = re.compile(
    r"(?:\b(?:not|never|no longer|stopped|quit|finished|off|no|none|without|nicht|kein\w*|pas"
    r"|jamais|nunca|non|nao|niet|geen|ne|не|нет)|n'?t|free of|negative for)"
    r"\s(?:[^\s,;]+\s){0,3}$|不|没",
    re.IGNORECASE,
)
_NOT_OF_IT = re.compile(
    r"[- ](?:free|friendly|safe|awareness|charity|research\w*|clinic|ward|patients?|pumps|nurse"
    r"|women|people|kids|ads?|article|documentary|test|season(?= is)|recipes?|study|app)\b"
    r"| to (?:mondays|mornings|work\b|nonsense|drama|bullshit|people|small talk|stupid\w*|fun\b"
    r"|spreadsheets|commitment|effort|exercise)",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:grew|grown|outgrew|outgrown|cured|used to|as a (?:kid|child)|false alarm|misdiagnos\w+"
    r"|test was wrong)\b",
    re.IGNORECASE,
)
_HOLDS = re.compile(r"\b(?:since|now|still|i'?m|am|is|are|has|have|takes?)\b", re.IGNORECASE)
_SPLIT = re.compile(r"[,;]|\b(?:and|but|since|because|so|und|et|y)\b", re.IGNORECASE)
_WHO = re.compile(r"\b(?:who|that|whose)(?:'s)?\b", re.IGNORECASE)
_ABOUT = re.compile(r"\b(?:about|of|for|at|to|on|how|asked|married|knows?)\b", re.IGNORECASE)
_FRAGMENT = re.compile(r"\W*(?:[\w-]+ ){0,2}", re.IGNORECASE)
_ENDS_HERE = re.compile(r"\s*(?:$|[,.;:!(]|here\b|since\b|from\b|with\b|to\b|and\b)", re.IGNORECASE)
_OF_ME = re.compile(
    r"\b(?:i|i'm|me|my|our|we|us|him|her|mich|mir|moi|me|mi|мне|меня)\b|我|私", re.IGNORECASE
)
_I = re.compile(r"\bi(?:'m|'ve| am| have)\b", re.IGNORECASE)
_THAT = re.compile(r"(?:it|this|that)\b", re.IGNORECASE)
_I_REACT = re.compile(
    r"\b(?:i|we) (?:(?:get|break out in|go into|come out in) \S*\s?)?$", re.IGNORECASE
)
_AFFECTS = re.compile(
    r"\b(?:gives?|makes?|sends?|puts?|lands?|brings?|triggers?|causes?|sets? off|breaks?|gets?"
    r"|goes|reacts?|swells?|is|are|could|would|can|will|blows?|knocks?|stops?|cl\w+)\b",
    re.IGNORECASE,
)
_COULD_KILL = re.compile(r"\b(?:could|would|might) (?:kill|be (?:fatal|deadly))\b", re.IGNORECASE)
_DETERMINED = re.compile(r"(?:this|that|the|it|my|our|these|those|work|laughing)\b", re.IGNORECASE)
_MEAL = re.compile(
    r"\s*(?:out|breakfast|lunch|dinner|much|more|anything|before|after|at|with|in|on|there|here"
    r"|it\b|alone|yet|now|another)\b",
    re.IGNORECASE,
)
_EATEN = frozenset("eat drink tolerate digest swallow near around stomach any aged avoid".split())
_CLINICIAN = re.compile(r"\b(?:doctor|gp|test|allergist|clinic|cardiologist|specialist)\b", re.I)
_KATAKANA = frozenset(map(chr, range(0x30A1, 0x30FD)))


def is_danger(clause: str, before: Sense | None = None) -> bool:
    """Whether a clause states what endangers the user or the household if it is overlooked.

    Args:
        clause: The clause, in the user's own words.
        before: The sentence before it, to which "he" and "she" refer.
    """
    sense = sense_of(clause)
    text = plain(clause)
    by_doctor = sense.mood is Mood.REPORTED and _CLINICIAN.search(text)
    is_real = sense.mood is Mood.STATEMENT or by_doctor
    if (
        (sense.is_past and not _HOLDS.search(text))
        or _OVER.search(text)
        or _is_of_others(sense, text, before)
    ):
        return False
    binds = _takes(text) or _is_forbidden(text)
    if is_real and (_has_condition(sense, text) or (binds and _is_own(sense, text))):
        return True
    could = sense.mood is Mood.UNSURE and _COULD_KILL.search(text)
    return bool(is_real or could) and _reacts(sense, text)


def _is_of_others(sense: Sense, text: str, before: Sense | None) -> bool:
    """Whether it is about somebody outside of the household."""
    outer = class_in("outer", text)
    if sense.subject is Subject.RELATED and not class_in("kin", sense.who, text):
        return outer is None or not _OF_ME.search(text[outer.end() :])
    if sense.who == "they":
        if _I.search(text):
            return False
        if before is None or before.subject is Subject.USER:
            return before is None or not _THAT.match(opened(text))
        return not class_in("kin", before.who)
    if sense.subject is Subject.THING:
        return outer is not None and not _OF_ME.search(text[outer.end() :])
    return sense.subject is Subject.ASSISTANT


def _is_own(sense: Sense, text: str) -> bool:
    """Whether a clause is about the speaker or the family, or names nobody."""
    names_nobody = class_at("takes", opened(text)) or class_at("medicine", text)
    is_about = sense.subject is Subject.USER or sense.who == "they" or _OF_ME.search(text)
    return bool(is_about or names_nobody or _of_kin(text, text))


def _has_condition(sense: Sense, text: str) -> bool:
    """Whether somebody has what a word of the class names, or the clause is such a fragment."""
    for found in class_of("danger", text):
        front, rest = text[: found.start()], text[found.end() :]
        if _NO.search(front) or _NOT_OF_IT.match(rest) or front[-1:] in ("-", "/"):
            continue
        near = _SPLIT.split(front)[-1]
        if sense.subject in (Subject.USER, Subject.RELATED):
            front = near
        is_fragment = _FRAGMENT.fullmatch(front) and _ENDS_HERE.match(rest)
        if is_fragment or _is_household(sense, near, text):
            return True
    return False


def _is_household(sense: Sense, near: str, text: str) -> bool:
    """Whether what stands before a condition says that somebody of the household has it."""
    is_kin = sense.subject is Subject.RELATED and class_in("kin", sense.who, text)
    is_own = sense.subject is Subject.USER or bool(is_kin)
    if tongue(text) in ("chinese", "japanese"):
        is_dropped = (
            sense.subject is Subject.THING and "は" not in near and "ア" <= near[-1:] <= "ン"
        )
        return is_own or is_dropped or class_in("kin", near, text) is not None
    if other := _WHO.search(near):
        return _of_kin(near[: other.start()].rstrip(), text, is_last=True)
    has = class_in("has", near, text)
    if has is None or _ABOUT.search(near[has.end() :]):
        return _of_kin(near, text)
    subject = near[: has.start()].strip()
    if not subject or is_own or sense.who == "they":
        return True
    return _of_kin(subject, text) or _OF_ME.search(subject) is not None


def _of_kin(part: str, text: str, *, is_last: bool = False) -> bool:
    """Whether a part names one of the family, or a pet: with "my" before it, or at its start."""
    return any(
        not (front := part[: each.start()]).strip()
        or class_in("my", front, text)
        or front.lower().endswith("the ")
        for each in class_of("kin", part, text)
        if not is_last or each.end() == len(part)
    )


def _takes(text: str) -> bool:
    """Whether somebody takes a medicine."""
    for found in class_of("medicine", text):
        front, rest = text[: found.start()], text[found.end() :]
        takes = class_in("takes", front[-MOST_BETWEEN:], text) or (class_at("medicine", text))
        if takes and not _NO.search(front) and not _NOT_OF_IT.match(rest):
            return True
    return False


def _is_forbidden(text: str) -> bool:
    """Whether somebody must not eat or drink something."""
    found = class_in("forbidden", text)
    if found is None:
        return False
    rest = text[found.end() :]
    if tongue(text) in ("english", ""):
        return found[0].split()[-1] in _EATEN and bool(rest.strip(" .!")) and not _MEAL.match(rest)
    return True


def _reacts(sense: Sense, text: str) -> bool:
    """Whether something makes somebody ill."""
    found = class_in("reaction", text)
    if found is None or _NO.search(text[: found.start()]):
        return False
    if sense.subject is Subject.USER:
        return _I_REACT.search(text[: found.start()]) is not None
    if not _AFFECTS.search(text):
        return False
    whom = _OF_ME.search(text) or _of_kin(text, text)
    is_generic = sense.subject in (Subject.THING, Subject.NAMED)
    is_generic &= not _DETERMINED.match(opened(text))
    return bool(whom and (is_generic or sense.subject is Subject.RELATED))
