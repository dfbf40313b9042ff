"""Held candidates: proposals that wait and are never recalled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from simonides.domain.value import Value
from simonides.domain.writing.decision import Candidate

HYGIENE_HELD = "hygiene_held"
"""Prefix of the reasons that only a person's decision can release; a colon and a mark follow."""


@dataclass(frozen=True, slots=True)
class Support(Value):
    """Turns of a session that support a held candidate.

    Attributes:
        session: Its name.
        turns: Numbers of the turns, rising.
    """

    session: str
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Value):
    """A held candidate.

    Attributes:
        id: UUIDv7, the same as in its audit event.
        candidate: The proposal; ``content`` may be an attack, so show it as quoted data.
        reasons: Why it is held, ``hygiene_held:poison:override`` or ``unsupported_number``; empty
            if not on record.
        held_at: Start of the hold.
        proposed_by: The proposer's :attr:`Principal.acting`; empty if not on record.
        support: Supporting turns, by session, without the turn that it was extracted from.
    """

    id: str
    candidate: Candidate
    reasons: tuple[str, ...]
    held_at: datetime
    proposed_by: str = ""
    support: tuple[Support, ...] = ()

    @property
    def kind(self) -> Literal["held"]:
        """Tells it from a review."""
        return "held"

    @property
    def evidence(self) -> tuple[Support, ...]:
        """All supporting turns, including the turn that it was extracted from (-1 if that turn's
        number is not on record).
        """
        said = self.candidate.origin
        turns = {each.session: set(each.turns) for each in self.support}
        if said.session is not None:
            turns.setdefault(said.session, set()).add(-1 if said.turn is None else said.turn)
        return tuple(Support(name, tuple(sorted(found))) for name, found in sorted(turns.items()))

    def borne_out(self, session: str, turns: Iterable[int]) -> Held:
        """Return it with more supporting turns of a session."""
        known = {each.session: each.turns for each in self.support}
        known[session] = tuple(sorted({*known.get(session, ()), *turns}))
        return replace(self, support=tuple(Support(*each) for each in sorted(known.items())))

    @property
    def waits_for_somebody(self) -> bool:
        """Whether only a person's decision can release it."""
        return any(reason.startswith(f"{HYGIENE_HELD}:") for reason in self.reasons)

    def is_overdue(self, now: datetime, days: float | None, held_days: float | None = None) -> bool:
        """Whether it has waited too long: ``days`` for a decision, ``held_days`` for support. None
        means no limit.
        """
        limit = days if self.waits_for_somebody else held_days
        return limit is not None and now >= self.held_at + timedelta(days=limit)
