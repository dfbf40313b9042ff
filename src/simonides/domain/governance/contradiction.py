"""The relation between two statements that both claim to be current."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from simonides.domain.memory import Record
from simonides.domain.policy.gates import Shape
from simonides.domain.value import Value
from simonides.domain.writing.decision import Candidate


class Relation(StrEnum):
    """Relation of the newer of two statements to the older one.

    ``contradiction``: both cannot be true, and no change over time is stated. ``update``: the newer
    gives the later state. ``same``: the newer paraphrases the older; only a model answers this,
    because rules treat it as a repetition. ``neither``: both may be true.
    """

    CONTRADICTION = "contradiction"
    UPDATE = "update"
    SAME = "same"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Verdict(Value):
    """A judge's answer about an older and a newer statement.

    Attributes:
        relation: The answer.
        rule: The deciding rule, for example ``slot:residence``; empty for ``neither``.
    """

    relation: Relation
    rule: str = ""

    @property
    def reason(self) -> str:
        """Its reason code in outcomes and events."""
        return f"{self.relation}:{self.rule}"


NEITHER = Verdict(Relation.NEITHER)
"""Both may be true."""


class Pair(NamedTuple):
    """Two live statements, near in meaning, on which no rule decides.

    Attributes:
        older: The one recorded first.
        newer: The one recorded later.
    """

    older: Record
    newer: Record


class Opposed(NamedTuple):
    """Stored memories that conflict with a candidate.

    Attributes:
        verdict: Verdict on the first of them.
        rivals: Conflicting memories, nearest first; never empty. An update may supersede several
            together.
    """

    verdict: Verdict
    rivals: tuple[Record, ...]


OppositionLook: TypeAlias = Callable[[Candidate, Shape, Record | None], Opposed | None]
"""Finds conflicts with free text, or None; the third argument is a memory with the same words that
a gate has already found."""
