"""What collections and looks through the memories return."""

from datetime import datetime

from simonides.core.outcome import Outcome
from simonides.core.record import Value


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
        lengthened: Turns of the user about the user that were shown, and get another year.
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
