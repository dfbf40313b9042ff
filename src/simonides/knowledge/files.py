"""The files of a folder that may be read: no hidden ones, none outside, none too large."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from simonides.knowledge.extract import MAX_BYTES, NotRead

_HTML = frozenset({".html", ".htm", ".xhtml"})


def files_of(place: Path) -> Iterator[tuple[str, Path | NotRead]]:
    """Yield the files of a folder, or one file, by path.

    Yields:
        Path within the folder, with ``/``, and the file to read, or why it is not read. A single
        file has an empty path. Folders that cannot be read come last; they end with ``/``, and the
        folder itself is an empty path.
    """
    if not place.is_dir():
        yield "", place
        return
    root, failed = place.resolve(), list[OSError]()
    for folder, folders, names in os.walk(root, onerror=failed.append):
        within = Path(folder).relative_to(root)
        folders.sort()
        for name in sorted({*names, *folders}):
            path, shown = Path(folder, name), (within / name).as_posix()
            is_folder = name in folders
            if name.startswith("."):
                yield shown, NotRead("is hidden")
            elif path.is_symlink():
                yield shown, _target(path, root)
            elif not is_folder:
                yield shown, path
        folders[:] = [name for name in folders if not name.startswith(".")]
    for error in failed:
        shown = Path(error.filename).relative_to(root).as_posix().removeprefix(".")
        yield (
            f"{shown}/".removeprefix("/"),
            NotRead(f"cannot be read: {error.strerror}", stays=True),
        )


def _target(link: Path, root: Path) -> Path | NotRead:
    """Return the file that a link leads to, if it lies in the folder."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # a circle of links raises the latter before Python 3.13
        return NotRead("is a broken link")
    if not target.is_relative_to(root):
        return NotRead("is a link that leaves the folder")
    if target.is_dir():
        return NotRead("is a link to a folder")
    parts = target.relative_to(root).parts
    return NotRead("is a link to a hidden file") if any(p[0] == "." for p in parts) else target


def type_of(path: str) -> str:
    """Return how a file is read, by its name."""
    suffix = Path(path).suffix.lower()
    return "html" if suffix in _HTML else "pdf" if suffix == ".pdf" else "text"


def read_file(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        NotRead: If it is too large, no plain file, or cannot be read.
    """
    # A link put there since it was looked at is not followed; a pipe is not waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_BINARY", 0))
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise NotRead("is no plain file")
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise NotRead("has vanished") from error
    except OSError as error:
        raise NotRead(f"cannot be read: {error.strerror}", stays=True) from error
    if len(content) > MAX_BYTES:
        raise NotRead(f"is larger than {MAX_BYTES // 1_000_000} MB")
    return content
