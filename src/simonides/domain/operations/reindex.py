"""Reindexing: which recipe writes a store's index entries, and the report.

A recipe is an analyser and an embedder. A process rebuilds entries of other recipes in memory when
it reads, so results are correct for any stored entries. Only one recipe at a time *writes* rebuilt
entries. Otherwise two processes with different models would overwrite each other's entries for
ever. A short list of notes in the store selects that recipe (:func:`in_force`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from simonides.domain.value import Value


class Recipe(NamedTuple):
    """Analyser and embedder of index entries.

    Attributes:
        tag: Tag in the recipe's entries, hexadecimal; it also identifies the layout of entries.
        analyser: Version of the analyser.
        embedder: Model id, empty without one.
    """

    tag: str
    analyser: str
    embedder: str

    @property
    def name(self) -> str:
        """Its name in reports."""
        return f"analyser {self.analyser}, {self.embedder or 'no embedder'}"


class Noted(StrEnum):
    """Kind of a recipe note.

    ``seen``: a process with this recipe wrote entries or wanted to rebuild some. ``taken``: its
    processes rebuild entries from then on, because it is newer than the previous recipe.
    ``asked``: they do so because a caller requested it.
    """

    SEEN = "seen"
    TAKEN = "taken"
    ASKED = "asked"


class RecipeNote(NamedTuple):
    """One note in the store's list."""

    how: Noted
    recipe: Recipe


def in_force(notes: Sequence[RecipeNote]) -> Recipe | None:
    """Return the recipe that rebuilds a store's entries; None without notes.

    It is the taken or requested recipe of the highest rank; without one, the first seen. A recipe's
    rank is its place in the list when it was first noted, or last requested. So a newer model takes
    over from an older one once, even while processes with the older one continue. A request
    overrides both.
    """
    ranks = _ranks(notes)
    chosen = [note.recipe for note in notes if note.how is not Noted.SEEN]
    chosen = chosen or [note.recipe for note in notes[:1]]
    return max(chosen, key=lambda recipe: ranks[recipe.tag], default=None)


def may_take(notes: Sequence[RecipeNote], recipe: Recipe) -> bool:
    """Return whether a recipe may come into force without a request.

    It must be newer than the recipe in force. A recipe without an embedder never replaces one with
    an embedder, because that would discard vectors.
    """
    force = in_force(notes)
    if force is None or force.tag == recipe.tag:
        return True
    if force.embedder and not recipe.embedder:
        return False
    ranks = _ranks(notes)
    return ranks.get(recipe.tag, len(notes)) > ranks[force.tag]


def is_noted(notes: Sequence[RecipeNote], recipe: Recipe) -> bool:
    """Return whether a recipe is in the list."""
    return any(note.recipe.tag == recipe.tag for note in notes)


def _ranks(notes: Sequence[RecipeNote]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for place, (how, recipe) in enumerate(notes):
        if how is Noted.ASKED or recipe.tag not in ranks:
            ranks[recipe.tag] = place
    return ranks


@dataclass(frozen=True, slots=True)
class ReindexReport(Value):
    """Result of a reindex, final or so far.

    Attributes:
        recipe: Name of the recipe.
        owners: Finished owners.
        of: All owners.
        rows: Memories considered, of any status.
        remade: Rebuilt and written entries.
        left: Entries skipped because their memory was concurrently changed, forgotten or reindexed
            by another process. The next run rebuilds those that still need it.
        failed: Entries not rebuilt because the embedder failed. They are unchanged, and are
            rebuilt when the embedder works again.
        problem: Name of the embedder's last error; None without one.
        newer: Name of the recipe in force in other processes, which is newer or was requested;
            then nothing was done. None otherwise.
    """

    recipe: str
    owners: int = 0
    of: int = 0
    rows: int = 0
    remade: int = 0
    left: int = 0
    failed: int = 0
    problem: str | None = None
    newer: str | None = None

    @property
    def ok(self) -> bool:
        """Whether no entry failed and no other recipe is in force."""
        return self.failed == 0 and self.newer is None


@dataclass(frozen=True, slots=True)
class KeysReport(Value):
    """Result of re-keying a store's MACs.

    Attributes:
        key: Name of the current key.
        owners: Owners considered.
        coded: Owners that got MACs under that key; the others already had them.
    """

    key: str
    owners: int
    coded: int
