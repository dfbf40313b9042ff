"""What a topic in plain words names: "my wife", "anything about my health", "the Alpha project".

A topic covers a text in which every word of it that names something stands: inflected, as a word of
kinship for the same person, or as the name that the memory ties to it. Identifiers must be whole:
"ana@acme.io" does not cover ana@acme.io.uk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from simonides.text.analyse import analyse
from simonides.text.words import listed, table

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

# "the job and the interview": two topics.
_AND = re.compile(
    r",? (?:and|und|y|et|e|en|и) (?=(?:the|my|our|der|die|das|mein\w*|el|la|los|las|mis?|le|les|ma"
    r"|mes|mon|il|o|a|meu|minha|het|de|mijn)\b)",
    re.IGNORECASE,
)
_KINSMAN = re.compile(r"\b([\w'-]+)\.? ([A-ZА-ЯЁ][\w'-]*)")
_JOINED = re.compile(r"\w['’.@/:_-]\w")
# Signs of Chinese and Japanese that say nothing of a subject.
_SIGNS = re.compile(
    "我们|我的|关于|之前|告诉你|说过|说的|事情|一切|所有|全部|[我你您他她的了吧过那这事]|私の|私が|私は|について"
    "|のこと|こと|言った|話した|した|すべて|[のがはをにとで]"
)
EVERYTHING = "everything"
"""The topic that is the user as a whole."""


def _only(words: frozenset[str]) -> re.Pattern[str]:
    """Return what fits a text of these words alone."""
    return re.compile(rf"(?:(?:{'|'.join(sorted(words))})\W*)*", re.IGNORECASE)


_NUMBERS = table()["lists"]["numbers"].split()
_NUMBER = "|".join((*_NUMBERS, r"\d{1,3}"))
_JUST_SAID = _only(listed("just_said") | {_NUMBER})
_SESSION = re.compile(r"\b(?:this|the|our) (?:whole )?(?:conversation|chat|session|thread)\b", re.I)
_EVERYTHING = _only(listed("the_user"))
_ME = re.compile(rf"\b(?:{'|'.join(listed('the_user_himself'))})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Topic:
    """A topic as it was understood.

    Attributes:
        words: As the user put it.
        groups: For each word that names something, the index terms of which a text must hold one.
        identifiers: Terms of each identifier in it: a text must hold all of one.
        others: Other names of the same.
        tied: Terms of the names of the person meant, which the memory ties to it.
    """

    words: str
    groups: tuple[frozenset[str], ...]
    identifiers: tuple[frozenset[str], ...] = ()
    others: tuple[Topic, ...] = ()
    tied: frozenset[str] = frozenset()

    @property
    def names_something(self) -> bool:
        """Whether any word of it says what is meant."""
        return bool(self.groups or self.identifiers or self.others)

    def covers(self, terms: Iterable[str]) -> bool:
        """Whether a text of these index terms holds every word of it."""
        held = set(terms)
        if any(other.covers(held) for other in self.others):
            return True
        if self.identifiers and not any(map(held.issuperset, self.identifiers)):
            begun = tuple(next(iter(each)) for each in self.identifiers if len(each) == 1)
            if not any(term.startswith(begun) for term in held):
                return False
        named = bool(self.groups or self.identifiers)
        return named and not any(held.isdisjoint(group) for group in self.groups)

    def share(self, terms: Iterable[str]) -> float:
        """Return the share of its words that stand in a text of these index terms."""
        held = set(terms)
        count = sum(not held.isdisjoint(group) for group in self.groups)
        own = count / len(self.groups) if self.groups else 0.0
        return max([own, *(other.share(held) for other in self.others)])


def topic_of(words: str, tied: frozenset[str] = frozenset()) -> Topic:
    """Read a topic.

    Args:
        words: As the user put it.
        tied: Terms of the names of the person meant; see `names_of`.
    """
    named = _ALSO.split(words.strip())
    alike = re.search("[A-Z@]", words) and all(_NAMED.search(name) for name in named if name)
    others = [name for name in named if name] if alike and named[1:] else []
    listed = [part.strip() for part in _AND.split(words)]
    others += listed if listed[1:] and all(_groups(part) for part in listed) else []
    who = _WHO.fullmatch(words)
    subject = who[1] if who else _RECORD.sub("", words)
    identifiers = _identifiers(subject)
    groups = _groups(subject, frozenset().union(*identifiers))
    if tied:
        groups = tuple(each | tied if each & _kin().keys() else each for each in groups)
    return Topic(words, groups, identifiers, tuple(topic_of(name) for name in others), tied)


def _groups(words: str, identifiers: frozenset[str] = frozenset()) -> tuple[frozenset[str], ...]:
    """Return the terms that stand for each word that names something."""
    groups: dict[str, frozenset[str]] = {}
    bare = _KINSMAN.sub(_named_alone, _SIGNS.sub(" ", words))
    for word in bare.split():
        terms = analyse(word)
        parts = terms[:-1] if len(terms) > 1 and _JOINED.search(word) else terms
        if not identifiers.isdisjoint(terms):
            continue
        for term in parts:
            if term not in _GENERIC:
                groups[term] = _kin().get(term, frozenset()) | {term}
    return tuple(groups.values())


def _named_alone(match: re.Match[str]) -> str:
    """Return the name in "my sister Ruth"; a word that tells no relation stays."""
    terms = analyse(match[1])
    return match[2] if terms and (terms[0] in _kin() or terms[0] in listed("titles")) else match[0]


def _identifiers(words: str) -> tuple[frozenset[str], ...]:
    """Return the terms of e-mail addresses, part numbers and the like.

    Of digits alone only the parts count: a phone number may have a country code.
    """
    identifiers = []
    for word in words.split():
        *parts, whole = analyse(word) or [""]
        if parts and _IDENTIFIER.search(word):
            digits = all(part.isdigit() for part in parts)
            identifiers.append(frozenset(parts) if digits else frozenset([whole]))
    return tuple(identifiers)


def is_kin(words: str) -> bool:
    """Whether some words begin with one of kinship."""
    return bool(_kin().keys() & analyse(" ".join(words.split()[:1])))


def is_just_said(topic: str) -> bool:
    """Whether a topic points at what was just said."""
    return bool(_JUST_SAID.fullmatch(topic.strip()))


def how_many(topic: str) -> int:
    """Return how many of the user's messages a topic that points back means."""
    match = re.search(rf"\b(?:{_NUMBER})\b", topic, re.IGNORECASE)
    if match is None:
        return 1
    word = match[0].lower()
    return int(word) if word.isdigit() else _NUMBERS.index(word) + 1


