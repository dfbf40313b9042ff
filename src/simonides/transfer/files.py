"""Paths and files of operations, with system errors turned into this package's errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simonides.domain.errors import CarryRefused


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a file, independent of later changes of the working directory."""
    return Path.cwd() / path


@contextmanager
def files_refused(path: Path) -> Iterator[None]:
    """Turn system errors about a file into :class:`CarryRefused`."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise CarryRefused("file", str(path), f"the system says: {problem}") from error


def sync_directory(path: Path) -> None:
    """Sync a directory, so that a new name survives a power failure; some systems cannot."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
