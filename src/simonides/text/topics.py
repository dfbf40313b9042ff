"""What a topic in plain words covers: "my wife", "anything about my health", "the Alpha project".

A topic covers a text that holds most of its rare words, a name of the person meant, or a word of a
field that people name as a whole. It errs on the side of the user's wish, except for identifiers:
"ana@acme.io" does not cover ana@acme.io.uk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from simonides.text.analyse import analyse
from simonides.text.words import listed, table

MOST_WORTH = 0.5
"""Share of a topic's summed rarity that a text must hold."""

# Words that say nothing of a subject.
_GENERIC = frozenset(analyse(" ".join(listed("no_subject"))))

# What is kept of somebody, when it ends a topic: "Ana's profile", "the order history".
_RECORD = re.compile(
    r"(?<=\w)(?:'s?)?\s+(?:(?:personal|profile|records?|history|data|files?|preferences?|entry|entries"
    r"|details?|info(?:rmation)?)\b\W*)+$",
    re.IGNORECASE,
)
# "Ana the nurse", "my neighbour Ana who sings": what follows says who is meant.
_WHO = re.compile(r"(?:[a-z]+ ){0,2}([A-Z][\w'-]+(?: [A-Z][\w'-]+)*),? (?:the|who|our)\b(?!.*\d).*")
# Other names of the same: "Kim Minji / 김민지", "Ivan Petrov (Иван Петров)".
_ALSO = re.compile(
    r"\s+(?:/|aka|a\.k\.a\.|alias|also known as)\s+|\s*(?:\((?=[^\W\x00-\u036f])|\))\s*"
    r"|(?<=[a-z])\s+(?=[^\W\x00-\u036f])"
)
_NAMED = re.compile(r"[A-Z@\d]|[^\W\x00-\u036f]")
# "ana@acme.io", "INV-100-B", "555-0100"; no "p.m.", "4th" and "5-year-old".
_IDENTIFIER = re.compile(r"\w{3,}[@._]\w|\w[@._]\w{3,}|[^\W\d]\S*\d|\d(?:\W?\d){4}")

_NUMBERS = "one two three four five six seven eight nine ten".split()
_NUMBER = "|".join((*_NUMBERS, r"\d{1,3}"))
_JUST_SAID = re.compile(
    r"(?:(?:that|this|it|s|the|my|what|whatever|i|you|we|just|said|told|wrote|last|previous|thing"
    rf"|things|messages?|sentences?|part|{_NUMBER}|bit|now|earlier|remark|was|is|here|secret|private"
    r"|confidential|personal|all|of|those|these|them)\W*)*",
    re.IGNORECASE,
)
_SESSION = re.compile(r"\b(?:this|the|our) (?:whole )?(?:conversation|chat|session|thread)\b", re.I)
_EVERYTHING = re.compile(
    r"(?:(?:everything|anything|all|about|of|on|me|myself|my|our|data|memor(?:y|ies)|you|know"
    r"|have|stored|saved|that|it|history|profile|whole|entire|the|personal|i|ever|said|told"
    r"|information|info|remember)\W*)+",
    re.IGNORECASE,
)
_ME = re.compile(r"\b(?:me|myself|everything|all|data|profile|memor\w+|history)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Topic:
    """A topic as it was understood.

    Attributes:
        words: As the user put it.
        terms: Index terms of its telling words.
        names: Terms of the names that the memory ties to it.
        fields: Terms of the fields that it names.
        identifiers: Terms of each identifier in it: a text must hold all of one.
        others: Other names of the same.
    """

    words: str
    terms: frozenset[str]
    names: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    identifiers: tuple[frozenset[str], ...] = ()
    others: tuple[Topic, ...] = ()

    def covers(self, terms: Iterable[str], worth: Callable[[str], float] = lambda _: 1.0) -> bool:
        """Whether it covers a text of these index terms; ``worth`` is the rarity of a term."""
        held = set(terms)
        if held & (self.names | self.fields) or any(o.covers(held, worth) for o in self.others):
            return True
        if self.identifiers and not any(map(held.issuperset, self.identifiers)):
            begun = [next(iter(each)) for each in self.identifiers if len(each) == 1]
            if not any(term.startswith(tuple(begun)) for term in held):
                return False
        every = sum(map(worth, self.terms))
        return bool(self.terms) and sum(map(worth, self.terms & held)) >= MOST_WORTH * every


def topic_of(words: str, known: Iterable[str] = ()) -> Topic:
    """Read a topic.

    Args:
        words: As the user put it.
        known: Texts of the user, in which a person's name may stand: "my wife Nora".
    """
    named = _ALSO.split(words.strip())
    alike = re.search("[A-Z@]", words) and all(_NAMED.search(name) for name in named if name)
    others = tuple(topic_of(name) for name in named if name) if alike and named[1:] else ()
    who = _WHO.fullmatch(words)
    subject = who[1] if who else _RECORD.sub("", words)
    terms = frozenset(analyse(subject)) - _GENERIC
    identifiers = _identifiers(subject)
    spanned = [spanning for names, spanning in _fields() if terms & names and not identifiers]
    fields = frozenset[str]().union(*spanned)
    return Topic(words, terms, _names(words, known), fields, identifiers, others)


def _identifiers(words: str) -> tuple[frozenset[str], ...]:
    """Return the terms of e-mail addresses, part numbers and the like.

    Of digits alone only the parts count: a phone number may have a country code.
    """
    found = []
    for word in words.split():
        *parts, whole = analyse(word) or [""]
        if parts and _IDENTIFIER.search(word):
            digits = all(part.isdigit() for part in parts)
            found.append(frozenset(parts) if digits else frozenset([whole]))
    return tuple(found)


def is_just_said(topic: str) -> bool:
    """Whether a topic points at what was just said."""
    return bool(_JUST_SAID.fullmatch(topic.strip()))


def how_many(topic: str) -> int:
    """Return how many of the user's messages a topic that points back means."""
    found = re.search(rf"\b(?:{_NUMBER})\b", topic, re.IGNORECASE)
    if found is None:
        return 1
    word = found[0].lower()
    return int(word) if word.isdigit() else _NUMBERS.index(word) + 1


def is_session(topic: str) -> bool:
    """Whether a topic is the running conversation."""
    return bool(_SESSION.search(topic))


def is_everything(topic: str) -> bool:
    """Whether a topic is the user as a whole."""
    return bool(_EVERYTHING.fullmatch(topic.strip()) and _ME.search(topic))


@cache
def _fields() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(
        (frozenset(analyse(row["names"])), frozenset(analyse(f"{row['names']} {row['words']}")))
        for row in table()["fields"].values()
    )


def _names(words: str, known: Iterable[str]) -> frozenset[str]:
    """Return the terms of a person's names: "my wife" is Nora if a known text says so."""
    heads = [word for word in re.findall(r"\b[a-z][\w'-]+", words) if set(analyse(word)) - _GENERIC]
    found: set[str] = set()
    for head in heads[-2:]:
        name = re.compile(
            rf"\b{re.escape(head)}(?:'s)?,? (?:(?:is |was )?(?:called |named )|name is |is )?"
            rf"([A-Z]\w+)|\b([A-Z]\w+)(?:,| is| was) my (?:\w+ )?{re.escape(head)}\b"
        )
        for text in known:
            for match in name.finditer(text):
                found.update(analyse(next(each for each in match.groups() if each)))
    return frozenset(found)
