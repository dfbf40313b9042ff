"""How much models may be asked: ceilings as policy has them, and what a day has used.

A ceiling counts three things: *calls*, requests sent to a language model, retries and repairs
included; *tokens*, those of questions and answers; *embedded*, texts sent to an embedder that is
no part of the process. What a question may come to is reserved before it is asked and settled
afterwards, so that several processes together stay under a ceiling.
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
"""What is counted, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Value):
    """The most of each; None for no limit, 0 for none at all.

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
        """Those that are limited, by name."""
        named = {name: getattr(self, name) for name in COUNTED}
        return {name: limit for name, limit in named.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings(Value):
    """What one operation, one owner's day and one org's day may cost.

    Past a ceiling no model is asked: rules decide, and reports say ``ceiling:<which>``.

    Attributes:
        write: Of one operation: a capture, an end of a session, a look through what is stored, a
            dream, an agent run.
        owner_day: Of one user (or other owner) within a day, UTC.
        org_day: Of all owners of an org together within a day.
    """

    # Chosen: a session's end asks seven questions at most, of which the last still finds room for
    # twenty requests, should all of the endpoint's retries be needed.
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
    """What an owner used on a day.

    Attributes:
        day: Days since 1970 UTC.
        counts: By name; what is reserved for questions under way is among it.
    """

    day: int
    counts: Mapping[str, int]

    @property
    def on(self) -> date:
        """The day as a date."""
        return datetime.fromtimestamp(self.day * 86_400, UTC).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage(Value):
    """What was used on one day.

    Attributes:
        day: ISO 8601 date, UTC.
        calls: As in :class:`Limits`, like the next two.
        tokens: See there.
        embedded: See there.
    """

    day: str
    calls: int = 0
    tokens: int = 0
    embedded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport(Value):
    """What models have cost an owner, and what they may.

    Attributes:
        owner: Path of whose it is.
        today: Used today, reservations of what is under way included.
        days: Used on every day asked for that has anything, newest first.
        ceilings: In force now.
    """

    owner: str
    today: DayUsage
    days: tuple[DayUsage, ...]
    ceilings: Ceilings


def day_of(us: int) -> int:
    """Return the day of a time in µs, in days since 1970 UTC."""
    return us // DAY_US


def spent_after(
    stood: Mapping[str, int], counts: Mapping[str, int], most: Mapping[str, int]
) -> Mapping[str, int] | None:
    """Return what is used after more is, or None if that is too much.

    Args:
        stood: Used before.
        counts: What is added to it; nothing falls below 0.
        most: By name the most that there may be of what is added.
    """
    after = {**stood}
    for name, count in counts.items():
        after[name] = max(stood.get(name, 0) + count, 0)
        if count > 0 and name in most and after[name] > most[name]:
            return None
    return MappingProxyType({name: count for name, count in sorted(after.items()) if count})


def encode_counts(counts: Mapping[str, int]) -> bytes:
    """Return counts as rows keep them: canonical JSON."""
    return canonical_json(dict(counts))


def decode_counts(body: bytes) -> Mapping[str, int]:
    """Undo :func:`encode_counts`; what is no count is left out."""
    raw = json.loads(body) if body else {}
    named = raw if isinstance(raw, dict) else {}
    counts = {name: count for name, count in named.items() if type(count) is int and count >= 0}
    return MappingProxyType(counts)
