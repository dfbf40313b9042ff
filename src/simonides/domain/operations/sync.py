"""Synchronisation of a replica with its remote: cursor, reports and status."""

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
"""Journal entry kind of a cursor. The replica stores it with its owner, so that it is sealed,
copied and erased with the owner."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Heads of both sides of an owner when they were last equal.

    Attributes:
        here: Head of the replica; the remote has everything up to it.
        there: Head of the remote; the replica has everything up to it.
        consents: The owner's consents at that time, on both sides.
        chain: Owner digest in the remote's audit chain, 16 bytes; it identifies the remote store.
        met: Length of that chain when the cursor was written.
    """

    here: Head
    there: Head
    consents: tuple[Consent, ...] = ()
    chain: bytes = b""
    met: int = 0

    def binds(self, here: Head | None, there: Head | None) -> bool:
        """Whether the cursor is valid for these heads.

        It is if neither side was erased, restored or replaced by another store since.
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
    """Result of a synchronisation for one owner.

    Attributes:
        owner: Canonical path.
        pushed: Versions sent to the remote.
        pulled: Versions received from the remote.
        changed: Changed states, on either side.
        conflicts: Memories superseded by a statement of the other side.
        forgotten: Memories removed on one side because they were forgotten on the other.
        consents: Consents copied, to either side.
        reviews: Reviews copied, to either side.
        refused: Number of versions not copied, by reason, for example a policy of the receiving
            store. They stay in the sending store.
        erased: Whether the replica's owner was erased because the remote's was.
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
        """Whether both sides differed."""
        counts = (self.pushed, self.pulled, self.changed, self.conflicts, self.forgotten)
        return self.erased or any((*counts, self.consents, self.reviews))

    def plus(self, other: OwnerSync) -> OwnerSync:
        """Return the sum of both; of ``refused`` the larger count by reason."""
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
    """Result of a synchronisation.

    Attributes:
        remote: Location of the remote, without credentials.
        at: Time of its end.
        owners: Result of each synchronised owner, by path.
    """

    remote: str
    at: datetime
    owners: tuple[OwnerSync, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncStatus(Value):
    """Status of a replica, without a request to the remote.

    Attributes:
        remote: Location of the remote, without credentials; None if the store is not a replica.
        owners: Synchronised owners, by path, with the number of revisions that the remote lacks.
        synced_at: Last time that this process synchronised all of them, or None.
        problem: Name of the last synchronisation's error, or None.
    """

    remote: str | None
    owners: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    synced_at: datetime | None = None
    problem: str | None = None
