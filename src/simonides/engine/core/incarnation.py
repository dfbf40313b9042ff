"""Detects that an owner was erased after the caller read it, by its incarnation id. A late write is
then refused.

A store draws a new incarnation with every erasure. An owner that was never written has none to
compare with. Its epoch tells whether it was written or erased meanwhile, or else the trail, which
keeps the record of an erasure.
"""

from __future__ import annotations

import json
from typing import NamedTuple, Protocol

from simonides.domain.event import CHAIN_START, EventType, Link
from simonides.domain.scope import Scope
from simonides.domain.writing.change import (
    Change,
    Head,
    Snapshot,
    TurnRequest,
)
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.ports import MemoryStore

PAGE = 200
"""Links looked at in one go for the record of an erasure; chosen."""

ERASED_SINCE = Outcome(OutcomeKind.BLOCKED, reasons=("erased_since",))
"""What comes of storing what was said before its owner was erased; nothing is written of it."""


class Incarnation(NamedTuple):
    """An owner as it was when something was said.

    Attributes:
        owner: Who.
        incarnation: Of its head; None for one never written.
    """

    owner: Scope
    incarnation: bytes | None

    def may_be_over(self, head: Head | None) -> bool:
        """Whether another life may have begun by ``head``. It is certain where there was an
        incarnation; an owner that is new may have been erased if rows of it ever went.
        """
        if self.incarnation is None:
            return head is not None and head.epoch > 0
        return head is None or head.incarnation != self.incarnation


class LivingTurn(Protocol):
    """A turn that belongs to one life of an owner.

    Attributes:
        life: The life; None for any.
        is_over: Whether the last decision found that the life is over.
    """

    life: Incarnation | None
    is_over: bool

    @property
    def request(self) -> TurnRequest:
        """What the turn reads."""

    def decide(self, snapshot: Snapshot) -> Change | None:
        """Return what the turn writes."""

    def end(self) -> None:
        """Refuse everything: the life is over."""


async def life_of(store: MemoryStore, owner: Scope) -> Incarnation:
    """Return the life that an owner is in.

    Raises:
        StoreError: If the store could not.
    """
    (head,) = await store.heads([owner])
    return Incarnation(owner, None if head is None else head.incarnation)


async def going_on(store: MemoryStore, life: Incarnation) -> Incarnation | None:
    """Return a life that was not over, with the incarnation that it has now; None if it was."""
    if life.incarnation is not None:
        return None
    # In this order: an erasure that comes in between is on record, or changes the incarnation.
    now = await life_of(store, life.owner)
    return now if await last_erasure(store, life.owner) is None else None


async def last_erasure(store: MemoryStore, subject: Scope) -> tuple[bytes, Link] | None:
    """Return the link that records a subject's last erasure, after the code of the one before it;
    None if there was none.

    Raises:
        StoreError: If the store could not.
    """
    chain_head = await store.chain_head(subject)
    last = 0 if chain_head is None else chain_head[1]
    while last > 0:
        first = max(last - PAGE, 0)
        links = await store.links(subject, after=max(first - 1, 0), limit=PAGE + 1)
        codes = {link.seq: link.mac for link in links}
        for link in reversed(links):
            if first < link.seq <= last and _is_erasure(link):
                return codes.get(link.seq - 1, CHAIN_START), link
        last = first
    return None


def _is_erasure(link: Link) -> bool:
    return link.payload is not None and json.loads(link.payload)["type"] == EventType.ERASED
