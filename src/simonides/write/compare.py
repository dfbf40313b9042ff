"""Whether two statements say the same, or deny each other: for a newcomer and for what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from simonides.capture.wordings import class_in
from simonides.core.policy import Gates, Policy
from simonides.hygiene.contradiction import contradict, deny_each_other
from simonides.storage.rows import MemoryRow
from simonides.text.statement import are_the_same, mean_the_same, read, same_figures
from simonides.write.candidate import Candidate


class Said(NamedTuple):
    """What is compared of a statement.

    Attributes:
        content: Its text.
        hash: Of the normalised text.
        terms: Its terms in the index.
        key: The name of the fact, or None.
        source: Where it comes from.
        is_told: Whether somebody told it, as no rule and not derived from other memories.
        is_named: Whether a key or a slot names its subject.
    """

    content: str
    hash: str
    terms: Sequence[str]
    key: str | None
    source: str
    is_told: bool
    is_named: bool


def said_by(candidate: Candidate) -> Said:
    """Return what a candidate says."""
    return Said(
        candidate.content, candidate.hash, candidate.analysed.terms, candidate.key,
        candidate.source.value,
        is_told=not candidate.parents and not candidate.policy.rules(candidate.category),
        is_named=candidate.key is not None or candidate.triple is not None,
    )  # fmt: skip


def said_in(row: MemoryRow, policy: Policy) -> Said:
    """Return what a stored memory says."""
    return Said(
        row["content"], row["hash"], row["terms"].split(" "), row["key"], row["source"],
        is_told=row["parents"] is None and not policy.rules(row["category"]),
        is_named=row["subject"] is not None,
    )  # fmt: skip


def say_the_same(gates: Gates, one: Said, other: Said, cosine: float) -> str:
    """Return by what two statements are one: ``text``, ``words`` or ``meaning``; "" if they differ.

    Two names are two facts, and so are two figures.

    Args:
        gates: The thresholds.
        one: A statement.
        other: Another.
        cosine: Of their vectors; 0 without them.
    """
    if len({one.key, other.key} - {None}) > 1 or not same_figures(one.content, other.content):
        return ""
    if one.hash == other.hash:
        return "text"
    mine, theirs = read(one.content), read(other.content)
    is_close = cosine > gates.near_meaning
    if is_close and mean_the_same(mine, theirs):
        return "meaning"
    terms, others = set(one.terms), set(other.terms)
    is_near = len(terms & others) >= gates.near_text * len(terms | others)
    if (is_close or is_near) and are_the_same(mine, theirs):
        return "words" if is_near else "meaning"
    return ""


def cannot_both_hold(one: Said, other: Said) -> bool:
    """Whether two statements contradict each other; of one source they must deny each other."""
    if other.is_named:
        return False
    if one.source != other.source:
        return contradict(one.content, other.content)
    both_told = one.is_told and other.is_told
    return both_told and deny_each_other(_felt(one.content), _felt(other.content))


def _felt(text: str) -> str:
    """Return a text with one word for each liking, and one for each dislike."""
    for name in ("dislike", "like"):
        if match := class_in(name, text):
            return f"{text[: match.start()]} {name} {text[match.end() :]}"
    return text
