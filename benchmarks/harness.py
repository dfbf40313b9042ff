"""simonides as an adapter of the product-independent retrieval evaluation.

    python bench/eval.py --set locomo --split dev --adapter bm25,benchmarks.harness:SimonidesAdapter

Every conversation is a user of its own; every item goes in through the public API as a caller
would write it, with one configuration for all sets. ``fusion`` may be given as an adapter
argument to compare modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.settings import Settings


class QuestionClock:
    """The wall time of the evaluation: the date of the question that is being asked."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def now_us(self) -> int:
        return int(self.now.timestamp() * 1_000_000)

    def monotonic(self) -> float:
        return 0.0


class SimonidesAdapter:
    def __init__(
        self, store: str = ":memory:", fusion: str = "conversational", **more: str
    ) -> None:
        self._store, self._settings = store, Settings(fusion=fusion, **more)
        self._clock = QuestionClock()
        self._opened: Store | None = None

    def reset(self) -> None:
        self.close()
        core = assemble(self._store, settings=self._settings, inline=True, clock=self._clock)
        self._opened = Store(core)

    def add(self, conv_id: str, items: Sequence[Mapping[str, Any]]) -> None:
        if items and "title" in items[0]:
            self._add_beliefs(conv_id, items)
            return
        memory = self._memory(conv_id)
        memory.remember_many([_turn(item) for item in items], atomic=False)

    def _add_beliefs(self, conv_id: str, items: Sequence[Mapping[str, Any]]) -> None:
        """Beliefs have owners and successors: each goes to the user who holds it, and a belief
        and what replaced it are versions of one key, told in the order they were held."""
        asks = items[0]["speaker"]
        successor = {item["item_id"]: item["superseded_by"] for item in items}
        for item in sorted(items, key=lambda item: item["timestamp"]):
            last = item["item_id"]
            while successor.get(last):
                last = successor[last]
            suffix = "" if item["speaker"] == asks else f".{item['speaker']}"
            self._memory(conv_id + suffix).remember_many([_belief(item, key=last)])

    def flush(self, conv_id: str) -> None:
        self._memory(conv_id).recall("warm", limit=1)

    def search(self, conv_id: str, query: str, k: int, now: str) -> list[str]:
        if now:
            asked = datetime.fromisoformat(now)
            self._clock.now = asked if asked.tzinfo else asked.replace(tzinfo=UTC)
        hits = self._memory(conv_id).recall(query, limit=k)
        return [hit.record.metadata["item_id"] for hit in hits]

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _memory(self, conv_id: str) -> Memory:
        if self._opened is None:
            self.reset()
        assert self._opened is not None
        return self._opened.memory(user=conv_id.replace("/", "_"))


MAX_BYTES = 65_536
"""A memory holds no more; a longer turn is cut, as a caller would have to."""


def _turn(item: Mapping[str, Any]) -> simonides.Draft:
    return simonides.Draft(
        item["text"].encode()[:MAX_BYTES].decode(errors="ignore"),
        kind="episodic",
        category="turn",
        session=item["session_id"],
        turn=item["turn"],
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
