"""When an endpoint of a model is asked again, after how long, and what a refusal means (LM-1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

DEFAULT_BASE_URL = "https://api.openai.com/v1"

BACKOFF_BASE_S = 0.5
BACKOFF_CAP_S = 8.0
"""Upper end of the wait before retry n is ``min(cap, base · 2ⁿ)``, the wait itself uniform below
it ("full jitter", Brooker 2015); base and cap as the vendor's SDK has them."""

_TRANSIENT = frozenset({408, 409, 429})
_REFUSALS = {401: "credentials refused", 403: "access refused", 404: "unknown model or path"}


def is_transient(status: int) -> bool:
    """Whether an HTTP status says that the same request may be answered later."""
    return status in _TRANSIENT or status >= 500


def why_refused(status: int) -> str:
    """Return in words what a status that is not transient means."""
    return _REFUSALS.get(status, "request refused")


def longest_wait_s(attempt: int) -> float:
    """Return the longest wait after a failed attempt, counted from 0, in seconds."""
    return min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2.0**attempt)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how long a server asks to wait, in seconds or as an HTTP date; None if it does not."""
    said = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(said)) if said and float(said) < float("inf") else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
