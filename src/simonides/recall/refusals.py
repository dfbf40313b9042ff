"""What an owner does not want to have remembered, as the index and the write rules see it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from simonides.storage import statements
from simonides.storage.database import Connection
from simonides.text.topics import Topic, topic_of


@dataclass(frozen=True)
class Refusal:
    """What an owner does not want to have remembered.

    Attributes:
        kind: ``key``, ``category`` or ``topic``.
        value: The key, the category or the topic's words.
        topic: The topic, or None.
    """

    kind: str
    value: str
    topic: Topic | None

    def covers(
        self, key: str | None, category: str, terms: Iterable[str], worth: Callable[[str], float]
    ) -> bool:
        """Whether it covers a memory of a key, a category and index terms."""
        if self.topic is not None:
            return self.topic.covers(terms, worth)
        return self.value == (key if self.kind == "key" else category)


def refusals_of(connection: Connection, owner: str) -> tuple[Refusal, ...]:
    """Return what an owner does not want to have remembered."""
    found = []
    for _, kind, value, _, names in connection.rows(statements.REFUSALS, {"owner": owner}):
        topic = replace(topic_of(value), names=frozenset(json.loads(names)))
        found.append(Refusal(kind, value, topic if kind == "topic" else None))
    return tuple(found)
