"""What endangers the user or somebody of the household if it is overlooked.

An allergy, a condition, a medicine, what must not be eaten, what one reacts to: closed classes of
words, and about whom they are said. Medicines are known by the stems of their international names
(WHO, The use of stems in the selection of INN).
"""

from __future__ import annotations

import re

from simonides.capture.moods import Mood, Sense, Subject, opened, sense_of
from simonides.capture.wordings import class_at, class_in, class_of, plain, shape, tongue

DANGER = "danger"
"""The category of what is learned of a danger."""

MOST_BETWEEN = 40
"""Characters between who has something and what it is. Set by judgement."""

_FRAGMENT = re.compile(r"\W*(?:[\w-]+ ){0,2}", re.IGNORECASE)
_EATEN = frozenset("eat drink tolerate digest swallow near around stomach any aged avoid".split())


def is_danger(clause: str, before: Sense | None = None) -> bool:
    """Whether a clause states what endangers the user or the household if it is overlooked.

    Args:
        clause: The clause, in the user's own words.
        before: The sentence before it, to which "he" and "she" refer.
    """
    sense = sense_of(clause)
    text = plain(clause)
    by_doctor = sense.mood is Mood.REPORTED and shape("clinician").search(text)
    is_real = sense.mood is Mood.STATEMENT or by_doctor
    is_over = (sense.is_past and not shape("holds").search(text)) or shape("over").search(text)
    if is_over or _is_of_others(sense, text, before):
        return False
    binds = _takes(text) or _is_forbidden(text)
    if is_real and (_has_condition(sense, text) or (binds and _is_own(sense, text))):
        return True
    could = sense.mood is Mood.UNSURE and shape("could_kill").search(text)
    return bool(is_real or could) and _reacts(sense, text)


def _is_of_others(sense: Sense, text: str, before: Sense | None) -> bool:
    """Whether it is about somebody outside of the household."""
    outer = class_in("outer", text)
    if sense.subject is Subject.RELATED and not class_in("kin", sense.who, text):
        return outer is None or not shape("of_me").search(text[outer.end() :])
    if sense.who == "they":
        if shape("i_have").search(text):
            return False
        if before is None or before.subject is Subject.USER:
            return before is None or not shape("pronoun").match(opened(text))
        return not class_in("kin", before.who)
    if sense.subject is Subject.THING:
        return outer is not None and not shape("of_me").search(text[outer.end() :])
    return sense.subject is Subject.ASSISTANT


def _is_own(sense: Sense, text: str) -> bool:
    """Whether a clause is about the speaker or the family, or names nobody."""
    names_nobody = class_at("takes", opened(text)) or class_at("medicine", text)
    is_about = sense.subject is Subject.USER or sense.who == "they" or shape("of_me").search(text)
    return bool(is_about or names_nobody or _of_kin(text, text))


def _has_condition(sense: Sense, text: str) -> bool:
    """Whether somebody has what a word of the class names, or the clause is such a fragment."""
    for match in class_of("danger", text):
        front, rest = text[: match.start()], text[match.end() :]
        if front[-1:] in ("-", "/") or _is_denied(front, rest):
            continue
        near = shape("split").split(front)[-1]
        if sense.subject in (Subject.USER, Subject.RELATED):
            front = near
        is_fragment = _FRAGMENT.fullmatch(front) and shape("ends_here").match(rest)
        if is_fragment or _is_household(sense, near, text):
            return True
    return False


def _is_denied(front: str, rest: str) -> bool:
    """Whether the words around a condition say that nobody has it, or that it is part of a name."""
    if shape("but_to").search(rest):
        return False  # "not allergic to nuts but to kiwi"
    return bool(shape("denied").search(front) or shape("not_of_it").match(rest))


def _is_household(sense: Sense, near: str, text: str) -> bool:
    """Whether what stands before a condition says that somebody of the household has it."""
    is_kin = sense.subject is Subject.RELATED and class_in("kin", sense.who, text)
    is_own = sense.subject is Subject.USER or bool(is_kin)
    if tongue(text) in ("chinese", "japanese"):
        is_dropped = sense.subject is Subject.THING and "は" not in near
        is_dropped &= "ア" <= near[-1:] <= "ン"
        return is_own or is_dropped or class_in("kin", near, text) is not None
    if other := shape("who").search(near):
        return _of_kin(near[: other.start()].rstrip(), text, is_last=True)
    has = class_in("has", near, text)
    if has is None or shape("about").search(near[has.end() :]):
        return _of_kin(near, text)
    subject = near[: has.start()].strip()
    if not subject or is_own or sense.who == "they":
        return True
    return _of_kin(subject, text) or shape("of_me").search(subject) is not None


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
    around = ((text[: each.start()], text[each.end() :]) for each in class_of("medicine", text))
    return any(
        (class_in("takes", front[-MOST_BETWEEN:], text) or class_at("medicine", text))
        and not _is_denied(front, rest)
        for front, rest in around
    )


def _is_forbidden(text: str) -> bool:
    """Whether somebody must not eat or drink something."""
    match = class_in("forbidden", text)
    if match is None or tongue(text) not in ("english", ""):
        return match is not None
    rest = text[match.end() :]
    eats = match[0].split()[-1] in _EATEN and rest.strip(" .!")
    return bool(eats) and not shape("meal").match(rest)


def _reacts(sense: Sense, text: str) -> bool:
    """Whether something makes somebody ill."""
    match = class_in("reaction", text)
    if match is None or shape("denied").search(text[: match.start()]):
        return False
    if sense.subject is Subject.USER:
        return shape("i_react").search(text[: match.start()]) is not None
    if not shape("affects").search(text):
        return False
    whom = shape("of_me").search(text) or _of_kin(text, text)
    is_generic = sense.subject in (Subject.THING, Subject.NAMED)
    is_generic &= not shape("determined").match(opened(text))
    return bool(whom and (is_generic or sense.subject is Subject.RELATED))
