r"""Languages as they are written down: a TOML file each, beside this module, read when needed.

Of a pattern that goes over several lines, white space around line breaks does not count; what
counts there is written ``\s`` or ``\x20``. ``{{ADV}}`` in it stands for the part of that name in
``[parts]``, or for any of the words of a table in ``[words]``: ``{{DIETS}}``. Lists of words are
written as texts; tables have what words stand for, and the words:
``wife_name = ["frau", "ehefrau"]``. With ``both_hans = true`` what is written in simplified
characters stands for traditional ones too. ``told_by.toml`` has by what each is told.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from memstrata.capture.tongues.tongue import Cues, Tongue
from memstrata.capture.tongues.values import Words
from memstrata.language import patterns
from memstrata.language.han import in_both, words_in_both

_LISTS = frozenset(
    "no_names no_places no_employers articles fillers companions occupations".split()
)
_TABLES = frozenset(
    "languages diets manners units channels relations favourites attributes".split()
)


@cache
def told_by() -> Mapping[str, Mapping[str, str]]:
    """Return by what languages are told: their words, and their script."""
    found: Mapping[str, Mapping[str, str]] = _read("told_by")
    return found


@cache
def load(name: str) -> Tongue:
    """Return a language.

    Args:
        name: As :func:`told_by` has it.

    Raises:
        KeyError, TypeError, ValueError: If its file is not as it must be, which a test looks at.
    """
    data = _read(name)
    if data.get("both_hans"):
        data = _in_both_hans(data)
    tables = {table: _turned(data["words"].get(table, {})) for table in _TABLES}
    parts = {key.upper(): _any_of(table) for key, table in tables.items()}
    for key, pattern in data.get("parts", {}).items():
        parts[key] = _joined(pattern, parts)
    return Tongue(
        name=name,
        cues=Cues(**{key: _patterns(value, parts) for key, value in data["cues"].items()}),
        words=_words(data["words"], tables, parts),
        says=_phrases(data["phrases"]["says"], parts),
        asks=_phrases(data["phrases"]["asks"], parts),
        least_note=data["least_note"],
    )


def _in_both_hans(data: Mapping[str, Any]) -> Any:
    """Return a language's data with traditional characters beside simplified ones."""
    words = {
        key: {name: words_in_both(each) for name, each in value.items()}
        if key in _TABLES
        else " ".join(words_in_both(value.split()))
        if key in _LISTS
        else value
        for key, value in data["words"].items()
    }
    told = {key: value for key, value in words.items() if key not in _TABLES | _LISTS}
    kept = {key: value for key, value in words.items() if key in _TABLES | _LISTS}
    rest = {key: value for key, value in data.items() if key != "words"}
    return {**_patterns_in_both(rest), "words": {**_patterns_in_both(told), **kept}}


def _patterns_in_both(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _patterns_in_both(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_patterns_in_both(each) for each in value]
    return in_both(value) if isinstance(value, str) else value


def _read(name: str) -> Any:
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _words(
    data: Mapping[str, Any], tables: Mapping[str, Mapping[str, str]], parts: Mapping[str, str]
) -> Words:
    given: dict[str, Any] = {**tables}
    for key, value in data.items():
        if key in _LISTS:
            given[key] = frozenset(value.split())
        elif key not in _TABLES:
            given[key] = value if isinstance(value, bool) else _patterns(value, parts)
    return Words(**given)


def _phrases(told: list[list[str]], parts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _joined(pattern, parts)) for name, pattern in told)


def _patterns(value: Any, parts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _joined(value, parts)
    return tuple(
        _joined(each, parts) if isinstance(each, str) else (each[0], _joined(each[1], parts))
        for each in value
    )


def _joined(pattern: str, parts: Mapping[str, str]) -> str:
    whole = "".join(line.strip() for line in pattern.splitlines())
    for name, part in parts.items():
        whole = whole.replace(f"{{{{{name}}}}}", part)
    if "{{" in whole:
        raise ValueError(f"no part of that name: {whole}")
    return whole


def _turned(table: Mapping[str, list[str]]) -> Mapping[str, str]:
    return {word: means for means, words in table.items() for word in words}


def _any_of(table: Mapping[str, str]) -> str:
    ordered = sorted(table, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(patterns.escaped(word) for word in ordered) + ")"
