"""What a topic in plain words covers: "my wife", "anything about my health", "the Alpha project".

A topic covers a text that holds most of its rare words, a name of the person meant, or a word of a
field that people name as a whole. It errs on the side of the user's wish.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from simonides.text.analyse import analyse

MOST_WORTH = 0.5
"""Share of a topic's summed rarity that a text must hold."""

# Words that say nothing of a subject.
_GENERIC = frozenset(
    analyse(
        """
        thing things something anything everything stuff detail details information info fact facts
        note notes part whole matter topic subject know knew remember told tell said say mention
        mentioned ever again please user always never still just really about new old
        """
    )
)

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


def _alike(term: str) -> float:
    del term
    return 1.0


@dataclass(frozen=True)
class Topic:
    """A topic as it was understood.

    Attributes:
        words: As the user put it.
        terms: Index terms of its telling words.
        names: Terms of the names that the memory ties to it.
        fields: Terms of the fields that it names.
    """

    words: str
    terms: frozenset[str]
    names: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()

    def covers(self, terms: Iterable[str], worth: Callable[[str], float] = _alike) -> bool:
        """Whether it covers a text of these index terms; ``worth`` is the rarity of a term."""
        held = set(terms)
        if held & (self.names | self.fields):
            return True
        every = sum(map(worth, self.terms))
        return bool(self.terms) and sum(map(worth, self.terms & held)) >= MOST_WORTH * every


def topic_of(words: str, known: Iterable[str] = ()) -> Topic:
    """Read a topic.

    Args:
        words: As the user put it.
        known: Texts of the user, in which a person's name may stand: "my wife Nora".
    """
    terms = frozenset(analyse(words)) - _GENERIC
    fields = frozenset[str]()
    for names, spanning in _fields():
        if terms & names:
            fields |= spanning
    return Topic(words, terms, _names(words, known), fields)


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
    table = tomllib.loads((files("simonides.text") / "fields.toml").read_text("utf-8"))
    return tuple(
        (frozenset(analyse(row["names"])), frozenset(analyse(f"{row['names']} {row['words']}")))
        for row in table.values()
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
