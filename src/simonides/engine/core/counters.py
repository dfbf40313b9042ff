"""Counts what this process has done: writes, reads, hygiene decisions, latencies.

A count costs a microsecond on the path of a read or a write and is not persisted. Figures that need
a scan (staleness, scopes) are computed on request in ``engine/operations/metrics.py``.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from simonides.domain.conversation.session import EndedBy
from simonides.domain.event import EventType
from simonides.domain.governance.contradiction import Relation
from simonides.domain.operations.metrics import (
    LATENCY_BOUNDS_S,
    PHASES,
    TIMED,
    ratio,
)
from simonides.domain.writing.decision import (
    Candidate,
    Outcome,
    OutcomeKind,
    Usage,
)
from simonides.domain.writing.finding import Concern
from simonides.policy import HYGIENE_BLOCKED
from simonides.ports import Clock

GATES: Mapping[str, str] = MappingProxyType(
    {
        "same_key_and_value": "key",
        "same_text": "hash",
        "near_text": "near_text",
        "near_meaning": "near_meaning",
        "turn_already_stored": "turn",
    }
)
"""Gate by the reason code that names it; see ``engine/write/rules/resolution.py``."""

HYGIENE = (
    EventType.BLOCKED,
    EventType.FLAGGED,
    EventType.MERGED,
    EventType.SUPERSEDED,
    EventType.STALE_MARKED,
    EventType.EVICTED,
)
"""Hygiene decisions, counted from the trail's events."""

MINUTE = (1.0, 60)
DAY = (3_600.0, 24)
"""Windows as (length of a span in seconds, number of spans): a minute, and a day."""

_REPEATED = frozenset(
    {OutcomeKind.REFRESHED, OutcomeKind.BUMPED, OutcomeKind.SUPERSEDED, OutcomeKind.DROPPED}
)
_WINDOWS = {
    "writes": MINUTE,
    "reads": MINUTE,
    "looked": DAY,
    "hit": DAY,
    "judged": DAY,
    "repeated": DAY,
    "contradictions": DAY,
    "pii_blocks": DAY,
}


SESSION_COUNTS = ("entries", "user_turns", "stored", "held", "promoted", "let_go", "tasks")
"""Counters of ended sessions."""


