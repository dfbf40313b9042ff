"""simonides as an adapter of the product-independent retrieval evaluation.

    python eval.py --set locomo --split dev --adapter benchmarks.harness:SimonidesAdapter

Every conversation is a user of its own; every item goes in through the public API as a caller would
write it, with one configuration for all sets. Settings may be given as adapter arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import simonides
from simonides.testing import ManualClock

MAX_BYTES = 65_536
"""A memory holds no more; a longer turn is cut, as a caller would have to."""


class SimonidesAdapter:
    """A store in memory, or the one that ``store`` names."""

    def __init__(self, store: str = ":memory:", **settings: Any) -> None:
        self._target, self._settings = store, simonides.Settings(**settings)
        self._clock = ManualClock()
        self._store: simonides.Store | None = None

    def reset(self) -> None:
        """Begin with an empty store."""
        self.close()
        self._store = simonides.open(self._target, settings=self._settings, clock=self._clock)

    def add(self, conv_id: str, items: Sequence[Mapping[str, Any]]) -> None:
        """Store a conversation's turns, or beliefs with an owner and a successor each."""
        if self._store is None:
            self.reset()
        if items:  # else what is written after the last question of another one expires at once
            self.set_time(max(item["timestamp"] for item in items))
        if items and "title" in items[0]:
            self._add_beliefs(conv_id, items)
        else:
            self.memory(conv_id).remember_many([_turn(item) for item in items], atomic=False)

    def _add_beliefs(self, conv_id: str, items: Sequence[Mapping[str, Any]]) -> None:
        """Give each belief to its owner; one and what replaced it are versions of one key."""
        asks = items[0]["speaker"]
        successor = {item["item_id"]: item["superseded_by"] for item in items}
        for item in sorted(items, key=lambda item: item["timestamp"]):
            last = item["item_id"]
            while successor.get(last):
                last = successor[last]
            suffix = "" if item["speaker"] == asks else f".{item['speaker']}"
            self.memory(conv_id + suffix).remember(_belief(item, key=last))

    def flush(self, conv_id: str) -> None:
        """Let the turns of large writes get their vectors."""
        assert self._store is not None
        self._store.flush()

    def search(self, conv_id: str, query: str, k: int, now: str) -> list[str]:
        """Return the ids of the best items."""
        self.set_time(now)
        hits = self.memory(conv_id).recall(query, limit=k)
        return [hit.record.metadata["item_id"] for hit in hits]

    def set_time(self, now: str) -> None:
        """Let it be a time; an empty text leaves it."""
        if now:
            asked = datetime.fromisoformat(now)
            self._clock.set(asked if asked.tzinfo else asked.replace(tzinfo=UTC))

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def memory(self, conv_id: str) -> simonides.Memory:
        """Return the memory of a conversation's user."""
        if self._store is None:
            self.reset()
        assert self._store is not None
        return self._store.memory(user=conv_id.replace("/", "_"))


def _turn(item: Mapping[str, Any]) -> simonides.Draft:
    return simonides.Draft(
        item["text"].encode()[:MAX_BYTES].decode(errors="ignore"),
        kind="episodic",
        category="turn",
        session=item["session_id"],
        position=item["turn"],
        speaker=item["speaker"],
        at=item["timestamp"],
        metadata={"item_id": item["item_id"]},
    )


def _belief(item: Mapping[str, Any], *, key: str) -> simonides.Draft:
    return simonides.Draft(
        item["text"],
        key=key,
        category="preference" if item["type"] == "preference" else "fact",
        tags=(item["title"].replace("_", " "), *item.get("aliases", ())),
        at=item["timestamp"],
        metadata={"item_id": item["item_id"]},
    )
