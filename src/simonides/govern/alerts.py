"""Alerts: what of a user or a process is far from a normal day, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from simonides.core.clock import DAY_MS, MINUTE_MS
from simonides.core.engine import Engine
from simonides.core.record import Value
from simonides.core.scope import Principal
from simonides.govern.figures import Key, counted_as, labelled, ratio
from simonides.storage import statements

CHANGED = "audit problems"
"""Counter in which the daily work leaves how much does not fit of an owner's trail."""

STALE_P50, STALE_P95 = "stale p50", "stale p95"
"""Counters in which the daily look leaves the staleness of an owner's memories, in hundredths."""

LEAST_READS = LEAST_WRITES = 20
"""Calls from which a ratio says anything. Set by judgement."""

THRESHOLDS: Mapping[str, float] = {
    "write_rate": 50, "hit_ratio": 0.1, "dedup_rate": 0.7, "contradictions": 50, "staleness": 0.5,
    "task_scopes": 50, "blocked": 20, "clock_behind": 24, "audit": 0,
}  # fmt: skip
"""By alert, the value that must be exceeded; for ``hit_ratio``, undercut. Set by judgement."""

_ADVICE = {
    "write_rate": "a loop may be writing; list audit events by actor, import with remember_many",
    "hit_ratio": "queries find nothing; check user, org and scopes of the callers",
    "dedup_rate": "the same statements are written again; write only what is new",
    "contradictions": "sources disagree; decide in pending, and look at the agents that write",
    "staleness": "most memories are unread or old; run maintenance.hygiene, confirm or forget",
    "task_scopes": "tasks are begun and never ended; call complete or abandon",
    "blocked": "a program or a user sends secrets or personal data; look at audit events blocked",
    "audit": "rows or events were changed behind simonides' back; run audit verify, then restore",
    "clock_behind": "a change has a later date, which all that is stored until then will get; "
    "set the clocks of all machines right",
}


class Alert(Value):
    """Something is far from a normal day.

    Attributes:
        name: ``write_rate`` (per minute), ``hit_ratio``, ``dedup_rate``, ``contradictions`` (per
            day), ``staleness`` (median), ``task_scopes`` (open tasks), ``blocked`` (secrets and
            personal data, per day) ``clock_behind`` (hours from now to the date of the last
            change) or ``audit`` (what did not fit of the trail on the last day).
        value: What was measured.
        threshold: What it should not pass.
        advice: What to do.
    """

    name: str
    value: float
    threshold: float
    advice: str


def alert(name: str, value: float) -> Iterator[Alert]:
    """Yield the alert of a name if a value passes its threshold."""
    threshold = THRESHOLDS[name]
    if value < threshold if name == "hit_ratio" else value > threshold:
        advice = _ADVICE[name]
        yield Alert(name=name, value=round(value, 2), threshold=threshold, advice=advice)


def alerts_of(engine: Engine, who: Principal) -> tuple[Alert, ...]:
    """Return the alerts of an owner, from its own events, tasks and last daily look.

    Imports, which store several statements in one call, do not count as a rate of writes.
    """
    day, minute = recent(engine, who)
    with engine.db.read(who.owner) as connection:
        tasks = open_tasks(connection.rows(statements.TASK_COUNTS, {"owner": who.owner}))
        kept: dict[str, int] = dict(connection.rows(statements.COUNTERS, {"owner": who.owner}))
        state = connection.one(statements.STATE, {"owner": who.owner})
    behind = 0 if state is None else state[1] - engine.clock.now_ms()
    blocked = labelled(day, "blocked")
    return (
        *alert("write_rate", minute["told", ""]),
        *repeats(day),
        *alert("contradictions", day["contradictions", ""]),
        *alert("staleness", kept.get(STALE_P50, 0) / 100),
        *alert("task_scopes", tasks),
        *alert("blocked", blocked.get("secret", 0) + blocked.get("personal", 0)),
        *alert("audit", kept.get(CHANGED, 0)),
        *alert("clock_behind", behind / (60 * MINUTE_MS)),
    )


def repeats(counts: Mapping[Key, int]) -> Iterator[Alert]:
    """Yield the alert of repeated writes."""
    if writes_of(counts) >= LEAST_WRITES:
        yield from alert("dedup_rate", dedup_rate(counts))


def writes_of(counts: Mapping[Key, int]) -> int:
    """Return how many statements were accepted, new ones and known ones."""
    return counts.get(("told", ""), 0) + counts.get(("imported", ""), 0)


def dedup_rate(counts: Mapping[Key, int]) -> float:
    """Return the share of accepted statements that were known already."""
    return ratio(sum(labelled(counts, "dedup").values()), writes_of(counts))


def open_tasks(rows: list[tuple[str, int]]) -> int:
    """Return how many tasks are open, of counts by status."""
    return dict(rows).get("open", 0)


def recent(engine: Engine, who: Principal) -> tuple[Counter[Key], Counter[Key]]:
    """Count an owner's events of the last 24 hours, and of the last minute."""
    now = engine.clock.now_ms()
    params = {"owner": who.owner, "since": now - DAY_MS, "minute": now - MINUTE_MS}
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.RECENT_EVENTS, params)
    day, minute = Counter[Key](), Counter[Key]()
    for type, reason, in_day, in_minute in rows:
        for key in counted_as(type, reason):
            day[key] += in_day
            minute[key] += in_minute
    return day, minute
