"""Screens passages of documents before a reader sees them.

Passages are not stored, so nothing can be blocked. Secrets and personal data that policy keeps out
of memory are struck out. A passage with a command to its reader stays out of prompts. Every finding
is shown as a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from simonides.domain.memory import Record
from simonides.domain.policy.hygiene import Action
from simonides.domain.reading.document import Passage, as_memory, passage_id
from simonides.domain.scope import Scope
from simonides.domain.trust import Trust
from simonides.domain.writing.finding import Concern, Finding
from simonides.engine.screening import look, strike
from simonides.policy import Policy
from simonides.text import content_hash, storable

_STRUCK = (Action.BLOCK, Action.REDACT)
_WITHHELD = (Action.BLOCK, Action.HOLD)
_FIELDS = ("text", "title", "heading", "location")


def shown_passages(
    source: str,
    scope: Scope,
    passages: Sequence[Passage],
    policy: Policy,
    now: datetime,
    known: Mapping[str, Record],
) -> list[Record]:
    """Return passages as reads show them, each id once.

    Args:
        source: Name of their source.
        scope: Scope of its registration.
        passages: From the source; blank ones are left out.
        policy: In force for the scope.
        now: The clock; used where the time of a change is unknown.
        known: Passages already screened under the same policy, by id.
    """
    shown = dict[str, Record]()
    counted = dict[str, int]()
    for given in passages:
        passage = _readable(given)
        if not passage.text.strip():
            continue
        first = passage_id(source, scope, passage)
        nth = counted[first] = counted.get(first, -1) + 1
        id = first if nth == 0 else passage_id(source, scope, passage, nth)
        shown[id] = _cached_if_unchanged(known.get(id), passage) or _screened(
            source, scope, passage, policy, now, nth
        )
    return list(shown.values())


def told_to_others(query: str, policy: Policy) -> str:
    """Return a query as a networked source may see it: without secrets."""
    found = (each for each in look(query) if each.concern is Concern.SECRET)
    return strike(query, [each for each in found if policy.hygiene.action_on(each) in _STRUCK])


def _readable(passage: Passage) -> Passage:
    texts: dict[str, Any] = {name: storable(getattr(passage, name)) for name in _FIELDS}
    return replace(passage, **texts)


def _cached_if_unchanged(known: Record | None, passage: Passage) -> Record | None:
    """Return a passage from the cache if time, title and position are unchanged, else None."""
    if known is None or (passage.changed_at, passage.title) != (
        known.created_at,
        known.metadata.get("title", ""),
    ):
        return None
    if known.metadata.get("line") == passage.line and known.metadata.get("page") == passage.page:
        return known
    return None


def _screened(
    source: str, scope: Scope, passage: Passage, policy: Policy, now: datetime, nth: int
) -> Record:
    rules = policy.hygiene
    marks_found = dict[str, None]()
    withheld = False
    clean = dict[str, Any]()
    for name in _FIELDS:
        text = getattr(passage, name)
        found = [f for f in look(text, Trust.EXTERNAL) if rules.action_on(f) is not Action.ALLOW]
        marks_found.update(dict.fromkeys(each.mark for each in found))
        withheld |= any(_is_command(f) and rules.action_on(f) in _WITHHELD for f in found)
        clean[name] = strike(text, [f for f in found if _is_struck(f, rules.action_on(f))])
    made = as_memory(
        source,
        scope,
        replace(passage, **clean),
        content_hash=content_hash(clean["text"]),
        read_at=now,
        nth=nth,
        marks=[*marks_found],
        withheld=withheld,
    )
    # The id comes from the original text, so that a citation survives a change of policy.
    id = passage_id(source, scope, passage, nth)
    return made if made.id == id else replace(made, id=id, root=id)


def _is_command(finding: Finding) -> bool:
    return finding.concern is Concern.POISON


def _is_struck(finding: Finding, action: Action) -> bool:
    return action is Action.REDACT or (action is Action.BLOCK and not _is_command(finding))
