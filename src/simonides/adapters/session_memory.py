"""Sessions in the memory of one process: for tests, for one run, and as the reference.

They lie with the memories of a dictionary store, as the rows that other stores keep in tables: what
erases, carries, moves or backs up an owner there has them with all else.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from simonides.adapters.store_memory import DictStore
from simonides.adapters.store_owners import Owner, Owners, Secrets
from simonides.adapters.store_rules import next_number
from simonides.adapters.store_sessions import (
    in_order_of_start,
    read_sessions,
    session_body,
    session_key,
)
from simonides.domain.errors import StoreUnavailable
from simonides.domain.moving import Row
from simonides.domain.scope import Scope
from simonides.domain.session import Observation, SessionEntry, SessionRecord
from simonides.ports import Capability

_SESSIONS, _TURNS = "sessions", "turns"


class DictSessionStore:
    """A :class:`~simonides.ports.SessionStore` in dictionaries; any thread may use it.

    Args:
        memories: The store that it lies with; None for one of its own.
    """

    capabilities = frozenset({Capability.INLINE})
    location = ":memory:"

    def __init__(self, memories: DictStore | None = None) -> None:
        self._memories = memories or DictStore()
        self._secrets = Secrets(b"", b"")
        self._owners = Owners(self._secrets)
        self._closed = False

    async def close(self) -> None:
        """See the port."""
        self._closed = True

    async def append(
        self,
        owner: Scope,
        session: str,
        observations: Sequence[Observation],
        *,
        now: int,
        due_at: int | None = None,
        first: int | None = None,
    ) -> int:
        """See the port."""
        with self._open() as rows:
            known = self._named(owner)
            tag, kept = session_key(known, session), rows.get(known.digest, {})
            turns = kept.get(_TURNS, {})
            length = _length(turns, tag)
            standing = [] if first is None else _entries(turns, tag, first, length)
            begin, new = next_number(length, observations, first, standing)
            kept = rows.setdefault(known.digest, {})
            opened = kept.setdefault(_SESSIONS, {})
            _, started_at, *_ = opened.get((tag,), (tag, now))
            opened[(tag,)] = (tag, started_at, due_at, session_body(known, session))
            turns = kept.setdefault(_TURNS, {})
            for number, said in enumerate(new, start=length):
                turns[tag, number] = (tag, number, *said)
            return begin

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """See the port."""
        with self._open() as rows:
            known = self._named(owner)
            tag = session_key(known, session)
            turns = rows.get(known.digest, {}).get(_TURNS, {})
            begin = max(after + 1, 0)
            return tuple(_entries(turns, tag, begin, begin + max(limit, 0)))

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """See the port."""
        with self._open() as rows:
            found = self._records(rows.get(self._named(owner).digest, {}))
        return in_order_of_start(found)

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """See the port."""
        with self._open() as rows:
            found = [each for kept in rows.values() for each in self._records(kept)]
        left = [
            (record.due_at, owner.path, record.id, owner, record)
            for owner, record in found
            if record.due_at is not None and record.due_at <= now
        ]
        return tuple((owner, record) for *_, owner, record in sorted(left)[: max(limit, 0)])

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """See the port."""
        with self._open() as rows:
            known = self._named(owner)
            tag, kept = session_key(known, session), rows.get(known.digest, {})
            turns = kept.get(_TURNS, {})
            length = _length(turns, tag)
            if entries is not None and length > entries:
                return False
            for number in range(length):
                del turns[tag, number]
            kept.get(_SESSIONS, {}).pop((tag,), None)
            if kept and not any(kept.values()):
                del rows[known.digest]
            return True

    def _records(self, kept: Mapping[str, Mapping[Row, Row]]) -> list[tuple[Scope, SessionRecord]]:
        turns = kept.get(_TURNS, {})
        opened: list[Any] = [*kept.get(_SESSIONS, {}).values()]
        rows = [(body, began, due, _length(turns, tag)) for tag, began, due, body in opened]
        return read_sessions(self.location, rows)

    def _named(self, owner: Scope) -> Owner:
        """Return an owner by the keys that the store has now: those of another may have come."""
        secrets = Secrets(self._memories._salt, self._memories._tag_key)
        if secrets != self._secrets:
            self._secrets, self._owners = secrets, Owners(secrets)
        return self._owners.of(owner)

    @contextmanager
    def _open(self) -> Iterator[dict[bytes, dict[str, dict[Row, Row]]]]:
        """Hold still the rows that the store has no shelves for."""
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        with self._memories._open():
            yield self._memories._unshelved


def _length(turns: Mapping[Row, Row], tag: bytes) -> int:
    """Return how many entries a session has, which are numbered without gaps."""
    most = 1
    while (tag, most - 1) in turns:
        most *= 2
    least = most // 2
    while least < most - 1:
        middle = (least + most) // 2
        least, most = (middle, most) if (tag, middle - 1) in turns else (least, middle)
    return least


def _entries(turns: Mapping[Row, Row], tag: bytes, begin: int, end: int) -> list[SessionEntry]:
    found = []
    for number in range(begin, end):
        row: Any = turns.get((tag, number))
        if row is None:
            break
        found.append(SessionEntry._make(row[1:]))
    return found
