"""What long-term memory tells repetition, conflict and news apart by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules(Value):
    """Thresholds of the gates and of conflict resolution.

    Attributes:
        near_text: Jaccard index of the words of two texts from which on they may be one statement.
        near_meaning: Cosine of two embeddings above which their texts may be.
        no_news: Jaccard index above which an inferred text that adds nothing is dropped.
        confidence_gap: From so much on, the more confident of two values is believed.
    """

    near_text: float = 0.85
    near_meaning: float = 0.95
    no_news: float = 0.5
    confidence_gap: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRules(Value):
    """Which predicates hold one value and which several; compared in normal form.

    Attributes:
        functional: A subject has one value at a time.
        multi_valued: A subject has any number of values; another one never contradicts.
    """

    functional: frozenset[str] = frozenset()
    multi_valued: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LongTermRules(Value):
    """Everything that long-term memory decides by; policy gives it."""

    gates: GateRules = field(default_factory=GateRules)
    slots: SlotRules = field(default_factory=SlotRules)


class Shape(NamedTuple):
    """What a text is compared with others by, made of its index entry; who hands it on need not
    know what is in it.

    Attributes:
        spot: Stands for the place and kind within which it is compared.
        firm: A mixture of its firm terms, those for which no other word stands; 0 without any.
        terms: Numbers of its distinct terms.
        vector: int8 components of its embedding, empty where there is none.
    """

    spot: int
    firm: int
    terms: frozenset[int]
    vector: bytes


class Need(NamedTuple):
    """Which words a text must have to be worth comparing with another; by numbers of terms.

    Attributes:
        terms: What both are about.
        least: How many of them it must have.
        one_of: Of these it must have one besides; empty asks for none.
        above: Least cosine to the other text; below 0 it may have none at all.
    """

    terms: frozenset[int]
    least: int
    one_of: frozenset[int] = frozenset()
    above: float = -1.0
