"""Wishes about how to answer, in ten languages: which language, how long, how formal, which units.

The values are closed classes. A clause is such a wish if it holds nothing but one value of a key
and words of answering: "translate this into French" and "my sister answers in Dutch" are none.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from simonides.capture.wordings import Wordings, languages, loose, plain
from simonides.text.analyse import is_latin
from simonides.text.patterns import PatternSet

KEYS = ("language", "response_style", "response_format", "tone", "units")


class _Manner(NamedTuple):
    """The patterns of a language: each value of each key, all other words of a wish, and more.

    Attributes:
        values: Key, name and pattern of each value.
        denied: A value that is not wanted: "not in English".
        others: What a wish may hold beside its values.
        address: A word of answering.
    """

    values: list[tuple[str, str, re.Pattern[str]]]
    denied: re.Pattern[str]
    others: re.Pattern[str]
    address: re.Pattern[str]


def wishes(clause: str, *, is_rule: bool = False) -> dict[str, str]:
    """Return what a clause wishes: for each key a value, alike in all languages.

    Args:
        clause: As `heard`.
        is_rule: It is known to be a rule, so that it needs no word of answering.
    """
    text = plain(clause)
    for number in _filter().in_text(text):
        if values := _found(languages()[number], clause, text, is_rule=is_rule):
            return values
    return {}


def _found(language: Wordings, clause: str, text: str, *, is_rule: bool) -> dict[str, str]:
    manner = _manner(language)
    if not (is_rule or manner.address.search(text)):
        return {}
    values: dict[str, str] = {}
    wanted = rest = manner.denied.sub(lambda each: " " * len(each[0]), text)
    for key, name, pattern in manner.values:
        if match := pattern.search(wanted):
            if key in values:
                return {}
            word = clause[slice(*match.span("value"))]
            same = word.casefold() == name.casefold() or (key == "language" and is_latin(word))
            values[key] = name if same else f"{name} ({word})"
            rest = pattern.sub(" ", rest)
    if lead := language.setting("lead").match(rest):
        rest = rest[lead.end() :]
    return {} if any(map(str.isalnum, manner.others.sub(" ", rest))) else values


@cache
def _filter() -> PatternSet:
    """Return what finds, for each language, whether a text has one of its values."""
    return PatternSet([loose(plain(_every_value(each))) for each in languages()])


def _every_value(language: Wordings) -> str:
    return "|".join(word for key in KEYS for word in language.table["manner"][key].values())


@cache
def _manner(language: Wordings) -> _Manner:
    table, edge = language.table["manner"], "" if language.table.get("unspaced") else r"\b"

    def pattern(words: str, before: str = "") -> re.Pattern[str]:
        return language.pattern(f"{edge}{before}(?P<value>{words}){edge}")

    values = [
        (key, name, pattern(words, table["into"] if key == "language" else ""))
        for key in KEYS
        for name, words in table[key].items()
    ]
    return _Manner(
        values,
        pattern(_every_value(language), rf"(?:{language.table['negation']})\s*{table['into']}"),
        pattern(f"{table['address']}|{table['words']}"),
        pattern(table["address"]),
    )
