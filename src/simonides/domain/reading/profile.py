"""A user's standing facts and rules, by slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simonides.domain.memory import Record
from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class Profile(Value):
    """What is known of a user, whatever is asked.

    Attributes:
        facts: The current memory of each key, by key; the nearest scope's where several have it.
        rules: Standing rules, constraints and guards, and what endangers somebody if it is
            overlooked, in the order of a digest's core block.
    """

    facts: Mapping[str, Record]
    rules: tuple[Record, ...] = ()

    def __str__(self) -> str:
        """One line each, with source and date."""
        lines = [f"{key} = {_told(record)}" for key, record in self.facts.items()]
        return "\n".join([*map(_told, self.rules), *lines])


def _told(record: Record) -> str:
    said = " ".join(record.content.split())
    return f"{said} ({record.source.value} {record.updated_at:%Y-%m-%d})"