def is_session(topic: str) -> bool:
    """Whether a topic is the running conversation."""
    return bool(_SESSION.search(topic))


def is_everything(topic: str) -> bool:
    """Whether a topic is the user as a whole."""
    return bool(_EVERYTHING.fullmatch(topic.strip()) and _ME.search(topic))


@cache
def _kin() -> dict[str, frozenset[str]]:
    """Return for each word of kinship the terms of all words of its kind."""
    kin: dict[str, frozenset[str]] = {}
    for line in table()["lists"]["kin"].strip().splitlines():
        same, _, kinds = line.partition(":")
        whole = frozenset(analyse(f"{same} {kinds}"))
        for term in analyse(same):
            kin[term] = kin.get(term, frozenset()) | whole
        for term in analyse(kinds):
            kin.setdefault(term, frozenset({term}))
    return kin


def names_of(words: str, known: Iterable[str]) -> frozenset[str]:
    """Return the terms of a person's names: "my wife" is Nora if a known text says so."""
    heads = [word for word in re.findall(r"\b[a-z][\w'-]+", words) if set(analyse(word)) - _GENERIC]
    terms: set[str] = set()
    for head in heads[-2:]:
        name = re.compile(
            rf"\b{re.escape(head)}(?:'s)?,? (?:(?:is |was )?(?:called |named )|name is |is )?"
            rf"([A-Z]\w+)|\b([A-Z]\w+)(?:,| is| was) my (?:\w+ )?{re.escape(head)}\b"
        )
        for text in known:
            for match in name.finditer(text):
                terms.update(analyse(next(each for each in match.groups() if each)))
    return frozenset(terms)
