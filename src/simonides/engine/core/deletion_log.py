"""Reads an owner's audit trail for forgotten memories, for forgetting and for sync."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from simonides.domain.event import EventType
from simonides.domain.scope import Scope
from simonides.engine.core.tombstones import SAID_ANEW
from simonides.ports import MemoryStore

BY_KEY = "keys"
"""Detail of an event: whether the key of a forgotten memory is blocked too."""


class Told(NamedTuple):
    """The fields of one event, beside the ids of memories.

    Attributes:
        seq: Sequence number in the chain.
        scope: Path of its scope.
        key: Key that it names, or None.
        subjects: Ids that it names.
    """

    seq: int
    scope: str
    key: str | None
    subjects: frozenset[str]

    @classmethod
    def of(cls, seq: int, event: Mapping[str, Any]) -> Told:
        """Read an event."""
        key = event["details"].get("key")
        return cls(seq, event["scope"], key, frozenset(event["subjects"]))


class Trail:
    """Memories forgotten and stated again later, as far as the chain was read.

    Attributes:
        forgotten: Whether the key is blocked too, by the id of each forgotten memory.
        anew: Ids of forgotten memories that a caller stated again.
        erased: Reasons of the owner's last erasure, by its sequence number. An erasure also erases
            the earlier events.
        seq: Last sequence number that was read.
    """

    def __init__(self, store: MemoryStore, owner: Scope, after: int = 0) -> None:
        self._store = store
        self._owner = owner
        self.seq = after
        self.forgotten: dict[str, bool] = {}
        self.anew: set[str] = set()
        self.erased: dict[int, tuple[str, ...]] = {}

    async def follow(self) -> None:
        """Read on to the end of the chain.

        Raises:
            StoreError: If it cannot be read.
        """
        while links := await self._store.links(self._owner, after=self.seq):
            for link in links:
                if link.payload is not None:
                    self._take(link.seq, json.loads(link.payload))
            self.seq = links[-1].seq

    def _take(self, seq: int, event: dict[str, Any]) -> None:
        subjects, reasons = event["subjects"], event["reasons"]
        if event["type"] == EventType.FORGOTTEN:
            by_key = bool(event["details"].get(BY_KEY))
            for id in subjects:
                self.forgotten[id] = by_key or self.forgotten.get(id, False)
        elif event["type"] == EventType.ERASED:
            self.erased[seq] = tuple(reasons)
        if SAID_ANEW in reasons:
            self.anew.update(subjects)
