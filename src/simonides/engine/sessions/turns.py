"""Entries of a session as extraction takes them: read, and cut into what is one turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from simonides.domain.conversation.session import EntryKind, Logged, Progress
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.value import from_us
from simonides.domain.writing.decision import Judgement
from simonides.engine.capture.capture import EARLIER_TURNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What is written in one turn, and how much further the session is then.

    Attributes:
        judged: What is stored or held.
        turns: Turns that may bear out what is held.
        extracted: The last entry that is done with.
        part: How much of the one behind it is done.
        unheard: Entries that asked not to be remembered.
        counts: What is counted.
        retracts: What is forgotten instead, before.
        lifted: Keys that the same entry has forgotten: that does not bind what it says of them.
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
        """Return where a session stands after it."""
        return replace(
            progress,
            extracted=self.extracted,
            part=self.part,
            unheard=(*progress.unheard, *self.unheard),
        ).counting(**dict(self.counts))


@dataclass(frozen=True, slots=True)
class Read:
    """An entry and what the rules made of it."""

    number: int
    turn: Turn | None = None
    judged: tuple[Judgement, ...] = ()
    unheard: bool = False

    @property
    def retracts(self) -> bool:
        """Whether something is to be forgotten."""
        return any(each.candidate.retracts is not None for each in self.judged)


def turn_of_entry(logged: Logged, progress: Progress) -> Turn | None:
    """Return an entry as capture sees it, numbered over all runs of its session; None for what is
    no turn: a tool's results and the agent's decisions say nothing about the user.
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


def pieces(read: Sequence[Read], progress: Progress) -> Iterator[Piece]:
    """Cut entries into what is written in one turn each.

    All of them are one, but for entries that have something forgotten: what stands before and
    behind that is of another turn, as when it is captured alone.
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


def _parts(one: Read, done: int) -> Iterator[Piece]:
    """Cut an entry at what it has forgotten; what was done of it before is left out."""
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


def _counts(read: Sequence[Read]) -> tuple[tuple[str, int], ...]:
    users = sum(one.turn is not None and one.turn.role is Role.USER for one in read)
    return (("entries", len(read)), ("user_turns", users))


def heard(read: Sequence[Read]) -> tuple[Turn, ...]:
    """Return the turns that may bear something out: all but those not to be remembered."""
    return tuple(one.turn for one in read if one.turn is not None and not one.unheard)


def _retracts(judgement: Judgement) -> bool:
    return judgement.candidate.retracts is not None
