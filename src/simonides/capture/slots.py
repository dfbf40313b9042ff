"""A dozen keyed facts that plain English sentences state of their speaker.

Precision before recall: hedges, negations, questions, jokes and passing moments give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simonides.capture.wordings import (
    MOST_CHARS,
    Wordings,
    load,
    plain,
    spoken,
    words_of,
)


class Slot(NamedTuple):
    """A value under a key, in the words of the clause."""

    key: str
    value: str


SYNONYMS = {
    "address": "location",
    "allergy": "allergies",
    "chat_language": "language",
    "city": "location",
    "company": "employer",
    "contact_channel": "channel",
    "date_of_birth": "birthday",
    "dietary_preference": "diet",
    "full_name": "name",
    "home": "location",
    "home_city": "location",
    "home_location": "location",
    "job": "role",
    "job_title": "role",
    "length": "response_length",
    "marital_status": "relationship",
    "medicine": "medication",
    "nickname": "preferred_name",
    "occupation": "role",
    "preferred_channel": "channel",
    "preferred_language": "language",
    "profession": "role",
    "relationship_status": "relationship",
    "residence": "location",
    "response_language": "language",
    "response_style": "response_length",
    "timezone": "time_zone",
    "update_channel": "channel",
    "user_name": "name",
    "verbosity": "response_length",
    "workplace": "employer",
}
"""Other names of a key, each with the one that is stored."""

SINGLE = frozenset(
    "name preferred_name pronouns location time_zone language tone response_length employer role"
    " units channel birthday relationship age".split()
)
"""Keys with one value at a time: a new value replaces the old."""


def folded(key: str) -> str:
    """Return the one name of a key: "Home Location" → "location"."""
    key = key.strip().casefold().replace(" ", "_").replace("-", "_")
    return SYNONYMS.get(key, key)


def slots_of(clause: str) -> list[Slot]:
    """Return what a clause of the user's own words states of its speaker, one value for each key.

    Args:
        clause: At most 400 characters are read. English, and "call me" in ten languages.
    """
    clause = " ".join(clause[:MOST_CHARS].split())
    text = plain(clause)
    words = words_of(text)
    rules = load("slots.toml")
    if words.isdisjoint(rules.words) and not any(spoken(text, words)):
        return []
    if text.endswith(("?", "？")) or _is(rules, "joke", text) or is_for_now(clause):
        return []
    slots: dict[str, str] = {}
    for key, value in (*_stated(rules, clause, text, words), *_called(clause, text, words)):
        slots.setdefault(key, value.strip(" .,;!\"'"))
    return [Slot(key, value) for key, value in slots.items() if value]


def is_danger(clause: str) -> bool:
    """Whether a clause states what endangers somebody if it is overlooked: an allergy, a drug."""
    text = plain(" ".join(clause[:MOST_CHARS].split()))
    words = words_of(text)
    rules = load("slots.toml")
    if text.endswith(("?", "？")) or _is(rules, "hedge", text) or _is(rules, "joke", text):
        return False
    return any(language.find("danger", text, words) for language in spoken(text, words))


def is_for_now(clause: str) -> bool:
    """Whether a clause says that something holds for a short time only."""
    text = plain(" ".join(clause[:MOST_CHARS].split()))
    text = load("slots.toml").setting("begins").sub("", text)
    words = words_of(text)
    return _is(load("slots.toml"), "for_now", text) or any(
        language.find("one_off", text, words) for language in spoken(text, words)
    )


def was_for_then(clause: str) -> bool:
    """Whether a clause held for one conversation or task only: "just for this recipe"."""
    text = plain(" ".join(clause[:MOST_CHARS].split()))
    return _is(load("slots.toml"), "for_then", text)


def _stated(
    rules: Wordings, clause: str, text: str, words: frozenset[str]
) -> Iterator[tuple[str, str]]:
    for key in rules.names():
        found = rules.find(key, text, words)
        if found and found["about"]:
            before = rules.setting("own_doubt").sub("", text[: found.end("about")])
            if not _is(rules, "doubt", before):
                yield key, clause[slice(*found.span("about"))]


def _called(clause: str, text: str, words: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of "call me …", which has no lower case where the script has cases."""
    for language in spoken(text, words):
        lead = language.setting("lead").match(text)
        start = lead.end() if lead else 0
        found = language.find("preferred_name", text[start:], words)
        if found:
            name = clause[start + found.start("about") : start + found.end("about")]
            if name[:1].isalpha() and not name[:1].islower():
                yield "preferred_name", name


def _is(rules: Wordings, name: str, text: str) -> bool:
    return bool(rules.setting(name).search(text))
