"""The receipt of a read: what was shown, why, and everything needed to replay it.

A receipt is self-contained: it round-trips through JSON (:meth:`Receipt.to_dict`,
:meth:`Receipt.from_dict`) and holds no content except the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from simonides.domain.codecs.from_dict import read_value
from simonides.domain.policy.budgets import DigestRules
from simonides.domain.reading.cue import Cue
from simonides.domain.scope import Scope
from simonides.domain.value import Value


class Made(StrEnum):
    """How a digest or recall was produced.

    ``live``: a new read. ``ranked``: the replay of a receipt, ranked again at its clocks; the same
    bytes. ``rendered``: the replay of a receipt, built from its ids, versions and scores, because
    the ranker of that time is not available.
    """

    LIVE = "live"
    RANKED = "ranked"
    RENDERED = "rendered"


class Trigger(StrEnum):
    """Cause of a digest; it limits the content for every query.

    ``asked``: a caller's request. ``push``: before the first model call. ``pull``: a search by the
    model, or around a tool call.
    """

    ASKED = "asked"
    PUSH = "push"
    PULL = "pull"


@dataclass(frozen=True, slots=True)
class Seen(Value):
    """The version of an owner that a read saw.

    Attributes:
        owner: The owner.
        known_at: System time of the last change visible to the reader; other changes do not count.
    """

    owner: Scope
    known_at: datetime


@dataclass(frozen=True, slots=True)
class Ranking(Value):
    """Versions of everything that affects ranking; if all are equal, equal rows rank equally.

    Attributes:
        ranker: Version of the ranker.
        fusion: Mode.
        settings: Hash of the mode's weights.
        analyser: Version of the analyser.
        embedder: Model id, or None if no vector was used.
    """

    ranker: str
    fusion: str
    settings: str
    analyser: str
    embedder: str | None


@dataclass(frozen=True, slots=True)
class Shown(Value):
    """A memory that was returned.

    Attributes:
        id: Id of the version.
        version: Version number in the chain.
        key: Name of the fact, or None.
        score: As in :class:`~simonides.Hit`.
        why: Contribution of each component, as in :class:`~simonides.Hit`.
    """

    id: str
    version: int
    key: str | None
    score: float
    why: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Dropped(Value):
    """A memory that was considered and not returned.

    Attributes:
        id: Id of the version.
        score: As in :class:`~simonides.Hit`.
        reason: ``limit``, ``below_floor``, ``sensitivity``, ``same_text``, or the exhausted
            budget: ``items``, ``chars`` or ``tokens`` with its section, as in ``items:facts``.
    """

    id: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Rendering(Value):
    """How the text of a digest was rendered.

    Attributes:
        rules: Budgets and conditions that were in force.
        format: Version of the rendering.
        counter: Name of the token counter.
        sha256: SHA-256 of the text in UTF-8, hexadecimal.
        trigger: Cause of the digest.
        left_out: How many memories of the core block found no room.
    """

    rules: DigestRules
    format: str
    counter: str
    sha256: str
    trigger: Trigger = Trigger.ASKED
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Receipt(Value):
    """What a read returned, and why.

    Attributes:
        cue: The request, with its two requested clocks.
        reader: Canonical path of the reader.
        at: Clock of the read.
        seen: The version of each owner with visible memories.
        ranking: Versions of the ranking.
        policy: Hash of the policy in force.
        considered: Number of visible memories.
        returned: Best first; for a digest, in the order of selection.
        dropped: The best memories that were not returned, best first.
        degraded: Sources that failed.
        page: Rendering of the text; None for a recall.
    """

    cue: Cue
    reader: Scope
    at: datetime
    seen: tuple[Seen, ...]
    ranking: Ranking
    policy: str
    considered: int
    returned: tuple[Shown, ...]
    dropped: tuple[Dropped, ...] = ()
    degraded: tuple[str, ...] = ()
    page: Rendering | None = None

    @property
    def query(self) -> str:
        """The query text."""
        return self.cue.query

    @property
    def known_at(self) -> datetime | None:
        """Requested system time, or None for the clock's."""
        return self.cue.known_at

    @property
    def valid_at(self) -> datetime | None:
        """Requested world time, or None for the clock's."""
        return self.cue.valid_at

    @property
    def scopes(self) -> tuple[str, ...]:
        """Canonical paths that were read, nearest first."""
        return tuple(scope.path for scope in self.cue.scopes)

    @property
    def floor(self) -> float | None:
        """Floor in force, or None."""
        return self.cue.floor

    @property
    def fusion(self) -> str:
        """Fusion mode."""
        return self.ranking.fusion

    @property
    def analyser(self) -> str:
        """Version of the analyser."""
        return self.ranking.analyser

    @property
    def embedder(self) -> str | None:
        """Model id, or None if no vector was used."""
        return self.ranking.embedder

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Receipt:
        """Return the receipt from the output of :meth:`to_dict`, directly or through JSON.

        Raises:
            InvalidInput: If it is not a receipt; names the field.
        """
        found: Receipt = read_value(cls, "receipt", raw)
        return found
