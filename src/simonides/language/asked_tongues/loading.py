"""How languages ask for what stands under a key, as it is written down: a TOML file each.

``keys.toml`` has what may be asked for, and its keys. A language's file has, all in small letters
and without punctuation:

- ``[questions]``: what is asked for, by its name there, and the questions for it;
- ``[marked]``: likewise, what asks only with a question mark: "soy vegano" is a statement without;
- ``[nouns]``: what is asked for, and the nouns that name it;
- ``who``: words of the speaker: a question without any asks for no key;
- ``empty``: words that say nothing about what is asked for;
- ``openings``: what a question may be wrapped in: "do you know";
- ``frames``: words that a question for such a noun, with a word of the speaker's beside it, may
  have besides: "which … have you stored of mine?";
- ``[also]``: words of its questions, and other ways to say them;
- ``accents_optional``: whether some people type it without accents;
- ``spaced``: whether spaces part words; without, a sentence is parted into the longest words that
  stand here, and one with anything else asks for no key;
- ``both_hans``: whether simplified characters here stand for traditional ones too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from simonides.language.normalise import without_accents

Asked = Mapping[frozenset[str], tuple[str, ...]]
"""The words of a question, and the keys that it asks for."""

Phrase = tuple[str, ...]


class Asking(NamedTuple):
    """How a language asks; see the module for what each is.

    Attributes:
        questions: By their words but those that say nothing.
        marked: Likewise.
        nouns: Likewise.
        who: Words.
        empty: Words.
        frames: Words.
        openings: The longest first.
        spaced: Whether spaces part words.
        both_hans: Whether traditional characters are read as simplified ones.
    """

    questions: Asked
    marked: Asked
    nouns: Asked
    who: frozenset[str]
    empty: frozenset[str]
    frames: frozenset[str]
    openings: tuple[Phrase, ...]
    spaced: bool
    both_hans: bool

    @property
    def words(self) -> frozenset[str]:
        """All words that a question may have."""
        said = (*self.questions, *self.marked, *self.nouns)
        return self.who.union(self.empty, self.frames, *said, *self.openings)


def load(name: str) -> Asking:
    """Return how a language asks.

    Args:
        name: Of its file, without the ending.

    Raises:
        KeyError, TypeError, ValueError: If the file is not as it must be.
    """
    data = _read(name)
    spelled = _with_bare if data.get("accents_optional", False) else list
    who, empty, frames = (
        frozenset(spelled(data.get(part, "").split())) for part in ("who", "empty", "frames")
    )
    questions, marked, nouns = (
        _by_words(data.get(part, {}), data.get("also", {}), spelled, empty)
        for part in ("questions", "marked", "nouns")
    )
    openings = dict.fromkeys(tuple(each.split()) for each in spelled(data.get("openings", ())))
    return Asking(
        questions,
        marked,
        nouns,
        who,
        empty,
        frames,
        openings=tuple(sorted(openings, key=len, reverse=True)),
        spaced=data.get("spaced", True),
        both_hans=data.get("both_hans", False),
    )


def _read(name: str) -> Any:
    text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _keys() -> Mapping[str, str]:
    found: Mapping[str, str] = _read("keys")
    return found


def _with_bare(told: Iterable[str]) -> list[str]:
    """Return texts with their accents, and without."""
    texts = list(told)
    return [*texts, *map(without_accents, texts)]


def _by_words(
    told: Mapping[str, Sequence[str]],
    also: Mapping[str, Sequence[str]],
    spelled: Callable[[Iterable[str]], list[str]],
    empty: frozenset[str],
) -> Asked:
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for what, questions in told.items():
        for question in spelled(_said_otherwise(questions, also)):
            said = frozenset(question.split()) - empty
            keys = (*found.get(said, ()), *_keys()[what].split())
            found[said] = tuple(dict.fromkeys(keys))
    return found


def _said_otherwise(questions: Iterable[str], also: Mapping[str, Sequence[str]]) -> list[str]:
    """Return questions in all ways to say their words."""
    found = [f" {each} " for each in questions]
    for said, others in also.items():
        found += [
            each.replace(f" {said} ", f" {other} ")
            for each in found
            if f" {said} " in each
            for other in others
        ]
    return found