class Counters:
    """Counters of one process, over all its principals; safe to use from several threads.

    They start at zero when simonides is opened and are not persisted. Ratios and daily figures
    cover the last 24 hours of this process.
    """

    def __init__(self, clock: Clock) -> None:
        """Create the counters; ``clock`` measures durations and ends the windows."""
        self._clock = clock
        self._lock = threading.Lock()
        self._writes: Counter[str] = Counter()
        self._deduplicated: Counter[str] = Counter()
        self._hygiene: Counter[str] = Counter()
        self._totals: Counter[str] = Counter()
        self._phases: Counter[str] = Counter()
        self._windows = {
            name: Window(span_s=span_s, spans=spans) for name, (span_s, spans) in _WINDOWS.items()
        }
        self._took = {name: [0] * (len(LATENCY_BOUNDS_S) + 1) for name in TIMED}
        self._seconds = dict.fromkeys(TIMED, 0.0)
        self._ended: Counter[str] = Counter()
        self._of_sessions: Counter[str] = Counter()

    def now(self) -> float:
        """Return monotonic seconds, to be given to :meth:`took` or :meth:`read`."""
        return self._clock.monotonic()

    # -- writes ----------------------------------------------------------------------------

    def wrote(self, outcomes: Sequence[Outcome], candidates: Sequence[Candidate]) -> None:
        """Count the outcomes of a committed batch.

        Args:
            outcomes: One for each candidate.
            candidates: What was proposed. Verbatim turns are counted apart: importing a transcript
                is not a storm of writes.
        """
        now = self.now()
        with self._lock:
            for outcome, candidate in zip(outcomes, candidates, strict=True):
                if not outcome.events and outcome.kind is not OutcomeKind.DROPPED:
                    continue  # the answer of an earlier write, under its idempotency key
                self._writes[outcome.kind.value] += 1
                self._tell(event.type for event in outcome.events)
                if candidate.is_turn:
                    self._totals["turns"] += 1
                    self._gate(outcome)
                    continue
                if outcome.kind not in _NOT_WRITTEN:
                    self._windows["writes"].add(1, now)
                self._dedup(outcome, now)
                self._conflict(outcome, now)
                if _is_sensitive(outcome, candidate):
                    self._more("pii_blocks", 1, now)

    def turned_away(self, count: int) -> None:
        """Count writes refused by a quota before screening."""
        with self._lock:
            self._writes[OutcomeKind.BLOCKED.value] += count

    def _dedup(self, outcome: Outcome, now: float) -> None:
        is_repeated = self._gate(outcome)
        if is_repeated or outcome.kind not in _NOT_WRITTEN:
            self._windows["judged"].add(1, now)
        if is_repeated:
            self._windows["repeated"].add(1, now)

    def _gate(self, outcome: Outcome) -> bool:
        """Count the gate that detected a repeated write; return whether one did."""
        gate = _gate_of(outcome)
        if gate is not None:
            self._deduplicated[gate] += 1
        return gate is not None

    def _conflict(self, outcome: Outcome, now: float) -> None:
        contradicts = any(reason.startswith(_CONTRADICTS) for reason in outcome.reasons)
        if contradicts or outcome.kind is OutcomeKind.REVIEW:
            self._more("contradictions", 1, now)

    def decided(self, types: Iterable[EventType], *, contradictions: int = 0) -> None:
        """Count what garbage collection or a hygiene cycle has written to the trail.

        Args:
            types: Of its events, one for each memory that it decided about.
            contradictions: Number of contradictions found.
        """
        now = self.now()
        with self._lock:
            self._tell(types)
            if contradictions:
                self._more("contradictions", contradictions, now)

    def _tell(self, types: Iterable[EventType]) -> None:
        for type in types:
            if type in _DECISIONS:
                self._hygiene[type.value] += 1

    # -- reads and time --------------------------------------------------------------------

    def read(self, verb: str, began: float, *, found: bool, off: bool = False) -> None:
        """Count a read made for a prompt, and its duration.

        Args:
            verb: ``recall`` or ``digest``.
            began: Value of :meth:`now` at the start.
            found: Whether it returned anything.
            off: Whether recall is switched off, so that nothing was searched.
        """
        now = self.now()
        with self._lock:
            self._time(verb, now - began)
            if off:
                self._totals["recall_off"] += 1
                return
            self._totals["reads"] += 1
            self._windows["reads"].add(1, now)
            self._windows["looked"].add(1, now)
            if found:
                self._totals["hits"] += 1
                self._windows["hit"].add(1, now)

    def took(self, verb: str, began: float) -> None:
        """Count the duration since ``began`` of one of
        :data:`~simonides.domain.operations.metrics.TIMED`.
        """
        seconds = self.now() - began
        with self._lock:
            self._time(verb, seconds)

    def captured(self, began: float) -> None:
        """Count a turn that was searched for memories."""
        seconds = self.now() - began
        with self._lock:
            self._totals["captured_turns"] += 1
            self._time("capture", seconds)

    def _time(self, verb: str, seconds: float) -> None:
        self._took[verb][bisect_left(LATENCY_BOUNDS_S, seconds)] += 1
        self._seconds[verb] += seconds

    # -- models, tasks, sessions -----------------------------------------------------------

    def asked_model(self, usage: Usage, began: float, *, failed: bool) -> None:
        """Count the cost of a language model call, and whether it failed."""
        seconds = self.now() - began
        with self._lock:
            self._time("model", seconds)
            self._totals["model_calls"] += usage.model_calls
            self._totals["input_tokens"] += usage.input_tokens
            self._totals["output_tokens"] += usage.output_tokens
            self._totals["model_failures"] += failed

    def embedded(self, texts: int) -> None:
        """Count texts that were embedded for a write."""
        with self._lock:
            self._totals["embedded_texts"] += texts

    def moved(self, before: str | None, after: str | None) -> None:
        """Count a task's move from one phase to another.

        Args:
            before: Phase that it leaves; None where it begins.
            after: Phase that it enters; None where it is over.

        Raises:
            ValueError: If one is no phase.
        """
        for phase in (before, after):
            if phase is not None and phase not in PHASES:
                raise ValueError(f"{phase!r} is not a phase; the phases are {', '.join(PHASES)}")
        with self._lock:
            if before is not None:
                self._phases[before] -= 1
            if after is not None:
                self._phases[after] += 1

    def began_session(self) -> None:
        """Count a session that has begun."""
        with self._lock:
            self._totals["sessions_started"] += 1

    def ended(self, by: str, counts: Mapping[str, int]) -> None:
        """Count an ended session: by the cause of its end, and its ``SESSION_COUNTS``."""
        with self._lock:
            self._ended[by] += 1
            self._of_sessions.update(counts)

    # -- telling ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the counts since the opening; see
        :meth:`simonides.AsyncAdmin.metrics`.
        """
        with self._lock:
            totals = self._totals
            return {
                "writes": {kind.value: self._writes[kind.value] for kind in OutcomeKind},
                "dedups": {gate: self._deduplicated[gate] for gate in GATES.values()},
                **{name: totals[name] for name in _TOTALS},
                "evictions": self._hygiene[EventType.EVICTED.value],
                "hygiene": {type.value: self._hygiene[type.value] for type in HYGIENE},
                "phase": {phase: self._phases[phase] for phase in PHASES},
                "sessions": {
                    "started": totals["sessions_started"],
                    "ended": {by.value: self._ended[by.value] for by in EndedBy},
                    **{name: self._of_sessions[name] for name in SESSION_COUNTS},
                },
                "model": {name: totals[key] for name, key in _OF_MODELS.items()},
                "latency": {name: self._histogram(name) for name in TIMED},
            }

    def figures(self) -> dict[str, float | None]:
        """Return the figures that are compared with thresholds.

        They are rates of the last minute, and ratios and sums of the last 24 hours. A ratio is None
        where too little has happened.
        """
        now = self.now()
        with self._lock:
            last = {name: window.total(now) for name, window in self._windows.items()}
        return {
            "writes_per_minute": float(last["writes"]),
            "reads_per_minute": float(last["reads"]),
            "read_hit_ratio": ratio(last["hit"], last["looked"]),
            "dedup_rate": ratio(last["repeated"], last["judged"]),
            "contradictions_per_day": float(last["contradictions"]),
            "pii_blocks_per_day": float(last["pii_blocks"]),
        }

    def _histogram(self, name: str) -> dict[str, Any]:
        counts = self._took[name]
        return {
            "bounds_s": [*LATENCY_BOUNDS_S],
            "counts": [*counts],
            "count": sum(counts),
            "sum_s": self._seconds[name],
        }

    def _more(self, name: str, count: int, now: float) -> None:
        self._totals[name] += count
        self._windows[name].add(count, now)


_DECISIONS = frozenset(HYGIENE)
_CONTRADICTS = Relation.CONTRADICTION.value
_NOT_WRITTEN = frozenset({OutcomeKind.DROPPED, OutcomeKind.BLOCKED})
_TOTALS = (
    *("turns", "captured_turns", "reads", "hits", "recall_off"),
    *("contradictions", "pii_blocks"),
)
_OF_MODELS = {
    "calls": "model_calls",
    "failures": "model_failures",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "embedded_texts": "embedded_texts",
}


def _is_sensitive(outcome: Outcome, candidate: Candidate) -> bool:
    if outcome.kind is not OutcomeKind.BLOCKED:
        return False
    found = (each for each in candidate.findings if each.concern is not Concern.POISON)
    return any(f"{HYGIENE_BLOCKED}:{each.mark}" in outcome.reasons for each in found)


def _gate_of(outcome: Outcome) -> str | None:
    if outcome.kind not in _REPEATED:
        return None
    return next((GATES[reason] for reason in outcome.reasons if reason in GATES), None)


class Window:
    """Counts events in a sliding window, to the precision of one span.

    It stores one number per span, however many events there are. Not safe to share between threads.
    """

    __slots__ = ("_at", "_counts", "_span_s")

    def __init__(self, *, span_s: float, spans: int) -> None:
        """Create the window.

        Args:
            span_s: Length of a span, seconds.
            spans: Number of spans in the window.
        """
        self._span_s = span_s
        self._counts = [0] * spans
        self._at = 0

    def add(self, count: int, now_s: float) -> None:
        """Add ``count`` at the monotonic time ``now_s``."""
        self._move_to(int(now_s // self._span_s))
        self._counts[self._at % len(self._counts)] += count

    def total(self, now_s: float) -> int:
        """Return the count within the window that ends now."""
        self._move_to(int(now_s // self._span_s))
        return sum(self._counts)

    def _move_to(self, at: int) -> None:
        if at <= self._at:
            return
        spans = len(self._counts)
        for passed in range(max(self._at + 1, at - spans + 1), at + 1):
            self._counts[passed % spans] = 0
        self._at = at
