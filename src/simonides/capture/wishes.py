"""What a sentence wishes of the memory: that something be removed, not be kept, or stay secret.

A wish is a verb of a closed class in its place: behind words of request, or behind what must not be
kept. What it names is what stands beside the verb. Whether "forget Rupert" means the memory only
the memory can tell: such a wish is not sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from simonides.capture.commands import Request, Understood
from simonides.capture.moods import Mood, Sense, opened
from simonides.capture.wordings import (
    MOST_CHARS,
    class_at,
    class_in,
    class_of,
    plain,
    shape,
    tongue,
    verbs_of,
    without_class,
)
from simonides.text.topics import EVERYTHING, is_everything, is_just_said, topic_of

MOST_BEFORE_IT = 3
"""Words of mere asking before "remove him". Set by judgement."""

MOST_NAMING = 1
"""Words behind "my" that name a thing. Set by judgement."""

MOST_BEFORE_SECRET = 2
"""Words before those of secrecy: "this stays between us". Chosen."""


class Wish(NamedTuple):
    """A wish, and whether it is about the memory whatever the memory holds."""

    reading: Understood
    is_sure: bool = True


class _Verb(NamedTuple):
    kind: str  # the class of the verb
    rest: str
    target: str
    by_it: bool = False  # the verb has only "it" or "him"


def wish_of(sense: Sense, before: str = "") -> Wish | None:
    """Return what a sentence wishes of the memory; None if nothing is wished.

    Args:
        sense: The sentence; at most 400 characters are read.
        before: The sentence before it, which "delete that" may mean.
    """
    whole = plain(sense.text[:MOST_CHARS])
    text = opened(whole)
    if sense.mood is not Mood.UNREAL and (secret := _secret(whole)) is not None:
        return secret
    if sense.mood in (Mood.UNREAL, Mood.REPORTED):
        return None
    requests = class_at("please", text) or class_in("please", text)
    if class_in("for_now", text):
        return None
    asks = sense.mood is Mood.QUESTION and not requests
    verb = _verb(text, orders=sense.mood is Mood.COMMAND or bool(requests))
    if asks and (verb is None or "?" in text[-2:]):
        return None
    if verb is None:
        return _unclear(sense, text)
    wish = _named(verb, text, before, requests=bool(requests))
    if wish is None or wish.reading.about not in whole:
        return wish
    start, about = whole.index(wish.reading.about), wish.reading.about
    written = sense.text[start : start + len(about)]  # with its accents
    return wish._replace(reading=wish.reading._replace(about=written))


def keeps_last(sense: Sense) -> bool:
    """Whether a sentence asks to keep what was said before it, and nothing else."""
    text = opened(plain(sense.text[:MOST_CHARS]))
    for match in verbs_of("keep", text):
        front, rest = text[: match.start()], text[match.end() :]
        is_negated = shape("negated").search(front) or shape("negated_after").search(rest)
        bare = without_class(("please",), rest, text)
        is_last = shape("only_it").fullmatch(bare.strip(" ?？！"))
        if is_last and shape("asking").fullmatch(front) and not is_negated:
            return True
    return False


def is_yes(text: str) -> bool:
    """Whether a text says yes, and nothing else."""
    said = plain(text[:MOST_CHARS]).strip(" .!,。！")
    match = class_at("yes", said)
    return match is not None and match.end() == len(said)


def is_open(text: str) -> bool:
    """Whether words of secrecy in a text ask for none: "between us we ate two pizzas"."""
    whole = plain(text[:MOST_CHARS])
    return class_in("secret", whole) is not None and _secret(whole) is None


def _secret(text: str) -> Wish | None:
    match = class_in("secret", text)
    if match is None:
        return None
    front, rest = text[: match.start()], text[match.end() :]
    if not shape("secret_ends").match(rest) or len(front.split()) > MOST_BEFORE_SECRET:
        return None
    tells = topic_of(rest).names_something
    return Wish(Understood(Request.OFF_RECORD, "") if tells else Understood(Request.REFUSE, "this"))


def _verb(text: str, *, orders: bool) -> _Verb | None:
    """Return the verb of a wish with what stands around it."""
    for kind in ("remove", "take_out", "keep"):
        for match in verbs_of(kind, text):
            front, rest = text[: match.start()], text[match.end() :]
            if _is_wish(kind, text, match[0], front, rest, orders=orders):
                return _Verb(kind, rest, *_target(text, front, rest))
    if out := shape("out_of").match(text):
        return _Verb("remove", out[1], out[1])
    if none := shape("no_record").match(text):
        return _Verb("keep", text[none.end() :], text[none.end() :])
    return None


def _target(text: str, front: str, rest: str) -> tuple[str, bool]:
    """Return what a wish names, and whether it stands before the verb."""
    passive = any(shape(name).search(front) for name in ("passive", "to_be_done"))
    passive |= not rest.strip(" .!")
    after_it = shape("only_it").fullmatch(rest) and len(front.split()) > MOST_BEFORE_IT
    if topic_of(front).names_something and (passive or after_it):
        return _before(front), True
    is_behind = topic_of(without_class(("please",), rest, text)).names_something
    return (rest if is_behind or tongue(text) not in ("japanese", "chinese") else front), False


def _is_wish(kind: str, text: str, verb: str, front: str, rest: str, *, orders: bool) -> bool:
    passive = shape("passive").search(front)
    keeps = kind == "keep"
    if not keeps and shape("done_to").fullmatch(verb):
        return shape("to_be_done").search(front) is not None
    negated = bool(passive or shape("negated").search(front))
    negated |= keeps and shape("negated_after").search(rest) is not None
    clause = re.split(r"[,;:.!?] |\b(?:and|so|but) ", front)[-1]
    is_other = shape("no_memory").match(rest) or shape("own_doing").match(clause)
    if is_other or negated != keeps:
        return False
    if passive and keeps and not _is_about_me(front, text):
        return False
    if shape("asking").fullmatch(front) or passive:
        return True
    if tongue(text) in ("japanese", "chinese") and not keeps:
        return class_in("please", rest) is not None or not rest.strip("。！ ")
    if class_at("everything", front) and not rest.strip(" .!"):
        return True
    is_it = shape("only_it").fullmatch(rest.rstrip(" ?")) is not None
    last = re.split(r"[,;:] ", front)[-1]
    if is_it and shape("asking").fullmatch(last):
        return True
    joins = re.search(r"(?:[,;:]|\bplease|\bmind) $", front, re.IGNORECASE)
    if orders:
        joins = joins or re.search(r"\band $", front, re.IGNORECASE)
    return bool(joins and (kind == "remove" or is_it))


def _is_about_me(front: str, text: str) -> bool:
    """Whether what must not be kept is the speaker's, or the memory is named."""
    mine = any(class_in(name, front, text) for name in ("i", "my", "memory_noun"))
    return mine or class_in("memory_noun", text) is not None or bool(shape("nothing").match(front))


