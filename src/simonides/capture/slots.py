"""A dozen keyed facts that plain English sentences state of their speaker.

Precision before recall: hedges, negations, questions, jokes and passing moments give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from simonides.capture.manner import wishes
from simonides.capture.wordings import (
    Wordings,
    class_at,
    class_in,
    heard,
    load_wordings,
    plain,
    spoken,
    words_of,
)
from simonides.core.policy import DANGERS, SEVERAL, category_of_key, folded
from simonides.text.words import listed


class Slot(NamedTuple):
    """A value under a key, in the words of the clause."""

    key: str
    value: str


def slots_of(clause: str) -> list[Slot]:
    """Return what a clause of the user's own words states of its speaker, one value for each key.

    Args:
        clause: At most 400 characters are read. English, and "call me" in ten languages.
    """
    clause, text, words = heard(clause)
    rules, wished = load_wordings("slots.toml"), wishes(clause)
    voices = list(spoken(text, words))
    if not (wished or voices) and words.isdisjoint(rules.words):
        return []
    if wished and any(each.passes(text, words, is_order=True) for each in voices):
        return []
    if text.endswith(("?", "？")) or rules.matches("joke", text) or is_for_now(clause):
        return []
    slots: dict[str, str] = {}
    stated = [*_stated(rules, clause, text, words), *_called(clause, text, words)]
    for key, value in (*stated, *wished.items()):
        slots.setdefault(key, value.strip(" .,;!\"'"))
    return [Slot(*each) for each in slots.items() if each[1] and each[1] not in listed("links")]


def manner_of(rule: str) -> list[Slot]:
    """Return how a rule wishes the answers to be; it may be worded as a question."""
    return [Slot(key, value) for key, value in wishes(heard(rule)[0], is_rule=True).items()]


MOST_WORDS = 2
"""Words beside an implied wish in its clause: "too long", "sorry". Set by judgement."""

_POINTS_BACK = re.compile(r"\b(?:it|this|that)\b", re.IGNORECASE)


def implied_manner(clause: str) -> list[Slot]:
    """Return what a clause wants of the answer just given, which may be a wish for all answers.

    It names a manner and nothing that is to have it ("Shorter, please."), or asks it for what was
    just said ("Could you keep it shorter?"). Said again, it is meant for all.
    """
    heard_as, text, _ = heard(clause)
    if is_for_now(clause) or class_in("always", text) or class_in("henceforth", text):
        return []
    if text.endswith(("?", "？")):
        return manner_of(clause) if _POINTS_BACK.search(text) else []
    if wishes(heard_as):
        return []
    if whole := wishes(heard_as, is_rule=True):
        return [Slot(key, value) for key, value in whole.items()]
    parts = [each for each in re.split(r"[,;、，]", heard_as) if each.strip()]
    found = [wishes(each, is_rule=True) for each in parts]
    others = [each for each, wish in zip(parts, found, strict=True) if not wish]
    # "In French, a dog is a chien" wants nothing; "Too long, shorter please" does.
    if any(len(each.split()) > MOST_WORDS for each in others):
        return []
    named = {key: value for wish in found for key, value in wish.items() if key != "language"}
    return [Slot(key, value) for key, value in named.items()]


def fact_fields(clause: str, key: str, value: str) -> dict[str, Any]:
    """Return the fields of a `Draft` for a fact under a key, or in a slot with several values."""
    key = folded(key)
    if key in SEVERAL:
        binds = not value.startswith("eat") if key == "diet" else key in DANGERS
        triple = ("user", SEVERAL[key], value)
        rank = {"category": "danger", "importance": "critical"} if binds else {}
        fact = {"content": clause, "triple": triple, "tags": (key,), "category": "entity_fact"}
        return fact | rank
    category = category_of_key(key) or "entity_fact"
    return {"content": value, "key": key, "category": category, "quote": clause}


def is_for_now(clause: str) -> bool:
    """Whether a clause says that something holds for a short time only."""
    rules, (_, whole, words) = load_wordings("slots.toml"), heard(clause)
    text = rules.setting("begins").sub("", whole)
    if text != whole:
        words = words_of(text)
    passes = any(each.passes(text, words) for each in spoken(text, words))
    return passes or rules.matches("for_now", text)


def says_only_when(part: str) -> bool:
    """Whether a part of a sentence says that the rest is for now, and nothing else: "Today"."""
    text = plain(part).strip(" ,.;:!")
    match = class_at("for_now", text)
    return match is not None and match.end() == len(text)


def was_for_then(clause: str) -> bool:
    """Whether a clause held for one conversation or task only: "just for this recipe"."""
    _, text, _ = heard(clause)
    return load_wordings("slots.toml").matches("for_then", text)


def _stated(
    rules: Wordings, clause: str, text: str, words: frozenset[str]
) -> Iterator[tuple[str, str]]:
    for key in rules.rows:
        match = rules.find(key, text, words)
        if match and match["about"]:
            before = rules.setting("own_doubt").sub("", text[: match.end("about")])
            if not rules.matches("doubt", before):
                yield key, clause[slice(*match.span("about"))]


def _called(clause: str, text: str, words: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of "call me …", which has no lower case where the script has cases."""
    for language in spoken(text, words):
        lead = language.setting("lead").match(text)
        start = lead.end() if lead else 0
        match = language.find("preferred_name", text[start:], words)
        if match:
            name = clause[start:][slice(*match.span("about"))]
            if name[:1].isalpha() and not name[:1].islower():
                yield "preferred_name", name
