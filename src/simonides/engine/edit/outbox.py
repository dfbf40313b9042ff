"""What travels from one owner to another: a copy and who sends it, or what is to go."""

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
    """A copy on its way.

    Attributes:
        sender: In whose name it is written.
        candidate: What is proposed there.
    """

    sender: Principal
    candidate: Candidate


class Cascade(NamedTuple):
    """What an owner takes back from another.

    Attributes:
        ids: Memories there that were derived from an erased owner's.
        writes: Promotions that had not been settled, each by the name of its write and the
            hexadecimal digest of what was asked: what they wrote goes, or they write nothing.
    """

    ids: tuple[str, ...]
    writes: tuple[tuple[str, str], ...]


class Following(NamedTuple):
    """An erasure that the remote of a replica is to follow."""


class Remote(Protocol):
    """The store that this one is a replica of."""

    @property
    def location(self) -> str:
        """Where it is, without credentials."""

    async def erase_there(self, owner: Scope, name: str) -> None:
        """Erase an owner there, once under one name.

        Raises:
            StoreError: If it could not.
        """


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Work for other owners and for the remote, as far as this process knows of it.

    Attributes:
        remote: In mode ``synced``; else None.
        undelivered: Work that could not be carried out when last tried: id of the item to the name
            of the error. No content, no scope: every user may see ``status``.
    """

    remote: Remote | None = None
    undelivered: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is undelivered, for ``status``."""
        names = set(self.undelivered.values())
        return tuple(sorted(f"undelivered_promotion:{name}" for name in names))


def packed_following(id: str, subject: Scope) -> OutboxItem:
    """Return the item that has the remote of a replica erase a subject too."""
    return OutboxItem(id, subject.path, canonical_json({"remote": "erase"}))


def packed(id: str, sender: Principal, candidate: Candidate) -> OutboxItem:
    """Return the item that carries a candidate to the owner of its scope."""
    body = {
        "home": sender.home.path,
        "by": sender.by,
        "candidate": encode_candidate(candidate).decode(),
    }
    return OutboxItem(id, candidate.scope.path, canonical_json(body))


def packed_cascade(id: str, target: Scope, cascade: Cascade) -> OutboxItem:
    """Return the item that tells another owner what is to go."""
    body = {"erased": list(cascade.ids), "writes": [list(write) for write in cascade.writes]}
    return OutboxItem(id, target.path, canonical_json(body))


def unpacked(item: OutboxItem) -> Promotion | Cascade | Following:
    """Return what an item carries.

    Raises:
        StoreCorrupt: If it is not what one of the functions here makes.
    """
    try:
        body = json.loads(item.body)
        if "remote" in body:
            return Following()
        if "erased" in body:
            writes = tuple((name, request) for name, request in body["writes"])
            return Cascade(tuple(body["erased"]), writes)
        sender = Principal(Scope.parse(body["home"]), by=body["by"])
        return Promotion(sender, decode_candidate(body["candidate"].encode()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorrupt("outbox", f"an item cannot be read: {error}") from error
