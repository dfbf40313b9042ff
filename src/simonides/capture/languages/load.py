r"""Read the data files of the languages, and choose the languages to try on a sentence.

A script decides for Russian, Chinese and Japanese. For the other languages one word of the sentence
must be listed in the language's ``told`` words, and more of its words than are listed as English.
Most English sentences have none of them, so they cost one dictionary lookup per word.

Each language is one TOML file next to this module. Its keys:

- ``script``: a pattern whose match tells the language; or ``told``: words, one of which every
  command of the language contains.
- ``fold``: ``accents`` reads letters with and without accents alike; ``han`` reads traditional
  characters as simplified ones.
- ``spaced``: whether spaces separate words; true unless set.
- ``[cues]``: alternatives without the outer brackets. ``opens``: words before a command that do
  not change it. ``remember``: "remember that". ``that``: a whole sentence that says to remember
  the sentence before it. ``durable``: "from now on". ``request``: "could you". ``joint``: words
  that join clauses. ``own``: how the user's own statement before a command begins. ``limits``:
  "when", "if". ``blocks``: words before a command that make it a report, a supposition or fiction.
  ``passing``: "for now". ``control``: "do not remember this". ``requested``: how a question ends
  that is a request. ``vague``: what names nothing to forget or to avoid.
- ``[words]``: ``no_names``: words that "call me" is not followed by. ``fillers``: words between
  words of style. ``declined``: a pattern of names that are not in their base form.
- ``[languages]``, ``[manners]``, ``[forget]``: a stored value or key, and the words for it. Phrases
  of several words are separated by commas. ``[facts]``: a key, and words of a statement about it.
- ``commands``: pairs of a meaning and a pattern, tried in this order. ``commands.py`` has the
  meanings.
- ``[parts]``: patterns that replace ``{{NAME}}`` in other patterns.

A pattern may be written over several lines: the white space around a line break does not count.
``\<`` and ``\>`` match the start and the end of a word in any script.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from simonides.capture.languages.han_variants import simplified
from simonides.text import patterns, without_accents

NAMES = ("chinese", "dutch", "french", "german", "italian", "japanese", "portuguese", "russian",
         "spanish")  # fmt: skip

_NEVER = r"[^\s\S]"
"""A pattern that matches nothing: for a cue that a language does not have."""
# Chosen: enough to contain the verb of a command.
_HEAD_CHARS = 240
_TO_SPACES = str.maketrans(dict.fromkeys("'’.,;:!?¿¡\"()[]*_/-«»„“”…", " "))
_ENGLISH = frozenset(
    "the and my your you with this what when how please always never remember are have has for i'm"
    " see will about that it's from now on call keep reply answer don't not".split()
)
LEAD_INS = ("remember", "durable", "passing", "request", "opens")
"""Cues that may precede a command, in the order in which they are tried."""
_NAME = r'"?(?P<v>[\p{L}\p{M}][\p{L}\p{M}\x27.-]*(?:\s(?-i:\p{Lu})[\p{L}\p{M}\x27.-]*){0,2})"?'
_BESIDE_WORDS = {r"\<": r"(?:^|[^\p{L}\p{N}\p{M}])", r"\>": r"(?:[^\p{L}\p{N}\p{M}]|$)"}


@dataclass(frozen=True, eq=False)
class Language:
    """The commands of one language; the module's documentation describes each key.

    Attributes:
        name: In English, lower case.
        script: A pattern that tells the language, or an empty string.
        told: Words that tell it.
        spaced: Whether spaces separate words.
        fold: Makes spellings equal, one character for each character.
        cues: Patterns by their names.
        commands: Meanings and patterns, in order of preference.
        languages: Words for a language, and its stored name.
        manners: Words of style, and their key and value: ``tone formal``.
        forget: Names of facts, and their keys.
        facts: Words of statements, and the keys of the facts.
        no_names: Words that are no names.
        fillers: Words between words of style.
        declined: A pattern of names that are not in their base form.
    """

    name: str
    script: str
    told: frozenset[str]
    spaced: bool
    fold: Callable[[str], str]
    cues: Mapping[str, str]
    commands: tuple[tuple[str, str], ...]
    languages: Mapping[str, str]
    manners: Mapping[str, str]
    forget: Mapping[str, str]
    facts: Mapping[str, str]
    no_names: frozenset[str]
    fillers: frozenset[str]
    declined: str

    @cached_property
    def lead_in(self) -> str:
        """One pattern for the lead-ins of a command, with a group for each of :data:`LEAD_INS`."""
        cues = {**self.cues, "passing": rf"{self.cues['passing']}[\s,:、，]*"}
        return "|".join(f"({cues[name]})" for name in LEAD_INS)

    @cached_property
    def any_command(self) -> str:
        """One pattern for the start of every command."""
        return "|".join(f"(?:{patterns.unnamed(pattern)})" for _, pattern in self.commands)


@cache
def all_languages() -> tuple[Language, ...]:
    """Return every language, by name."""
    return tuple(map(load, NAMES))


@cache
def load(name: str) -> Language:
    """Return one language.

    Args:
        name: One of :data:`NAMES`.

    Raises:
        KeyError, TypeError, ValueError: If its file is malformed.
    """
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    fold = _FOLDS[data.get("fold", "")]
    spaced = data.get("spaced", True)
    tables = {
        table: {fold(word): value for value, said in data[table].items() for word in _split(said)}
        for table in ("languages", "manners", "forget", "facts")
    }
    parts = {table.upper(): _any_of(words) for table, words in tables.items()} | {"NAME": _NAME}
    for part, pattern in data.get("parts", {}).items():
        parts[part] = _joined(pattern, parts, fold)
    words = data.get("words", {})
    return Language(
        name=name,
        script=data.get("script", ""),
        told=frozenset(data.get("told", "").split()) | frozenset(map(fold, _split_words(data))),
        spaced=spaced,
        fold=fold,
        cues=_cues(data["cues"], parts, fold, spaced=spaced),
        commands=tuple((each[0], _joined(each[1], parts, fold)) for each in data["commands"]),
        no_names=frozenset(map(fold, words.get("no_names", "").split())),
        fillers=frozenset(map(fold, words.get("fillers", "").split())),
        declined=_joined(words.get("declined", _NEVER), parts, fold),
        **tables,
    )


_CUES = (
    "opens remember that durable request joint own limits blocks passing control requested vague"
)


def _cues(
    given: Mapping[str, str], parts: Mapping[str, str], fold: Callable[[str], str], *, spaced: bool
) -> Mapping[str, str]:
    if unknown := given.keys() - _CUES.split():
        raise ValueError(f"no cues of these names: {sorted(unknown)}")
    found = {
        name: f"(?:{_joined(given[name], parts, fold)})" if name in given else _NEVER
        for name in _CUES.split()
    }
    # Lead-ins match the marks and spaces after them too.
    behind = r"(?:\s*[,.:!–—-]+\s*|\s+|$)" if spaced else r"[、，,。.:：!！\s]*"
    for name in ("opens", "durable", "request"):
        found[name] += behind
    word = r"\s+" if spaced else ""
    found["joint"] = (
        rf"\s*(?:[,;:(（、，；：。]|\s[-–—]+\s|—)\s*(?:{found['joint']}{word})?"
        rf"|{word}{found['joint']}{word}"
    )
    return found


def _split_words(data: Mapping[str, Any]) -> list[str]:
    return str(data.get("told", "")).split()


def _split(said: str) -> list[str]:
    parted = said.split(",") if "," in said else said.split()
    return [" ".join(word.split()) for word in parted]


def _joined(pattern: str, parts: Mapping[str, str], fold: Callable[[str], str]) -> str:
    whole = fold("".join(line.strip() for line in pattern.splitlines()))
    for name, part in parts.items():
        whole = whole.replace(f"{{{{{name}}}}}", part)
    if "{{" in whole:
        raise ValueError(f"no part of that name: {whole}")
    for mark, meant in _BESIDE_WORDS.items():
        whole = whole.replace(mark, meant)
    return whole


def _any_of(words: Iterable[str]) -> str:
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(patterns.escaped(word) for word in ordered) + ")"


def _without_accents(text: str) -> str:
    """Return a text with plain letters, one for each of its characters."""
    if text.isascii():
        return text
    return "".join(bare if len(bare := without_accents(char)) == 1 else char for char in text)


_FOLDS: Mapping[str, Callable[[str], str]] = {
    "": str,
    "accents": _without_accents,
    "han": simplified,
}


def candidates(sentence: str) -> tuple[Language, ...]:
    """Return the languages to try, the one with most listed words first."""
    head = sentence[:_HEAD_CHARS]
    if not head.isascii():
        scripts = ((one, one.script) for one in all_languages())
        found = (one for one, script in scripts if script and patterns.compile(script).search(head))
        by_script = next(found, None)
        if by_script is not None:
            return (by_script,)
    told = _by_word()
    counts: dict[Language, int] = {}
    words = head.lower().translate(_TO_SPACES).split()
    for word in words:
        for language in told.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    # "Note: see the appendix" is English, though "note" is French too.
    english = sum(word in _ENGLISH for word in words) if counts else 0
    likely = (one for one, count in counts.items() if count > english)
    return tuple(sorted(likely, key=lambda one: (-counts[one], one.name)))


@cache
def _by_word() -> Mapping[str, tuple[Language, ...]]:
    found: dict[str, tuple[Language, ...]] = {}
    for language in all_languages():
        for word in language.told:
            found[word] = (*found.get(word, ()), language)
    return found
