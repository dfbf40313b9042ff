"""Which clauses say again what a memory states: with its figures, its words or its value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from simonides.capture.clauses import clauses_of
from simonides.capture.slots import slots_of
from simonides.core.engine import Engine
from simonides.core.policy import folded
from simonides.recall.view import View
from simonides.storage.rows import MemoryRow, by_id
from simonides.text.analyse import analyse
from simonides.text.statement import read

MOST_TERMS = 24
"""Terms of a statement that is looked for in turns; a longer one is a text of its own. Chosen."""

_AS_SPEAKER = {
    "I'm": re.compile(r"\b(?:you are|you're|(?:the )?user is)\b", re.IGNORECASE),
    "my": re.compile(r"\b(?:your|(?:the )?user's)\b", re.IGNORECASE),
    "I": re.compile(r"\b(?:you|(?:the )?user)\b", re.IGNORECASE),
}
"""How a sentence about the user reads as the user's own."""

_PERSONS = frozenset("i my me we our he his she her they their".split())


class Saying(NamedTuple):
    """A statement that is to be forgotten, as it is looked for in a clause.

    Attributes:
        key: Name of the fact; empty without one.
        value: Its value in small letters.
        terms: Index terms of the statement.
        figures: Those of them with three digits and more.
        persons: Pronouns of the persons it is about.
        is_negated: Whether it denies something.
    """

    key: str
    value: str
    terms: frozenset[str]
    figures: frozenset[str]
    persons: frozenset[str]
    is_negated: bool

    @property
    def probes(self) -> list[frozenset[str]]:
        """Terms of which a row that says it again holds all of one set."""
        value = frozenset(analyse(self.value)) if self.key else frozenset[str]()
        terms = self.terms - frozenset(analyse("I'm I"))  # an assistant says "you are"
        return [each for each in (terms, self.figures, value) if each]

    def is_in(self, clause: str, terms: frozenset[str]) -> bool:
        """Whether a clause says it again: its figures, all of its words, or its value.

        Args:
            clause: The clause, as the speaker of a statement says it.
            terms: Its index terms.
        """
        if self.figures and self.figures <= terms and (self.terms - self.figures) & terms:
            return True
        whole = 1 < len(self.terms) <= MOST_TERMS and self.terms <= terms
        if whole:
            words = read(clause)
            if words.is_negated == self.is_negated and self.persons <= words.words:
                return True
        if not self.key or self.value not in clause.casefold():
            return False
        return any(
            folded(slot.key) == folded(self.key) and slot.value.casefold().startswith(self.value)
            for slot in slots_of(clause)
        )


def _by_speaker(text: str) -> str:
    for word, pattern in _AS_SPEAKER.items():
        text = pattern.sub(word, text)
    return text


def _saying(row: MemoryRow, text: str) -> Saying:
    names = [row["key"], *json.loads(row["tags"] or "[]")]  # what has several values is tagged
    key, value = next(filter(None, names), ""), row["object"] or row["content"]
    text = _by_speaker(text)
    terms, words = frozenset(analyse(text)), read(text)
    figures = frozenset(term for term in terms if sum(map(str.isdigit, term)) > 2)
    if figures:  # "4471" says nothing without its name
        terms |= frozenset(analyse(key.replace("_", " ")))
    persons = words.words & _PERSONS
    return Saying(key, value.casefold(), terms, figures, persons, words.is_negated)


def saying_again(
    engine: Engine, owner: str, told: Iterable[tuple[MemoryRow, str]]
) -> tuple[list[MemoryRow], Callable[[str], bool]]:
    """Return the rows in force that say again what some texts of memories say.

    Returns:
        The rows, and what tells whether a clause says it.
    """
    sayings = {_saying(row, text) for row, text in told}

    def chosen(view: View) -> list[bytes]:
        [part] = view.parts
        hits = np.zeros(part.size, np.bool_)
        for probe in {probe for saying in sayings for probe in saying.probes}:
            rows, _, _ = part.postings(list(probe))
            hits |= np.bincount(rows, minlength=part.size) == len(probe)
        return [part.ids[row] for row in np.flatnonzero(hits & part.column("live")).tolist()]

    @cache
    def says(clause: str) -> bool:
        clause = _by_speaker(clause)
        terms = frozenset(analyse(clause))
        return any(saying.is_in(clause, terms) for saying in sayings)

    with engine.db.read(owner) as connection:
        ids = engine.indexes.reading(connection, [owner], chosen)
        rows = by_id(connection, owner, ids)
    return [row for row in rows if any(map(says, clauses_of(row["content"])))], says
