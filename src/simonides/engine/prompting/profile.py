"""Builds a user's profile: the current fact of each key, and the standing rules."""

from __future__ import annotations

from collections.abc import Iterable

from simonides.domain.memory import Record
from simonides.domain.reading.profile import Profile
from simonides.domain.scope import Scope
from simonides.engine.prompting.core_block import in_order, is_core, is_danger


def profile_of(records: Iterable[Record], home: Scope) -> Profile:
    """Return the profile of what a principal reads.

    Args:
        records: Every live memory that it may read.
        home: Its own scope; of two memories of one key the nearer one counts.
    """
    nearest: dict[str, Record] = {}
    rules: dict[str, Record] = {}
    places = {scope: place for place, scope in enumerate(home.lineage)}
    for record in records:
        if record.key is not None:
            known = nearest.get(record.key)
            if known is None or places.get(record.scope, 9) < places.get(known.scope, 9):
                nearest[record.key] = record
        elif is_core(record) or is_danger(record):
            rules[record.id] = record
    facts = {key: nearest[key] for key in sorted(nearest)}
    return Profile(facts, tuple(in_order(rules.values())))
