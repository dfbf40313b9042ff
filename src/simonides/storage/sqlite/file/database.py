"""One open SQLite database, in a file or in memory: what all SQLite stores do with it.

Where the database lies, and how readers and writers are kept apart there, is the concern of its
:class:`~simonides.storage.sqlite.file.place.Place`.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import apsw

from simonides.domain.errors import KeyUnavailable, StoreUnavailable
from simonides.ports import Capability
from simonides.storage.schema.owner_ids import Owners, Secrets
from simonides.storage.sqlite.file.absent_place import AbsentPlace
from simonides.storage.sqlite.file.connection import IDLE_READERS, FilePlace, Opening
from simonides.storage.sqlite.file.errors import Translating
from simonides.storage.sqlite.file.memory_place import MemoryPlace
from simonides.storage.sqlite.file.place import BUSY_TIMEOUT_S, Place
from simonides.storage.sqlite.file.schema import SQL, Synchronous, draw_secrets, holds_bytes

ARRIVING = "arriving"
"""Name of the row of ``meta`` that closes the store to everybody but who fills it."""

CODED = "coded"
"""Name of the row of ``meta`` that says that the memories of a file are under a key ring."""

T = TypeVar("T")

EARLY_NOTES = 1000
"""Writes of :meth:`SqliteDatabase._noting` kept until a file is made. Chosen: who only reads makes
few, for they come in batches; of more the oldest are lost."""

Make = Callable[[], tuple[FilePlace, Secrets]]
"""Opens the file of a store, or makes it; returns it with the keys of the store's digests."""


def check_filling(connection: apsw.Connection, *, may_go_on: bool) -> None:
    """Check that a store is whole, unless the caller goes on with moving another store here.

    Raises:
        StoreUnavailable: If a move is under way, or was when its process ended, and this is not
            to go on with it.
    """
    if not may_go_on and arrival_in(connection) is not None:
        raise StoreUnavailable(
            connection.filename,
            "another store is being moved here and not all of it has arrived; run the same "
            "`simonides db migrate` again, or start over with another target",
        )


def arrival_in(connection: apsw.Connection) -> bytes | None:
    """Return who is on the way, with the mark; empty for nobody, None if no move is under way."""
    found: bytes | None = connection.execute(SQL["meta"], {"name": ARRIVING}).get
    return found


def check_ring(connection: apsw.Connection) -> None:
    """Check that a store that is opened without a key ring has none: rows written without codes
    would look as if they had been edited.

    Raises:
        KeyUnavailable: If the store is under a ring.
    """
    if connection.execute(SQL["meta"], {"name": CODED}).get is not None:
        raise KeyUnavailable(
            f"{connection.filename}: is under a key ring; name it by the setting keys, keys_file or"
            " keys_command (docs/privacy.md)"
        )


