"""Retry rules for model endpoints: which statuses are transient, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

DEFAULT_BASE_URL = "https://api.openai.com/v1"

BACKOFF_BASE_S = 0.5
BACKOFF_CAP_S = 8.0
"""The wait before retry n is uniform below ``min(cap, base · 2ⁿ)`` ("full jitter", Brooker 2015);
base and cap as in the vendor's SDK."""

_TRANSIENT = frozenset({408, 409, 429})
_REFUSALS = {401: "credentials refused", 403: "access refused", 404: "unknown model or path"}


def is_transient(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status in _TRANSIENT or status >= 500


def why_refused(status: int) -> str:
    """Return in words what a non-transient status means."""
    return _REFUSALS.get(status, "request refused")


def longest_wait_s(attempt: int) -> float:
    """Return the longest wait after a failed attempt, counted from 0, in seconds."""
    return min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2.0**attempt)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a server requests, in seconds or as an HTTP date; None without one."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value)) if value and float(value) < float("inf") else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
