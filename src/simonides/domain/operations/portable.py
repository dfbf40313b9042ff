"""Progress and reports of an owner's export and restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class CarryProgress(Value):
    """Progress of an export or a restore.

    Attributes:
        step: ``writing``; or ``checking``, then ``restoring``.
        lines: Lines finished in this step.
        of: Total lines, as far as known.
    """

    step: str
    lines: int
    of: int


@dataclass(frozen=True, slots=True)
class ExportReport(Value):
    """Result of an export.

    Attributes:
        path: The file, absolute.
        owner: Canonical path of the owner.
        counts: Lines by type.
        size_bytes: Size of the file.
        sha256: Hexadecimal, over every line except the last, which holds the same value.
    """

    path: str
    owner: str
    counts: Mapping[str, int]
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RestoreReport(Value):
    """Result of a restore.

    Attributes:
        path: The file, absolute.
        owner: Canonical path of the owner.
        restored: Whether anything was written; False if the store already had all of it.
        counts: Lines of the file by type.
        sha256: As in :class:`ExportReport`.
        waiting: Memories whose vectors are still to be computed in the background.
        lost_edges: Derivation edges to copies of other owners that were not restored. A restore by
            a user drops all of them. A restore by an administrator drops those whose copy is
            missing or does not name its original.
        foreign_tags: Tombstones and idempotency keys from another store; they are kept, but take
            effect only in that store.
    """

    path: str
    owner: str
    restored: bool
    counts: Mapping[str, int]
    sha256: str
    waiting: int
    foreign_tags: int
    lost_edges: int
