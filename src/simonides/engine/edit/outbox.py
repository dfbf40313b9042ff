"""The outbox items: promotions to another owner, deletions there, and erasures at the remote."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.candidate import decode_candidate, encode_candidate
from simonides.domain.errors import StoreCorrupt
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.change import OutboxItem
from simonides.domain.writing.decision import Candidate


class Promotion(NamedTuple):
    """A copy to be written for another owner.

    Attributes:
        sender: The principal that writes it.
        candidate: The proposed copy.
    """

    sender: Principal
    candidate: Candidate


class Cascade(NamedTuple):
    """Copies to be deleted at another owner.

    Attributes:
        ids: Memories there that were derived from the deleted ones.
        writes: Unsettled promotions, each as the name of its write and the request digest in
            hexadecimal. Their copy is deleted if it was written, else prevented.
    """

    ids: tuple[str, ...]
    writes: tuple[tuple[str, str], ...]


class RemoteErasure(NamedTuple):
    """An erasure to repeat at the remote of a replica."""


class Remote(Protocol):
    """The store that this one is a replica of."""

    @property
    def location(self) -> str:
        """Address of the store, without credentials."""

    async def erase_there(self, owner: Scope, name: str) -> None:
        """Erase an owner there; idempotent for one ``name``.

        Raises:
            StoreError: If the remote failed.
        """


@dataclass(frozen=True, slots=True)
class Deliveries:
    """The remote, and the outbox items that this process failed to deliver.

    Attributes:
        remote: The remote in mode ``synced``; else None.
        undelivered: Item id to the error's class name at the last attempt. It holds neither content
            nor scopes, because every user may see ``status``.
    """

    remote: Remote | None = None
    undelivered: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[str, ...]:
        """Failed deliveries, for ``status``."""
        names = set(self.undelivered.values())
        return tuple(sorted(f"undelivered_promotion:{name}" for name in names))


def remote_erasure_item(id: str, subject: Scope) -> OutboxItem:
    """Return the item that erases a subject at the remote too."""
    return OutboxItem(id, subject.path, canonical_json({"remote": "erase"}))


def promotion_item(id: str, sender: Principal, candidate: Candidate) -> OutboxItem:
    """Return the item that carries a candidate to the owner of its scope."""
    body = {
        "home": sender.home.path,
        "by": sender.by,
        "candidate": encode_candidate(candidate).decode(),
    }
    return OutboxItem(id, candidate.scope.path, canonical_json(body))


def cascade_item(id: str, target: Scope, cascade: Cascade) -> OutboxItem:
    """Return the item that deletes copies at another owner."""
    body = {"erased": list(cascade.ids), "writes": [list(write) for write in cascade.writes]}
    return OutboxItem(id, target.path, canonical_json(body))


def decoded_item(item: OutboxItem) -> Promotion | Cascade | RemoteErasure:
    """Decode an item.

    Raises:
        StoreCorrupt: If the item cannot be decoded.
    """
    try:
        body = json.loads(item.body)
        if "remote" in body:
            return RemoteErasure()
        if "erased" in body:
            writes = tuple((name, request) for name, request in body["writes"])
            return Cascade(tuple(body["erased"]), writes)
        sender = Principal(Scope.parse(body["home"]), by=body["by"])
        return Promotion(sender, decode_candidate(body["candidate"].encode()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorrupt("outbox", f"an item cannot be read: {error}") from error
