"""What an export or a restore of an owner tells of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simonides.domain.value import Value


@dataclass(frozen=True, slots=True)
class CarryProgress(Value):
    """How far an export or a restore is.

    Attributes:
        step: ``writing``; or ``checking``, then ``restoring``.
        lines: Behind us in this step.
        of: In all, as far as known.
    """

    step: str
    lines: int
    of: int


@dataclass(frozen=True, slots=True)
class ExportReport(Value):
    """What was exported.

    Attributes:
        path: The file, absolute.
        owner: Canonical path of whose it is.
        counts: Lines by type.
        size_bytes: Of the file.
        sha256: Hexadecimal, over every line but the last, as that one says.
    """

    path: str
    owner: str
    counts: Mapping[str, int]
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RestoreReport(Value):
    """What was restored.

    Attributes:
        path: The file, absolute.
        owner: Canonical path of whose it is.
        restored: Whether anything was written; False if all of it stood here already.
        counts: Lines of the file by type.
        sha256: As in :class:`ExportReport`.
        waiting: Memories whose vectors are still to be made, in the background.
        lost_edges: Copies elsewhere that the file names and that are not kept as derived from
            their originals: none is where a user restores, and where an administrator does those
            that are not there or do not name their original.
        foreign_tags: Tombstones and idempotency keys that were made in another store: they are
            kept, but bind only there.
    """

    path: str
    owner: str
    restored: bool
    counts: Mapping[str, int]
    sha256: str
    waiting: int
    foreign_tags: int
    lost_edges: int
