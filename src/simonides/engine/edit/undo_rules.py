"""Rules of undo: an event is reverted by new states; history is never rewritten.

The memory that the event added is superseded, and each memory that it replaced or changed gets its
former state again. This is possible only while the event's result is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simonides.domain.errors import UndoRefused
from simonides.domain.event import EventType
from simonides.domain.memory import Record, Status
from simonides.domain.moment import Moment
from simonides.domain.value import EPOCH, to_us
from simonides.ports import OwnerView
from simonides.text import normalise

UNDOABLE = frozenset(
    {
        EventType.SUPERSEDED,
        EventType.MERGED,
        EventType.REFRESHED,
        EventType.BUMPED,
        EventType.DECIDED,
    }
)
"""Event types that can be undone."""

_DISPLACING = frozenset({EventType.SUPERSEDED, EventType.MERGED})
"""Event types whose first subject replaced the others."""

_ADVICE = {
    EventType.CREATED: "forget the memory instead",
    EventType.COEXISTS: "forget the memory instead",
    EventType.REVIEW: "decide the review instead",
    EventType.TOUCHED: "correct the memory instead: the stored one was kept",
    EventType.FORGOTTEN: "a forgotten memory is deleted; state it again",
    EventType.DREAMED: "undo it with undo_dream",
    EventType.UNDONE: "correct the memory instead",
    EventType.SYNCED: "correct the memory instead: both stores said it",
}


@dataclass(frozen=True, slots=True)
class UndoTarget:
    """An event with all states of its memories.

    Attributes:
        id: Id of the event.
        type: Type of the event.
        at: Time of the event, µs; the states that it made begin then.
        stories: States of each subject, oldest first, in the order of the event's subjects.
        details: Details of the event.
    """

    id: str
    type: EventType
    at: int
    stories: tuple[tuple[Record, ...], ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> frozenset[str]:
        """Ids of the memories."""
        return frozenset(states[-1].id for states in self.stories if states)

    def refused(self, reason: str, advice: str) -> UndoRefused:
        """Return the error for a refused undo."""
        return UndoRefused(self.id, reason, advice)


def check_undoable(target: UndoTarget) -> None:
    """Raise :class:`UndoRefused` unless an event of this type can be undone."""
    if target.type not in UNDOABLE:
        advice = _ADVICE.get(target.type, "it replaced nothing")
        raise target.refused("not_undoable", f"an event '{target.type}' cannot be undone; {advice}")
    if not all(target.stories):
        raise target.refused("forgotten", "one of its memories was forgotten; state it again")


def undone_states(target: UndoTarget, moment: Moment) -> tuple[Record, ...]:
    """Return the new states that undo an event: restored memories first, then the superseded one.

    Raises:
        UndoRefused: ``changed_since`` if the event's result has changed; ``not_undoable`` if there
            is no former state; ``expired`` if the former state has expired.
    """
    check_undoable(target)
    first, *others = target.stories
    successor = first if target.type in _DISPLACING else None
    if successor is not None and not successor[-1].status.is_live:
        by = successor[-1].superseded_by
        by_whom = f"by {by} " if by else ""
        advice = f"its result was superseded {by_whom}since; undo that event first"
        raise target.refused("changed_since", advice)
    changed = others if successor is not None else target.stories
    restored = [_restored(target, states, moment) for states in changed]
    # A first subject that is older than the event stays: the event only ended the others.
    if successor is None or not restored or to_us(successor[0].known_from) != target.at:
        return tuple(restored)
    last = successor[-1]
    given_way = replace(
        last,
        status=Status.SUPERSEDED,
        superseded_by=restored[0].id,
        valid_to=last.valid_from or EPOCH,  # An undone statement was never true.
        updated_at=moment.now,
        known_from=moment.now,
    )
    return (*restored, given_way)


def _restored(target: UndoTarget, states: Sequence[Record], moment: Moment) -> Record:
    last = states[-1]
    if to_us(last.known_from) != target.at:
        advice = f"memory {last.id} has changed since; undo the later event first, or correct it"
        raise target.refused("changed_since", advice)
    if len(states) > 1:
        former = states[-2]
    elif target.type is EventType.SUPERSEDED:
        # The batch that added it superseded it too, so it has no stored live state.
        former = replace(last, status=Status.ACTIVE, superseded_by=None, valid_to=None)
    else:
        raise target.refused("not_undoable", f"memory {last.id} has no state before it")
    if former.is_expired(moment.now):
        raise target.refused("expired", f"memory {last.id} has expired meanwhile; state it again")
    chain = [story[-1].versions for story in target.stories if story[-1].root == last.root]
    return replace(
        former,
        versions=max(chain),
        updated_at=moment.now,
        known_from=moment.now,
        known_to=None,
    )


def check_place_free(
    target: UndoTarget, restored: Sequence[Record], view: OwnerView, functional: frozenset[str]
) -> None:
    """Check that no other memory now has a restored memory's key, functional slot or text.

    Raises:
        UndoRefused: ``place_taken``.
    """
    for memory in restored:
        for other in _in_place_of(memory, view, functional) if memory.status.is_live else ():
            if other.id not in target.ids:
                advice = f"memory {other.id} has the place of {memory.id} now; correct that one"
                raise target.refused("place_taken", advice)


def _in_place_of(memory: Record, view: OwnerView, functional: frozenset[str]) -> Iterator[Record]:
    if memory.key is not None:
        standing = view.by_key(memory.place, memory.key)
        if standing is not None:
            yield standing
    else:
        equal = view.by_hash(memory.place, memory.content_hash)
        yield from (other for other in equal if other.kind is memory.kind)
    triple = memory.triple
    if triple is not None and normalise(triple.predicate) in functional:
        rivals = view.by_slot(memory.place, triple)
        yield from (rival for rival in rivals if rival.kind is memory.kind)
