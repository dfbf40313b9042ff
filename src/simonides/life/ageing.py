"""How old memories are: which are stale, and which are never collected for their age alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from simonides.core.clock import DAY_MS, in_steps, staleness
from simonides.core.engine import Engine
from simonides.core.policy import Policy, Rank
from simonides.core.record import DECAY_A_DAY, DOUBTFUL_BELOW, Source, Trust
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.write import pending

STALE_FROM, VERY_STALE_OVER = 0.7, 0.9
"""Staleness from which a memory counts half, and over which it is evicted."""

YEAR_MS, MONTH_MS = 365 * DAY_MS, 30 * DAY_MS
"""How much longer a turn is kept that was shown, and one that finds no room among the questions;
the last month of a turn is when it is looked at."""

PAGE = 256
"""Memories whose age is read at once."""

_STATED = frozenset({Source.USER_STATED, Source.USER_CORRECTION, Source.IN_SESSION_CORRECTION})


def is_spared(policy: Policy, source: str, category: str, pinned: object) -> bool:
    """Whether the user stated a memory or pinned it, or it stands in every prompt."""
    return bool(pinned) or source in _STATED or policy.rank(category) is not Rank.NONE


class Aged(NamedTuple):
    """A memory in force, and how old it is.

    Attributes:
        id: Of its version.
        content: Its text.
        status: ``active``, ``stale`` or ``review``.
        soft_expires_at: When it is due for review, in milliseconds, or None.
        was_shown: Whether it was recalled in the year before it ends, or in the month before that,
            when it may have been lengthened.
        staleness: 0 to 1.
        is_spared: See `is_spared`.
        is_doubtful: Whether it is an inference that nobody confirmed, and has lost its confidence.
    """

    id: bytes
    content: str
    status: str
    soft_expires_at: int | None
    was_shown: bool
    staleness: float
    is_spared: bool
    is_doubtful: bool


def aged(engine: Engine, owner: str, policy: Policy, sql: str, **params: int) -> Iterator[Aged]:
    """Yield the memories of an owner that a statement selects, by id, as old as they are now."""
    now, after, against = engine.clock.now_ms(), b"", None
    while True:
        with engine.db.read(owner) as connection:
            page = {"owner": owner, "now": now, "after": after, "limit": PAGE, **params}
            rows = connection.rows(sql, page)
            if against is None and rows:
                against = _contradicted(connection, owner)
        for *cells, last in in_steps(rows):
            row = dict(zip(statements.AGES, cells, strict=True))
            yield _aged(row, last, now, policy, is_contradicted=row["root"] in (against or ()))
        if len(rows) < PAGE:
            return
        after = rows[-1][0]


def quantile(ages: Sequence[float], share: float) -> float:
    """Return the value that a share of all do not exceed; 0 of none."""
    return sorted(ages)[ceil(share * len(ages)) - 1] if ages else 0.0


def _contradicted(connection: Connection, owner: str) -> set[bytes]:
    """Return the roots of the statements whose contradiction waits for a decision."""
    entries = pending.entries(connection, owner)
    asked = [pending.sides(each) for each in entries if each.kind == "contradiction"]
    return {root for sides in asked for root in sides}


def _aged(
    row: Mapping[str, Any], last: int | None, now: int, policy: Policy, *, is_contradicted: bool
) -> Aged:
    made, said = row["created_at"], None if row["timeless"] else row["updated_at"]
    lost = (now - made) * (DECAY_A_DAY / DAY_MS) if row["trust"] == Trust.AGENT else 0.0
    return Aged(
        row["id"],
        row["content"],
        row["status"],
        row["soft_expires_at"],
        last is not None and last > (row["hard_expires_at"] or 0) - YEAR_MS - MONTH_MS,
        staleness(now, made, said, row["hard_expires_at"], last, is_contradicted=is_contradicted),
        is_spared(policy, row["source"], row["category"], row["pinned"]),
        # As the collection decides it, else the one would undo what the other does.
        row["verified_at"] is None and row["confidence"] - lost < DOUBTFUL_BELOW,
    )


def very_stale(engine: Engine, owner: str, policy: Policy) -> list[bytes]:
    """Return the ids of what was marked stale and is to be evicted."""
    found = aged(engine, owner, policy, statements.AGES_OF_STALE)
    return [each.id for each in found if each.staleness > VERY_STALE_OVER and not each.is_spared]
