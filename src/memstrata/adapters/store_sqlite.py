"""The embedded store: one SQLite file, many readers, one writer at a time, nothing to run.

Reads run on the caller's own thread over a few idle connections. Writes take the file's turn
(:mod:`memstrata.adapters.sqlite_turn`) and one transaction. Beside the file lie SQLite's ``-wal``
and ``-shm`` while it is open, and ``-turn``; nothing is written anywhere else.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from memstrata.adapters import sqlite_rows as rows_of
from memstrata.adapters.sqlite_change import write_change
from memstrata.adapters.sqlite_errors import Translating
from memstrata.adapters.sqlite_log import empty_log, is_written
from memstrata.adapters.sqlite_moving import SqliteMoves, check_filling
from memstrata.adapters.sqlite_schema import (
    SQL,
    Secrets,
    Synchronous,
    open_reader,
    open_writer,
    prepare_file,
    read_secrets,
)
from memstrata.adapters.sqlite_turn import Turnstile, has_line, turnstile
from memstrata.adapters.store_rules import check_edges, is_storable, owner_digest
from memstrata.adapters.store_tags import Tag, chain_tag, key_tag, session_tag, tagger
from memstrata.domain.change import (
    Committed,
    Decide,
    Head,
    HeldCandidate,
    JournalEntry,
    PendingOutbox,
    Snapshot,
    StoredRow,
    TurnRequest,
)
from memstrata.domain.codec import decode
from memstrata.domain.errors import InvalidScope, StoreCorrupt, StoreUnavailable
from memstrata.domain.event import Link
from memstrata.domain.memory import Memory
from memstrata.domain.scope import Grant, Scope
from memstrata.ports import Capability

# Seconds that a writer waits for its turn. Chosen: 100 threads of 8 processes queue for well under
# a second, and a person waits no longer than this for an answer.
BUSY_TIMEOUT_S = 30.0

# Connections kept open for readers. Chosen: more threads than this rarely read at the very same
# moment, and each costs a cache of 2 MB at most.
IDLE_READERS = 8

# Owners whose digests and tag keys are remembered; a few hundred bytes each.
KNOWN_OWNERS = 4096

T = TypeVar("T")


class _Owner(NamedTuple):
    scope: Scope
    digest: bytes
    tag: Tag


def _is_sound(file: Path) -> bool:
    """Look at the file without a lock; False if it must be looked at again under the turn.

    A store that another process is just making or closing may be read half-written. It has a line
    of writers beside it, which a stranger's file has not.
    """
    try:
        prepare_file(file)
    except (StoreCorrupt, apsw.CorruptError, apsw.NotADBError):
        if not has_line(file):
            raise
        return False
    return True


class SqliteStore(SqliteMoves):
    """A :class:`~memstrata.ports.MovableStore` in one file; safe to share between threads.

    Opened with ``inline=False`` it is for event loops: writes then run on a thread of the store's
    own and are awaited under asyncio, reads stay on the caller's thread. A write whose waiting is
    cancelled may still take place.
    """

    def __init__(
        self,
        path: Path,
        writer: apsw.Connection,
        turns: Turnstile,
        secrets: Secrets,
        *,
        busy_timeout_s: float,
        inline: bool,
    ) -> None:
        """For :meth:`open`."""
        inline_too = {Capability.INLINE} if inline else set()
        self.capabilities = frozenset({Capability.DURABLE, Capability.MOVABLE, *inline_too})
        self.location = str(path)
        self._path = path
        self._writer = writer
        self._turns = turns
        self._secrets = secrets
        self._busy_timeout_s = busy_timeout_s
        self._thread = None if inline else ThreadPoolExecutor(1, "memstrata-writer")
        self._translating = Translating(self.location)
        self._translating_writer = Translating(self.location, writer)
        self._idle_readers: list[apsw.Connection] = []
        self._known_owners: dict[Scope, _Owner] = {}
        self._pid = os.getpid()
        self._closed = False
        self._log_holds_forgotten = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        synchronous: Synchronous = "full",
        inline: bool = True,
        filling: bool = False,
    ) -> "SqliteStore":
        """Open the store at a path, or make one, with the directories above it.

        Args:
            path: The database file.
            busy_timeout_s: Seconds that a write waits for its turn.
            synchronous: ``full`` survives a power cut with every acknowledged write; ``normal``
                may lose the last ones then, though never when only the process dies, and is
                several times faster.
            inline: False runs writes on a thread of the store's own, for event loops.
            filling: Whether to open it to move owners here, or to go on doing so.

        Raises:
            StoreCorrupt: If the file is something else or of a newer format; it is not touched.
            StoreReadOnly: If the place cannot be written.
            StoreUnavailable: If locked past the time-out, half-filled, or no file can be there.
            StoreFull: If there is no room for an empty store.
        """
        # Absolute, for the host may change its working directory; and where links lead to, for
        # SQLite lays its own files there.
        file = Path(path).resolve()
        with Translating(str(file)):
            is_sound = _is_sound(file)
            turns = turnstile(file)
            is_first = turns.users == 1
            with ExitStack() as undo:
                undo.callback(turns.release)
                with turns.turn(busy_timeout_s):
                    if not is_sound:
                        prepare_file(file)
                    # Another process may have forgotten something and ended before it could
                    # empty the log; of those in this process the first looks for all.
                    has_log = is_first and is_written(file)
                    writer = open_writer(
                        file, synchronous=synchronous, busy_timeout_s=busy_timeout_s
                    )
                    undo.callback(writer.close)
                    secrets = read_secrets(writer)
                    check_filling(writer, may_go_on=filling)
                    if has_log:
                        empty_log(writer, busy_timeout_s)
                undo.pop_all()
        return cls(file, writer, turns, secrets, busy_timeout_s=busy_timeout_s, inline=inline)

    async def close(self) -> None:
        """Wait for the write that is under way, then close; in a forked child it does nothing."""
        if self._closed or self._pid != os.getpid():
            return
        await self._writing(self._close)
        if self._thread is not None:
            self._thread.shutdown()

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """See the port."""
        digests = [self._owner(owner).digest for owner in owners]
        with self._reading(is_transaction=len(digests) > rows_of.OWNERS_AT_ONCE) as connection:
            return rows_of.fetch_heads(connection, digests)

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_snapshot(connection, digest, since)

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return tuple(rows_of.fetch_as_of(connection, digest, known_at, superseded=superseded))

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """See the port."""
        known = self._owner(owner)
        return await self._writing(lambda: self._commit(known, request, decide))

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return tuple(rows_of.fetch_by_ids(connection, digest, ids))

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """See the port."""
        known = self._owner(owner)
        with self._reading() as connection:
            tag = chain_tag(known.tag, root)
            return tuple(rows_of.fetch_by_tag(connection, known.digest, tag))

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """See the port."""
        known = self._owner(owner)
        with self._reading() as connection:
            tag = key_tag(known.tag, scope, key)
            rows = rows_of.fetch_by_tag(connection, known.digest, tag)
        return tuple(sorted(rows, key=lambda row: (decode(row).created_at, row.id)))

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return tuple(rows_of.fetch_page(connection, digest, after, limit))

    async def states(self, owner: Scope, id: str) -> tuple[Memory, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_states(connection, digest, id)

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """See the port."""
        known = self._owner(owner)
        tag = None if session is None else session_tag(known.tag, session)
        with self._reading() as connection:
            return rows_of.fetch_held(connection, known.digest, tag)

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_grants(connection, digest)

    async def journal(self, owner: Scope, entries: Sequence[JournalEntry]) -> None:
        """See the port."""
        digest = self._owner(owner).digest
        await self._writing(lambda: self._append_journal(digest, entries))

    async def journaled(self, owner: Scope, *, limit: int = 1000) -> tuple[JournalEntry, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_journal(connection, digest, limit)

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """See the port."""
        digest = None if source is None else self._owner(source).digest
        with self._reading() as connection:
            return rows_of.fetch_outbox(connection, digest, limit)

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """See the port."""
        digest = self._owner(source).digest
        check_edges(edges)
        await self._writing(lambda: self._settle(digest, ids, edges))

    async def derived(self, owner: Scope, parent: str) -> tuple[tuple[Scope, str], ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_derived(connection, digest, parent)

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_links(connection, digest, after, limit)

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            found = connection.execute(SQL["chain_head"], {"owner": digest}).fetchone()
        return None if found is None else (digest, *found)

    async def owners(self) -> tuple[Scope, ...]:
        """See the port."""
        with self._reading() as connection:
            named = sorted(
                name for o, name in rows_of.fetch_owners(connection) if self._is(o, name)
            )
        return tuple(Scope.parse(name) for name in named)

    async def strays(self) -> tuple[str, ...]:
        """See the port."""
        with self._reading() as connection:
            named = rows_of.fetch_owners(connection)
            nameless = connection.execute(SQL["nameless"]).fetchall()
        wrong = [name for owner, name in named if not self._is(owner, name)]
        return tuple(sorted([*wrong, *("" for _ in nameless)]))

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """See the port."""
        digest = self._owner(owner).digest
        with self._reading() as connection:
            return rows_of.fetch_damaged(connection, digest)

    def _is(self, owner: bytes, name: str) -> bool:
        """Whether a name is that of the owner of a digest."""
        try:
            return owner_digest(self._secrets.salt, Scope.parse(name)) == owner
        except (InvalidScope, ValueError):
            return False

    def _owner(self, scope: Scope) -> _Owner:
        known = self._known_owners.get(scope)
        if known is None:
            digest = owner_digest(self._secrets.salt, scope)
            known = _Owner(scope, digest, tagger(self._secrets.tag_key, digest))
            if len(self._known_owners) >= KNOWN_OWNERS:
                self._known_owners.clear()
            self._known_owners[scope] = known
        return known

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if self._pid != os.getpid():
            raise StoreUnavailable(self.location, "opened before a fork; open it in this process")

    @contextmanager
    def _reading(self, *, is_transaction: bool = True) -> Iterator[apsw.Connection]:
        """One connection in one short read transaction; a single statement is one by itself."""
        self._check_usable()
        with self._translating:
            try:
                connection = self._idle_readers.pop()
            except IndexError:
                connection = open_reader(self._path, busy_timeout_s=self._busy_timeout_s)
            is_sound = False
            try:
                if is_transaction:
                    connection.execute("BEGIN")
                yield connection
                if is_transaction:
                    connection.execute("COMMIT")
                is_sound = True
            finally:
                if is_sound and not self._closed and len(self._idle_readers) < IDLE_READERS:
                    self._idle_readers.append(connection)
                else:
                    connection.close()

    async def _writing(self, write: Callable[[], T]) -> T:
        """Run ``write`` here or, for event loops, on the writer thread."""
        self._check_usable()
        if self._thread is None:
            return write()
        try:
            waiting = self._thread.submit(write)
        except RuntimeError as error:
            raise StoreUnavailable(self.location, "the store is closed") from error
        return await asyncio.wrap_future(waiting)

    @contextmanager
    def _turn(self) -> Iterator[apsw.Connection]:
        """The file's write turn with a transaction, rolled back unless the block ends well.

        The block translates its own errors: what ``decide`` raises is not ours to touch.
        """
        with self._turns.turn(self._busy_timeout_s):
            self._check_usable()
            with self._translating_writer:
                self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                with self._translating_writer:
                    self._writer.execute("COMMIT")
            finally:
                # After some errors SQLite has rolled back by itself.
                if self._writer.in_transaction:
                    with self._translating_writer:
                        self._writer.execute("ROLLBACK")
            if self._log_holds_forgotten:
                # The write itself is done and stays acknowledged; if a reader is in the way,
                # the next one tries again, or who closes, or who opens the file the next time.
                emptied = empty_log(self._writer, self._busy_timeout_s)
                self._log_holds_forgotten = not emptied

    def _commit(self, owner: _Owner, request: TurnRequest, decide: Decide) -> Committed:
        with self._turn() as connection:
            with self._translating_writer:
                snapshot = rows_of.fetch_for_turn(connection, owner.digest, owner.tag, request)
            change = decide(snapshot)
            if change is None:
                return Committed(snapshot.head, ())
            with self._translating_writer:
                head, rows = write_change(
                    connection, owner.scope, owner.digest, owner.tag, snapshot.head, change
                )
            if change.forgotten:
                self._log_holds_forgotten = True
        return Committed(head, rows)

    def _append_journal(self, owner: bytes, entries: Sequence[JournalEntry]) -> None:
        with self._turn() as connection, self._translating_writer:
            last = connection.execute(SQL["last_journal"], {"owner": owner}).get
            for n, entry in enumerate(entries, start=last + 1):
                bound = {"owner": owner, "n": n, **entry._asdict()}
                connection.execute(SQL["add_journal"], bound)

    def _settle(
        self, owner: bytes, ids: Sequence[str], edges: Sequence[tuple[str, Scope, str]]
    ) -> None:
        with self._turn() as connection, self._translating_writer:
            for id in filter(is_storable, ids):
                connection.execute(SQL["drop_outbox"], {"owner": owner, "id": id})
            for parent, scope, child in edges:
                if is_storable(parent):
                    elsewhere = {"child_owner": self._owner(scope).digest, "child": child}
                    bound = {"owner": owner, "parent": parent, **elsewhere}
                    connection.execute(SQL["add_derivation"], bound)

    def _close(self) -> None:
        with self._turns.turn(self._busy_timeout_s), self._translating_writer:
            if self._closed:
                return
            self._closed = True
            while self._idle_readers:
                self._idle_readers.pop().close()
            # The last connection to a file empties and removes its log; ours may not be.
            if is_written(self._path):
                empty_log(self._writer, self._busy_timeout_s)
            self._writer.close()
        self._turns.release()
