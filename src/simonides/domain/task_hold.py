"""Which session has the name of a task: one at a time, as a row beside those of sessions (MM-1).

All runs of a name have one scope, which goes with the end of a run. So while one session has a run
of it under way, no other begins one. The row lies with the memories: it is read and written under
the owner's turn, sealed as they are, and it goes with them.
"""

from __future__ import annotations

import json

from simonides.domain.canonical import canonical_json
from simonides.domain.errors import StoreCorrupt
from simonides.domain.session_end import SessionStep

HELD = "held"
"""Step of the row of a name that a session has."""

FREE = "free"
"""Step of the row of a name that nobody has any more."""

_BEFORE = " task/"


def place_of(task: str) -> str:
    """Return the name under which the row of a task's name lies: no session can have it, as none
    begins with a space.
    """
    return _BEFORE + task


def held_by(task: str, session: str | None, at: int) -> SessionStep:
    """Return the row that says who has a task's name since a time in µs; None for nobody."""
    step = FREE if session is None else HELD
    return SessionStep(place_of(task), step, at, canonical_json({"by": session}))


def holder_of(row: SessionStep | None, location: str) -> str | None:
    """Return the session that has a task's name, or None.

    Raises:
        StoreCorrupt: If the row is not what :func:`held_by` writes; it names the place.
    """
    if row is None or row.step == FREE:
        return None
    try:
        return str(json.loads(row.body)["by"])
    except (ValueError, LookupError, TypeError) as error:
        raise StoreCorrupt(location, f"who has a task cannot be read: {error}") from error
