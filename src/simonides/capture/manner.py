"""Wishes about how to answer, in ten languages: which language, how long, how formal, which units.

The values are closed classes. A clause is such a wish if it holds nothing but one value of a key
and words of answering: "translate this into French" and "my sister answers in Dutch" are none.
"""

from __future__ import annotations

import re
from functools import cache

from simonides.capture.wordings import LANGUAGES, Wordings, load, loose, plain
from simonides.text.patterns import PatternSet

KEYS = ("language", "response_style", "response_format", "tone", "units")


def wishes(clause: str, *, is_rule: bool = False) -> dict[str, str]:
    """Return what a clause wishes: for each key a value, alike in all languages.

    Args:
        clause: As `heard`.
        is_rule: It is known to be a rule, so that it needs no word of answering.
    """
    for number in _filter().in_text(plain(clause)):
        if found := _found(_all()[number], clause, is_rule=is_rule):
            return found
    return {}


def _found(language: Wordings, clause: str, *, is_rule: bool) -> dict[str, str]:
    text = plain(clause)
    values, others, address = _patterns(language)
    if not (is_rule or address.search(text)):
        return {}
    found: dict[str, str] = {}
    negations = [each.end() for each in language.setting("negation").finditer(text)]
    rest = text
    for key, name, pattern in values:
        if match := pattern.search(text):
            start = match.start()
            if any(at <= start and not text[at:start].strip() for at in negations):
                rest = rest.replace(text[:start].split()[-1] + " " + match[0], " ")
                continue  # "in French, not in English"
            if key in found:
                return {}
            word = clause[slice(*match.span("value"))]
            same = key == "language" or word.casefold() == name.casefold()
            found[key] = name if same else f"{name} ({word})"
            rest = pattern.sub(" ", rest)
    if lead := language.setting("lead").match(rest):
        rest = rest[lead.end() :]
    return {} if any(map(str.isalnum, others.sub(" ", rest))) else found


@cache
def _all() -> list[Wordings]:
    return [load(f"languages/{name}.toml") for name in LANGUAGES]


@cache
def _filter() -> PatternSet:
    """Return what finds, for each language, whether a text has one of its values."""
    named = (
        "|".join(word for key in KEYS for word in each.table["manner"][key].values())
        for each in _all()
    )
    return PatternSet([loose(plain(each)) for each in named])


@cache
def _patterns(
    language: Wordings,
) -> tuple[list[tuple[str, str, re.Pattern[str]]], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of the values, of all other words of a wish, and of answering."""
    table, edge = language.table["manner"], "" if language.table.get("unspaced") else r"\b"

    def pattern(words: str, before: str = "") -> re.Pattern[str]:
        return language.pattern(f"{edge}{before}(?P<value>{words}){edge}")

    values = [
        (key, name, pattern(words, table["into"] if key == "language" else ""))
        for key in KEYS
        for name, words in table[key].items()
    ]
    return values, pattern(f"{table['address']}|{table['words']}"), pattern(table["address"])
