"""Making index entries anew: by which recipe a store's entries are written, and what was done.

What made an entry is its recipe: analyser and embedder. A process makes entries of other recipes
anew when it reads, so answers are right whatever stands in the store. To *write* them back is for
one recipe at a time, or two processes with different models would undo each other's work for ever.
Which one it is, a short list of notes in the store says (:func:`in_force`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from simonides.domain.value import Value


class Recipe(NamedTuple):
    """What makes index entries.

    Attributes:
        tag: The recipe's tag, which its entries carry, as hexadecimal digits; it stands for the
            layout of entries, too.
        analyser: Version of the analyser.
        embedder: Model id, empty without one.
    """

    tag: str
    analyser: str
    embedder: str

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return f"analyser {self.analyser}, {self.embedder or 'no embedder'}"


class Noted(StrEnum):
    """What is noted of a recipe.

    ``seen``: a process that uses it has written, or would have made entries anew. ``taken``: its
    processes make entries anew from now on, because it is newer than the one before. ``asked``:
    they do because somebody said so.
    """

    SEEN = "seen"
    TAKEN = "taken"
    ASKED = "asked"


class RecipeNote(NamedTuple):
    """One line of the store's list."""

    how: Noted
    recipe: Recipe


def in_force(notes: Sequence[RecipeNote]) -> Recipe | None:
    """Return the recipe by which entries are made anew in a store; None if nothing is noted.

    Of those that were taken or asked for it is the one of the highest rank; before any was, the
    first that was seen. A recipe's rank is its place in the list when it was first noted, or when
    it was last asked for: so a newer model takes over from an older one once, however long
    processes with the older one go on, and what somebody asks for goes before both.
    """
    ranks = _ranks(notes)
    chosen = [note.recipe for note in notes if note.how is not Noted.SEEN]
    chosen = chosen or [note.recipe for note in notes[:1]]
    return max(chosen, key=lambda recipe: ranks[recipe.tag], default=None)


def may_take(notes: Sequence[RecipeNote], recipe: Recipe) -> bool:
    """Return whether a recipe may be put in force without being asked for.

    It may if it is newer than the one in force. A process without an embedder never takes over
    from one that has one: it would only throw vectors away.
    """
    force = in_force(notes)
    if force is None or force.tag == recipe.tag:
        return True
    if force.embedder and not recipe.embedder:
        return False
    ranks = _ranks(notes)
    return ranks.get(recipe.tag, len(notes)) > ranks[force.tag]


def is_noted(notes: Sequence[RecipeNote], recipe: Recipe) -> bool:
    """Return whether a recipe is in the list at all."""
    return any(note.recipe.tag == recipe.tag for note in notes)


def _ranks(notes: Sequence[RecipeNote]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for place, (how, recipe) in enumerate(notes):
        if how is Noted.ASKED or recipe.tag not in ranks:
            ranks[recipe.tag] = place
    return ranks


@dataclass(frozen=True, slots=True)
class ReindexReport(Value):
    """What making the entries of a store anew came to; or, while it goes on, has come to so far.

    Attributes:
        recipe: By what they were made, in words.
        owners: Owners looked at.
        of: Owners there are to look at.
        rows: Memories looked at, whatever their status.
        remade: Entries made anew and written.
        left: Entries left alone because their memory was changed, forgotten, or made anew by
            another process meanwhile. What is still of another recipe of them is found next time.
        failed: Entries that could not be made because the embedder failed. They stand as they
            were, and are made when it works again.
        problem: Name of the embedder's last error; None if there was none.
        newer: By what recipe other processes make entries, which is newer or was asked for; then
            nothing was done. None otherwise.
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
        """Whether all entries that were looked at are of the recipe, or somebody else's care."""
        return self.failed == 0 and self.newer is None


@dataclass(frozen=True, slots=True)
class KeysReport(Value):
    """What was done to the codes of a store.

    Attributes:
        key: Name of the key under which they are now.
        owners: Owners looked at.
        coded: How many of them got codes under that key; the others had them.
    """

    key: str
    owners: int
    coded: int
