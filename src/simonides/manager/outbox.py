"""What travels from one owner to another: a copy and who sends it, or what is to go (DESIGN D2)."""

from __future__ import annotations

import json
from typing import NamedTuple

from simonides.domain.candidate_codec import decode_candidate, encode_candidate
from simonides.domain.canonical import canonical_json
from simonides.domain.change import OutboxItem
from simonides.domain.decision import Candidate
from simonides.domain.errors import StoreCorrupt
from simonides.domain.scope import Principal, Scope


class Promotion(NamedTuple):
    """A copy on its way.

    Attributes:
        sender: In whose name it is written.
        candidate: What is proposed there.
    """

    sender: Principal
    candidate: Candidate


class Cascade(NamedTuple):
    """What an owner takes back from another (FX-3, LT-10).

    Attributes:
        ids: Memories there that were derived from an erased owner's.
        writes: Promotions that had not been settled, each by the name of its write and the
            hexadecimal digest of what was asked: what they wrote goes, or they write nothing.
    """

    ids: tuple[str, ...]
    writes: tuple[tuple[str, str], ...]


class Following(NamedTuple):
    """An erasure that the remote of a replica is to follow (MO-1)."""


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
