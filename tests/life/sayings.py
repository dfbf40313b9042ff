"""What a life says, and how what is remembered of it is compared."""

from datetime import UTC, datetime, timedelta

DAY, YEAR = timedelta(days=1), timedelta(days=365)
MONTH, BEGIN = 30 * DAY, datetime(2026, 1, 1, tzinfo=UTC)

KEYED = {"city": ["Oslo", "Rome", "Kyiv"], "tea": ["green", "black"], "car": ["a van", "a bus"]}
UNKEYED = [
    "Marta keeps bees behind the barn",
    "Quarterly invoices go to Helsinki",
    "Pedro repairs old violins",
    "Rainwater fills the copper tank",
    "Olga studies volcanoes",
]
TURNS = [
    "I rode my bike to the old mill",
    "I like my desk by the window",
    "The bakery opens at noon",
    "Did I lock the shed?",
]
SOURCES = ["user_stated", "tool_verified", "agent_inferred", "config_change"]
STATED = {"user_stated", "user_correction", "in_session_correction"}
CATEGORIES = ["fact", "fact", "preference", "constraint", "entity_fact"]
STANDING = {"rule", "constraint", "danger", "manner", "guard"}
"""Categories of what stands in every prompt."""

DISPUTED = [
    (("The staging server is in Oslo", "tool_verified"),
     ("The staging server is in Bergen", "config_change")),
    (("The office printer is on floor two", "tool_verified"),
     ("The office printer is on floor five", "config_change")),
]  # fmt: skip
"""Pairs of two sources that cannot both be true."""

NOTES = [("The backup runs at night", "decision"), ("The log level is now debug", "configuration")]

JUMPS = [timedelta(minutes=5), DAY, 8 * DAY, 25 * DAY, 29 * DAY, 40 * DAY, 400 * DAY]


def is_spared(record):
    """Whether the user stated a memory or pinned it, or made it a rule."""
    return record.pinned or record.source in STATED or record.category in STANDING


def shape(record):
    """Return what an undo restores."""
    return record.content, record.key, record.status, record.category, record.pinned


def is_back(record, before):
    """Whether a memory is as it was; the question about it may be over."""
    over = before.model_copy(update={"status": "active"}) if before.status == "review" else before
    return shape(record) in (shape(before), shape(over))


def lasting(records):
    """Return what only a write changes."""
    return {root: (shape(each), each.hard_expires_at) for root, each in records.items()}


def counts(report):
    """Return what a report counts, without what is 0."""
    fields = report.to_dict().items()
    return {name: n for name, n in fields if type(n) is int and n}


def turns_within(records, content, *, is_whole=False):
    """Return the roots of turns that say a part of a text, or all of it."""
    said = {root: each.content for root, each in records.items() if each.category == "turn"}
    return {
        root for root in said if said[root] == content or (said[root] in content and not is_whole)
    }


def derived(records, roots):
    """Return roots, and those of what was derived from their memories."""
    while True:
        ids = {records[root].id for root in roots}
        more = {root for root, each in records.items() if ids & {*each.parents}} - roots
        if not more:
            return roots
        roots = roots | more
