"""Proof that a data subject was erased: what went, where one looked, and what may remain.

A receipt is self-contained and goes through JSON and back. It holds nothing of what was erased: the
subject is the digest that the store's salt makes of it.
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
"""Reason in the record of an erasure, with a count behind a colon."""

_SEAL = b"simonides erasure receipt 1\0"


class ErasureState(StrEnum):
    """Whether anything is still to be done: ``pending`` until the last of ``waits`` is."""

    PENDING = "pending"
    COMPLETE = "complete"


class Look(StrEnum):
    """What looking at a file came to.

    ``clean``: nothing of what was erased is in it. ``residue``: something is. ``emptied``: a later
    process, which cannot know what to look for, saw that the erased rows are gone and that SQLite
    overwrites what it deletes. ``unread``: it could not be read. ``shredded``: what is in it of the
    subject was encrypted by a key that is destroyed.
    """

    CLEAN = "clean"
    RESIDUE = "residue"
    EMPTIED = "emptied"
    UNREAD = "unread"
    SHREDDED = "shredded"


@dataclass(frozen=True, slots=True)
class LookedAt(Value):
    """One file that was looked at.

    Attributes:
        path: Of the file.
        size: Bytes.
        result: What was found.
        found: Places in which something of what was erased stands.
    """

    path: str
    size: int
    result: Look
    found: int = 0


@dataclass(frozen=True, slots=True)
class Remainder(Value):
    """Where a copy may remain that the store cannot reach.

    Attributes:
        code: Machine-readable.
        where: In words.
        until: When it is gone, in words.
    """

    code: str
    where: str
    until: str


@dataclass(frozen=True, slots=True)
class Purged(Value):
    """What a store did to its files, and found in them.

    Attributes:
        files: Those looked at.
        waits: Codes of what is still to be done: ``log_in_use``, ``residue``, ``backup:PATH``,
            ``records`` (safety records and feedback could not be reached) …
        remains: What the store cannot reach.
    """

    files: tuple[LookedAt, ...] = ()
    waits: tuple[str, ...] = ()
    remains: tuple[Remainder, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof(Value):
    """The link of the subject's audit chain that records the erasure; bytes as hexadecimal text.

    Attributes:
        seq: Place in the chain, from 1.
        previous: Code of the link before.
        mac: Code of this link.
        commitment: To salt and payload.
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
    """What came of the erasure of one data subject.

    Attributes:
        format: :data:`RECEIPT_FORMAT`.
        subject: Digest of the subject under the store's salt, 32 hexadecimal characters.
        state: Whether anything waits.
        waits: Codes: ``cascade:N`` (other owners still hold N batches of copies), and those of
            :class:`Purged`.
        erased_at: System time of the erasure.
        checked_at: When ``state`` was found to be so.
        removed: Rows that went, by part of the store (docs/erasure.md names them).
        copies: Memories of other owners, derived from the subject's, that go too.
        tombstones: Fingerprints kept so that the same is not learned again.
        incarnation_before: Of the owner, hexadecimal; None if it had never been written.
        incarnation_after: The one drawn at erasure.
        files: Those looked at.
        remains: Where copies may remain that the store cannot reach.
        link: The record in the audit chain.
        seal: HMAC-SHA256 of all else under the store's tag key, hexadecimal; empty before it is
            sealed.
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
        """How much of what went could not be read any more, as the link tells it: there are no
        tombstones of it, and its text was not looked for in files.
        """
        try:
            reasons = json.loads(self.link.payload)["reasons"]
            return sum(
                int(n) for what, _, n in (r.partition(":") for r in reasons) if what == UNREADABLE
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return 0  # not the record of an erasure: `check_alone` says so

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> ErasureReceipt:
        """Return the receipt that :meth:`to_dict` gave, JSON in between or not.

        Raises:
            InvalidInput: If it is none, naming the field.
        """
        found: ErasureReceipt = read_value(cls, "receipt", raw)
        return found

    def sealed(self, key: bytes) -> ErasureReceipt:
        """Return the receipt with the seal that a store's tag key makes."""
        return replace(self, seal=self._code(key))

    def is_sealed_by(self, key: bytes) -> bool:
        """Whether a tag key made the seal of exactly this receipt."""
        return hmac.compare_digest(self.seal, self._code(key))

    def _code(self, key: bytes) -> str:
        said = self.to_dict()
        del said["seal"]
        return hmac.new(key, _SEAL + canonical_json(said), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class ReceiptCheck(Value):
    """What checking a receipt found.

    Attributes:
        problems: Codes: ``format``, ``commitment``, ``code``, ``payload``, ``state`` of the receipt
            itself; ``seal``, ``chain``, ``link``, ``unknown_subject``, ``rows:PART`` beside the
            store.
        checked: What was looked at: ``receipt``, and with a store ``seal``, ``chain``, ``rows``.
        unchecked: What could not be, and why, in words.
    """

    problems: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with what was looked at."""
        return not self.problems


def check_alone(receipt: ErasureReceipt) -> tuple[str, ...]:
    """Return what is wrong with a receipt by itself, without the store.

    Its link must be what its payload, its salt and the link before make, and say what the receipt
    says. Codes of a chain are unkeyed, so this finds accidents and careless edits; who can compute
    SHA-256 can make a receipt that passes. Beside a published code of the chain, or the store, it
    is proof.
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
