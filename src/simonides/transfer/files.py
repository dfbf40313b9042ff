"""Files that verbs read and write, and what the system says of them in the words of our errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simonides.domain.errors import CarryRefused


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return where a file lies, whatever the working directory becomes."""
    return Path.cwd() / path


@contextmanager
def files_refused(path: Path) -> Iterator[None]:
    """Raise what the system says of a file as :class:`CarryRefused`."""
    try:
        yield
    except OSError as error:
        problem = error.strerror or str(error)
        raise CarryRefused("file", str(path), f"the system says: {problem}") from error


def sync_directory(path: Path) -> None:
    """Make a new name in a directory outlive a failing power supply; some systems cannot."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
