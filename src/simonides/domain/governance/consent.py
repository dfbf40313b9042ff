"""What a person refused or allowed to be remembered, by key or by category, and whether what
is remembered may be recalled at all.

The word about a key goes before the word about its category: who refuses ``health`` and allows the
key ``allergies`` has allergies remembered and nothing else of that category. Names are compared as
keys are everywhere, exactly and case-sensitively. A text without a key is under its category only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from simonides.domain.event import Event
from simonides.domain.memory import Memory
from simonides.domain.value import Value

RECALL_OFF = "recall_off"
"""What a read says that answers nothing since its owner has switched recall off."""

RECALL_NAME = "recall"
"""The name in the one consent of an owner that is about recall."""


class About(StrEnum):
    """What a consent names; ``recall`` is the switch over all that the owner has."""

    KEY = "key"
    CATEGORY = "category"
    RECALL = "recall"


@dataclass(frozen=True, slots=True)
class Consent(Value):
    """A person's last word about one key, one category, or recall.

    Attributes:
        about: Whether a key or a category is named, or recall.
        name: The key, or the category; of recall :data:`RECALL_NAME`.
        allowed: False where it was refused, or switched off.
        at: When, on the owner's system clock.
        by: Canonical name of the principal that said so.
    """

    about: About
    name: str
    allowed: bool
    at: datetime
    by: str = ""


@dataclass(frozen=True, slots=True)
class ConsentChange(Value):
    """What became of a refusal or a permission.

    Attributes:
        consent: The word that is in force now.
        changed: Whether another, or none, was in force before.
        removed: Versions of memories that were removed on request.
        released: Candidates that were held back and have been let go.
        events: The audit events written.
    """

    consent: Consent
    changed: bool
    removed: int = 0
    released: int = 0
    events: tuple[Event, ...] = ()


class Named(Protocol):
    """What may fall under a consent: a memory, or a candidate for one."""

    @property
    def key(self) -> str | None:
        """Name of the fact, or None."""

    @property
    def category(self) -> str:
        """Category of the policy."""


@dataclass(frozen=True, slots=True)
class Refusals(Value):
    """The consents of one owner, ready to be asked.

    Attributes:
        keys: Refused keys.
        categories: Refused categories.
        spared: Keys that are allowed though their category may be refused.
        recall_off: Whether nothing of the owner's goes into a recall or a digest. What is
            refused is refused either way, and this hides nothing from the owner's own inspection,
            so it does not make a value of refusals true.
        tellings: Ids of the verbatim turns and the summaries that speak of what is refused, and by
            what it is; None while nobody has read them for it.
    """

    keys: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    spared: frozenset[str] = frozenset()
    recall_off: bool = False
    tellings: Mapping[str, About] | None = None

    def __bool__(self) -> bool:
        return bool(self.keys or self.categories)

    def against(self, said: Named) -> About | None:
        """Return by what something is refused, or None."""
        if said.key is not None and said.key in self.keys:
            return About.KEY
        if said.key is not None and said.key in self.spared:
            return None
        if said.category in self.categories:
            return About.CATEGORY
        return self.tellings.get(said.id) if self.tellings and isinstance(said, Memory) else None


NO_REFUSALS = Refusals()


def refusals_of(consents: Iterable[Consent]) -> Refusals:
    """Return what the consents of one owner come to."""
    told = tuple(consents)
    if not told:
        return NO_REFUSALS
    refused = [each for each in told if not each.allowed]
    return Refusals(
        keys=frozenset(each.name for each in refused if each.about is About.KEY),
        categories=frozenset(each.name for each in refused if each.about is About.CATEGORY),
        spared=frozenset(e.name for e in told if e.allowed and e.about is About.KEY),
        recall_off=any(each.about is About.RECALL for each in refused),
    )
