"""Sealing what records say, where everything at rest is encrypted.

A record's time, its shelf and the digest of its subject stay plain, as the ids and times of
memories do; they are bound to the text, so that it does not open in another's place. There is no
key of each subject here: records are in no backup, and an erased subject's rows are gone.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from simonides.domain.errors import SimonidesError, StoreCorrupt
from simonides.domain.governance.safety_record import KeptRecord, Shelf
from simonides.ports import KeyRing

if TYPE_CHECKING:
    pass


NONCE_BYTES = 12
_KEY = b"simonides record key 1"
_BOUND = b"simonides record 1\0"


class RecordSeal:
    """Seals bodies under the current key of a ring, and opens them by the key that they name.

    Args:
        ring: The master keys.
        location: Of the records, for errors.
    """

    def __init__(self, ring: KeyRing, location: str) -> None:
        self._ring = ring
        self._location = location

    def __repr__(self) -> str:
        """Say which key, not what it is."""
        return f"RecordSeal({self._ring.current!r})"

    @property
    def current(self) -> str:
        """Name of the key by which is sealed from now on."""
        return self._ring.current

    def sealed(self, shelf: Shelf, record: KeptRecord) -> tuple[str, bytes]:
        """Return the name of a key, and a record's body sealed under it."""
        key_id, nonce = self._ring.current, secrets.token_bytes(NONCE_BYTES)
        text = self._by(key_id).encrypt(nonce, record.body, _bound(shelf, record))
        return key_id, nonce + text

    def opened(self, shelf: Shelf, record: KeptRecord, key_id: str) -> KeptRecord:
        """Undo :meth:`sealed`.

        Raises:
            KeyUnavailable: If the ring lacks the key.
            StoreCorrupt: If it is not as it was sealed.
        """
        nonce, text = record.body[:NONCE_BYTES], record.body[NONCE_BYTES:]
        try:
            body = self._by(key_id).decrypt(nonce, text, _bound(shelf, record))
        except SimonidesError:
            raise
        except (InvalidTag, ValueError):
            raise StoreCorrupt(
                self._location,
                f"a {shelf} record is not as it was sealed by key {key_id}; `simonides {shelf} "
                "purge` removes such records without reading them",
            ) from None
        return record._replace(body=body)

    def _by(self, key_id: str) -> AESGCM:
        return AESGCM(hmac.digest(self._ring.key(key_id), _KEY, "sha256"))


def _bound(shelf: Shelf, record: KeptRecord) -> bytes:
    time = record.at.to_bytes(8, "big", signed=True)
    return _BOUND + shelf.encode() + b"\0" + record.id.encode() + b"\0" + time + record.subject


def columns_of(shelf: Shelf, record: KeptRecord, seal: RecordSeal | None) -> dict[str, Any]:
    """Return the columns of a record: ``key_id`` names the key that its body is sealed by, None
    where it is in plain.
    """
    key_id, body = (None, record.body) if seal is None else seal.sealed(shelf, record)
    return {"shelf": shelf.value, **record._asdict(), "key_id": key_id, "body": body}


def records_of(
    location: str, shelf: Shelf, rows: Iterable[Any], seal: RecordSeal | None
) -> tuple[KeptRecord, ...]:
    """Return records of rows ``(id, at, subject, key_id, body)``, in their order.

    Raises:
        KeyUnavailable: If the ring lacks the key of one.
        StoreCorrupt: If one is sealed and nothing here opens it, or it is not as it was sealed.
    """
    return tuple(_record_of(location, shelf, row, seal) for row in rows)


def sealed_anew(
    location: str, rows: Iterable[Any], seal: RecordSeal | None
) -> tuple[dict[str, Any], ...]:
    """Return the columns of records by the current key of a ring.

    Args:
        location: Of the records, for errors.
        rows: ``(shelf, id, at, subject, key_id, body)``.
        seal: What opens and seals them.

    Raises:
        KeyUnavailable: As for :func:`records_of`.
        StoreCorrupt: Likewise.
    """
    opened = [(Shelf(shelf), _record_of(location, Shelf(shelf), row, seal)) for shelf, *row in rows]
    return tuple(columns_of(shelf, record, seal) for shelf, record in opened)


def _record_of(location: str, shelf: Shelf, row: Any, seal: RecordSeal | None) -> KeptRecord:
    id, at, subject, key_id, body = row
    record = KeptRecord(id, at, subject, body)
    if key_id is None:
        return record
    if seal is None:
        raise StoreCorrupt(
            location, "records are encrypted; open the store with its key ring and encryption"
        )
    return seal.opened(shelf, record, key_id)
