"""Detects that an owner was erased after the caller read it, by its incarnation id.

A late write is then refused. A store draws a new incarnation with every erasure. An owner that was
never written has no incarnation to compare. For such an owner the epoch decides, or else the record
of an erasure in the trail.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from simonides.domain.event import CHAIN_START, EventType, Link
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Head
from simonides.domain.writing.decision import Outcome, OutcomeKind
from simonides.ports import MemoryStore

PAGE = 200
"""Links per page in the search for the record of an erasure; chosen."""

ERASED_SINCE = Outcome(OutcomeKind.BLOCKED, reasons=("erased_since",))
"""Outcome of a write that was prepared before its owner was erased; nothing of it is stored."""


class Incarnation(NamedTuple):
    """An owner's incarnation at the time of a statement.

    Attributes:
        owner: The owner.
        incarnation: From the owner's head; None for an owner never written.
    """

    owner: Scope
    incarnation: bytes | None

    def may_be_over(self, head: Head | None) -> bool:
        """Whether the owner may have been erased by the time of ``head``.

        The answer is certain if the incarnation is known. A new owner may have been erased if its
        epoch is above 0.
        """
        if self.incarnation is None:
            return head is not None and head.epoch > 0
        return head is None or head.incarnation != self.incarnation


async def life_of(store: MemoryStore, owner: Scope) -> Incarnation:
    """Return the current incarnation of an owner.

    Raises:
        StoreError: If the store failed.
    """
    (head,) = await store.heads([owner])
    return Incarnation(owner, None if head is None else head.incarnation)


async def going_on(store: MemoryStore, life: Incarnation) -> Incarnation | None:
    """Return the current incarnation if ``life`` was of a new owner that was never erased, else
    None.
    """
    if life.incarnation is not None:
        return None
    # This order matters: an erasure in between is on record, or changes the incarnation.
    now = await life_of(store, life.owner)
    return now if await last_erasure(store, life.owner) is None else None


async def last_erasure(store: MemoryStore, subject: Scope) -> tuple[bytes, Link] | None:
    """Return the MAC before the link of a subject's last erasure, and that link; None without one.

    Raises:
        StoreError: If the store failed.
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
