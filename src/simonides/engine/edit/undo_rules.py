"""Taking back what an event did: by new states, never by rewriting history.

What the event put in place gives way, and what it displaced or changed goes on in the state that it
had before. That is possible as long as nothing has come of the result since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simonides.domain.errors import UndoRefused
from simonides.domain.event import EventType
from simonides.domain.memory import Memory, Status
from simonides.domain.moment import Moment
from simonides.domain.value import EPOCH, to_us
from simonides.ports import OwnerView
from simonides.text.normalise import normalise

UNDOABLE = frozenset(
    {
        EventType.SUPERSEDED,
        EventType.MERGED,
        EventType.REFRESHED,
        EventType.BUMPED,
        EventType.DECIDED,
    }
)
"""What can be taken back."""

_DISPLACING = frozenset({EventType.SUPERSEDED, EventType.MERGED})
"""What had others give way to the first of its subjects."""

_ADVICE = {
    EventType.CREATED: "forget the memory instead",
    EventType.COEXISTS: "forget the memory instead",
    EventType.REVIEW: "decide the review instead",
    EventType.TOUCHED: "correct the memory instead: what stood was kept",
    EventType.FORGOTTEN: "what was forgotten is gone; say it anew",
    EventType.DREAMED: "take it back with undo_dream",
    EventType.UNDONE: "correct the memory instead",
    EventType.SYNCED: "correct the memory instead: both stores said it",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """An event, and the memories that it is about, each with all of its states, oldest first.

    Attributes:
        id: Of the event.
        type: What happened.
        at: When, µs; the states that it made begin there.
        stories: In the order of the event's subjects.
        details: Of the event.
    """

    id: str
    type: EventType
    at: int
    stories: tuple[tuple[Memory, ...], ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> frozenset[str]:
        """Of the memories."""
        return frozenset(states[-1].id for states in self.stories if states)

    def refused(self, reason: str, advice: str) -> UndoRefused:
        """Return the error that says why it cannot be undone."""
        return UndoRefused(self.id, reason, advice)


def check_undoable(deed: Deed) -> None:
    """Raise :class:`UndoRefused` unless an event of this kind can be taken back."""
    if deed.type not in UNDOABLE:
        advice = _ADVICE.get(deed.type, "nothing was replaced by it")
        raise deed.refused("not_undoable", f"an event '{deed.type}' is not undone; {advice}")
    if not all(deed.stories):
        raise deed.refused("forgotten", "a memory that it is about is gone; say it anew")


def taken_back(deed: Deed, moment: Moment) -> tuple[Memory, ...]:
    """Return the new states that take an event back, the restored before what gives way.

    Raises:
        UndoRefused: ``changed_since``, if what the event left has changed or given way;
            ``not_undoable``, if there is no state to go back to; ``expired``.
    """
    check_undoable(deed)
    first, *others = deed.stories
    successor = first if deed.type in _DISPLACING else None
    if successor is not None and not successor[-1].status.is_live:
        by = successor[-1].superseded_by
        by_whom = f"by {by} " if by else ""
        raise deed.refused("changed_since", f"its result was superseded {by_whom}since; undo that")
    changed = others if successor is not None else deed.stories
    restored = [_restored(deed, states, moment) for states in changed]
    # What stood before the event did, and only outlived another by it, goes on.
    if successor is None or not restored or to_us(successor[0].known_from) != deed.at:
        return tuple(restored)
    last = successor[-1]
    given_way = replace(
        last,
        status=Status.SUPERSEDED,
        superseded_by=restored[0].id,
        valid_to=last.valid_from or EPOCH,  # what is taken back was never true
        updated_at=moment.now,
        known_from=moment.now,
    )
    return (*restored, given_way)


def _restored(deed: Deed, states: Sequence[Memory], moment: Moment) -> Memory:
    last = states[-1]
    if to_us(last.known_from) != deed.at:
        advice = f"memory {last.id} has changed since; undo what came later first, or correct it"
        raise deed.refused("changed_since", advice)
    if len(states) > 1:
        former = states[-2]
    elif deed.type is EventType.SUPERSEDED:
        # It came and went within one batch.
        former = replace(last, status=Status.ACTIVE, superseded_by=None, valid_to=None)
    else:
        raise deed.refused("not_undoable", f"memory {last.id} has no state before it")
    if former.is_expired(moment.now):
        raise deed.refused("expired", f"memory {last.id} has expired meanwhile; say it anew")
    chain = [story[-1].versions for story in deed.stories if story[-1].root == last.root]
    return replace(
        former,
        versions=max(chain),
        updated_at=moment.now,
        known_from=moment.now,
        known_to=None,
    )


def check_room(
    deed: Deed, restored: Sequence[Memory], view: OwnerView, functional: frozenset[str]
) -> None:
    """Raise :class:`UndoRefused` (``place_taken``) if something else stands by now where a restored
    memory would: under its key, in its functional slot, or with its text.
    """
    for memory in restored:
        for other in _in_its_place(memory, view, functional) if memory.status.is_live else ():
            if other.id not in deed.ids:
                advice = f"memory {other.id} stands in the place of {memory.id} now; correct that"
                raise deed.refused("place_taken", advice)


def _in_its_place(memory: Memory, view: OwnerView, functional: frozenset[str]) -> Iterator[Memory]:
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
