"""What the first prompt of a conversation says of the one before: its summary."""

from __future__ import annotations

from simonides.conversations.parts import last_part
from simonides.core.engine import Engine
from simonides.core.policy import DigestRules
from simonides.core.scope import Principal
from simonides.govern.rights import may_see, readable
from simonides.prompt.lines import PromptSection, item_of
from simonides.recall.view import unrefused
from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.storage.rows import latest_of, record_of

CHARS = 1_300
"""Maximum number of characters of it: a whole summary."""

MOST_SUMMARIES = 64
"""Summaries among which one may be shown, the last ones: of others the user refused the topic, or
an agent may not see them. Set by judgement."""


def catch_up(
    engine: Engine, who: Principal, rules: DigestRules, connection: Connection
) -> PromptSection:
    """Return the line of the latest summary where a conversation begins.

    However old it is, it is shown; only what the reader may see, and nothing of a refused topic.
    """
    now, idle = engine.clock.now_ms(), engine.settings.idle_minutes
    found = last_part(connection, who)
    if who.home.task is not None or (found is not None and not found.is_over(now, idle)):
        return PromptSection()
    [reach] = [each for each in readable(engine, who) if each.owner == who.owner]
    named = {"owner": who.owner, "purpose": who.purpose or "", "limit": MOST_SUMMARIES}
    roots = [root for (root,) in connection.rows(statements.LAST_SUMMARIES, named)]
    rows = latest_of(connection, who.owner, roots)
    records = (record_of(row) for row in rows if unrefused(connection, who, [row]))
    for record in records:
        is_shown = record.is_current and record.sensitivity in rules.sensitivities
        if is_shown and may_see(who, reach, record.partition):
            return PromptSection([item_of(record, "last", CHARS)], [record])
    return PromptSection()
