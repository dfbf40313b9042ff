"""What this process has done with writes, counted: for ``get_metrics`` (MM-3)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from memstrata.domain.decision import Outcome, OutcomeKind
from memstrata.domain.session_end import EndedBy

GATES: Mapping[str, str] = MappingProxyType(
    {
        "same_key_and_value": "key",
        "same_text": "hash",
        "near_text": "near_text",
        "near_meaning": "near_meaning",
        "turn_already_stored": "turn",
    }
)
"""Gate by the reason that names it; see ``longterm/resolution.py``."""

_REPEATED = frozenset(
    {OutcomeKind.REFRESHED, OutcomeKind.BUMPED, OutcomeKind.SUPERSEDED, OutcomeKind.DROPPED}
)


SESSION_COUNTS = ("entries", "user_turns", "stored", "held", "promoted", "let_go", "tasks")
"""What is counted of sessions that ended."""


class Counters:
    """Counts of one process, over all its principals; safe to use from several threads.

    They begin at zero when memstrata is opened and are kept nowhere.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writes: Counter[str] = Counter()
        self._deduplicated: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._of_sessions: Counter[str] = Counter()

    def wrote(self, outcomes: Iterable[Outcome]) -> None:
        """Count what became of a batch that is written."""
        with self._lock:
            for outcome in outcomes:
                if not outcome.events and outcome.kind is not OutcomeKind.DROPPED:
                    continue  # the answer of an earlier write, under its idempotency key
                self._writes[outcome.kind.value] += 1
                gate = _gate_of(outcome)
                if gate is not None:
                    self._deduplicated[gate] += 1

    def ended(self, by: str, counts: Mapping[str, int]) -> None:
        """Count a session that has ended, by what ended it, and what came of it."""
        with self._lock:
            self._ended[by] += 1
            self._of_sessions.update(counts)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts: ``writes`` by outcome, ``dedups`` by the gate that decided,
        ``sessions`` that ended, by what ended them, and what came of them.
        """
        with self._lock:
            return {
                "writes": {kind.value: self._writes[kind.value] for kind in OutcomeKind},
                "dedups": {gate: self._deduplicated[gate] for gate in GATES.values()},
                "sessions": {
                    "ended": {by.value: self._ended[by.value] for by in EndedBy},
                    **{name: self._of_sessions[name] for name in SESSION_COUNTS},
                },
            }


def _gate_of(outcome: Outcome) -> str | None:
    """Return the gate that found a write to be a repetition, or None."""
    if outcome.kind not in _REPEATED:
        return None
    return next((GATES[reason] for reason in outcome.reasons if reason in GATES), None)
