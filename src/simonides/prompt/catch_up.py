"""What the first prompt of a conversation says of the one before: its summary."""

from __future__ import annotations

from simonides.core.engine import Engine
from simonides.core.policy import DigestRules
from simonides.core.record import Record
from simonides.core.results import DigestItem
from simonides.core.scope import Principal
from simonides.govern.rights import may_see, readable
from simonides.prompt.lines import line_of
from simonides.storage import statements
from simonides.storage.rows import id_bytes, memory_row, record_of
from simonides.text.analyse import analyse
from simonides.write.log import last_part, parts
from simonides.write.privacy import refused

CHARS = 1_300
"""Most characters of it: a whole summary."""


def catch_up(
    engine: Engine, who: Principal, rules: DigestRules
) -> tuple[list[DigestItem], list[Record]]:
    """Return the line of the latest summary, and its memory, where a conversation begins.

    However old it is, it is shown; only what the reader may see, and nothing of a refused topic.
    """
    now, idle = engine.clock.now_ms(), engine.settings.idle_minutes
    if who.home.task is not None:
        return [], []
    with engine.db.read(who.owner) as connection:
        found = last_part(connection, who)
        if found is not None and not found.is_over(now, idle):
            return [], []
        roots = [
            each.data["summary"] for each in parts(connection, who.owner) if "summary" in each.data
        ]
        if not roots:
            return [], []
        params = {"owner": who.owner, "root": id_bytes(roots[0])}
        row = connection.one(statements.CURRENT_OF_ROOT, params)
    if row is None:
        return [], []
    record = record_of(memory_row(row))
    [reach] = [each for each in readable(engine, who) if each.owner == who.owner]
    is_fit = record.is_current and record.sensitivity in rules.sensitivities
    if not is_fit or not may_see(who, reach, record.place):
        return [], []
    topics, _ = refused(engine, who, who.conversation)
    if any(topic.covers(analyse(record.content)) for topic in topics):
        return [], []
    line = line_of([record], (), CHARS)
    item = DigestItem(ids=(record.id,), owner=record.owner, part="last", chars=CHARS, line=line)
    return [item], [record]
