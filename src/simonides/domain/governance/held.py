"""What waits: proposals that are kept back, recalled by nobody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from simonides.domain.value import Value
from simonides.domain.writing.decision import Candidate

HYGIENE_HELD = "hygiene_held"
"""How a reason begins for which nothing but a decision lets a candidate go; a mark follows."""


@dataclass(frozen=True, slots=True)
class Support(Value):
    """Where a session bears out what is held back.

    Attributes:
        session: Its name.
        turns: Numbers of the turns, rising.
    """

    session: str
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Value):
    """A candidate that is kept back.

    Attributes:
        id: UUIDv7, as the event names it that told of it.
        candidate: What was proposed; ``content`` may be an attack, so show it as quoted data.
        reasons: Why it waits, ``hygiene_held:poison:override`` or ``unsupported_number``; empty
            where that is not on record.
        held_at: Since when.
        proposed_by: Who brought it, as :attr:`Principal.acting` calls him; empty where that is not
            on record.
        support: Turns that bear it out beside the one that it was read in, by session.
    """

    id: str
    candidate: Candidate
    reasons: tuple[str, ...]
    held_at: datetime
    proposed_by: str = ""
    support: tuple[Support, ...] = ()

    @property
    def evidence(self) -> tuple[Support, ...]:
        """Return all turns that bear it out, the one that it was read in included: -1 where its
        number is not on record.
        """
        said = self.candidate.origin
        turns = {each.session: set(each.turns) for each in self.support}
        if said.session is not None:
            turns.setdefault(said.session, set()).add(-1 if said.turn is None else said.turn)
        return tuple(Support(name, tuple(sorted(found))) for name, found in sorted(turns.items()))

    def borne_out(self, session: str, turns: Iterable[int]) -> Held:
        """Return it with more turns of a session that bear it out."""
        known = {each.session: each.turns for each in self.support}
        known[session] = tuple(sorted({*known.get(session, ()), *turns}))
        return replace(self, support=tuple(Support(*each) for each in sorted(known.items())))

    @property
    def waits_for_somebody(self) -> bool:
        """Whether only a person's decision lets it go on."""
        return any(reason.startswith(f"{HYGIENE_HELD}:") for reason in self.reasons)

    def is_overdue(self, now: datetime, days: float | None, held_days: float | None = None) -> bool:
        """Whether it waits for a decision, and nobody has made one within so many days; or for
        support, and found none within ``held_days``. None is for ever.
        """
        limit = days if self.waits_for_somebody else held_days
        return limit is not None and now >= self.held_at + timedelta(days=limit)
