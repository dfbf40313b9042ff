"""A person's consents: which keys and categories may be remembered, and whether recall is on.

A consent for a key overrides the consent for its category. Example: the user refuses ``health`` and
allows the key ``allergies``; only allergies of that category are remembered. Names are compared
exactly and case-sensitively, like all keys. A text without a key has only its category.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from simonides.domain.event import Event
from simonides.domain.memory import Record
from simonides.domain.value import Value

RECALL_OFF = "recall_off"
"""Reason of an empty read whose owner has switched recall off."""

RECALL_NAME = "recall"
"""Name of an owner's single consent about recall."""


class About(StrEnum):
    """Subject of a consent; ``recall`` is the switch for all memories of the owner."""

    KEY = "key"
    CATEGORY = "category"
    RECALL = "recall"


@dataclass(frozen=True, slots=True)
class Consent(Value):
    """A person's latest decision about one key, one category, or recall.

    Attributes:
        about: Kind of subject: key, category or recall.
        name: The key or the category; :data:`RECALL_NAME` for recall.
        allowed: False if refused or switched off.
        at: Time of the decision, on the owner's system clock.
        by: Canonical name of the deciding principal.
    """

    about: About
    name: str
    allowed: bool
    at: datetime
    by: str = ""


@dataclass(frozen=True, slots=True)
class ConsentChange(Value):
    """The result of a refusal or a permission.

    Attributes:
        consent: The consent in force now.
        changed: Whether another consent, or none, was in force before.
        removed: Versions of memories removed on request.
        released: Held candidates that were deleted.
        events: The audit events written.
    """

    consent: Consent
    changed: bool
    removed: int = 0
    released: int = 0
    events: tuple[Event, ...] = ()


class Named(Protocol):
    """Subject of a consent check: a memory or a candidate."""

    @property
    def key(self) -> str | None:
        """Name of the fact, or None."""

    @property
    def category(self) -> str:
        """Category of the policy."""


@dataclass(frozen=True, slots=True)
class Refusals(Value):
    """The consents of one owner, indexed for lookup; true if a key or category is refused.

    Attributes:
        keys: Refused keys.
        categories: Refused categories.
        spared: Allowed keys, which override a refused category.
        recall_off: Whether recalls and digests omit all of the owner's memories. It does not
            affect refusals or the owner's own inspection, so it does not count for truth.
        tellings: Ids of verbatim turns and summaries that mention refused facts, with the kind of
            the refusal; None if they were not scanned.
    """

    keys: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    spared: frozenset[str] = frozenset()
    recall_off: bool = False
    tellings: Mapping[str, About] | None = None

    def __bool__(self) -> bool:
        return bool(self.keys or self.categories)

    def against(self, said: Named) -> About | None:
        """Return the kind of the refusal that applies (key or category), or None."""
        if said.key is not None and said.key in self.keys:
            return About.KEY
        if said.key is not None and said.key in self.spared:
            return None
        if said.category in self.categories:
            return About.CATEGORY
        return self.tellings.get(said.id) if self.tellings and isinstance(said, Record) else None


NO_REFUSALS = Refusals()


def refusals_of(consents: Iterable[Consent]) -> Refusals:
    """Return the lookup for the consents of one owner."""
    known = tuple(consents)
    if not known:
        return NO_REFUSALS
    refused = [each for each in known if not each.allowed]
    return Refusals(
        keys=frozenset(each.name for each in refused if each.about is About.KEY),
        categories=frozenset(each.name for each in refused if each.about is About.CATEGORY),
        spared=frozenset(e.name for e in known if e.allowed and e.about is About.KEY),
        recall_off=any(each.about is About.RECALL for each in refused),
    )
