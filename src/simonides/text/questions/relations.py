"""Reads what a question asks about a person other than the user.

``shoe_size`` is a fact about the user. "What is my cousin's shoe size?" has the same words, but the
user's own size is a wrong answer, and nothing in "shoe_size = 42" says so. The question is
therefore read as if the user asked about himself; the keys found that way are the user's and do not
answer it.

No list tells whether "Ana" is the user; a memory such as "my sister Ana" may tell. "She" is not
resolved. Questions are English, like all word lists here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from simonides.text.questions.answer_keys import asked_keys

_PLURAL = frozenset(
    "parents siblings grandparents kids children sons daughters brothers sisters cousins friends"
    " colleagues neighbors neighbours roommates flatmates dogs cats pets teammates aunts uncles"
    " nephews nieces coworkers grandchildren grandkids inlaws".split()
)
RELATIONS = _PLURAL | frozenset(
    "mother mom mum mommy mummy father dad daddy parent sister brother sibling twin wife husband"
    " spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée ex son daughter kid child"
    " baby toddler stepson stepdaughter stepmother stepmom stepfather stepdad stepbrother"
    " stepsister grandmother grandma granny nana grandfather grandpa granddad grandparent grandson"
    " granddaughter grandchild aunt auntie uncle cousin nephew niece godmother godfather godson"
    " goddaughter friend bestie boss manager supervisor colleague coworker teammate intern mentor"
    " teacher professor tutor coach trainer doctor dentist"
    " therapist lawyer accountant landlord landlady neighbor neighbour roommate flatmate housemate"
    " nanny babysitter dog cat pet puppy kitten horse rabbit parrot hamster".split()
)
"""Words for people and animals related to the user. Groups such as a family or a team are left out:
the user is a member and may live or work at the same place.
"""
_WHOSE = frozenset("my our".split())
_SHARED = frozenset(
    "appointment appointments meeting meetings checkup deadline interview lesson"
    " party wedding trip vacation holiday anniversary visit".split()
)
"""Events that concern the user as well: "my dentist's appointment", "my friend's wedding"."""
_KINDS_OF = frozenset(
    "older elder eldest oldest younger youngest big little late best dear old new former ex step"
    " half twin only first second other current future closest good".split()
)
_MOST_KINDS_OF = 2


class OfOthers(NamedTuple):
    """What a question asks about other people.

    Attributes:
        keys: The keys under which the user's own facts would be stored.
        who: The words for these people, lower case.
        name: The name of a person without a relation, lower case; the person may be the user.
    """

    keys: tuple[str, ...] = ()
    who: frozenset[str] = frozenset()
    name: str | None = None


NO_OTHERS = OfOthers()


def asked_of_others(words: Sequence[str], *, asks: bool) -> OfOthers:
    """Return what a sentence asks about people related to the user.

    Args:
        words: Of the sentence, lower case, without punctuation; an apostrophe separates words.
        asks: Whether it ends in a question mark.
    """
    if RELATIONS.isdisjoint(words) or not _SHARED.isdisjoint(words):
        return NO_OTHERS
    own = asked_keys(words, asks=asks).own
    found: dict[str, None] = {}
    who: set[str] = set()
    for of_self, others in _as_of_self(words):
        keys = asked_keys(of_self, asks=asks).own
        found.update(dict.fromkeys(key for key in keys if key not in own))
        who.update(each for each in others if each not in _KINDS_OF)
    return OfOthers(tuple(found), frozenset(who)) if found else NO_OTHERS


def asked_of_named(words: Sequence[str], name: str, *, asks: bool) -> OfOthers:
    """Return what a sentence asks about a person with a name: "Paul's shoe size".

    Args:
        words: As for :func:`asked_of_others`.
        name: Lower case; in the sentence an apostrophe and an s follow it.
        asks: Whether it ends in a question mark.
    """
    places = [n for n, pair in enumerate(pairwise(words)) if pair == (name, "s")]
    if not places or not _SHARED.isdisjoint(words):
        return NO_OTHERS
    of_self = [*words[: places[0]], "my", *words[places[0] + 2 :]]
    keys = asked_keys(of_self, asks=asks).own
    return OfOthers(keys, frozenset([name]), name) if keys else NO_OTHERS


def is_somebody(words: Sequence[str], name: str) -> bool:
    """Whether a text states the relation of a named person to the user.

    For example "my sister Clara lives in …" and "Clara is my sister".
    """
    for place, word in enumerate(words):
        if word != name:
            continue
        before, after = words[max(place - 1, 0) : place], words[place + 1 : place + 5]
        if not RELATIONS.isdisjoint(before):
            return True
        if not _WHOSE.isdisjoint(after) and not RELATIONS.isdisjoint(after):
            return True
    return False


def _as_of_self(words: Sequence[str]) -> Iterator[tuple[list[str], Sequence[str]]]:
    """Yield each reading of a sentence as a question about the user, with the words for the person.

    There are several readings for nested relations and for plurals with an unclear apostrophe.
    """
    start = next((n + 1 for n, word in enumerate(words) if word in _WHOSE), len(words))
    before = list(words[: start - 1])
    end = _person(words, start)
    while end and words[end : end + 1] == ["s"] and len(words) > end + 1:
        yield [*before, "my", *words[end + 1 :]], words[start:end]
        start, end = end + 1, _person(words, end + 1)
    if not end:
        return
    others, after = words[start:end], words[end:]
    if before[-1:] == ["of"] and "the" in before:
        # "The shoe size of my cousin".
        the = len(before) - 1 - before[::-1].index("the")
        yield [*before[:the], "my", *before[the + 1 : -1], *after], others
        return
    yield [*before, "i", *after], others
    if others[-1] in _PLURAL:
        # "My parents' house": nothing is left of the apostrophe.
        yield [*before, "my", *after], others


def _person(words: Sequence[str], start: int) -> int:
    """Return the end of the words for a person that begin at a place, 0 if there are none.

    For example "older sister", and "cousin Rui" in "cousin Rui's".
    """
    place = start
    while _is_kind_of(words[place : place + 2]) and place - start < _MOST_KINDS_OF:
        place += 1
    if place >= len(words) or words[place] not in RELATIONS:
        return 0
    is_named = words[place + 2 : place + 3] == ["s"] and words[place + 1] != "s"
    return place + 2 if is_named else place + 1


def _is_kind_of(words: Sequence[str]) -> bool:
    """Whether the first of two words qualifies a relation: "twin" in "twin sister"."""
    if not words or words[0] not in _KINDS_OF:
        return False
    return words[0] not in RELATIONS or not RELATIONS.isdisjoint(words[1:])
