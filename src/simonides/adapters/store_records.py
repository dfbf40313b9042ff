"""How records stand in the columns of a table, whichever database it is in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from simonides.domain.errors import StoreCorrupt
from simonides.domain.records import KeptRecord, Shelf

if TYPE_CHECKING:
    from simonides.adapters.records_sealing import RecordSeal


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
