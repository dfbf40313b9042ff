"""The verbs `metrics`: of one owner from its own rows, of the process from its figures."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

from simonides.core.clock import DAY_MS, to_datetime
from simonides.core.engine import Engine
from simonides.core.errors import ScopeDenied
from simonides.core.scope import GLOBAL, Principal, Right
from simonides.govern.alerts import (
    LEAST_READS,
    alert,
    dedup_rate,
    open_tasks,
    recent,
    repeats,
    writes_of,
)
from simonides.govern.figures import Key, Times, labelled, ratio
from simonides.life.ageing import aged, quantile
from simonides.life.results import Latency, Metrics, StoreMetrics
from simonides.storage import statements
from simonides.write import pending


def metrics(engine: Engine, who: Principal) -> Metrics:
    """Return what happened to the principal's own memories in a day, and how they are now."""
    owner, now = who.owner, engine.clock.now_ms()
    policy = engine.policies.for_org(who.home.org, who.agent)
    engine.journal.flush()  # what was read is less stale
    counts, _ = recent(engine, who)
    ages = [each.staleness for each in aged(engine, owner, policy, statements.AGES_OF_FACTS)]
    with engine.db.read(owner) as connection:
        tasks = connection.rows(statements.TASK_COUNTS, {"owner": owner})
        due = connection.rows(statements.DUE_JOBS, {"owner": owner})
        kinds = Counter(each.kind for each in pending.entries(connection, owner))
    return Metrics(
        since=to_datetime(now - DAY_MS),
        writes=writes_of(counts),
        imported=counts["imported", ""],
        turns=counts["turns", ""],
        dedup=labelled(counts, "dedup"),
        dedup_rate=dedup_rate(counts),
        contradictions=counts["contradictions", ""],
        blocked=labelled(counts, "blocked"),
        evictions=counts["events", "evicted"],
        events=labelled(counts, "events"),
        staleness_p50=quantile(ages, 0.5),
        staleness_p95=quantile(ages, 0.95),
        open_tasks=open_tasks(tasks),
        pending=dict(sorted(kinds.items())),
        due=sum(at <= now for at, _ in due),
    )


def store_metrics(engine: Engine, who: Principal) -> StoreMetrics:
    """Return what this process has counted, and what waits in the store.

    Raises:
        ScopeDenied: If the caller does not administer the store.
    """
    if not who.is_admin or who.home != GLOBAL:
        raise ScopeDenied(GLOBAL.path, Right.ADMIN, "open store.admin(actor=…)")
    figures = engine.figures
    counts: Counter[Key] = figures.counts()
    with engine.db.read() as connection:
        [(due,)] = connection.rows(statements.DUE_COUNT, {"now": engine.clock.now_ms()})
    reads, hits = counts["reads", ""], counts["hits", ""]
    hit_alert = alert("hit_ratio", ratio(hits, reads)) if reads >= LEAST_READS else ()
    return StoreMetrics(
        since=to_datetime(figures.since),
        writes=writes_of(counts),
        imported=counts["imported", ""],
        turns=counts["turns", ""],
        reads=reads,
        hits=hits,
        hit_ratio=ratio(hits, reads),
        dedup=labelled(counts, "dedup"),
        dedup_rate=dedup_rate(counts),
        contradictions=counts["contradictions", ""],
        blocked=labelled(counts, "blocked"),
        evictions=counts["events", "evicted"],
        events=labelled(counts, "events"),
        staleness_p50=figures.staleness(0.5),
        staleness_p95=figures.staleness(0.95),
        loaded=len(engine.indexes),
        queue={"worker": engine.worker.waiting, "due": due},
        latency={verb: _latency(times) for verb, times in figures.times().items()},
        alerts=(*hit_alert, *repeats(counts)),
    )


def _latency(times: Times) -> Latency:
    return Latency(
        count=sum(times.buckets),
        errors=times.errors,
        seconds=times.seconds,
        p50=times.quantile(0.5),
        p95=times.quantile(0.95),
        buckets=tuple(accumulate(times.buckets)),
    )
