"""What collections and looks through the memories return."""

from datetime import datetime

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
    reviews_expired: int = 0
    waits: bool = False
