"""Taking back what a dream did, item by item, by new states (FX-12).

What it changed goes on in the state that it had before; what it added is evicted. That holds of an
item only if nothing has come of any of its memories since: of the others it is said why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from simonides.domain.dream import DreamItem, DreamStep
from simonides.domain.errors import UndoRefused
from simonides.domain.event import EventType
from simonides.domain.memory import Memory, Status
from simonides.domain.moment import Moment
from simonides.domain.value import to_us
from simonides.longterm.undoing import Deed, check_room
from simonides.ports import OwnerView

FORGOTTEN = "forgotten"
CHANGED_SINCE = "changed_since"
EXPIRED = "expired"

Stories = Mapping[str, Sequence[Memory]]
"""By id all states of a memory, oldest first; none of one that is gone."""


def restored(
    item: DreamItem,
    stories: Stories,
    at: int,
    moment: Moment,
    view: OwnerView,
    functional: frozenset[str],
) -> tuple[Memory, ...] | str:
    """Return the states that take one item back, or why it stays.

    Args:
        item: As the trail keeps it.
        stories: Of its memories.
        at: When the dream was applied, µs: the states that it made begin there.
        moment: When it is taken back.
        view: What stands.
        functional: Predicates of which a subject has one value at a time.
    """
    changed = item.after if item.step is DreamStep.INSIGHT else item.before
    states = []
    for id in changed:
        before = _before(stories.get(id, ()), at, moment)
        if isinstance(before, str):
            return before
        states.append(before)
    if item.step is not DreamStep.INSIGHT and any(
        not _stands(stories.get(id, ())) for id in item.after
    ):
        # What they gave way to has given way itself: their place is another's by now.
        return CHANGED_SINCE
    deed = Deed("", EventType.DREAMED, at, tuple(tuple(stories[id]) for id in item.ids))
    try:
        check_room(deed, [each for each in states if each.status.is_live], view, functional)
    except UndoRefused as refused:
        return refused.reason
    return tuple(states)


def _before(states: Sequence[Memory], at: int, moment: Moment) -> Memory | str:
    if not states:
        return FORGOTTEN
    last = states[-1]
    if to_us(last.known_from) != at:
        return CHANGED_SINCE
    if len(states) == 1:
        return replace(last, status=Status.EVICTED, updated_at=moment.now, known_from=moment.now)
    former = states[-2]
    if former.is_expired(moment.now):
        return EXPIRED
    return replace(former, versions=last.versions, known_from=moment.now, known_to=None)


def _stands(states: Sequence[Memory]) -> bool:
    return bool(states) and states[-1].status.is_live
