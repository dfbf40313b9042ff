"""Which columns are encrypted where a store is, and what each cell is bound to.

A cell is bound to its owner, its table and column, and to the columns named here, which tell its
row: sealed there, it opens nowhere else. That the other plain columns of a memory and its states
are those that were written is for their codes to say, made of the plain text and all columns
(:mod:`simonides.storage.integrity.codes`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from simonides.domain.codecs.parts import Cell
from simonides.storage.encryption.data_keys import DataKeys, Unopened
from simonides.storage.schema.change_rules import OWNER_BYTES

SEALED: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "owners": {"name": ()},
        "memories": {"body": ("id",), "state": ("id", "revision", "known_from")},
        "states": {"state": ("id", "revision", "known_from")},
        "index_rows": {"entry": ("id",)},
        "event_payloads": {"payload": ("seq",)},
        "outbox": {"target": ("id",), "body": ("id",)},
        "idempotency": {"request": ("tag",), "answer": ("tag",)},
        "held": {"reason": ("id",), "session": ("id",), "body": ("id",)},
        "grants": {"body": ()},
        "read_journal": {"body": ("kind",)},
        "session_ends": {"body": ("session_tag",)},
        "sessions": {"body": ("started_at",)},
        "turns": {"body": ("turn_no", "at")},
        "reviews": {"body": ("id", "status", "at")},
        "consents": {"body": ("at",)},
        "scopes": {"body": ("scope_tag", "at")},
        "policies": {"body": ("hash", "at")},
        "usage": {"body": ("day",)},
    }
)
"""By table and column: the columns that tell the row."""

NAME = "owners.name"
"""The cell that says itself whose it is."""

Place = int | str
"""Where a value is found: the number of a column of an answer, or the name of a parameter."""


class SealedCell(NamedTuple):
    """A sealed column of a statement's answer.

    Attributes:
        at: Its number.
        place: Table and column.
        row: Where the columns are that tell its row.
    """

    at: int
    place: str
    row: tuple[Place, ...]


CODED = frozenset({"memories", "states", "index_rows", "grants"})
"""Tables whose cells have codes within: what does not open is refused by these, by name."""


class Cells:
    """Seals and opens the cells of one store.

    Args:
        seals: By which.
    """

    def __init__(self, seals: DataKeys) -> None:
        self.seals = seals

    def sealed(self, owner: bytes, place: str, row: Sequence[Cell], value: Cell) -> Cell:
        """Return what is stored for a value; what is empty, or NULL, stays so.

        Args:
            owner: Digest.
            place: Table and column, ``memories.body``.
            row: The values of the columns that tell its row.
            value: Bytes, or a text.
        """
        if not value:
            return value
        if isinstance(value, bytes):
            return self.seals.sealed(owner, _bound(place, row), value)
        text = str(value).encode("utf-8", "surrogatepass")
        sealed = self.seals.sealed(owner, _bound(place, row), text)
        # A name stands in answers beside which no statement shows whose it is.
        return base64.b64encode(owner + sealed).decode("ascii")

    def opened(self, owner: bytes, place: str, row: Sequence[Cell], cell: Cell) -> Cell:
        """Undo :meth:`sealed`.

        Raises:
            Unopened: If it is not what was sealed there.
            KeyDestroyed: If the owner was erased since.
            KeyUnavailable: If its key is not in the vault.
        """
        if not cell or isinstance(cell, int):
            return cell
        if isinstance(cell, bytes):
            return self.seals.opened(owner, _bound(place, row), cell)
        whose, sealed = owner_in(cell)
        if whose != owner:
            raise Unopened("is somebody else's")
        return self.seals.opened(owner, _bound(place, row), sealed).decode("utf-8", "surrogatepass")


def owner_in(cell: str | bytes) -> tuple[bytes, bytes]:
    """Return whose a sealed text is, and the cell.

    Raises:
        Unopened: If it is none.
    """
    try:
        raw = base64.b64decode(cell, validate=True)
    except (binascii.Error, ValueError):
        raise Unopened("is not sealed") from None
    return raw[:OWNER_BYTES], raw[OWNER_BYTES:]


def _bound(place: str, row: Sequence[Cell]) -> bytes:
    # Kind and length of each, so that no two rows read the same.
    parts = [place.encode("ascii")]
    for cell in row:
        if cell is None:
            parts.append(b"\0n")
        elif isinstance(cell, bytes):
            parts += (b"\0b%d:" % len(cell), cell)
        elif isinstance(cell, str):
            raw = cell.encode("utf-8", "surrogatepass")
            parts += (b"\0t%d:" % len(raw), raw)
        else:
            parts.append(b"\0i%d" % cell)
    return b"".join(parts)