def _before(front: str) -> str:
    """Return what a text before a verb names: "my debts are my own, so they should not be"."""
    if match := shape("they").search(front):
        front = re.split(r"\b(?:is|are|was|were)\b", front[: match.start()])[0]
    front = shape("to_be_done").sub("", shape("passive").sub("", front))
    front = re.sub(r"\s+to be $", "", front)
    topic = shape("topic").search(front)
    return topic[1] if topic else front


def _named(verb: _Verb, text: str, before: str, *, requests: bool) -> Wish | None:
    kind = Request.REFUSE if verb.kind == "keep" else Request.FORGET
    first, *rest = shape("wish_ends").split(verb.target, maxsplit=1)
    target = first if first.strip() or not rest else rest[0]
    target = without_class(("please", "henceforth"), target, text).strip(" .!?,，。！？")
    by_it, is_known = verb.by_it, False
    if shape("only_it").fullmatch(target) and (known := shape("known").search(plain(before))):
        target, by_it, is_known = known[1], True, True
    if kind is Request.REFUSE and shape("this_one").match(verb.rest.strip()):
        return Wish(Understood(Request.OFF_RECORD, ""))
    if verb.kind != "keep" and shape("never_mind").fullmatch(re.split("[,;:]", target)[0]):
        return None
    if is_everything(target):
        return Wish(Understood(kind, EVERYTHING))
    if is_just_said(target):
        return Wish(Understood(kind, target)) if target else None
    if not topic_of(target).names_something:
        every = class_in("everything", target, text)
        return Wish(Understood(kind, EVERYTHING)) if every else None
    memory = class_in("memory_noun", text) is not None
    if verb.kind == "take_out" and not (memory or requests or by_it):
        return Wish(Understood(Request.UNCLEAR, target), is_sure=False)
    names = verb.kind == "remove" and shape("about_what").match(verb.rest)
    sure = verb.kind == "keep" or is_known or names
    target = target if target.startswith("that ") else shape("frame").sub("", target)
    return Wish(
        Understood(kind, target), bool(sure or (memory and not shape("work").search(target)))
    )


def _unclear(sense: Sense, text: str) -> Wish | None:
    """Return a wish that speaks of keeping or removing something of the speaker, unclear how.

    It names what stands behind "my", and names; if the memory holds that, the user is asked.
    """
    removes = not all(_is_negated_at(text, "remove") + _is_negated_at(text, "take_out"))
    keeps, denies = any(_is_negated_at(text, "keep")), class_in("no", text) is not None
    in_memory = shape("in_memory").search(text) is not None
    wishes = sense.mood is Mood.COMMAND or shape("wishes").match(text)
    if not (wishes and (removes or keeps)) and not in_memory:
        return None
    about = "; ".join(_own_things(text))
    is_sure = in_memory and (removes or denies)
    is_sure |= keeps and class_in("my", text) is not None
    return Wish(Understood(Request.UNCLEAR, about), is_sure) if about else None


def _is_negated_at(text: str, name: str) -> list[bool]:
    """Return for each verb of a class whether it is negated."""
    fronts = (text[: each.start()] for each in verbs_of(name, text))
    return [shape("negated").search(front) is not None for front in fronts]


def _own_things(text: str) -> Iterator[str]:
    for match in class_of("my", text):
        yield " ".join(re.findall(r"[\w'-]+", text[match.end() :])[:MOST_NAMING])
    yield from re.findall(r"(?<![.!?] )(?<!^)\b[A-Z][\w'-]+", text)
