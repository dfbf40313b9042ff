"""The relevance that the best memory must have for a digest to show anything; it learns from use.

Each answer that is compared with its receipt says whether the digest was used. Where little is
used because little is shown, the floor falls; where much is shown in vain, it rises.
"""

from __future__ import annotations

from simonides.core.engine import Engine
from simonides.core.results import Receipt
from simonides.core.scope import Principal
from simonides.storage import statements
from simonides.storage.database import Connection

FLOOR = 0.75
"""Where it begins. Measured on development questions: at least 92 % of the evidence that recall
finds is shown, and at least 70 % of questions asked of another conversation's memory show
nothing."""

STEP, LOWEST, HIGHEST = 0.05, 0.5, 0.95
LEAST_USED, MOST_IN_VAIN = 0.3, 0.4
"""Share of answers that use their digest, below which the floor falls, and of digests shown in
vain, above which it rises."""

WINDOW = 20
"""Answers after which it moves and counts anew; chosen."""


def floor_of(engine: Engine, who: Principal) -> float:
    """Return the floor in force for a reader."""
    with engine.db.read(who.owner) as connection:
        return _read(connection, who.owner).get("floor", round(100 * FLOOR)) / 100


def learn(engine: Engine, who: Principal, receipt: Receipt, *, used: bool) -> None:
    """Count whether an answer used its digest, and move the floor."""
    shown = any(item.part != "core" for item in receipt.items)
    if not receipt.about:
        return
    with engine.db.write(who.owner) as connection:
        found = _read(connection, who.owner)
        found["answers"] = found.get("answers", 0) + 1
        found["used"] = found.get("used", 0) + (shown and used)
        found["in_vain"] = found.get("in_vain", 0) + (shown and not used)
        if found["answers"] >= WINDOW:
            found["floor"] = _moved(found)
            found |= dict.fromkeys(("answers", "used", "in_vain"), 0)
        rows = [{"owner": who.owner, "name": name, "value": value} for name, value in found.items()]
        connection.run_many(statements.SET_COUNTER, rows)


def _moved(found: dict[str, int]) -> int:
    """Return the next floor, in hundredths."""
    floor, shown = found.get("floor", round(100 * FLOOR)), found["used"] + found["in_vain"]
    step = round(100 * STEP)
    if shown and found["in_vain"] > MOST_IN_VAIN * shown:
        return min(floor + step, round(100 * HIGHEST))
    if found["used"] < LEAST_USED * found["answers"]:
        return max(floor - step, round(100 * LOWEST))
    return floor


def _read(connection: Connection, owner: str) -> dict[str, int]:
    return dict(connection.rows(statements.COUNTERS, {"owner": owner}))
