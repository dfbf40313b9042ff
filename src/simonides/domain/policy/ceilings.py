"""Model usage: the policy's ceilings, and the usage of a day.

A ceiling counts three things: *calls*, requests sent to a language model, retries and repairs
included; *tokens* of questions and answers; *embedded*, texts sent to an embedder outside the
process. The maximum usage of a request is reserved before the request and settled after it. So
several processes together stay under a ceiling.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import NamedTuple

from simonides.domain.canonical_json import canonical_json
from simonides.domain.value import Value

DAY_US = 86_400_000_000

CALLS, TOKENS, EMBEDDED = "calls", "tokens", "embedded"
COUNTED = (CALLS, TOKENS, EMBEDDED)
"""Names of the counters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Value):
    """Limits of the counters; None for no limit, 0 to forbid all use.

    Attributes:
        calls: Requests to a language model.
        tokens: Tokens of questions and answers, as the provider counts them, else as estimated.
        embedded: Texts sent to an embedder outside the process.
    """

    calls: int | None = None
    tokens: int | None = None
    embedded: int | None = None

    @property
    def most(self) -> dict[str, int]:
        """The existing limits, by name."""
        named = {name: getattr(self, name) for name in COUNTED}
        return {name: limit for name, limit in named.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings(Value):
    """Limits of one operation, one owner's day and one org's day.

    Above a ceiling rules decide without a model, and reports contain ``ceiling:<which>``.

    Attributes:
        write: Limits of one operation: a capture, a session end, a hygiene scan, a dream, an agent
            run.
        owner_day: Limits of one user (or other owner) per UTC day.
        org_day: Limits of all owners of an org together per UTC day.
    """

    # Chosen: a session's end asks at most seven questions. Even if all retries of the endpoint are
    # needed, twenty requests remain for the last one.
    write: Limits = field(
        default_factory=lambda: Limits(calls=100, tokens=300_000, embedded=10_000)
    )
    # Chosen: a person who talks all day, with every turn captured and twenty sessions ended.
    owner_day: Limits = field(
        default_factory=lambda: Limits(calls=2_000, tokens=4_000_000, embedded=50_000)
    )
    # Chosen: a hundred such people.
    org_day: Limits = field(
        default_factory=lambda: Limits(calls=200_000, tokens=400_000_000, embedded=5_000_000)
    )


class Spent(NamedTuple):
    """Usage of an owner on a day.

    Attributes:
        day: Days since 1970 UTC.
        counts: Counters by name, reservations of running requests included.
    """

    day: int
    counts: Mapping[str, int]

    @property
    def on(self) -> date:
        """The day as a date."""
        return datetime.fromtimestamp(self.day * 86_400, UTC).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage(Value):
    """Usage of one day; counters as in :class:`Limits`.

    Attributes:
        day: ISO 8601 date, UTC.
        calls: Requests to a language model.
        tokens: Tokens of questions and answers.
        embedded: Texts sent to an embedder outside the process.
    """

    day: str
    calls: int = 0
    tokens: int = 0
    embedded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport(Value):
    """Model usage of an owner, with the ceilings.

    Attributes:
        owner: Path of the owner.
        today: Usage of today, reservations of running requests included.
        days: Usage of the requested days with any usage, newest first.
        ceilings: Ceilings in force.
    """

    owner: str
    today: DayUsage
    days: tuple[DayUsage, ...]
    ceilings: Ceilings


def day_of(us: int) -> int:
    """Return the day of a time in µs, in days since 1970 UTC."""
    return us // DAY_US


def spent_after(
    before: Mapping[str, int], counts: Mapping[str, int], most: Mapping[str, int]
) -> Mapping[str, int] | None:
    """Return the usage after an addition, or None if it exceeds a limit.

    Args:
        before: Usage before.
        counts: Addition to each counter; no counter falls below 0.
        most: Limits by name, checked for counters that grow.
    """
    after = {**before}
    for name, count in counts.items():
        after[name] = max(before.get(name, 0) + count, 0)
        if count > 0 and name in most and after[name] > most[name]:
            return None
    return MappingProxyType({name: count for name, count in sorted(after.items()) if count})


def encode_counts(counts: Mapping[str, int]) -> bytes:
    """Return the stored form of counts: canonical JSON."""
    return canonical_json(dict(counts))


def decode_counts(body: bytes) -> Mapping[str, int]:
    """Undo :func:`encode_counts`; invalid counts are left out."""
    raw = json.loads(body) if body else {}
    named = raw if isinstance(raw, dict) else {}
    counts = {name: count for name, count in named.items() if type(count) is int and count >= 0}
    return MappingProxyType(counts)
