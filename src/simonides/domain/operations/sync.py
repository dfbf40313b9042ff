"""An exchange between a replica and its remote: how far it came, and what it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.consent import decode_consent, encode_consent
from simonides.domain.governance.consent import Consent
from simonides.domain.value import Value, to_us
from simonides.domain.writing.change import Head

CURSOR = "sync"
"""Kind of journal entry that a cursor is kept as: in the replica, with its owner, so that it is
sealed, copied and erased with it."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where both sides of an owner stood when they last agreed.

    Attributes:
        here: The replica's position: all up to it is known there.
        there: The remote's position: all up to it is known here.
        consents: What the person had said by then, on both sides.
        chain: What the remote's audit chain is bound to, 16 bytes: which store it was.
        met: How long that chain was when this was noted.
    """

    here: Head
    there: Head
    consents: tuple[Consent, ...] = ()
    chain: bytes = b""
    met: int = 0

    def binds(self, here: Head | None, there: Head | None) -> bool:
        """Whether it is about these two lives of the owner: neither side was erased, restored or
        exchanged for another store since.
        """
        if here is None or there is None:
            return False
        is_here = self.here.incarnation == here.incarnation and self.here.revision <= here.revision
        return (
            is_here
            and self.there.incarnation == there.incarnation
            and self.there.revision <= there.revision
        )

    def encode(self) -> bytes:
        """Return it as canonical JSON."""
        said = [[to_us(each.at), encode_consent(each).decode()] for each in self.consents]
        heads = {"here": _said(self.here), "there": _said(self.there)}
        remote = {"chain": self.chain.hex(), "met": self.met}
        return canonical_json({**heads, **remote, "consents": said})

    @classmethod
    def decode(cls, body: bytes) -> Cursor:
        """Read what :meth:`encode` wrote."""
        said = json.loads(body)
        consents = tuple(decode_consent(at, text.encode()) for at, text in said["consents"])
        heads = _head(said["here"]), _head(said["there"])
        return cls(*heads, consents, bytes.fromhex(said["chain"]), said["met"])


def _said(head: Head) -> list[Any]:
    return [head.incarnation.hex(), *head[1:]]


def _head(said: list[Any]) -> Head:
    return Head(bytes.fromhex(said[0]), *said[1:])


@dataclass(frozen=True, slots=True)
class OwnerSync(Value):
    """What an exchange did for one owner.

    Attributes:
        owner: Canonical path.
        pushed: Versions that the remote did not have.
        pulled: Versions that the replica did not have.
        changed: States that came to be others, on either side.
        conflicts: Memories that gave way to what the other side had said.
        forgotten: Memories that went on one side because they were forgotten on the other.
        consents: A person's words that were taken over, on either side.
        reviews: Reviews that were taken over, on either side.
        refused: Why versions were not taken over, with how many: a policy that blocks them where
            they would have come to, for example. They stay where they are.
        erased: Whether the owner was erased here because it was erased there.
    """

    owner: str
    pushed: int = 0
    pulled: int = 0
    changed: int = 0
    conflicts: int = 0
    forgotten: int = 0
    consents: int = 0
    reviews: int = 0
    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    erased: bool = False

    @property
    def did_anything(self) -> bool:
        """Whether anything was not the same on both sides."""
        counts = (self.pushed, self.pulled, self.changed, self.conflicts, self.forgotten)
        return self.erased or any((*counts, self.consents, self.reviews))

    def plus(self, other: OwnerSync) -> OwnerSync:
        """Return both together."""
        names = {*self.refused, *other.refused}
        refused = {n: max(self.refused.get(n, 0), other.refused.get(n, 0)) for n in sorted(names)}
        return OwnerSync(
            self.owner,
            self.pushed + other.pushed,
            self.pulled + other.pulled,
            self.changed + other.changed,
            self.conflicts + other.conflicts,
            self.forgotten + other.forgotten,
            self.consents + other.consents,
            self.reviews + other.reviews,
            MappingProxyType(refused),
            self.erased or other.erased,
        )


@dataclass(frozen=True, slots=True)
class SyncReport(Value):
    """What an exchange did.

    Attributes:
        remote: Where the other store is, without credentials.
        at: When it ended.
        owners: Of each owner that is exchanged, by path.
    """

    remote: str
    at: datetime
    owners: tuple[OwnerSync, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncStatus(Value):
    """How a replica stands to its remote, without asking the remote.

    Attributes:
        remote: Where the other store is, without credentials; None if the mode is another.
        owners: Owners that are exchanged, by path, each with how many of its revisions the remote
            has not seen.
        synced_at: When this process last exchanged all of them, or None.
        problem: Name of the error that the last exchange ended with, or None.
    """

    remote: str | None
    owners: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    synced_at: datetime | None = None
    problem: str | None = None
