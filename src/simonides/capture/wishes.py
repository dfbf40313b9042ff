"""What a sentence wishes of the memory: that something be removed, not be kept, or stay secret.

A wish is a verb of a closed class in its place: behind words of request, or behind what must not be
kept. What it names is what stands beside the verb. Whether "forget Rupert" means the memory only
the memory can tell: such a wish is not sure.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simonides.capture.commands import Kind, Reading
from simonides.capture.moods import Mood, Sense, opened
from simonides.capture.wordings import MOST_CHARS, class_at, class_in, class_of, plain, tongue
from simonides.text.topics import EVERYTHING, is_everything, is_just_said, topic_of

MOST_BEFORE_IT = 3
"""Words of mere asking before "remove him"; chosen."""

MOST_BEFORE_SECRET = 2
"""Words before those of secrecy: "this stays between us". Chosen."""


class Wish(NamedTuple):
    """A wish, and whether it is about the memory whatever the memory holds."""

    reading: Reading
    is_sure: bool = True


class _Verb(NamedTuple):
    kind: str  # the class of the verb
    rest: str
    target: str
    by_it: bool = False  # the verb has only "it" or "him"


_ASKING = re.compile(
    r"(?:(?:and|so|hey|ok|oh|please|pls|plz|kindly|just|now|also|then|can|could|would|will|should"
    r"|shouldn'?t|must|u|you|mind|want|like|i|i'd|we|need|to|do|don'?t|not|never|rather|prefer|if"
    r"|stop|didn'?t|no|any|actually|be|so kind|as|from now on|bitte|kannst|du|por favor|puedes"
    r"|s'il te plait|peux-tu|pode|puoi|per favore|kun je|wil je|пожалуйста|请|麻烦|你|帮我)(?!\w)"
    r"[\s,!.:]*)*",
    re.IGNORECASE,
)
_IT = re.compile(
    r"\W*(?:it|that|him|her|them|this|das|ca|cela|lo|eso|dat|это)\W*(?:please\W*)?", re.IGNORECASE
)
_NEVER_MIND = re.compile(r"\W*(?:about )?(?:it|es|ca|lo|het)\W*", re.IGNORECASE)
_PASSIVE = re.compile(
    r"\b(?:must|should|may|can|is|are)(?: not|n'?t) (?:be |something you should |for you to )?"
    r"|^(?:nothing|none of|no)\b.* (?:should|must|may|can|is to) be $",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:don'?t|do not|not|never|no need to|\w+n'?t|stop|no|ne|nicht|nao|non|no|не|niet)(?!\w)"
    r"\W*(?:\w+\W+){0,4}$|不要|别",
    re.IGNORECASE,
)
_NEGATED_AFTER = re.compile(r"\b(?:kein\w*|geen|nicht|pas|niets?|nichts|rien)\b|ないで", re.I)
_NO_MEMORY = re.compile(r"\s*(?:in mind|calm|going|up|quiet|track|it (?:up|real|short))\b", re.I)
_SELF = re.compile(
    r"(?:i|we)\b(?! (?:don'?t |do not |never )?(?:want|need|wish|like)\b|'d|\s+would)"
    r"|(?:i|we)(?:'d| would)? (?:want|need|wish|like)(?: so much)? to $"
    r"|you (?:don'?t|do not|never|didn'?t)\b",
    re.IGNORECASE,
)
_OUT_OF = re.compile(
    r".{0,40}?\b(?:take|leave|get|keep|cut|want|like|have)\s+(.{2,60}?)\s+(?:out of|gone from"
    r"|removed from|deleted from|erased from|off) (?:your|the) (?:notes|memory|records?)\b",
    re.IGNORECASE,
)
_NO_RECORD = re.compile(r"no (?:notes?|records?|logs?)\b", re.IGNORECASE)
_ABOUT = re.compile(
    r"\W*(?:that|about|abt|what|everything|anything|all|dass|que|che|wat|dat|alles|что|всё)\b", re.I
)
_TOPIC = re.compile(r"\b(?:about|of|on|regarding)\b(.+)", re.IGNORECASE)
_KNOWN = re.compile(
    r"\byou(?:'ve)?(?: still| also)? (?:have|know|saved|stored|noted|remember)\b.*?"
    r"\b(?:that|about)\b (.+?)(?:, [^,]{1,20})?[?.! ]*$",
    re.IGNORECASE,
)
_THEY = re.compile(r"[,;]\s*(?:so |and )?(?:it|they|that|this)\b", re.IGNORECASE)
_FRAME = re.compile(
    r"^(?:.*?\b(?:about|abt|regarding|concerning)|(?:any )?(?:notes?|records?) o[nf]|of)\b "
)
_END = re.compile(
    r"[:;]|, (?:but|let'?s|and|book|i|just)\b|\b(?:from|in|on) (?:your |the )?(?:memory|files?"
    r"|records?|notes)\b",
    re.IGNORECASE,
)
_THIS = re.compile(r"(?:this|that|it)(?: one)?\s*(?::|,)", re.IGNORECASE)
_WORK = re.compile(
    r"\b(?:row|column|line|paragraph|sentence|file|folder|branch|table|comment|option|step|word"
    r"|image|section|list|button|function|title)s?\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"(?:please|i'?d (?:like|prefer|rather)|i want|can you|could you)\b"
    r"|.*\b(?:should|must|may)(?:n't| not| no longer)\b",
    re.IGNORECASE,
)
_SECRET_ENDS = re.compile(r"\W*(?:[:,.;]|but\b|please\b|for the\b|ok\b|$)", re.IGNORECASE)


def wish_of(sense: Sense, before: str = "") -> Wish | None:
    """Return what a sentence wishes of the memory; None if nothing is wished.

    Args:
        sense: The sentence; at most 400 characters are read.
        before: The sentence before it, which "delete that" may mean.
    """
    if sense.mood in (Mood.UNREAL, Mood.REPORTED):
        return None
    whole = plain(sense.text[:MOST_CHARS])
    text = opened(whole)
    if class_in("secret", whole):
        return _secret(whole)
    requests = class_at("please", text) or class_in("please", text)
    if (sense.mood is Mood.QUESTION and not requests) or class_in("for_now", text):
        return None
    verb = _verb(text)
    if verb is None:
        return _unclear(sense, text)
    found = _named(verb, text, before, requests=bool(requests))
    if found is None or found.reading.about not in whole:
        return found
    start, about = whole.index(found.reading.about), found.reading.about
    written = sense.text[start : start + len(about)]  # with its accents
    return found._replace(reading=found.reading._replace(about=written))


def is_yes(text: str) -> bool:
    """Whether a text says yes, and nothing else."""
    said = plain(text[:MOST_CHARS]).strip(" .!,。！")
    found = class_at("yes", said)
    return found is not None and found.end() == len(said)


def is_open(text: str) -> bool:
    """Whether words of secrecy in a text ask for none: "between us we ate two pizzas"."""
    whole = plain(text[:MOST_CHARS])
    return class_in("secret", whole) is not None and _secret(whole) is None


def _secret(text: str) -> Wish | None:
    found = class_in("secret", text)
    if found is None:
        return None
    front, rest = text[: found.start()], text[found.end() :]
    if not _SECRET_ENDS.match(rest):
        return None
    if len(front.split()) > MOST_BEFORE_SECRET:
        return None
    tells = topic_of(rest).names_something
    return Wish(Reading(Kind.OFF_RECORD, "") if tells else Reading(Kind.REFUSE, "this"))


def _verb(text: str) -> _Verb | None:
    """Return the verb of a wish with what stands around it."""
    for kind in ("remove", "take_out", "keep"):
        for found in class_of(kind, text):
            front, rest = text[: found.start()], text[found.end() :]
            if _is_wish(kind, text, front, rest):
                return _Verb(kind, rest, *_target(text, front, rest))
    if out := _OUT_OF.match(text):
        return _Verb("remove", out[1], out[1])
    if none := _NO_RECORD.match(text):
        return _Verb("keep", text[none.end() :], text[none.end() :])
    return None


def _target(text: str, front: str, rest: str) -> tuple[str, bool]:
    """Return what a wish names, and whether it stands before the verb."""
    passive = _PASSIVE.search(front) or not rest.strip(" .!")
    after_it = _IT.fullmatch(rest) and len(front.split()) > MOST_BEFORE_IT
    if topic_of(front).names_something and (passive or after_it):
        return _before(front), True
    if tongue(text) == "japanese" and not topic_of(rest).names_something:
        return front, False
    return rest, False


def _is_wish(kind: str, text: str, front: str, rest: str) -> bool:
    passive = _PASSIVE.search(front)
    negated = passive or _NEGATED.search(front) or (kind == "keep" and _NEGATED_AFTER.search(rest))
    if bool(negated) != (kind == "keep") or _NO_MEMORY.match(rest) or _SELF.match(front):
        return False
    if _ASKING.fullmatch(front) or passive:
        return True
    if tongue(text) == "japanese" and kind != "keep":
        return class_in("please", rest) is not None or not rest.strip("。！ ")
    if class_at("everything", front) and not rest.strip(" .!"):
        return True
    joins = re.search(r"(?:[,;:]|\band|\bplease|\bmind) $", front, re.IGNORECASE)
    return bool(joins and (kind == "remove" or _IT.fullmatch(rest)))


def _before(front: str) -> str:
    """Return what a text before a verb names: "my debts are my own, so they should not be"."""
    if found := _THEY.search(front):
        front = re.split(r"\b(?:is|are|was|were)\b", front[: found.start()])[0]
    front = _PASSIVE.sub("", front)
    topic = _TOPIC.search(front)
    return topic[1] if topic else front


def _named(verb: _Verb, text: str, before: str, *, requests: bool) -> Wish | None:
    kind = Kind.REFUSE if verb.kind == "keep" else Kind.FORGET
    target = _END.split(verb.target, maxsplit=1)[0]
    for polite in list(class_of("please", target, text)):
        target = target.replace(polite[0], " ")
    target, by_it, is_known = target.strip(" .!?,，。！？"), verb.by_it, False
    if _IT.fullmatch(target) and (known := _KNOWN.search(plain(before))):
        target, by_it, is_known = known[1], True, True
    if kind is Kind.REFUSE and _THIS.match(verb.rest.strip()):
        return Wish(Reading(Kind.OFF_RECORD, ""))
    if verb.kind != "keep" and _NEVER_MIND.fullmatch(re.split("[,;:]", target)[0]):
        return None
    if is_everything(target):
        return Wish(Reading(kind, EVERYTHING))
    if is_just_said(target):
        return Wish(Reading(kind, target)) if target else None
    if not topic_of(target).names_something:
        every = class_in("everything", target, text)
        return Wish(Reading(kind, EVERYTHING)) if every else None
    memory = class_in("memory_noun", text) is not None
    if verb.kind == "take_out" and not (memory or requests or by_it):
        return None
    sure = verb.kind == "keep" or is_known or (verb.kind == "remove" and _ABOUT.match(verb.rest))
    target = target if target.startswith("that ") else _FRAME.sub("", target)
    return Wish(Reading(kind, target), bool(sure or (memory and not _WORK.search(target))))


def _unclear(sense: Sense, text: str) -> Wish | None:
    """Ask back about a wish that names the memory, and is not understood."""
    names = class_in("memory_noun", text) and _WISHES.match(text)
    verbs = any(class_in(name, text) for name in ("remove", "take_out"))
    return Wish(Reading(Kind.UNCLEAR, sense.text)) if names and verbs else None
