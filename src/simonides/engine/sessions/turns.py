"""Reads session entries for extraction, and splits them into pieces of one turn each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from simonides.domain.conversation.session import EntryKind, Logged, Progress
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.value import from_us
from simonides.domain.writing.decision import Judgement
from simonides.engine.capture import EARLIER_TURNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A batch that is written in one turn, and the session's position after it.

    Attributes:
        judged: Judgements to store or hold.
        turns: Turns that may support held candidates.
        extracted: Number of the last entry that is complete.
        part: Number of completed parts of the next entry.
        unheard: Numbers of entries that asked not to be remembered.
        counts: Counters to add.
        retracts: Key to forget, instead of storing; None to store.
        lifted: Keys that the same entry retracts: their tombstones do not bind its other
            statements.
    """

    judged: tuple[Judgement, ...]
    turns: tuple[Turn, ...] = ()
    extracted: int
    part: int = 0
    unheard: tuple[int, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    retracts: str | None = None
    lifted: tuple[str, ...] = ()

    def after(self, progress: Progress) -> Progress:
        """Return the progress of a session after it."""
        return replace(
            progress,
            extracted=self.extracted,
            part=self.part,
            unheard=(*progress.unheard, *self.unheard),
        ).counting(**dict(self.counts))


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """An entry and what the rules found in it."""

    number: int
    turn: Turn | None = None
    judged: tuple[Judgement, ...] = ()
    unheard: bool = False

    @property
    def retracts(self) -> bool:
        """Whether the entry retracts something."""
        return any(each.candidate.retracts is not None for each in self.judged)


def turn_of_entry(logged: Logged, progress: Progress) -> Turn | None:
    """Return an entry as a turn, numbered across all runs of its session.

    Returns None for tool results and the agent's decisions: they say nothing about the user.
    """
    entry = logged.entry
    if entry.kind is not EntryKind.TURN or not entry.text.strip():
        return None
    return Turn(
        text=entry.text,
        role=entry.role,
        speaker=entry.speaker,
        session=progress.session,
        number=progress.base + logged.number,
        said_at=from_us(logged.at),
    )


def said(entries: Sequence[Logged], progress: Progress, *, upto: int) -> tuple[Turn, ...]:
    """Return the user's last turns up to an entry, oldest first."""
    read = (turn_of_entry(each, progress) for each in entries if each.number <= upto)
    users = [turn for turn in read if turn is not None and turn.role is Role.USER]
    return tuple(users[-EARLIER_TURNS:])


def pieces(read: Sequence[ReadEntry], progress: Progress) -> Iterator[Piece]:
    """Split entries into pieces, each written in one turn.

    Entries form one piece, except those with a retraction. Statements before and after a retraction
    are different turns, as when the entry is captured alone.
    """
    part = progress.part
    for retracts, run in groupby(read, key=lambda one: one.retracts):
        together = list(run)
        if retracts:
            for one in together:
                yield from _parts(one, part)
                part = 0
        else:
            yield Piece(
                judged=tuple(judgement for one in together for judgement in one.judged),
                turns=heard(together),
                extracted=together[-1].number,
                unheard=tuple(one.number for one in together if one.unheard),
                counts=_counts(together),
            )


def _parts(one: ReadEntry, done: int) -> Iterator[Piece]:
    """Split an entry at its retractions, leaving out the parts that are done."""
    groups: list[tuple[Judgement, ...]] = []
    for retracts, run in groupby(one.judged, key=_retracts):
        together = tuple(run)
        groups += [(each,) for each in together] if retracts else [together]
    for place, group in enumerate(groups[done:], start=done + 1):
        is_last = place == len(groups)
        candidate = group[0].candidate
        yield Piece(
            judged=group,
            turns=heard([one]) if is_last else (),
            extracted=one.number if is_last else one.number - 1,
            part=0 if is_last else place,
            counts=_counts([one]) if is_last else (),
            retracts=candidate.retracts,
            lifted=tuple(filter(None, (each.candidate.retracts for each in one.judged))),
        )


def _counts(read: Sequence[ReadEntry]) -> tuple[tuple[str, int], ...]:
    users = sum(one.turn is not None and one.turn.role is Role.USER for one in read)
    return (("entries", len(read)), ("user_turns", users))


def heard(read: Sequence[ReadEntry]) -> tuple[Turn, ...]:
    """Return the turns that may give support: all except those not to be remembered."""
    return tuple(one.turn for one in read if one.turn is not None and not one.unheard)


def _retracts(judgement: Judgement) -> bool:
    return judgement.candidate.retracts is not None
