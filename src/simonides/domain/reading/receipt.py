"""The receipt of a read: what was shown, on what grounds, and all that it takes to do it again.

A receipt is self-contained: it goes through JSON and back (:meth:`Receipt.to_dict`,
:meth:`Receipt.from_dict`) and holds no content but the query.
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
    """How a digest or recall came about.

    ``live`` was asked for now. ``ranked`` is a receipt's, found by ranking again at its clocks:
    the same bytes. ``rendered`` is a receipt's too, put together from the ids, versions and scores
    that it names, because what ranked then is no longer there.
    """

    LIVE = "live"
    RANKED = "ranked"
    RENDERED = "rendered"


class Trigger(StrEnum):
    """What a digest was made for; it decides what may be in it whatever is asked.

    ``asked``: a caller wanted it. ``push``: before the first model call. ``pull``: a search by the
    model, or around a tool call.
    """

    ASKED = "asked"
    PUSH = "push"
    PULL = "pull"


@dataclass(frozen=True, slots=True)
class Seen(Value):
    """Up to where an owner's changes were seen.

    Attributes:
        owner: Whose.
        known_at: System time of the last change of what the reader may see; what others wrote
            there does not show.
    """

    owner: Scope
    known_at: datetime


@dataclass(frozen=True, slots=True)
class Ranking(Value):
    """What ranked; where all of it is the same, the same rows rank the same.

    Attributes:
        ranker: Version of the ranker.
        fusion: Mode.
        settings: Hash of the mode's weights.
        analyser: Version of the analyser.
        embedder: Model id, or None where no vector took part.
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
        id: Of the version.
        version: Its place in the chain.
        key: Name of the fact, or None.
        score: As in :class:`~simonides.Hit`.
        why: Each signal's part, likewise.
    """

    id: str
    version: int
    key: str | None
    score: float
    why: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Dropped(Value):
    """A memory that was looked at and not returned.

    Attributes:
        id: Of the version.
        score: As in :class:`~simonides.Hit`.
        reason: ``limit``, ``below_floor``, ``sensitivity``, ``same_text``, or the budget that was
            used up: ``items``, ``chars`` or ``tokens`` and of what, as in ``items:facts``.
    """

    id: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Page(Value):
    """What made the text of a digest.

    Attributes:
        rules: Budgets and conditions that were in force.
        format: Version of the rendering.
        counter: Name of the token counter.
        sha256: Of the text in UTF-8, hexadecimal.
        trigger: What it was made for.
    """

    rules: DigestRules
    format: str
    counter: str
    sha256: str
    trigger: Trigger = Trigger.ASKED


@dataclass(frozen=True, slots=True)
class Receipt(Value):
    """What a read returned and on what grounds.

    Attributes:
        cue: What was asked, with the two clocks that were asked for.
        reader: Canonical path of who asked.
        at: Clock of the read.
        seen: Up to where the changes of each owner were seen of whom anything was.
        ranking: What ranked.
        policy: Hash of the policy in force.
        considered: Memories that were visible.
        returned: Best first; of a digest, in the order in which they were chosen.
        dropped: The best of those that were not returned, best first.
        degraded: Sources that could not take part.
        page: What made the text, or None where there is none: the receipt of a recall.
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
    page: Page | None = None

    @property
    def query(self) -> str:
        """The text that was asked."""
        return self.cue.query

    @property
    def known_at(self) -> datetime | None:
        """System time that was asked for, or None for the clock's."""
        return self.cue.known_at

    @property
    def valid_at(self) -> datetime | None:
        """World time that was asked for, or None for the clock's."""
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
        """Mode that ranked."""
        return self.ranking.fusion

    @property
    def analyser(self) -> str:
        """Version of the analyser."""
        return self.ranking.analyser

    @property
    def embedder(self) -> str | None:
        """Model id, or None where no vector took part."""
        return self.ranking.embedder

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Receipt:
        """Return the receipt that :meth:`to_dict` gave, JSON in between or not.

        Raises:
            InvalidInput: If it is none, naming the field.
        """
        found: Receipt = read_value(cls, "receipt", raw)
        return found
