"""A folder of documents as a source of knowledge; only changed files are read again. It writes
nothing, follows no link, and reads nothing outside the folder. Unreadable files are reported by
path and reason; the others are used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

from simonides.domain.errors import ConfigurationError, SourceUnavailable
from simonides.domain.reading.document import (
    Found,
    Passage,
    Skipped,
    source_name,
)
from simonides.domain.value import from_us
from simonides.ports import Capability
from simonides.providers.knowledge.chunking import passages
from simonides.providers.knowledge.documents import Reader, Unreadable, reader_of

MAX_FILES = 20_000
"""Most files of a folder; chosen: more call for a search engine. The rest is reported."""
MAX_PASSAGES = 200_000
"""Most passages of a folder; chosen: some 500 MB of index."""
MAX_FOLDERS_DEEP = 40
"""Folders within folders; chosen."""
FRESH_S = 1.0
"""How long a scan of the folder is reused; chosen: one answer queries several times."""

MAX_SKIPPED = 1_000
"""Most unreadable documents that are named; the others are counted."""
SETTLED_NS = 2_000_000_000
"""Age from which a file counts as settled; the coarsest clock of a file system counts 2 s."""

Stamp: TypeAlias = tuple[int, int, int, int]

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_US = 1_000
_LATEST_US = 4_102_444_800_000_000  # the year 2100


class _CachedFile(NamedTuple):
    """A cached file.

    Attributes:
        stamp: Modification and change time in ns, size and inode; the file is read again only when
            one differs.
        is_settled: Whether it was old enough when read. Two changes within a tick of the file
            system's clock that keep the size leave the same stamp.
        digest: Of its bytes; it is cut again only when this differs.
        passages: Of the file.
        problem: Why it has none, or None.
    """

    stamp: Stamp
    is_settled: bool
    digest: bytes
    passages: tuple[Passage, ...]
    problem: Skipped | None


class _File(NamedTuple):
    path: Path
    location: str
    stamp: Stamp


class FolderSource:
    """The documents of a folder and its subfolders, as :class:`~simonides.ports.KnowledgeSource`.

    Text, Markdown, HTML and PDF, by suffix; HTML and PDF take the extra ``documents``. Names that
    begin with a dot are left out.

    Attributes:
        folder: Absolute path.
        read: Number of files read so far; it does not grow while the folder is unchanged.
    """

    capabilities = frozenset({Capability.CATALOGUE})

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        fresh_s: float = FRESH_S,
        max_files: int = MAX_FILES,
        max_passages: int = MAX_PASSAGES,
        monotonic: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Name a folder; the first query reads it.

        Args:
            folder: Its path.
            name: Used to cite it; None takes the folder's own.
            fresh_s: How long a scan is reused, in seconds.
            max_files: Most files.
            max_passages: Most passages.
            monotonic: Clock of that reuse, seconds.
            wall_ns: The clock of file times, in ns since 1970.

        Raises:
            ConfigurationError: If it is not a folder.
        """
        self.folder = _path(folder).expanduser().absolute()
        if not self.folder.is_dir():
            raise ConfigurationError(f"{self.folder}: no folder of documents found there")
        self.folder = self.folder.resolve()
        self.name = name or source_name(self.folder.name)
        self.read = 0
        self._fresh_s = fresh_s
        self._max_files = max_files
        self._max_passages = max_passages
        self._monotonic = monotonic
        self._wall_ns = wall_ns
        self._lock = threading.Lock()
        self._cache: Mapping[str, _CachedFile] = {}
        self._found: Found | None = None
        self._scanned_at = 0.0

    def __repr__(self) -> str:
        return f"FolderSource({str(self.folder)!r}, name={self.name!r})"

    def look(self, query: str, *, within_s: float) -> Found:
        """See the port; the query does not matter."""
        del query, within_s
        with self._lock:
            now = self._monotonic()
            if self._found is None or not 0 <= now - self._scanned_at < self._fresh_s:
                self._found = self._scan()
                self._scanned_at = now
            return self._found

    def close(self) -> None:
        """Drop the cached files; a later query reads them again."""
        with self._lock:
            self._cache, self._found = {}, None

    def _scan(self) -> Found:
        cached, skipped = dict[str, _CachedFile](), list[Skipped]()
        room = self._max_passages
        for each in self._files(skipped):
            if len(cached) >= self._max_files or room <= 0:
                skipped.append(
                    Skipped(each.location, "too_many", "this file and later ones are not read")
                )
                break
            known = self._cache.get(each.location)
            is_same = known is not None and known.is_settled and known.stamp == each.stamp
            current = known if known and is_same else self._reread(each, known)
            cached[each.location] = current
            room -= len(current.passages)
        self._cache = cached
        return self._summary(cached, skipped)

    def _summary(self, cached: Mapping[str, _CachedFile], skipped: list[Skipped]) -> Found:
        named = sorted(cached)
        skipped += [one.problem for one in map(cached.__getitem__, named) if one.problem]
        digest = hashlib.sha256()
        for name in named:
            one = cached[name]
            changed = one.passages[0].changed_at if one.passages else None
            digest.update(repr((name, one.digest, changed, one.problem)).encode())
        every = sorted(skipped, key=lambda each: (each.location, each.reason))
        digest.update(repr(every).encode())
        found = tuple(passage for name in named for passage in cached[name].passages)
        if len(every) > MAX_SKIPPED:
            more = len(every) - MAX_SKIPPED
            every = [*every[:MAX_SKIPPED], Skipped("…", "too_many", f"and {more:,} more")]
        return Found(found, tuple(every), digest.hexdigest())

    def _files(self, skipped: list[Skipped]) -> Iterator[_File]:
        """Yield the readable files by location; add the others to ``skipped``."""
        try:
            yield from self._below(self.folder, 0, skipped)
        except OSError as error:
            raise SourceUnavailable(
                self.name, f"the folder cannot be read: {_reason_of(error)}"
            ) from None

    def _below(self, folder: Path, depth: int, skipped: list[Skipped]) -> Iterator[_File]:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            if entry.name.startswith("."):
                continue
            path = folder / entry.name
            location = _location(path.relative_to(self.folder))
            try:
                about = path.lstat()
            except OSError as error:
                skipped.append(Skipped(location, "unreadable", _reason_of(error)))
                continue
            reason = _skip_reason(about, entry.name, depth)
            if reason is not None:
                skipped.append(Skipped(location, reason))
            elif stat.S_ISDIR(about.st_mode):
                yield from self._inside(path, depth + 1, location, skipped)
            else:
                yield _File(path, location, _stamp(about))

    def _inside(
        self, folder: Path, depth: int, location: str, skipped: list[Skipped]
    ) -> Iterator[_File]:
        try:
            # The folder may have been replaced by a link after it was listed.
            if folder.resolve() != folder:
                skipped.append(Skipped(location, "link"))
                return
            yield from self._below(folder, depth, skipped)
        except OSError as error:
            skipped.append(Skipped(location, "unreadable", _reason_of(error)))

    def _reread(self, file: _File, known: _CachedFile | None) -> _CachedFile:
        """Read a file whose stamp changed; cut it if its digest did."""
        read, most = reader_of(file.location) or (None, 0)
        digest = b""
        is_settled = self._wall_ns() - max(file.stamp[:2]) > SETTLED_NS
        try:
            if read is None:
                raise Unreadable("kind")
            raw = self._bytes(file, most)
            digest = hashlib.sha256(raw).digest()
            if known is not None and known.digest == digest and known.stamp[0] == file.stamp[0]:
                return known._replace(stamp=file.stamp, is_settled=is_settled)
            found = _cut(file, read, raw)
        except Unreadable as problem:
            skip = Skipped(file.location, problem.reason, problem.advice)
            return _CachedFile(file.stamp, is_settled, digest, (), skip)
        return _CachedFile(file.stamp, is_settled, digest, found, None)

    def _bytes(self, file: _File, most: int) -> bytes:
        """Return a file's bytes, if it is still the file that was listed.

        Raises:
            Unreadable: If it is not, or too large, or cannot be read.
        """
        size = file.stamp[2]
        if size > most:
            raise Unreadable("too_large", f"has {size:,} bytes; the limit is {most:,}")
        try:
            number = os.open(file.path, os.O_RDONLY | _NO_LINK)
        except OSError as error:
            raise Unreadable("unreadable", _reason_of(error)) from error
        try:
            with os.fdopen(number, "rb") as opened:
                about = os.fstat(number)
                if not stat.S_ISREG(about.st_mode) or _stamp(about) != file.stamp:
                    raise Unreadable("changing", "the next query reads it again")
                self.read += 1
                return opened.read(most + 1)[:most]
        except OSError as error:
            raise Unreadable("unreadable", _reason_of(error)) from error


