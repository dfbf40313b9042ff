"""What travels from one owner to another: a candidate and who sends it (DESIGN D2)."""

from __future__ import annotations

import json

from memstrata.domain.candidate_codec import decode_candidate, encode_candidate
from memstrata.domain.change import OutboxItem
from memstrata.domain.codec import canonical_json
from memstrata.domain.decision import Candidate
from memstrata.domain.errors import StoreCorrupt
from memstrata.domain.scope import Principal, Scope


def packed(id: str, sender: Principal, candidate: Candidate) -> OutboxItem:
    """Return the item that carries a candidate to the owner of its scope."""
    body = {
        "home": sender.home.path,
        "by": sender.by,
        "candidate": encode_candidate(candidate).decode(),
    }
    return OutboxItem(id, candidate.scope.path, canonical_json(body))


def unpacked(item: OutboxItem) -> tuple[Principal, Candidate]:
    """Return who sends what.

    Raises:
        StoreCorrupt: If the item is not what :func:`packed` makes.
    """
    try:
        body = json.loads(item.body)
        sender = Principal(Scope.parse(body["home"]), by=body["by"])
        return sender, decode_candidate(body["candidate"].encode())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreCorrupt("outbox", f"an item cannot be read: {error}") from error
