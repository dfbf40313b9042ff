"""Backups of a whole store: online, verified, and optionally on a schedule.

A copy is made next to its target, opened as a store, and verified: every page, every audit chain,
every content, and the position of each owner. Only then it gets its name, and only then older
backups are deleted. A failed backup leaves the existing ones untouched.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, cast

from simonides.domain.codecs.parts import OwnerFacts
from simonides.domain.errors import (
    CarryRefused,
    ConfigurationError,
    InvalidInput,
    SimonidesError,
    StoreError,
)
from simonides.domain.operations.backup import BackupName, BackupReport, superfluous
from simonides.domain.value import from_us
from simonides.engine.core import AuditReport, Drive, PeriodicTask, verify
from simonides.ports import Alarm, BackupStore, Capability, Clock, MemoryStore, RevertibleStore
from simonides.transfer.files import absolute, files_refused, sync_directory

START_S = 60.0
"""From opening to the first check for a due backup. Chosen: a short command ends before it."""

RETRY_S = 60.0
"""Delay after a failure: a full disk or a lost mount may be repaired soon. Chosen."""

KEEP = 48
"""Backups kept by default: one day at the default interval. Chosen."""

Reopen: TypeAlias = Callable[[Path], RevertibleStore]
"""Opens the store in a file."""

Tell: TypeAlias = Callable[[int, int], None]
"""Receives the number of copied pages and their total."""


def backup_store(store: MemoryStore) -> BackupStore:
    """Return a store as one that can be backed up.

    Raises:
        CarryRefused: ``unsupported``, if it cannot.
    """
    if Capability.BACKUPS not in store.capabilities:
        raise CarryRefused(
            "unsupported",
            store.location,
            "this kind of store cannot be backed up; see docs/operations.md",
        )
    return cast("BackupStore", store)


_FILES = frozenset({".db", ".sqlite", ".sqlite3"})
"""Suffixes of file names; a path without one of them is a directory."""


class Backups(PeriodicTask):
    """Takes the backups of one open store; safe to share between threads.

    Attributes:
        directory: Where backups go; None without a setting and a default place.
        keep: Number of newest backups kept.
    """

    def __init__(
        self,
        store: MemoryStore,
        clock: Clock,
        reopen: Reopen,
        *,
        directory: Path | None = None,
        every_s: float | None = None,
        keep: int = KEEP,
        alarm: Alarm | None = None,
    ) -> None:
        """Build it; with ``every_s``, a directory and an alarm, backups run on a schedule.

        Args:
            store: The store.
            clock: The time of a backup.
            reopen: Opens a copy, to verify it.
            directory: Where backups go.
            every_s: Interval between backups of any process, in seconds; None for never.
            keep: Number of newest backups kept.
            alarm: Timer of the schedule.
        """
        super().__init__(alarm if every_s is not None and directory is not None else None)
        self.directory = directory
        self.keep = keep
        self.reopen = reopen
        self._store = store
        self._clock = clock
        self._every_s = every_s

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the last scheduled backup failed, for ``status``."""
        return () if self._problem is None else (f"backup:{self._problem}",)

    def driven_by(self, drive: Drive) -> None:
        """Set how to run without an event loop, and start the schedule."""
        super().driven_by(drive)
        self.begin()

    def begin(self) -> None:
        """Start the schedule, if backups have one."""
        self._wake_in(START_S)

    async def known(self) -> tuple[Path, ...]:
        """Return the backups of this store in its directory, oldest first."""
        if self.directory is None or Capability.BACKUPS not in self._store.capabilities:
            return ()
        return known_backups(self.directory, await self._name())

    async def take(
        self, to: str | os.PathLike[str] | None, keep: int | None, tell: Tell | None
    ) -> BackupReport:
        """Take a backup; see :meth:`simonides.AsyncStore.backup`."""
        store, at = backup_store(self._store), from_us(self._clock.now_us())
        name = BackupName(await self._name(), at)
        directory, file = self._place(to, name, is_kept=keep is not None)
        with files_refused(directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if file.exists():
            raise CarryRefused("exists", str(file), "a file is there already; name another place")
        place = directory if file.name == name.file else file
        with files_refused(file):
            await store.note_place(str(place), name.store)
        with _temporary_copy(file) as part:
            stood = await store.copy_to(str(part), tell or (lambda *_: None))
            report = await self._verified(part, file, stood)
            with files_refused(file):
                _put_in_place(part, file)
        removed = () if place == file else self._tidied(directory, name.store, keep)
        return BackupReport(
            path=str(file),
            at=at,
            size_bytes=file.stat().st_size,
            owners=report.owners,
            events=report.events,
            removed=removed,
        )

    async def _name(self) -> str:
        # Two stores of one name may share a directory: their salts distinguish them.
        keys = await backup_store(self._store).keys()
        short = hashlib.blake2b(keys.salt, digest_size=4).hexdigest()
        return f"{Path(self._store.location).stem.strip(':')[:100]}-{short}"

    def _place(
        self, to: str | os.PathLike[str] | None, name: BackupName, *, is_kept: bool
    ) -> tuple[Path, Path]:
        """Return the directory and the file of a backup.

        With ``keep`` the target is a directory, even if it does not exist: a single file cannot
        rotate.
        """
        if to is None:
            if self.directory is None:
                raise CarryRefused(
                    "file",
                    self._store.location,
                    "name a directory for its backups, by --to or the setting backup_dir",
                )
            return self.directory, self.directory / name.file
        place = absolute(to)
        is_directory = place.is_dir() or os.fspath(to).endswith(("/", os.sep))
        if is_kept and not is_directory:
            if place.exists() or place.suffix in _FILES:
                raise InvalidInput("keep", f"is for a directory of backups, and {to} is a file")
            is_directory = True
        return (place, place / name.file) if is_directory else (place.parent, place)

    async def _verified(
        self, part: Path, file: Path, stood: Mapping[bytes, OwnerFacts]
    ) -> AuditReport:
        """Open a copy and verify all of it.

        Raises:
            CarryRefused: ``damaged``, if it differs from the store.
        """
        try:
            report = await verify_copy(self.reopen(part), stood)
        except ConfigurationError:
            raise
        except StoreError as error:
            raise CarryRefused("damaged", str(file), f"the copy cannot be used: {error}") from error
        except ValueError as error:
            raise CarryRefused(
                "damaged", str(file), f"{error}; what is backed up is damaged, or the disk is"
            ) from error
        return report

    def _tidied(self, directory: Path, store: str, keep: int | None) -> tuple[str, ...]:
        """Delete old backups after a new one, and return their names."""
        names = [path.name for path in directory.iterdir()]
        gone = superfluous(names, store, self.keep if keep is None else keep)
        with files_refused(directory):
            for file in gone:
                (directory / file).unlink(missing_ok=True)
                digest_path(directory / file).unlink(missing_ok=True)
        return tuple(gone)

    # -- on time ---------------------------------------------------------------------------

    async def _woken(self) -> None:
        if self._is_closed:
            return
        wait_s = RETRY_S
        try:
            wait_s = await self._left_s()
            if wait_s <= 0:
                await self.take(None, None, None)
                wait_s = self._every_s or RETRY_S
            self._problem = None
        except (SimonidesError, OSError) as error:
            self._problem = type(error).__name__
            wait_s = RETRY_S
        self._wake_in(wait_s)

    async def _left_s(self) -> float:
        """Return the seconds until the next backup, counted from the newest of any process.

        A store that nobody has written to has no file, and a backup would make it.
        """
        is_durable = Capability.DURABLE in self._store.capabilities
        if is_durable and not Path(self._store.location).exists():
            return self._every_s or RETRY_S
        known = await self.known()
        named = BackupName.parse(known[-1].name) if known else None
        if named is None or self._every_s is None:
            return 0.0
        age = from_us(self._clock.now_us()) - named.at
        # A backup from the future has another clock; the wait must not become longer.
        return min(self._every_s - age.total_seconds(), self._every_s)


def known_backups(directory: Path, store: str) -> tuple[Path, ...]:
    """Return the backups of a store in a directory, oldest first.

    Args:
        directory: Where backups go; may be missing.
        store: Prefix of their names, as in :class:`~simonides.domain.operations.backup.BackupName`.
    """
    if not directory.is_dir():
        return ()
    named = ((path, BackupName.parse(path.name)) for path in directory.iterdir())
    return tuple(sorted(path for path, name in named if name is not None and name.store == store))


async def verify_copy(
    copy: RevertibleStore, stood: Mapping[bytes, OwnerFacts] | None = None
) -> AuditReport:
    """Verify every page, chain and content of a store, and the positions of its owners; then close
    it.

    Args:
        copy: Opened for this.
        stood: The expected positions; None if unknown.

    Raises:
        ValueError: If something is wrong; it says what.
        StoreError: If it cannot be read.
    """
    try:
        wrong = await copy.unsound()
        if wrong:
            raise ValueError(f"a page is not sound: {wrong[0]}")
        if stood is not None:
            there = {owner: await copy.facts(owner) for owner in await copy.inhabitants()}
            if {owner: facts for owner, facts in there.items() if facts is not None} != stood:
                raise ValueError("its owners do not stand where they stood")
        report = await verify(copy)
        if not report.ok:
            found = report.problems[0]
            raise ValueError(f"{found.owner} does not hold ({found.problem}, event {found.seq})")
        return report
    finally:
        await copy.close()


@contextmanager
def _temporary_copy(file: Path) -> Iterator[Path]:
    """Yield a path for a copy next to its target; removed at the end with its side files.

    A killed process leaves it behind.
    """
    work = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    with files_refused(file):
        work.mkdir(mode=0o700)
    try:
        yield work / "memory.db"
    finally:
        shutil.rmtree(work, ignore_errors=True)


def digest_path(file: Path) -> Path:
    """Return the path of a backup's digest file, in the format of ``sha256sum``."""
    return file.with_name(f"{file.name}.sha256")


def _put_in_place(part: Path, file: Path) -> None:
    with part.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
        os.fsync(written.fileno())
    beside = digest_path(part)
    beside.write_text(f"{digest}  {file.name}\n", "utf-8")
    # The digest comes first: a backup without one would seem to have lost it.
    beside.replace(digest_path(file))
    part.replace(file)
    sync_directory(file.parent)
