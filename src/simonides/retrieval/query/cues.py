"""Signals for what a question asks besides its words: speaker, time, number.

Each signal is 0 to 1 for every row. The word lists are in :mod:`simonides.text.questions.intent`;
the marks of a row are in its index entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.domain.codecs.memory import NEVER
from simonides.retrieval.index.entry import VERBATIM, tag
from simonides.retrieval.query.pool import Bools, Floats, Pool
from simonides.text import analyse, term_id
from simonides.text.questions import Ago, Mark, Question, SaidDate

USER = tag("user")
"""Tag of the speaker that chat transcripts call the user."""

MONTH_ONLY = 0.5
"""Score of a row of the right month where a question names a day; the day itself scores 1."""


HALF_WAY_BACK = 0.2
"""Share of newer rows at which recency is one half."""


SLACK_DAYS = {"day": (1.0, 1.5), "week": (7.0, 5.0), "month": (30.4, 20.0)}
"""Length of a unit and tolerance of a time given in it, both in days; chosen."""
DAY_US = 86_400_000_000


class _Dates(NamedTuple):
    """Calendar dates of the rows, in UTC: months since 1970 and days of the month."""

    month: NDArray[np.int64]
    day: NDArray[np.int64]


def said_by(pool: Pool, question: Question, terms: Sequence[int]) -> Floats | None:
    """Return 1 for rows said by the people the question is about; None where that selects nothing.

    The question is about the speakers it names, or about the user if it is in the first person. A
    row without a speaker counts if it holds such a name, or if the question is about the user.

    Args:
        pool: Visible rows.
        question: The parsed question.
        terms: Ids of the query's distinct terms.
    """
    names = pool.cached(_speakers)
    if len(names) < 2:
        return None
    asked = set(terms)
    about = [speaker for speaker, own in names.items() if own & asked]
    if not about and question.of_self and USER in names:
        about = [USER]
    if not about or len(about) == len(names):
        return None
    speakers = pool.cached(_tags)
    by = speakers == np.uint64(about[0])
    for other in about[1:]:
        by |= speakers == np.uint64(other)
    if pool.cached(_has_nameless):
        nameless = speakers == 0
        if about != [USER]:
            held = [term for speaker in about for term in sorted(names[speaker] & asked)]
            nameless &= _holding(pool, held)
        by |= nameless
    return np.asarray(by, np.float64)


def name_terms(pool: Pool) -> frozenset[int]:
    """Return the terms of all speakers' names."""
    return pool.cached(_name_terms)


def own_words(pool: Pool, question: Question) -> Floats | None:
    """Return 1 for turns in the first person and for rows that are not turns.

    None where the question itself is in the first person, because its answer need not be. None also
    where all rows score 1: the signal would then distinguish nothing.
    """
    if question.of_self or not pool.has_turns:
        return None
    found = pool.cached(_of_self)
    return None if found.all() else found


def own_reasons(pool: Pool) -> Floats:
    """Return 1 for rows in which a speaker gives own reasons or aims, and asks nothing."""
    return pool.cached(_of_own_reasons)


def marked(pool: Pool, mark: Mark) -> Floats:
    """Return 1 for rows that have a mark."""
    return pool.cached(_marked, mark)


def dated(pool: Pool, dates: Sequence[SaidDate]) -> Floats:
    """Return how well the date of each row fits the best of some dates.

    1 for the same or an adjacent day, :data:`MONTH_ONLY` for the same month.
    """
    fit = np.zeros(len(pool))
    if not len(pool):
        return fit
    rows = pool.cached(_dates)
    for said in dates:
        of_year = rows.month % 12 == said.month - 1
        if said.year is not None:
            of_year = rows.month == (said.year - 1970) * 12 + said.month - 1
        close = of_year & (np.abs(rows.day - (said.day or -9)) <= 1)
        fit = np.maximum(fit, np.where(close, 1.0, np.where(of_year, MONTH_ONLY, 0.0)))
    return fit


def said_ago(pool: Pool, ago: Ago, now_us: int) -> Floats:
    """Return 1 for rows said about that long before the clock, else 0.

    People give such times roughly, so :data:`SLACK_DAYS` is the tolerance. "A year ago" matches any
    day of that calendar year.
    """
    said = pool.cached(said_at)
    if ago.unit == "year":
        year = np.int64(now_us).astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64)
        years = said.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64)
        return np.asarray(years == year - ago.many, np.float64)
    length, slack = SLACK_DAYS[ago.unit]
    off = np.abs((now_us - said) / DAY_US - ago.many * length)
    return np.asarray(off <= slack, np.float64)


def recent(pool: Pool) -> Floats:
    """Return recency by rank: 1 for the newest row, 0.5 where a fifth of all rows are newer."""
    return pool.cached(_recent)


def said_at(pool: Pool) -> NDArray[np.int64]:
    """Return the time each row was said, or else recorded, µs."""
    since = pool.entry["valid_from"]
    return np.where(since == NEVER, pool.entry["created"], since)


def _speakers(pool: Pool) -> dict[int, frozenset[int]]:
    if not len(pool):
        return {}
    tags, places = np.unique(pool.entry["speaker"], return_index=True)
    named = [(tag, at) for tag, at in zip(tags.tolist(), places.tolist(), strict=True) if tag]
    return {tag: frozenset(map(term_id, analyse(_name(pool, at)))) for tag, at in named}


def _name_terms(pool: Pool) -> frozenset[int]:
    return frozenset().union(*pool.cached(_speakers).values())


def _name(pool: Pool, slot: int) -> str:
    return pool.memory(slot).speaker or ""


def _tags(pool: Pool) -> NDArray[np.uint64]:
    return np.ascontiguousarray(pool.entry["speaker"])


def _has_nameless(pool: Pool) -> bool:
    return bool((pool.entry["speaker"] == 0).any())


def _holding(pool: Pool, terms: Sequence[int]) -> Bools:
    held = np.zeros(len(pool), np.bool_)
    held[pool.postings(terms).slots] = True
    return held


def _of_self(pool: Pool) -> Floats:
    marks = pool.entry["marks"]
    return np.asarray((marks & VERBATIM == 0) | (marks & Mark.SELF != 0), np.float64)


def _of_own_reasons(pool: Pool) -> Floats:
    marks, own = pool.entry["marks"], Mark.SELF | Mark.WHY
    return np.asarray((marks & (own | Mark.ASKS)) == own, np.float64)


def _marked(pool: Pool, mark: Mark) -> Floats:
    if not len(pool):
        return np.zeros(0)
    return np.asarray((pool.entry["marks"] & mark) != 0, np.float64)


def _recent(pool: Pool) -> Floats:
    if not len(pool):
        return np.zeros(0)
    said = pool.cached(said_at)
    later = len(pool) - np.sort(said).searchsorted(said, "right")
    return np.exp2(-later / (HALF_WAY_BACK * max(len(pool), 1)))


def _dates(pool: Pool) -> _Dates:
    moments = pool.cached(said_at).astype("datetime64[us]")
    months = moments.astype("datetime64[M]")
    days = (moments.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64)
    return _Dates(months.astype(np.int64), days + 1)
