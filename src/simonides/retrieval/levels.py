"""How near scopes lie to who reads: of those the nearest that holds a key wins (SC-2)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.cue import Cue
from simonides.domain.scope import Scope
from simonides.retrieval.entry import scope_tag


class Levels(NamedTuple):
    """The scopes of who reads among those that are read.

    What is read of other users beside them is on no level: it neither hides nor is hidden.

    Attributes:
        home: Of who reads; None for whoever only wants the rows.
        of_scope: Tag of a scope to how far it is from there, 0 for the nearest.
        asker: The user who says "I", None if there is none: who reads, or, of one other user's
            memories alone, that one.
    """

    home: Scope | None
    of_scope: Mapping[int, int]
    asker: str | None

    def nearest(self, entry: NDArray[Any]) -> dict[int, int]:
        """Return by tag of a key the level of the nearest scope that holds it among some rows."""
        keyed = np.flatnonzero(entry["key"])
        keys, scopes = entry["key"][keyed].tolist(), entry["scope"][keyed].tolist()
        nearest: dict[int, int] = {}
        for key, scope in zip(keys, scopes, strict=True):
            level = self.of_scope.get(scope, len(self.of_scope))
            nearest[key] = min(level, nearest.get(key, level))
        return nearest

    def is_hidden(self, scope: int, nearest: int) -> bool:
        """Whether what a scope has under a key is hidden by the nearest that has it."""
        return self.of_scope.get(scope, -1) > nearest


NO_LEVELS = Levels(None, MappingProxyType({}), None)


def levels_of(cue: Cue, home: Scope | None) -> Levels:
    """Return how near the scopes of a cue lie to who reads."""
    line = () if home is None else [scope for scope in home.lineage if scope in cue.scopes]
    users = {scope.user for scope in cue.scopes if scope.user}
    asker = None if home is None or home.user not in users else home.user
    if asker is None and len(users) == 1:
        (asker,) = users
    of_scope = {scope_tag(scope): level for level, scope in enumerate(line)}
    return Levels(home, MappingProxyType(of_scope), asker)
