"""What collections, looks through the memories, and metrics return."""

from collections.abc import Mapping
from datetime import datetime

from simonides.core.outcome import Outcome
from simonides.core.record import Value
from simonides.govern.alerts import Alert


class Collection(Value):
    """What a collection took, or would take.

    Attributes:
        dry_run: Whether it only counted.
        hard_expired: Memories that were deleted at the end of their lifetime.
        soft_expired: Memories that were due for review and that nobody read for 30 days.
        superseded_old: Versions that were out of force for 90 days.
        stale_marked: Inferences whose confidence has decayed under .3, and that nobody confirmed.
        evicted: Memories that are stale, and have a staleness over .9.
        waits_until: When it will be done, as nothing happened for so long that the clock may be
            wrong; None if it was done.
    """

    dry_run: bool = False
    hard_expired: int = 0
    soft_expired: int = 0
    superseded_old: int = 0
    stale_marked: int = 0
    evicted: int = 0
    waits_until: datetime | None = None


class HygieneReport(Value):
    """What a look through the memories found and did, or would do.

    Attributes:
        dry_run: Whether it only counted.
        duplicates_found: Memories that said what another one says; the better supported one stays.
        contradictions_found: Pairs of which the surer or later one holds now, or which a person is
            asked about.
        stale_marked: Memories that are stale now (.7): they count half in a ranking.
        restored: Stale memories that were read since, and count whole again.
        evicted: How many of these are so stale (.9) that the next collection evicts them, unless
            they are read or confirmed until then.
        asked: Memories that have grown old and that a person is asked about: are they still true?
        lengthened: Turns of the user about the user that were shown in their last year, and get
            another one.
        sensitivity_flagged: Memories in which today's rules find secrets or personal data; prompts
            show them no more.
        unfounded: Insights that ended as a part of their evidence is not in force any more.
        reviews_expired: Questions that nobody answered in time.
        waits: Whether nothing was done, as the clock may be wrong; see `Collection.waits_until`.
    """

    dry_run: bool = False
    duplicates_found: int = 0
    contradictions_found: int = 0
    stale_marked: int = 0
    restored: int = 0
    evicted: int = 0
    asked: int = 0
    lengthened: int = 0
    sensitivity_flagged: int = 0
    unfounded: int = 0
    reviews_expired: int = 0
    waits: bool = False


class Insight(Value):
    """What several memories say together.

    Attributes:
        content: In one sentence.
        evidence: Ids of the versions that it rests on; it goes with them.
    """

    content: str
    evidence: tuple[str, ...]


class Consolidation(Value):
    """What is drawn together from memories, or would be; the memories stay as they are.

    Attributes:
        id: Under it all of this is taken back, with `undo_consolidation`; None if nothing was done.
        at: When it was done, or proposed.
        by_model: Whether a language model wrote the insights.
        insights: What is proposed.
        outcomes: What became of each.
        merged: Ids of memories that repeat another one, which stays.
        is_undone: Whether it was taken back.
        reasons: Why something was not done, machine-readable.
    """

    id: str | None = None
    at: datetime
    by_model: bool = False
    insights: tuple[Insight, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    merged: tuple[str, ...] = ()
    is_undone: bool = False
    reasons: tuple[str, ...] = ()


class Metrics(Value):
    """What happened to the memories of one owner in the last 24 hours, and how they are now.

    It is told from the owner's own rows, and says nothing of others. Calls and their times are
    counted of the whole process only; see `StoreMetrics`.

    Attributes:
        since: Where the 24 hours begin.
        writes: Statements that were accepted: new ones, and such as were known already.
        imported: How many of them came several in one call.
        turns: Turns that were stored.
        dedup: Statements that were known already, by the gate that found it: ``key``, ``slot``,
            ``text`` (the same words), ``words`` (nearly the same), ``meaning``, ``model``, or
            ``no_news`` (an inference that adds nothing).
        dedup_rate: Their share of the writes, 0 to 1.
        contradictions: Statements that denied another one.
        blocked: Refused writes by kind: ``secret`` (masked ones, too), ``personal``, ``injection``
            or ``policy``.
        evictions: Memories that gave way to a quota or to their age.
        events: Audit events by type.
        staleness_p50: Median staleness of the memories in force, turns apart, 0 to 1.
        staleness_p95: The staleness that 95 of 100 do not exceed.
        open_tasks: Tasks that were begun and have not ended.
        pending: What waits for a person, by kind.
        due: Jobs that time has made due.
    """

    since: datetime
    writes: int
    imported: int
    turns: int
    dedup: Mapping[str, int]
    dedup_rate: float
    contradictions: int
    blocked: Mapping[str, int]
    evictions: int
    events: Mapping[str, int]
    staleness_p50: float
    staleness_p95: float
    open_tasks: int
    pending: Mapping[str, int]
    due: int


class Latency(Value):
    """The times of a verb's calls.

    Attributes:
        count: How many calls there were.
        errors: How many of them failed.
        seconds: Their sum.
        p50: The time in seconds that half of them did not exceed, linear within a bucket.
        p95: The time that 95 of 100 did not exceed.
        buckets: How many calls took at most each of `simonides.govern.figures.BUCKETS`; the last
            number counts all.
    """

    count: int
    errors: int
    seconds: float
    p50: float
    p95: float
    buckets: tuple[int, ...]


class StoreMetrics(Value):
    """What this process has counted since the store was opened; of all users, and naming none.

    Attributes:
        since: When counting began.
        writes: As in `Metrics`, like all of its name.
        imported: As there.
        turns: As there.
        reads: Calls that look for memories: `recall`, `digest`, `profile`, `get`, `list`,
            `history`, and the search of tools.
        hits: How many of them returned at least one memory.
        hit_ratio: Their share, 0 to 1; 0 without reads.
        dedup: As there.
        dedup_rate: As there.
        contradictions: As there.
        blocked: As there.
        evictions: As there.
        events: As there.
        staleness_p50: Of the memories that the daily looks of the last two days have seen; None
            before the first.
        staleness_p95: As there.
        loaded: Owners whose index is in memory.
        queue: Jobs that wait: ``worker`` in this process, ``due`` in the store.
        latency: Times by verb.
        alerts: ``hit_ratio`` and ``dedup_rate``, where they are far from a normal day.
    """

    since: datetime
    writes: int
    imported: int
    turns: int
    reads: int
    hits: int
    hit_ratio: float
    dedup: Mapping[str, int]
    dedup_rate: float
    contradictions: int
    blocked: Mapping[str, int]
    evictions: int
    events: Mapping[str, int]
    staleness_p50: float | None
    staleness_p95: float | None
    loaded: int
    queue: Mapping[str, int]
    latency: Mapping[str, Latency]
    alerts: tuple[Alert, ...]

    def prometheus(self) -> str:
        """Return all of it in the text format of Prometheus, version 0.0.4."""
        from simonides.life.exposition import text

        return text(self)


class Finding(Value):
    """What was looked at.

    Attributes:
        name: Of the check.
        ok: Whether it is well.
        found: What is so, in plain words.
        remedy: The command or setting that mends it; empty where all is well.
    """

    name: str
    ok: bool
    found: str
    remedy: str = ""


class Diagnosis(Value):
    """All that was looked at; true if nothing is wrong.

    Attributes:
        findings: One or more of each check.
    """

    _PROPERTIES = ("ok",)

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return all(each.ok for each in self.findings)

    def __bool__(self) -> bool:
        return self.ok
