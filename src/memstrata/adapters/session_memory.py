"""Sessions in the memory of one process: for tests, for one run, and as the reference."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from memstrata.adapters.store_rules import check_owner, is_storable, next_number
from memstrata.domain.errors import StoreUnavailable
from memstrata.domain.scope import Scope
from memstrata.domain.session import Observation, SessionEntry, SessionRecord
from memstrata.ports import Capability


@dataclass(slots=True)
class _Session:
    started_at: int
    due_at: int | None = None
    entries: list[SessionEntry] = field(default_factory=list)

    def record(self, id: str) -> SessionRecord:
        return SessionRecord(id, self.started_at, self.due_at, len(self.entries))


class DictSessionStore:
    """A :class:`~memstrata.ports.SessionStore` in dictionaries; any thread may use it."""

    capabilities = frozenset({Capability.INLINE})
    location = ":memory:"

    def __init__(self) -> None:
        self._kept: dict[tuple[Scope, str], _Session] = {}
        self._lock = threading.Lock()
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
        with self._open(owner, session):
            kept = self._kept.get((owner, session)) or _Session(now)
            after = kept.entries[first:] if first is not None else []
            begin, new = next_number(len(kept.entries), observations, first, after)
            places = range(len(kept.entries), len(kept.entries) + len(new))
            added = [SessionEntry(place, *said) for place, said in zip(places, new, strict=True)]
            kept.entries += added
            kept.due_at = due_at
            self._kept[owner, session] = kept
            return begin

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """See the port."""
        with self._open(owner, session):
            kept = self._kept.get((owner, session))
            begin = max(after + 1, 0)
            return () if kept is None else tuple(kept.entries[begin : begin + max(limit, 0)])

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """See the port."""
        with self._open(owner):
            records = [kept.record(id) for (of, id), kept in self._kept.items() if of == owner]
        return tuple(sorted(records, key=lambda record: (record.started_at, record.id)))

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """See the port."""
        with self._open():
            left = [
                (kept.due_at, owner.path, id, owner, kept.record(id))
                for (owner, id), kept in self._kept.items()
                if kept.due_at is not None and kept.due_at <= now
            ]
        return tuple((owner, record) for *_, owner, record in sorted(left)[: max(limit, 0)])

    async def drop(self, owner: Scope, session: str, *, entries: int | None = None) -> bool:
        """See the port."""
        with self._open(owner, session):
            kept = self._kept.get((owner, session))
            if kept is not None and entries is not None and len(kept.entries) > entries:
                return False
            self._kept.pop((owner, session), None)
            return True

    @contextmanager
    def _open(self, owner: Scope | None = None, session: str = "") -> Iterator[None]:
        if self._closed:
            raise StoreUnavailable(self.location, "the store is closed")
        if owner is not None:
            check_owner(owner)
        if not is_storable(session):
            raise ValueError(f"session {session!r} has a name that has no UTF-8")
        with self._lock:
            yield
