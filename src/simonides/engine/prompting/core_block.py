"""The core block: what stands at the top of every digest, whatever was asked.

Standing rules, constraints and guards, what endangers somebody if it is overlooked, the name to
call, and the language and tone to answer in. Only what the user or the system said gets in. A
reply to a tool call has no core block.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from simonides.domain.memory import Importance, Record
from simonides.domain.reading.filters import Filter, OneOf
from simonides.domain.trust import Trust
from simonides.text import patterns

TRUSTED = (Trust.USER, Trust.SYSTEM)
"""Who may put a line into every prompt."""

RULES = ("constraint", "rule", "guard")
"""Categories of standing instructions."""

ADDRESS = ("name", "preferred_name", "nickname", "pronouns")
"""Keys that say how to call the user."""

MANNER = ("language", "response_language", "response_style", "response_length", "tone")
"""Keys that say how to answer."""

DANGERS = ("allergies", "allergy", "medication", "medications", "medical_condition")
"""Keys of facts that endanger somebody if they are overlooked."""

_KEYS = frozenset((*ADDRESS, *MANNER, *DANGERS))

FACT = "entity_fact"
"""Category of facts about the user; those of high importance are dangers."""

_PROHIBITION = (
    r"\b(?:never|not|don'?t|mustn'?t|no|without|avoid|stop|niemals?|nie|nicht|kein\w*|nunca|jam[aá]is"
    r"|não|mai|non|nooit|niet|geen|никогда|нельзя|не)\b|不要|别|勿|绝不|決して|しないで|禁止"
)


CANDIDATES: tuple[Filter, ...] = (
    OneOf("category", RULES),
    OneOf("importance", (Importance.HIGH, Importance.CRITICAL)),
    OneOf("key", tuple(sorted(_KEYS))),
)
"""Conditions of which the index checks that one holds; :func:`is_core` decides, and pinned ones are
candidates of every digest.
"""


def is_core(record: Record) -> bool:
    """Whether a memory belongs into the core block."""
    named = record.key in _KEYS
    marked = record.pinned or record.importance is Importance.CRITICAL
    return record.trust in TRUSTED and (
        record.category in RULES or named or marked or is_danger(record)
    )


def is_danger(record: Record) -> bool:
    """Whether somebody is in danger if it is overlooked: an allergy, a medication."""
    is_grave = record.category == FACT and record.importance is not Importance.NORMAL
    return record.key in DANGERS or is_grave


def is_prohibition(record: Record) -> bool:
    """Whether it forbids something."""
    if record.category not in RULES:
        return False
    found = patterns.compile(_PROHIBITION, ignore_case=True).search(record.content)
    return record.category == "guard" or found is not None


def is_never_cut(record: Record) -> bool:
    """Whether it is shown although the budget of the block is used up."""
    return is_danger(record) or is_prohibition(record)


def in_order(records: Iterable[Record]) -> list[Record]:
    """Return memories of the block in their order: what is never cut, what else is hard, other
    rules, how to call the user, how to answer; older before newer.
    """

    def place(record: Record) -> tuple[int, datetime, str]:
        if is_never_cut(record):
            rank = 0
        elif record.pinned or record.importance is Importance.CRITICAL:
            rank = 1
        elif record.category in RULES:
            rank = 2
        else:
            rank = 3 if record.key in ADDRESS else 4
        return rank, record.created_at, record.id

    return sorted(records, key=place)
