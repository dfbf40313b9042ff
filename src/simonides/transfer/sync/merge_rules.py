"""Two stores of one owner become one: what a memory is, and which of several stands.

Two questions, both answered from the memories alone, so that it does not matter who asks first, nor
when, nor how often:

* :func:`joined`: of one memory that both sides know, which state is in force. What only one side
  has changed since they last met is that side's; of what both have changed the later counts, and
  of two of one time the one that is further on in its life.
* :func:`settled`: of several memories that cannot stand together (one chain, one key, one
  functional slot, one text), which stands. Who was written in knowledge of another goes before it;
  then: an explicit correction, what does not come from outside, the more confident,
  the newer. Confidence is taken as it was recorded, not as it has decayed since: else the answer
  would depend on the day of the exchange. The others give way and stay in history.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from simonides.domain.codecs.memory import encode_state
from simonides.domain.memory import Kind, Memory, Status
from simonides.domain.trust import Trust
from simonides.domain.value import EPOCH
from simonides.domain.writing.decision import TURN_CATEGORY
from simonides.text.normalise import normalise

_COURSE = (
    Status.ACTIVE,
    Status.HELD,
    Status.STALE,
    Status.REVIEW,
    Status.ARCHIVED,
    Status.SUPERSEDED,
    Status.EVICTED,
    Status.TOMBSTONED,
)
"""The course of a life. Of two states of one time the later in it was made in knowledge of the
other: what ages or is collected is not said anew."""

_PLACE = {status: place for place, status in enumerate(_COURSE)}


def joined(
    here: Memory, there: Memory, *, changed_here: bool = True, changed_there: bool = True
) -> Memory:
    """Return a memory of this side in the state that both sides agree on.

    Its place in its chain stays: each store numbers versions in the order in which it came to know
    them.

    Args:
        here: As it stands on this side.
        there: As it stands on the other.
        changed_here: Whether it was changed here since both were known to be the same.
        changed_there: Whether it was changed there since.
    """
    if changed_here is changed_there:
        other_counts = _lateness(there) > _lateness(here)
    else:
        other_counts = changed_there
    chosen = in_state_of(here, there) if other_counts else here
    reads = [at for at in (here.last_accessed_at, there.last_accessed_at) if at is not None]
    return replace(chosen, last_accessed_at=max(reads, default=None))


def in_state_of(here: Memory, there: Memory) -> Memory:
    """Return a memory of this side with every mutable attribute as another side has it, but for
    what is this side's own: its times of knowing, and how many versions it knows.
    """
    return replace(
        here,
        status=there.status,
        source=there.source,
        trust=there.trust,
        importance=there.importance,
        pinned=there.pinned,
        confidence=there.confidence,
        tags=there.tags,
        superseded_by=there.superseded_by,
        last_accessed_at=there.last_accessed_at,
        updated_at=there.updated_at,
        soft_expires_at=there.soft_expires_at,
        hard_expires_at=there.hard_expires_at,
        verified_at=there.verified_at,
        valid_to=there.valid_to,
    )


def is_same_state(one: Memory, other: Memory) -> bool:
    """Whether two sides have a memory in the same state."""
    return _packed(one) == _packed(other)


def _packed(memory: Memory) -> bytes:
    return encode_state(replace(memory, versions=1))


def _lateness(memory: Memory) -> tuple[datetime, int, datetime, bytes]:
    verified = memory.verified_at or EPOCH
    # The last tells apart what nothing else does: both sides must choose the same.
    read_or_not = replace(memory, last_accessed_at=None)
    return (memory.updated_at, _PLACE[memory.status], verified, _packed(read_or_not))


class Contest(NamedTuple):
    """Memories of which one stands.

    Attributes:
        about: ``chain``, ``key``, ``turn``, ``slot`` or ``text``.
        winner: What stands.
        losers: What gives way, in its new state.
    """

    about: str
    winner: Memory
    losers: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which memory was written in knowledge of which.

    Attributes:
        supersedes: From the id of a version to the id of the one that it replaced.
    """

    supersedes: Mapping[str, str | None]

    def ancestors(self, id: str) -> set[str]:
        """Return the ids of all that a version has replaced, at once or by way of others."""
        found: set[str] = set()
        before = self.supersedes.get(id)
        while before is not None and before not in found:
            found.add(before)
            before = self.supersedes.get(before)
        return found


def settled(
    memories: Iterable[Memory], lineage: Lineage, functional: frozenset[str] = frozenset()
) -> tuple[Contest, ...]:
    """Return what has to give way among memories of one owner so that at most one stands of each
    chain, key, verbatim turn, functional slot and unkeyed text.

    Args:
        memories: Those that may meet; only live ones count.
        lineage: Of them and of what they replaced.
        functional: Predicates of which a subject has one value, in normal form.
    """
    standing = {memory.id: memory for memory in memories if memory.status.is_live}
    contests: list[Contest] = []
    for about, name_of in _names(functional).items():
        groups: dict[Hashable, list[Memory]] = {}
        for memory in standing.values():
            if (name := name_of(memory)) is not None:
                groups.setdefault(name, []).append(memory)
        for group in groups.values():
            if len(group) > 1 and not (about == "slot" and all(m.key is not None for m in group)):
                contest = _contest(about, group, lineage)
                contests.append(contest)
                for loser in contest.losers:
                    del standing[loser.id]
    return tuple(contests)


def _contest(about: str, group: Sequence[Memory], lineage: Lineage) -> Contest:
    replaced = {id for memory in group for id in lineage.ancestors(memory.id)}
    winner = max((m for m in group if m.id not in replaced), key=strength)
    losers = sorted((m for m in group if m.id != winner.id), key=lambda memory: memory.id)
    return Contest(about, winner, tuple(gave_way(loser, winner) for loser in losers))


def strength(memory: Memory) -> tuple[bool, bool, float, datetime, str]:
    """Return by what one of several is believed; greater is stronger."""
    return (
        memory.source.is_correction,
        memory.trust is not Trust.EXTERNAL,
        round(memory.confidence, 9),
        memory.updated_at,
        memory.id,
    )


def gave_way(loser: Memory, winner: Memory) -> Memory:
    """Return the state of a memory that gave way to one that came by an exchange.

    When it was last said stays as it was, so that whoever works this out again comes to the same.
    """
    began = loser.valid_from or EPOCH
    return replace(
        loser,
        status=Status.SUPERSEDED,
        superseded_by=winner.id,
        valid_to=began if winner.valid_from is None else max(began, winner.valid_from),
    )


def _names(functional: frozenset[str]) -> Mapping[str, Callable[[Memory], Hashable | None]]:
    """Return by what memories meet, in the order in which it is looked at."""

    def slot(memory: Memory) -> Hashable | None:
        if memory.triple is None or _turn(memory) is not None:
            return None
        predicate = normalise(memory.triple.predicate)
        if predicate not in functional:
            return None
        return memory.place, memory.kind, normalise(memory.triple.subject), predicate

    return {
        "chain": lambda memory: memory.root,
        "key": lambda memory: None if memory.key is None else (memory.place, memory.key),
        "turn": _turn,
        "slot": slot,
        "text": _text,
    }


def _turn(memory: Memory) -> Hashable | None:
    origin = memory.origin
    is_turn = memory.kind is Kind.EPISODIC and memory.category == TURN_CATEGORY
    if not is_turn or origin.session is None or origin.turn is None:
        return None
    return memory.place, origin.session, origin.turn


def _text(memory: Memory) -> Hashable | None:
    if memory.key is not None or _turn(memory) is not None:
        return None
    return memory.place, memory.kind, memory.content_hash
