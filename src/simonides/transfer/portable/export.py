"""Exports an owner to a file: one consistent snapshot, page by page, visible only when complete."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from simonides.domain.codecs.portable import (
    MAX_LINE_BYTES,
    Carried,
    End,
    Header,
    Standing,
    end_line,
    header_line,
    line_of,
)
from simonides.domain.errors import CarryRefused, StoreCorrupt
from simonides.domain.operations.portable import CarryProgress, ExportReport
from simonides.domain.scope import Scope
from simonides.domain.writing.change import Change, Snapshot, TurnRequest
from simonides.engine.core import Runtime
from simonides.engine.recall import ReadJournal
from simonides.ports import Capability, MemoryStore, PortableStore, Portrait
from simonides.transfer.files import files_refused, sync_directory

Tell = Callable[[CarryProgress], None]


def portable(store: MemoryStore) -> PortableStore:
    """Return a store as one whose owners can be exported and restored.

    Raises:
        CarryRefused: ``unsupported``, if it cannot.
    """
    if Capability.PORTABLE not in store.capabilities:
        raise CarryRefused("unsupported", store.location, "this kind of store cannot be carried")
    return cast("PortableStore", store)


async def export(
    runtime: Runtime, owner: Scope, path: Path, *, overwrite: bool, tell: Tell | None
) -> ExportReport:
    """Write all of an owner to a file; see :meth:`simonides.AsyncMemory.export`."""
    store = portable(runtime.store)
    with files_refused(path):
        if not overwrite and os.path.lexists(path):
            raise _is_there(path)
    # The read journal is the owner's data too.
    await runtime.part(ReadJournal).flush(owner)
    await _ensure_owner(runtime, owner)
    async with store.portrait(owner) as portrait:
        with _File(path, overwrite=overwrite) as file:
            file.write([_header(runtime, owner, portrait)])
            if portrait is not None:
                await _pages(runtime, portrait, file, tell or (lambda _: None))
            return await runtime.aside(lambda: file.finished(owner))


async def _ensure_owner(runtime: Runtime, owner: Scope) -> None:
    """Create an owner that has open sessions and nothing else; without one there is no export."""
    (head,) = await runtime.store.heads([owner])
    if head is not None or not await runtime.sessions.sessions(owner):
        return

    def settle(snapshot: Snapshot) -> Change | None:
        return Change(known_at=runtime.clock.now_us()) if snapshot.head is None else None

    await runtime.store.commit(owner, TurnRequest(), settle)


def _header(runtime: Runtime, owner: Scope, portrait: Portrait | None) -> bytes:
    now = runtime.clock.now_us()
    if portrait is None:
        nothing = Standing(0, 0, 0, 0)
        return header_line(Header(now, owner.path, nothing, b"", b"", None, 0))
    facts = portrait.facts
    standing = Standing(facts.epoch, facts.revision, facts.last_known_at, facts.head_seq)
    return header_line(
        Header(
            exported_at=now,
            owner=owner.path,
            standing=standing,
            chain_owner=portrait.digest,
            chain_code=facts.head_mac,
            chain_key=facts.key_id,
            memories=portrait.memories,
        )
    )


async def _pages(runtime: Runtime, portrait: Portrait, file: _File, tell: Tell) -> None:
    of = portrait.memories + portrait.facts.head_seq

    while items := await portrait.next():
        page = items

        def write(page: Sequence[Carried] = page) -> None:
            file.write_items(page, runtime.store.location)

        await runtime.aside(write)
        tell(CarryProgress("writing", file.lines, max(of, file.lines)))


def _is_there(path: Path) -> CarryRefused:
    return CarryRefused("exists", str(path), "a file is there already; name another, or overwrite")


class _File:
    """A file that only its user may read, and that appears at its path only when complete.

    Until then it is a hidden file next to it; a killed process leaves that behind.
    """

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        self._path = path
        self._overwrite = overwrite
        self._part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        self._hash = hashlib.sha256()
        self._counts: Counter[str] = Counter()
        self._size = 0
        self._is_whole = False

    def __enter__(self) -> _File:
        with files_refused(self._path):
            descriptor = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            self._file: BinaryIO = os.fdopen(descriptor, "wb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if not self._is_whole:
            self._part.unlink(missing_ok=True)

    @property
    def lines(self) -> int:
        """Lines written between header and end."""
        return self._counts.total()

    def write(self, lines: Sequence[bytes]) -> None:
        """Append lines."""
        with files_refused(self._path):
            for line in lines:
                self._hash.update(line)
                self._size += len(line)
                self._file.write(line)

    def write_items(self, items: Sequence[Carried], location: str) -> None:
        """Append items, one line each.

        Raises:
            StoreCorrupt: If an item is damaged; the file could not be restored.
        """
        lines = []
        for item in items:
            try:
                line = line_of(item)
            except ValueError as error:
                what = f"a {item.type} ({item.cells[0]!r}) cannot be exported: {error}"
                raise StoreCorrupt(location, what) from error
            if len(line) > MAX_LINE_BYTES:
                what = f"a {item.type} takes {len(line):,} bytes; {MAX_LINE_BYTES:,} can be carried"
                raise CarryRefused("unsupported", str(self._path), what)
            lines.append(line)
            self._counts[item.type] += 1
        self.write(lines)

    def finished(self, owner: Scope) -> ExportReport:
        """Write the last line and move the file to its path, synced to disk.

        Raises:
            CarryRefused: ``exists``, if another file was created there meanwhile.
        """
        sha256 = self._hash.hexdigest()
        self.write([end_line(End(dict(self._counts), sha256))])
        with files_refused(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._place()
            self._is_whole = True
            sync_directory(self._path.parent)
        return ExportReport(str(self._path), owner.path, dict(self._counts), self._size, sha256)

    def _place(self) -> None:
        if self._overwrite:
            self._part.replace(self._path)
            return
        try:
            # Unlike a rename, a link does not overwrite an existing file.
            os.link(self._part, self._path)
        except FileExistsError:
            raise _is_there(self._path) from None
        self._part.unlink()
