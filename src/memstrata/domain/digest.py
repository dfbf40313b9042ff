"""What a digest is, and what checking an answer against its receipt finds (DI, FX-4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memstrata.domain.budgets import Section
from memstrata.domain.memory import Memory
from memstrata.domain.receipt import Receipt
from memstrata.domain.value import Value


class Made(StrEnum):
    """How a digest came about.

    ``live`` was asked for now. ``ranked`` is a receipt's, found by ranking again at its clocks:
    the same bytes. ``rendered`` is a receipt's too, written from the ids and versions that it
    names, because what ranked then is no longer there.
    """

    LIVE = "live"
    RANKED = "ranked"
    RENDERED = "rendered"


@dataclass(frozen=True, slots=True)
class DigestItem(Value):
    """One line of a digest.

    Attributes:
        memory: The record.
        section: The part that it stands in.
        score: As in :class:`~memstrata.Hit`.
        line: As it stands in the text.
        truncated: Whether its content was cut; the line carries the mark ``…`` then.
    """

    memory: Memory
    section: Section
    score: float
    line: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class Digest(Value):
    """The block of memories for a prompt.

    Attributes:
        text: The whole block, title included; an empty digest says so, one that is switched off
            is the empty text.
        items: Its lines, in their order.
        receipt: What was chosen, what was not, and why.
        made: How it came about.
    """

    text: str
    items: tuple[DigestItem, ...]
    receipt: Receipt
    made: Made = Made.LIVE

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Verification(Value):
    """Whether what an answer cites was shown (FX-4).

    Attributes:
        cited: Ids of memories that the answer names, in their order.
        unshown: Those, and names given as keys, that the receipt does not show.
        mismatched: Those whose version is another than the receipt says.
        gone: Those that cannot be looked up any more: forgotten, or never there.
        superseded: Those that were shown and have given way to a newer version since; no fault of
            the answer.
    """

    cited: tuple[str, ...]
    unshown: tuple[str, ...] = ()
    mismatched: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all that is cited was shown, as it was shown."""
        return not (self.unshown or self.mismatched or self.gone)
