"""Which files a store knows to be backups of itself; erasure looks into them.

Where backups were put is written down in a small file beside the store, before the first byte of
one. It holds paths and nothing of what is remembered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from simonides.domain.operations.backup import BackupName

RESTORING = "-restore-"
"""In the name of the directory beside a store in which a backup is made ready."""


def record_place(store: Path, place: Path, name: str) -> None:
    """Write down that backups of a store lie in a directory, or that a file is one.

    Args:
        store: Path of the store.
        place: Absolute path of the directory or the file.
        name: What the names of its backups in a directory begin with.

    Raises:
        OSError: If it cannot be written; then no backup should be made.
    """
    line = json.dumps({"place": str(place), "name": name})
    if line in _lines(store):
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = os.open(_record(store), flags, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def known_backups(store: Path) -> Sequence[Path]:
    """Return the backups that were made of the store at a path and are still there, sorted; what a
    killed backup or restore left behind is among them.
    """
    found = set(store.parent.glob(f".{store.name}{RESTORING}*/memory.db"))
    for line in _lines(store):
        said = json.loads(line)
        found |= set(backups_at(Path(said["place"]), said["name"]))
    return sorted(found)


def _record(store: Path) -> Path:
    return store.with_name(store.name + "-backups")


def _lines(store: Path) -> list[str]:
    try:
        written = _record(store).read_text("utf-8")
    except FileNotFoundError:
        return []
    # A line without its end was being written when its writer was killed: nothing came of it.
    return [line for line in written.split("\n")[:-1] if line]


def backups_at(place: Path, name: str) -> Iterator[Path]:
    """Return the backups at one place, as :func:`record_place` has it."""
    if place.is_file():
        yield place
        yield from place.parent.glob(f".{place.name}.*.part/memory.db")
    elif place.is_dir():
        named = ((path, BackupName.parse(path.name)) for path in place.iterdir())
        yield from (path for path, said in named if said is not None and said.store == name)
        yield from place.glob(f".{name}-*.part/memory.db")
    else:
        yield from place.parent.glob(f".{place.name}.*.part/memory.db")