class SqliteDatabase:
    """An open database; safe to share between threads.

    Opened with ``inline=False`` a file is for event loops: writes then run on a thread of its own,
    and reads of an owner's every row on others; both are awaited under asyncio. Reads of a few rows
    stay on the caller's thread. A write whose waiting is cancelled may still take place. A database
    in memory waits for no disk and is always inline.

    A database whose file is not there yet answers reads as an empty one. The first write makes the
    file. The first read after another process made it opens it. What reads note until then is kept
    in memory, and the first write takes it along; without one it ends with the process. The keys
    of the digests come with the file, so a write takes its digests only once the file is there.

    Attributes:
        abilities: Capabilities of every store of a class in a file, inline or not.
        is_coded: Whether a class reads and writes codes; None if it touches no memories.
    """

    abilities = frozenset({Capability.DURABLE})
    is_coded: ClassVar[bool | None] = None

    def __init__(
        self,
        place: Place,
        secrets: Secrets,
        opening: Opening,
        *,
        inline: bool,
        make: Make | None = None,
    ) -> None:
        """For :meth:`open` and :meth:`in_memory`; ``make`` is for a file that is not there yet."""
        inline_too = {Capability.INLINE} if inline else set()
        is_sealed = opening.is_sealed if make is None else opening.seals_new
        sealed_too = {Capability.SEALED} if is_sealed else set()
        self.capabilities = (self.abilities - place.lacks) | inline_too | sealed_too
        self.location = place.location
        self._opening = opening
        self._thread = None if inline else ThreadPoolExecutor(1, "simonides-writer")
        self._readers = None if inline else ThreadPoolExecutor(IDLE_READERS, "simonides-reader")
        self._make = make
        # Also of whoever asks for the owners while it has it.
        self._making = threading.RLock()
        self._notes: deque[Callable[[], object]] = deque(maxlen=EARLY_NOTES)
        self._stand_on(place, secrets)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        synchronous: Synchronous = "full",
        inline: bool = True,
        filling: bool = False,
        opening: Opening | None = None,
        late: bool = False,
    ) -> Self:
        """Open the store at a path, or make one, with the directories above it.

        Args:
            path: The database file.
            busy_timeout_s: Seconds that a write waits for its turn.
            synchronous: ``full`` survives a power cut with every acknowledged write; ``normal``
                may lose the last ones then, though never when only the process dies, and is
                several times faster.
            inline: False runs writes on a thread of the store's own, for event loops.
            filling: Whether to open it to move owners here, or to go on doing so.
            opening: How its connections are made and its keys read; None for a store in plain. It
                is the store's from now on.
            late: Whether only the first write makes a file that is not there; its errors are then
                those below.

        Raises:
            StoreCorrupt: If the file is something else or of a newer format; it is not touched.
            StoreReadOnly: If the place cannot be written.
            StoreUnavailable: If locked past the time-out, half-filled, or no file can be there.
            StoreFull: If there is no room for an empty store.
            KeyUnavailable: If its memories are under a key ring, or encrypted, and this is not.
        """
        opening = opening or Opening()
        # Absolute, for the host may change its working directory; and where links lead to, for
        # SQLite lays its own files there.
        file = Path(path).resolve()
        keys = draw_secrets()

        def make() -> tuple[FilePlace, Secrets]:
            found: list[Secrets] = []

            def begin(writer: apsw.Connection) -> None:
                found.append(opening.begin(writer))
                check_filling(writer, may_go_on=filling)
                cls._check_kind(writer)

            place = FilePlace.open(
                file,
                opening.connect,
                begin,
                busy_timeout_s=busy_timeout_s,
                synchronous=synchronous,
                keys=keys,
            )
            return place, found[0]

        with Translating(str(file)):
            is_absent = late and not filling and not holds_bytes(file)
        if not is_absent:
            return cls(*make(), opening, inline=inline)
        absent = AbsentPlace(file, keys, busy_timeout_s=busy_timeout_s)
        return cls(absent, keys, opening, inline=inline, make=make)

    @classmethod
    def in_memory(cls, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> Self:
        """Return a new, empty store in the memory of this process, gone when it is closed.

        Args:
            busy_timeout_s: Seconds that a write waits for its turn.
        """
        keys = draw_secrets()
        place = MemoryPlace(keys, busy_timeout_s=busy_timeout_s)
        return cls(place, keys, Opening(), inline=True)

    async def close(self) -> None:
        """Wait for the write that is under way, then close; in a forked child it does nothing."""
        if self._place.is_closed or not self._place.is_ours:
            return
        await self._on(self._thread, self._close)
        for threads in (self._thread, self._readers):
            if threads is not None:
                threads.shutdown()

    @property
    def _owners(self) -> Owners:
        """How the store names owners; a write asks for it once the file is there."""
        self._look()
        return self._named

    @property
    def _translating(self) -> Translating:
        return self._place.translating

    @property
    def _translating_writer(self) -> Translating:
        return self._place.translating_writer

    def _reading(self, *, is_transaction: bool = True) -> AbstractContextManager[apsw.Connection]:
        """See :meth:`~simonides.storage.sqlite.file.place.Place.reading`."""
        self._look()
        return self._place.reading(is_transaction=is_transaction)

    @classmethod
    def _check_kind(cls, writer: apsw.Connection) -> None:
        """Check that a file is of the kind of store that this class is, or note it in a new one."""
        if cls.is_coded:
            writer.execute(SQL["put_meta"], {"name": CODED, "value": b""})
        elif cls.is_coded is not None:
            check_ring(writer)

    def _stand_on(self, place: Place, secrets: Secrets) -> None:
        """Use a place and the keys of its digests from here on."""
        self._place = place
        self._secrets = secrets
        self._named = Owners(secrets)

    def _look(self) -> None:
        """Open the file if it was not there and somebody has made it since."""
        if not self._is_absent():
            return
        with self._making:
            place, make = self._place, self._make
            if make is None or place.is_closed or not place.is_ours:
                return
            with self._translating:
                is_there = holds_bytes(Path(self.location))
            if is_there:
                self._make_file(make)

    def _is_absent(self) -> bool:
        return self._make is not None

    def _ensure_file(self) -> None:
        """Make the file if it is not there yet."""
        if not self._is_absent():
            return
        with self._making:
            self._place.check_usable()
            if self._make is not None:
                self._make_file(self._make)

    def _make_file(self, make: Make) -> None:
        # The place before stays open for the reads of other threads that have begun there.
        self._stand_on(*make())
        self._make = None

    async def _writing(self, write: Callable[[], T]) -> T:
        """Run ``write`` here or, for event loops, on the writer thread; the file is there then."""

        def with_file() -> T:
            self._ensure_file()
            self._write_notes()
            return write()

        is_ready = not (self._is_absent() or self._notes)
        return await self._on(self._thread, write if is_ready else with_file)

    async def _noting(self, write: Callable[[], T]) -> T:
        """Run a write that makes no file: where none is, on the empty store in memory, and once
        more when there is one.
        """

        def note() -> T:
            with self._making:
                place = self._place
                if isinstance(place, AbsentPlace):
                    with place.taking_notes():
                        done = write()
                    # It looks for the file itself, and may have found it.
                    if self._is_absent():
                        self._notes.append(write)
                    return done
            self._write_notes()
            return write()

        self._look()
        is_ready = not (self._is_absent() or self._notes)
        return await self._on(self._thread, write if is_ready else note)

    def _write_notes(self) -> None:
        with self._making:
            while self._notes:
                self._notes[0]()
                self._notes.popleft()

    async def _changing(self, write: Callable[[], T], *, absent: T) -> T:
        """Run a write that only changes what is there; where no file is, return ``absent``."""
        self._look()
        if self._is_absent():
            self._place.check_usable()
            return absent
        return await self._writing(write)

    async def _reading_much(self, read: Callable[[apsw.Connection], T]) -> T:
        """Run ``read`` in a transaction, here or, for event loops, on a thread: it takes longer
        than they may wait. A handful of rows is read sooner than a thread is woken.
        """

        def reading() -> T:
            with self._reading() as connection:
                return read(connection)

        return await self._on(self._readers, reading)

    async def _on(self, threads: ThreadPoolExecutor | None, work: Callable[[], T]) -> T:
        self._place.check_usable()
        if threads is None:
            return work()
        try:
            waiting = threads.submit(work)
        except RuntimeError as error:
            raise StoreUnavailable(self.location, "the store is closed") from error
        return await asyncio.wrap_future(waiting)

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        """The write turn with a transaction, rolled back unless the block ends well.

        The block translates its own errors.
        """
        with self._place.turn() as turn, turn.writing() as connection:
            yield connection

    def _close(self) -> None:
        # Not while another thread makes the file.
        with self._making:
            try:
                if not self._is_absent():
                    self._write_notes()
            finally:
                self._place.close()
        self._opening.close()
