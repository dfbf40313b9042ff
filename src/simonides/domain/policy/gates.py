"""Rules by which long-term memory distinguishes repetition, conflict and new facts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules(Value):
    """Thresholds of the gates and of conflict resolution.

    Attributes:
        near_text: Least Jaccard index of two texts' words at which they may be one statement.
        near_meaning: Cosine of two embeddings above which their texts may be one statement.
        no_news: Jaccard index above which an inferred text that adds nothing is dropped.
        confidence_gap: Least difference at which the more confident of two values wins.
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
    """The policy's rules for long-term memory."""

    gates: GateRules = field(default_factory=GateRules)
    slots: SlotRules = field(default_factory=SlotRules)


class Shape(NamedTuple):
    """Features of a text for comparison with others, made from its index entry; opaque to callers.

    Attributes:
        spot: Hash of the place and kind within which it is compared.
        firm: Combined hash of its firm terms, those without synonyms; 0 without any.
        terms: Numbers of its distinct terms.
        vector: int8 components of its embedding, empty without one.
    """

    spot: int
    firm: int
    terms: frozenset[int]
    vector: bytes


class Need(NamedTuple):
    """Terms that a text must have to be a candidate for comparison; by numbers of terms.

    Attributes:
        terms: Shared topic terms.
        least: Least number of ``terms`` that the text must have.
        one_of: Terms of which it must also have at least one; empty for no such condition.
        above: Least cosine to the other text; below 0 the text needs no vector.
    """

    terms: frozenset[int]
    least: int
    one_of: frozenset[int] = frozenset()
    above: float = -1.0