def _cut(file: _File, read: Reader, raw: bytes) -> tuple[Passage, ...]:
    document = read(raw)
    found = passages(
        file.location,
        document,
        fallback_title=file.path.stem,
        changed_at=_changed_at(file.stamp),
    )
    if not found:
        raise Unreadable("empty")
    return found


def _skip_reason(about: os.stat_result, name: str, depth: int) -> str | None:
    """Return why an entry is skipped, or None."""
    mode = about.st_mode
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "too_deep" if depth >= MAX_FOLDERS_DEEP else None
    if not stat.S_ISREG(mode):
        return "special"
    return None if reader_of(name) else "kind"


def _stamp(about: os.stat_result) -> Stamp:
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


def _changed_at(stamp: Stamp) -> datetime:
    # A file may have any time; one outside the range of datetime is clamped.
    return from_us(min(max(stamp[0] // _US, 0), _LATEST_US))


def _location(path: Path) -> str:
    # File names need not be valid text, and invalid text cannot be shown or hashed.
    return path.as_posix().encode("utf-8", "replace").decode("utf-8")


def _reason_of(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _path(named: object) -> Path:
    # An empty path would mean the current directory.
    if not isinstance(named, (str, os.PathLike)) or not os.fspath(named):
        raise ConfigurationError("a folder of documents must be a path")
    return Path(named)
