"""Vectorised form of the formulas of :mod:`simonides.domain.ageing`: decay, staleness, status."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simonides.domain.ageing import (
    DIGITS,
    LOSS_US,
    LOSSES,
    MONTH_US,
    STALE,
    SUMMARY_CATEGORY,
    YEAR_US,
)
from simonides.domain.codecs.memory import MINUTE_US, NEVER, STATUS_CODES, TRUST_CODES, code_of
from simonides.domain.memory import Status
from simonides.domain.trust import Trust
from simonides.retrieval.index.entry import tag

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LATEST = 2**63 - 1
"""Marks the absence of an end, µs."""

_INFERRED = code_of(TRUST_CODES, Trust.AGENT)
_ACTIVE, _REVIEW, _STALE = (
    code_of(STATUS_CODES, status) for status in (Status.ACTIVE, Status.REVIEW, Status.STALE)
)
_SUMMARY = tag(SUMMARY_CATEGORY)


def decaying(state: NDArray[np.void]) -> Bools:
    """Return which rows lose confidence with time."""
    return np.asarray((state["trust"] == _INFERRED) & (state["verified"] == NEVER))


def confidence(entry: NDArray[np.void], state: NDArray[np.void], now_us: int) -> Floats:
    """Return the decayed confidence of each row."""
    given = state["confidence"]
    lost = np.maximum(now_us - entry["created"], 0) // LOSS_US
    left = np.rint((given - lost / LOSSES) * DIGITS) / DIGITS
    return np.where(decaying(state) & (lost > 0), np.maximum(left, 0.0), given)


def stale_from(state: NDArray[np.void]) -> Ints:
    """Return the time from which each row counts as stale, µs."""
    start, ends = state["updated"], state["hard"]
    span = np.where(ends == NEVER, YEAR_US, np.maximum(ends - start, 0))
    contradicted = state["status"] == _REVIEW
    unread, read = (
        np.where(contradicted, *ages) for ages in zip(STALE[True], STALE[False], strict=True)
    )
    last = np.where(state["read"] == 0, NEVER, state["read"] * np.int64(MINUTE_US) + MONTH_US)
    since = np.maximum(start + _part(unread, span), last)
    since = np.where(read <= 1.0, np.minimum(since, start + _part(read, span)), since)
    return np.where(state["timeless"] != 0, LATEST, since)


def _part(share: Floats, span: Ints) -> Ints:
    return np.ceil(share * span).astype(np.int64)


def weak_from(state: NDArray[np.void]) -> Ints:
    """Return the time from which each row counts half, µs: stale or past its soft expiry."""
    soft = np.where(state["soft"] == NEVER, LATEST, state["soft"])
    return np.where(state["status"] == _STALE, NEVER, np.minimum(soft, stale_from(state)))


def status(state: NDArray[np.void], now_us: int, endures: Bools | None = None) -> NDArray[np.uint8]:
    """Return the status code that readers see, for each live row.

    Args:
        state: The rows.
        now_us: The clock.
        endures: Which rows do not expire; None for none.
    """
    found: NDArray[np.uint8] = state["status"]
    ages = found == _ACTIVE
    if endures is not None:
        ages &= ~endures
    soft = ages & (state["soft"] != NEVER) & (state["soft"] <= now_us)
    stale = ages & (stale_from(state) <= now_us)
    return np.where(soft, _REVIEW, np.where(stale, _STALE, found)).astype(np.uint8)


def summaries(entry: NDArray[np.void], state: NDArray[np.void]) -> Ints:
    """Return the places of the session summaries without a hard expiry."""
    found = (entry["category"] == _SUMMARY) & (state["hard"] == NEVER)
    return np.flatnonzero(found)
