r"""Languages as they are written down: a TOML file each, beside this module, read when needed.

Of a pattern that goes over several lines, white space around line breaks does not count; what
counts there is written ``\s`` or ``\x20``. ``{{ADV}}`` in it stands for the part of that name in
``[parts]``, or for any of the words of a table or list in ``[words]``: ``{{DIETS}}``. Lists of
words are written as texts; tables have what words stand for, and the words:
``wife_name = ["frau", "ehefrau"]``. ``told_by.toml`` has by what each is told; a word with ``^``
before it tells only as the first of a sentence.

Where ``accents_optional`` is true, a letter with an accent stands for the one without too, in
patterns and words, as many people write; it may not stand in a class of letters then. With
``both_hans`` what is written in simplified characters stands for traditional ones too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from simonides.capture.tongues.tongue import Cues, Tongue
from simonides.capture.tongues.values import Words
from simonides.language import patterns
from simonides.language.han import in_both, words_in_both
from simonides.language.normalise import without_accents

_LISTS = frozenset(
    "no_names no_places no_employers articles fillers companions occupations given_names"
    " towns".split()
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
    if data.get("accents_optional", False):
        data = _with_bare(data)
    if data.get("both_hans", False):
        data = _in_both_hans(data)
    tables = {table: _turned(data["words"].get(table, {})) for table in _TABLES}
    parts = {key.upper(): _any_of(table) for key, table in tables.items()}
    parts |= {key.upper(): _any_of(data["words"].get(key, "").split()) for key in _LISTS}
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


def _with_bare(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a language in which nobody need write accents."""
    given = data["words"]
    tables = {
        name: {means: _spellings(words) for means, words in given[name].items()}
        for name in _TABLES & given.keys()
    }
    lists = {name: " ".join(_spellings(given[name].split())) for name in _LISTS & given.keys()}
    patterned = {key: given[key] for key in given.keys() - tables.keys() - lists.keys()}
    parted = {key: data[key] for key in ("parts", "cues", "phrases")}
    words = {**_each_bare(patterned), **tables, **lists}
    return {**data, **_each_bare(parted), "words": words}


def _each_bare(told: Any) -> Any:
    if isinstance(told, str):
        return "".join(c if (bare := without_accents(c)) == c else f"(?:{c}|{bare})" for c in told)
    if isinstance(told, list):
        # What a phrase means comes before its pattern, and has no accents.
        return [_each_bare(each) for each in told]
    if isinstance(told, dict):
        return {key: _each_bare(each) for key, each in told.items()}
    return told


def _spellings(words: list[str]) -> list[str]:
    return list(dict.fromkeys([*words, *map(without_accents, words)]))


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
    return _spelled(whole)


def _spelled(pattern: str) -> str:
    """Return a pattern with the beginnings and ends of words as the engine knows them."""
    return pattern.replace(r"\<", r"(?:^|[^\p{L}\p{N}\p{M}])").replace(
        r"\>", r"(?:[^\p{L}\p{N}\p{M}]|$)"
    )


def _turned(table: Mapping[str, list[str]]) -> Mapping[str, str]:
    return {word: means for means, words in table.items() for word in words}


def _any_of(words: Iterable[str]) -> str:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(patterns.escaped(word) for word in ordered) + ")"
