"""Counts what a process does: calls and their times, and audit events once they are durable.

A count is named by a verb, an event type, a gate or a kind of refusal; never by a user, an
organisation, a key or a text. Reasons of events are free text in places, so only known words of
them are counted.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from simonides.core.clock import DAY_MS, Clock
from simonides.core.outcome import EventType

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the times of a verb, in seconds; a last bucket has what took longer. Set by
judgement: reads take 1 to 10 ms, a model's answer seconds."""

STEPS = 100
"""Staleness is counted in hundredths, as it is rounded to them."""

_TYPES = frozenset(type.value for type in EventType)
_STORED = frozenset({EventType.CREATED.value, EventType.CORRECTED.value})
GATES = tuple("key slot text words meaning model no_news".split())
"""What finds that a statement is known already; see `Metrics.dedup`."""

_KINDS = {
    "secret": "secret", "personal": "personal", "external_directive": "injection",
    "hidden_characters": "injection", "tool_call_syntax": "injection",
    "prompt_pattern": "injection",
}  # fmt: skip
"""What a refusal counts as, by the name of its first reason; ``policy`` otherwise."""

KINDS = (*dict.fromkeys(_KINDS.values()), "policy")
"""Kinds of refusals."""

Key = tuple[str, str]
"""What is counted, and its gate, kind or type; "" where there is none."""


def counted_as(type: str, reason: str) -> Iterator[Key]:
    """Yield what an event is counted as.

    Args:
        type: Of the event.
        reason: Its reason: words joined by commas, such as ``bulk,repeat:key``.
    """
    words = reason.split(",")
    gate = next((w.removeprefix("repeat:") for w in words if w.startswith("repeat:")), None)
    if type == EventType.DROPPED and words[0] == "no_news":
        gate = "no_news"
    if type in _STORED and "turn" in words:
        yield "turns", ""
    elif type in _STORED or gate in GATES:
        yield ("imported" if "bulk" in words else "told"), ""
    if gate in GATES:
        yield "dedup", gate
    if type != EventType.REVIEWED and "contradiction" in words:
        yield "contradictions", ""
    kind = words[0].partition(":")[0]
    if type == EventType.BLOCKED:
        yield "blocked", _KINDS.get(kind, "policy")
    elif type == EventType.FLAGGED and kind == "secret":  # masked in a turn
        yield "blocked", kind
    if type in _TYPES:
        yield "events", type


def ratio(part: int, whole: int) -> float:
    """Return a share, 0 to 1; 0 of nothing."""
    return part / whole if whole else 0.0


def labelled(counts: Mapping[Key, int], name: str) -> dict[str, int]:
    """Return the counts of a name by label, in the order of the labels."""
    return {label: counts[name, label] for each, label in sorted(counts) if each == name}


@dataclass
class Times:
    """The times that calls of a verb took.

    Attributes:
        seconds: Their sum.
        buckets: How many took at most each of `BUCKETS` and more than the one before.
        errors: How many of the calls failed.
    """

    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    errors: int = 0

    def quantile(self, share: float) -> float:
        """Return the time that a share of the calls did not exceed, linear within a bucket."""
        rank, lower = share * sum(self.buckets), 0.0
        for count, upper in zip(self.buckets, BUCKETS, strict=False):
            if count and rank <= count:
                return lower + (upper - lower) * rank / count
            rank, lower = rank - count, upper
        return lower


class Figures:
    """What this process has counted since its store was opened. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        """Begin with nothing counted."""
        self._clock = clock
        self.after_fork()

    def after_fork(self) -> None:
        """Begin anew: what was counted is the parent's, and its lock may be held for ever."""
        # Re-entrant: a signal handler or a finalizer may call the store while a thread counts.
        self._lock = threading.RLock()
        self.since = self._clock.now_ms()
        self._counts = Counter[Key]()
        self._times: dict[str, Times] = {}
        self._ages: dict[int, list[int]] = {}

    def called(self, verb: str, seconds: float, *, found: bool | None, failed: bool) -> None:
        """Count a call.

        Args:
            verb: Its name; of `simonides.api.verbs`, so there are few.
            seconds: How long it took.
            found: Whether it returned a memory; None for a call that looks for none.
            failed: Whether it raised.
        """
        place = bisect_left(BUCKETS, seconds)
        with self._lock:
            times = self._times.get(verb)
            if times is None:
                times = self._times[verb] = Times()
            times.seconds += seconds
            times.buckets[place] += 1
            times.errors += failed
            if found is not None:
                self._counts["reads", ""] += 1
                self._counts["hits", ""] += found

    def committed(self, events: Iterable[tuple[str, str]]) -> None:
        """Count the events of a change that is durable, each as its type and its reason."""
        keys = [key for type, reason in events for key in counted_as(type, reason)]
        with self._lock:
            for key in keys:
                self._counts[key] += 1

    def aged(self, ages: Iterable[float]) -> None:
        """Count how stale memories of an owner are; of the last two days are kept."""
        today = self._clock.now_ms() // DAY_MS
        with self._lock:
            counts = self._ages.setdefault(today, [0] * (STEPS + 1))
            for age in ages:
                counts[round(age * STEPS)] += 1
            self._ages = {day: each for day, each in self._ages.items() if day >= today - 1}

    def counts(self) -> Counter[Key]:
        """Return a copy of all counts."""
        with self._lock:
            return self._counts.copy()

    def times(self) -> dict[str, Times]:
        """Return a copy of the times, by verb."""
        with self._lock:
            items = sorted(self._times.items())
            return {verb: Times(t.seconds, [*t.buckets], t.errors) for verb, t in items}

    def staleness(self, share: float) -> float | None:
        """Return the staleness that a share of the memories looked at lately does not exceed."""
        with self._lock:
            counts = [sum(day) for day in zip(*self._ages.values(), strict=True)]
        rank = share * sum(counts)
        for step, count in enumerate(counts):
            rank -= count
            if count and rank <= 0:
                return step / STEPS
        return None
