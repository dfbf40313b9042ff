"""Ranks scopes by their distance from the reader; the nearest scope that holds a key hides the
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.reading.cue import Cue
from simonides.domain.scope import Scope
from simonides.retrieval.index.entry import scope_tag


class Levels(NamedTuple):
    """The scopes in the reader's own lineage, by distance.

    Scopes of other users have no level: they neither hide a key nor are hidden.

    Attributes:
        home: Scope of the reader; None for reads without a reader.
        of_scope: Tag of a scope to its distance from the reader, 0 for the nearest.
        asker: The user that "I" means, or None. It is the reader, or the only other user whose
            memories are read.
    """

    home: Scope | None
    of_scope: Mapping[int, int]
    asker: str | None

    def nearest(self, entry: NDArray[Any]) -> dict[int, int]:
        """Return, by tag of a key, the level of the nearest scope that holds it among the given
        rows.
        """
        keyed = np.flatnonzero(entry["key"])
        keys, scopes = entry["key"][keyed].tolist(), entry["scope"][keyed].tolist()
        nearest: dict[int, int] = {}
        for key, scope in zip(keys, scopes, strict=True):
            level = self.of_scope.get(scope, len(self.of_scope))
            nearest[key] = min(level, nearest.get(key, level))
        return nearest

    def is_hidden(self, scope: int, nearest: int) -> bool:
        """Whether a nearer scope hides the key of this scope."""
        return self.of_scope.get(scope, -1) > nearest


NO_LEVELS = Levels(None, MappingProxyType({}), None)


def levels_of(cue: Cue, home: Scope | None) -> Levels:
    """Return the levels of a cue's scopes for a reader."""
    line = () if home is None else [scope for scope in home.lineage if scope in cue.scopes]
    users = {scope.user for scope in cue.scopes if scope.user}
    asker = None if home is None or home.user not in users else home.user
    if asker is None and len(users) == 1:
        (asker,) = users
    of_scope = {scope_tag(scope): level for level, scope in enumerate(line)}
    return Levels(home, MappingProxyType(of_scope), asker)
