"""Proof that a data subject was erased: what was removed, what was checked, what may remain.

A receipt is self-contained and round-trips through JSON. It holds no erased data: the subject is a
digest made with the store's salt.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.from_dict import read_value
from simonides.domain.event import chain, commit_to
from simonides.domain.value import Value

RECEIPT_FORMAT = 1
"""Raised when the JSON form of a receipt changes."""

UNREADABLE = "unreadable"
"""Reason in the erasure event, followed by a colon and a count."""

_SEAL = b"simonides erasure receipt 1\0"


class ErasureState(StrEnum):
    """Whether the erasure is complete: ``pending`` until all of ``waits`` are done."""

    PENDING = "pending"
    COMPLETE = "complete"


class Look(StrEnum):
    """Result of checking a file.

    ``clean``: it holds no erased data. ``residue``: it holds some. ``emptied``: a later process
    does not know the erased text; it verified that the erased rows are gone and that SQLite
    overwrites deleted data. ``unread``: it could not be read. ``shredded``: its data of the subject
    is encrypted by a destroyed key.
    """

    CLEAN = "clean"
    RESIDUE = "residue"
    EMPTIED = "emptied"
    UNREAD = "unread"
    SHREDDED = "shredded"


@dataclass(frozen=True, slots=True)
class LookedAt(Value):
    """One checked file.

    Attributes:
        path: Path of the file.
        size: Bytes.
        result: Result of the check.
        found: Number of places with erased data.
    """

    path: str
    size: int
    result: Look
    found: int = 0


@dataclass(frozen=True, slots=True)
class Remainder(Value):
    """A place out of the store's reach where a copy may remain.

    Attributes:
        code: Machine-readable.
        where: The place, in words.
        until: When the copy is gone, in words.
    """

    code: str
    where: str
    until: str


@dataclass(frozen=True, slots=True)
class Purged(Value):
    """Result of a store's purge of its files.

    Attributes:
        files: The checked files.
        waits: Codes of pending work: ``log_in_use``, ``residue``, ``backup:PATH``, ``records``
            (safety records and feedback could not be reached) …
        remains: Places that the store cannot reach.
    """

    files: tuple[LookedAt, ...] = ()
    waits: tuple[str, ...] = ()
    remains: tuple[Remainder, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof(Value):
    """The link of the subject's audit chain that records the erasure; bytes as hexadecimal text.

    Attributes:
        seq: Sequence number in the chain, from 1.
        previous: Code of the previous link.
        mac: Code of this link.
        commitment: Commitment to salt and payload.
        salt: 16 bytes.
        payload: Canonical JSON of the event.
    """

    seq: int
    previous: str
    mac: str
    commitment: str
    salt: str
    payload: str


@dataclass(frozen=True, slots=True)
class ErasureReceipt(Value):
    """Result of the erasure of one data subject.

    Attributes:
        format: :data:`RECEIPT_FORMAT`.
        subject: Digest of the subject under the store's salt, 32 hexadecimal characters.
        state: Whether work is pending.
        waits: Codes of pending work: ``cascade:N`` (other owners still hold N batches of copies),
            and those of :class:`Purged`.
        erased_at: System time of the erasure.
        checked_at: Time at which ``state`` was determined.
        removed: Removed rows by part of the store (docs/privacy.md names them).
        copies: Memories of other owners, derived from the subject's, that are removed too.
        tombstones: Fingerprints kept so that the same facts are not learned again.
        incarnation_before: The owner's old incarnation, hexadecimal; None if never written.
        incarnation_after: The incarnation drawn at erasure.
        files: The checked files.
        remains: Places out of the store's reach where copies may remain.
        link: The record in the audit chain.
        seal: HMAC-SHA256 of all other fields under the store's tag key, hexadecimal; empty before
            sealing.
    """

    format: int
    subject: str
    state: ErasureState
    waits: tuple[str, ...]
    erased_at: datetime
    checked_at: datetime
    removed: Mapping[str, int]
    copies: int
    tombstones: int
    incarnation_before: str | None
    incarnation_after: str
    files: tuple[LookedAt, ...]
    remains: tuple[Remainder, ...]
    link: Proof
    seal: str = ""

    @property
    def unreadable(self) -> int:
        """Number of removed rows that could not be decoded, as recorded in the link.

        They have no tombstones, and files were not searched for their text.
        """
        try:
            reasons = json.loads(self.link.payload)["reasons"]
            return sum(
                int(n) for what, _, n in (r.partition(":") for r in reasons) if what == UNREADABLE
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return 0  # not the record of an erasure: `check_alone` reports it

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> ErasureReceipt:
        """Return the receipt from the output of :meth:`to_dict`, directly or through JSON.

        Raises:
            InvalidInput: If it is not a receipt; names the field.
        """
        found: ErasureReceipt = read_value(cls, "receipt", raw)
        return found

    def sealed(self, key: bytes) -> ErasureReceipt:
        """Return the receipt sealed with a store's tag key."""
        return replace(self, seal=self._code(key))

    def is_sealed_by(self, key: bytes) -> bool:
        """Whether the seal was made with this tag key for exactly this receipt."""
        return hmac.compare_digest(self.seal, self._code(key))

    def _code(self, key: bytes) -> str:
        fields = self.to_dict()
        del fields["seal"]
        return hmac.new(key, _SEAL + canonical_json(fields), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class ReceiptCheck(Value):
    """Result of checking a receipt.

    Attributes:
        problems: Codes: ``format``, ``commitment``, ``code``, ``payload``, ``state`` of the receipt
            itself; ``seal``, ``chain``, ``link``, ``unknown_subject``, ``rows:PART`` compared with
            the store.
        checked: Checks done: ``receipt``, and with a store ``seal``, ``chain``, ``rows``.
        unchecked: Checks that were impossible, and why, in words.
    """

    problems: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether all checks that were done passed."""
        return not self.problems


def check_alone(receipt: ErasureReceipt) -> tuple[str, ...]:
    """Return the problems of a receipt alone, without the store.

    The link must follow from its payload, its salt and the previous link, and agree with the
    receipt. Chain codes are unkeyed, so this finds accidents and careless edits; a forger can
    compute a receipt that passes. Together with a published code of the chain, or with the store,
    it is proof.
    """
    link, problems = receipt.link, []
    if receipt.format != RECEIPT_FORMAT:
        problems.append("format")
    if (receipt.state is ErasureState.PENDING) != bool(receipt.waits):
        problems.append("state")
    try:
        named = [receipt.subject, link.previous, link.mac, link.commitment, link.salt]
        subject, previous, mac, commitment, salt = map(bytes.fromhex, named)
    except ValueError:
        return (*problems, "code")
    if commit_to(salt, link.payload.encode()) != commitment:
        problems.append("commitment")
    if chain(previous, subject, link.seq, commitment) != mac:
        problems.append("code")
    if not _says_the_same(receipt):
        problems.append("payload")
    return tuple(problems)


def _says_the_same(receipt: ErasureReceipt) -> bool:
    try:
        event = json.loads(receipt.link.payload)
        details = event["details"]
        return (event["type"], event["at"]) == ("erased", receipt.erased_at.isoformat()) and {
            "removed": dict(receipt.removed),
            "copies": receipt.copies,
            "tombstones": receipt.tombstones,
            "incarnation_before": receipt.incarnation_before,
        } == details
    except (ValueError, TypeError, KeyError):
        return False
