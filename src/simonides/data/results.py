"""What an import or a look at an export returns."""

from collections.abc import Mapping

from simonides.core.record import Value


class ImportReport(Value):
    """What became of each item of an export.

    Attributes:
        format: Name of the format; of a folder with several, each.
        stored: Number of messages and statements that were stored.
        known: Number of those that were stored before.
        held: Number of statements that wait for a person, in `pending`.
        refused: Number of those that policy refuses.
        left: Number of items that are no memories of the user, such as results of tools.
        unreadable: Number of lines or values that cannot be read.
        conversations: Number of conversations in the export.
        reasons: How often each reason occurred, such as ``left:tool``.
        problems: Place and reason of the first 1,000 items that were refused or not readable.
        dry_run: Whether nothing was written.
    """

    format: str = ""
    stored: int = 0
    known: int = 0
    held: int = 0
    refused: int = 0
    left: int = 0
    unreadable: int = 0
    conversations: int = 0
    reasons: Mapping[str, int] = {}
    problems: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False


class Inspection(Value):
    """What an export holds, before anything is stored.

    Attributes:
        format: Name of the format; of a folder with several, each.
        entries: Number of its items.
        found: How many are ``turns``, ``statements``, ``junk``, ``unreadable``, ``duplicates``,
            ``stale``, ``contradictory``, ``secrets``, ``instructions`` from outside, ``echoes`` of
            a digest, or ``without_owner``; an item may be several of these.
        junk: How often each reason occurred for which an item is no memory.
        months: How many items were said in each month, such as ``2026-01``.
        examples: Of each finding up to five, each with its place and the beginning of its text; of
            a secret the rule that found it.
    """

    format: str
    entries: int
    found: Mapping[str, int]
    junk: Mapping[str, int]
    months: Mapping[str, int]
    examples: Mapping[str, tuple[tuple[str, str], ...]]
