"""How two statements stand to each other where both claim to hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from simonides.domain.memory import Memory
from simonides.domain.policy.gates import Shape
from simonides.domain.value import Value
from simonides.domain.writing.decision import Candidate


class Relation(StrEnum):
    """What the newer of two statements does to the older one.

    ``contradiction``: both cannot be true, and nothing says that anything has changed. ``update``:
    the newer says how things stand since. ``same``: it only says the older again, in other words;
    rules that know so call it a repetition, only a model says it. ``neither``: both may hold side
    by side.
    """

    CONTRADICTION = "contradiction"
    UPDATE = "update"
    SAME = "same"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Verdict(Value):
    """What a judge says of two statements, an older and a newer one.

    Attributes:
        relation: The answer.
        rule: What decided, for example ``slot:residence``; empty for neither.
    """

    relation: Relation
    rule: str = ""

    @property
    def reason(self) -> str:
        """What an outcome and an event call it."""
        return f"{self.relation}:{self.rule}"


NEITHER = Verdict(Relation.NEITHER)
"""Both may hold."""


class Pair(NamedTuple):
    """Two statements that both stand, near in meaning, of which no rule says anything.

    Attributes:
        older: What was recorded first.
        newer: What was recorded later.
    """

    older: Memory
    newer: Memory


class Opposed(NamedTuple):
    """What stands against a newcomer.

    Attributes:
        verdict: Of the first of them.
        rivals: Never empty; the nearest first. Of an update there may be several, which give way
            together.
    """

    verdict: Verdict
    rivals: tuple[Memory, ...]


OppositionLook: TypeAlias = Callable[[Candidate, Shape, Memory | None], Opposed | None]
"""Finds what stands against free text, or None; the third is a memory of the same words, which a
gate has met already."""
