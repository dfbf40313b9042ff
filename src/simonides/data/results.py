"""What calls return that take data in or out."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from simonides.core.record import Value


class ImportReport(Value):
    """What became of each item of an export.

    Attributes:
        format: Name of the format; of a folder with several, each.
        stored: Number of messages and statements that were stored.
        known: Number of those that were stored before.
        held: Number of statements that wait for a person, in `pending`.
        refused: Number of those that policy refuses.
        left: Number of items that are no memories of the user, such as results of tools.
        unreadable: Number of lines or values that cannot be read.
        conversations: Number of conversations in the export.
        reasons: How often each reason occurred, such as ``left:tool``.
        problems: Place and reason of the first 1,000 items that were refused or not readable.
        dry_run: Whether nothing was written.
    """

    format: str = ""
    stored: int = 0
    known: int = 0
    held: int = 0
    refused: int = 0
    left: int = 0
    unreadable: int = 0
    conversations: int = 0
    reasons: Mapping[str, int] = {}
    problems: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False


class Inspection(Value):
    """What an export holds, before anything is stored.

    Attributes:
        format: Name of the format; of a folder with several, each.
        entries: Number of its items.
        found: How many are ``turns``, ``statements``, ``junk``, ``unreadable``, ``duplicates``,
            ``stale``, ``contradictory``, ``secrets``, ``instructions`` from outside, ``echoes`` of
            a digest, or ``without_owner``; an item may be several of these.
        junk: How often each reason occurred for which an item is no memory.
        months: How many items were said in each month, such as ``2026-01``.
        examples: Of each finding up to five, each with its place and the beginning of its text; of
            a secret the rule that found it.
    """

    format: str
    entries: int
    found: Mapping[str, int]
    junk: Mapping[str, int]
    months: Mapping[str, int]
    examples: Mapping[str, tuple[tuple[str, str], ...]]


class Dump(Value):
    """What was exported or restored of one owner.

    Attributes:
        path: The file.
        rows: Number of rows by table.
    """

    path: Path
    rows: Mapping[str, int]


class Erasure(Value):
    """Receipt of an erasure. It holds no content and no name.

    Attributes:
        id: Its id.
        subject: Digest of the owner that was erased, keyed by the store's secret.
        at: When.
        rows: Deleted rows by table; ``copies`` and below are what others had of it.
        looked_for: How many ids, salts and pieces of text the files were searched for.
        status: ``done``; or ``pending`` while deleted bytes may be in a log, or, in PostgreSQL, in
            tables until ``simonides db vacuum``.
        code: Keyed digest of all this, under the audit key.
    """

    id: str
    subject: str
    at: datetime
    rows: Mapping[str, int]
    looked_for: int
    status: Literal["done", "pending"]
    code: str

    def coded(self, key: bytes) -> str:
        """Return the code that the receipt should have."""
        named = self.model_dump_json(exclude={"code"}).encode()
        return hashlib.blake2b(named, digest_size=32, key=key).hexdigest()

    def is_genuine(self, audit_key: str = "") -> bool:
        """Whether a store with this audit key made the receipt so; it needs no store.

        Args:
            audit_key: The key; without one, only mistakes are noticed.
        """
        secret = audit_key.encode()
        key = hashlib.blake2b(secret, digest_size=32).digest() if secret else b""
        return hmac.compare_digest(self.code, self.coded(key))


class Restored(Value):
    """What happened when a backup was put in the place of a store.

    Attributes:
        path: The store's file; of PostgreSQL, the address without a password.
        moved_to: The file that was there before; of PostgreSQL, the name that the database which
            was there before has now. None if nothing was there.
        owners: Number of owners that the backup has.
        erased_again: Owners that were erased since the backup was made.
        forgotten_again: Versions of memories that were forgotten since the backup was made.
        decided_again: Tombstones, refusals, grants, tokens and texts that were changed since.
        events_lost: Events since then, which are only in what was there before.
    """

    path: Path | str
    moved_to: Path | str | None
    owners: int
    erased_again: int = 0
    forgotten_again: int = 0
    decided_again: int = 0
    events_lost: int = 0
