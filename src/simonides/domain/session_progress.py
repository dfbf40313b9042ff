"""How far a session has been worked through, as its step keeps it (SE-4, SE-5)."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any

from simonides.domain.canonical import canonical_json
from simonides.domain.errors import StoreCorrupt
from simonides.domain.session_end import EndStep, SessionStep
from simonides.domain.value import Value

MOST_MEMORIES = 500
"""Ids of memories that a session's step keeps, the latest; chosen: a summary says less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Value):
    """How far one session has come; numbers and ids, no content.

    A session may be taken up again under its name: then another run of it begins. Entries are
    counted in a log, which goes when a run has ended; turns are counted over all runs, for they are
    known by session and place for ever.

    Attributes:
        session: Its name.
        step: Taken last.
        run: Which time it is, from 0.
        started_at: When the log began that ``first`` and ``extracted`` count in, µs; None for one
            without a log.
        base: Number that the log's first entry has among the turns of all runs.
        first: Number in the log of the run's first entry.
        extracted: Number in the log of the last entry that was looked at; -1 for none.
        asked: Number in the log of the last entry that a model's lanes looked at; -1 for none.
        part: How much of the next entry was done: it may hold several things to be forgotten.
        unheard: Numbers in the log of turns that asked not to be remembered.
        memories: Ids of what was stored of it.
        summary: Id of the run's summary.
        counts: What is counted of the run, by name.
        is_dropped: Whether the log of the run that ended is gone.
    """

    session: str
    step: EndStep = EndStep.OPEN
    run: int = 0
    started_at: int | None = None
    base: int = 0
    first: int = 0
    extracted: int = -1
    asked: int = -1
    part: int = 0
    unheard: tuple[int, ...] = ()
    memories: tuple[str, ...] = ()
    summary: str | None = None
    counts: tuple[tuple[str, int], ...] = ()
    is_dropped: bool = False

    @property
    def next_turn(self) -> int:
        """Number of the turn that would come after all that were looked at."""
        return self.base + self.extracted + 1

    def counting(self, **more: int) -> Progress:
        """Return it with more of what is counted."""
        counts = dict(self.counts)
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count
        kept = tuple(sorted((name, count) for name, count in counts.items() if count))
        return replace(self, counts=kept)

    def recorded(self, at: int) -> SessionStep:
        """Return it as a step, taken at a time in µs."""
        told = {name: value for name, value in self.to_dict().items() if name not in _APART}
        told["memories"] = told["memories"][-MOST_MEMORIES:]
        return SessionStep(self.session, self.step.value, at, canonical_json(told))


_APART = {"session", "step"}
_TOLD = {each.name for each in fields(Progress)} - _APART


def progress_of(step: SessionStep, location: str) -> Progress:
    """Read where a session stands.

    Raises:
        StoreCorrupt: If it is not what :meth:`Progress.recorded` writes; it names the place.
    """
    try:
        told: dict[str, Any] = json.loads(step.body)
        if told.keys() != _TOLD:
            raise ValueError(f"its fields are {sorted(told)}")
        read = {name: _tuples(value) for name, value in told.items()}
        return Progress(session=step.session, step=EndStep(step.step), **read)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreCorrupt(location, f"the step of a session cannot be read: {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value
