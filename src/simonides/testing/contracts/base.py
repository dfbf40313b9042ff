"""Helpers of the store contract: driving a store, and comparing everything that it shows."""

# ruff: noqa: S101 - a contract asserts

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from simonides.domain.event import (
    CHAIN_START,
    Link,
    chain,
    commit_to,
)
from simonides.domain.memory import Record
from simonides.domain.scope import Scope
from simonides.domain.writing.change import (
    Change,
    Committed,
    Decide,
    Head,
    Snapshot,
    TurnRequest,
)
from simonides.ports import Capability, MemoryStore, SessionStore
from simonides.testing.samples import ALICE, Samples

T = TypeVar("T")

ALL = 10_000
"""More rows than any test of the contract writes."""


class Shown(NamedTuple):
    """All that a store shows of one owner; equal before and after a call that changes nothing."""

    head: Head | None
    live: tuple[Any, ...]
    rows: tuple[Any, ...]
    states: tuple[tuple[Record, ...], ...]
    derived: tuple[tuple[Any, ...], ...]
    damaged: tuple[str, ...]
    held: tuple[Any, ...]
    session_steps: tuple[Any, ...]
    reviews: tuple[Any, ...]
    grants: tuple[Any, ...]
    consents: tuple[Any, ...]
    journaled: tuple[Any, ...]
    outbox: tuple[Any, ...]
    links: tuple[Link, ...]
    chain_head: tuple[bytes, int, bytes] | None
    owners: tuple[Scope, ...]
    strays: tuple[str, ...]


def drive(store: MemoryStore | SessionStore, call: Awaitable[T]) -> T:
    """Complete a call of a store: in one step if it is INLINE, else on an event loop.

    A process has one such loop on its own thread, like the blocking API: a store may keep
    connections that belong to it.
    """
    if Capability.INLINE not in store.capabilities:
        return _drive_on_loop(call)
    steps = call.__await__()
    try:
        next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("a store that declares INLINE suspended")


_loops: dict[int, asyncio.AbstractEventLoop] = {}
_starting = threading.Lock()


def _drive_on_loop(call: Awaitable[T]) -> T:
    told = asyncio.run_coroutine_threadsafe(_carried(call), _loop()).result()
    if isinstance(told, _Raised):
        raise told.error
    return told


class _Raised(NamedTuple):
    """The exception of a call; some exceptions would otherwise end the loop itself."""

    error: BaseException


async def _carried(call: Awaitable[T]) -> T | _Raised:
    try:
        return await call
    except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
        return _Raised(error)


def _loop() -> asyncio.AbstractEventLoop:
    """Return this process's loop; a forked child has not inherited the parent's thread."""
    with _starting:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="drive", daemon=True).start()
        return loop


def is_refused(
    store: MemoryStore | SessionStore, call: Awaitable[object], error: type[Exception]
) -> bool:
    """Make a call that should fail, and return whether it raised the expected error."""
    try:
        drive(store, call)
    except error:
        return True
    return False


def unwritten(change: Change | None) -> Decide:
    """Return a decision that ignores the snapshot."""
    return lambda _: change


class ContractBase:
    """Helpers; a part of the contract adds the tests, the subclass a ``store`` fixture."""

    @cached_property
    def make(self) -> Samples:
        """The sample values of this test."""
        return Samples()

    def write(self, store: MemoryStore, change: Change, owner: Scope = ALICE) -> Committed:
        """Commit a change without a check of the snapshot."""
        return drive(store, store.commit(owner, TurnRequest(), unwritten(change)))

    def add(self, store: MemoryStore, *memories: Record, owner: Scope = ALICE) -> Committed:
        """Commit new memories and their events."""
        return self.write(store, self.make.change(*memories), owner)

    def stored(self, store: MemoryStore, content: str = "A fact", **fields: Any) -> Record:
        """Commit one new memory and return it."""
        memory = self.make.memory(content, **fields)
        self.add(store, memory, owner=memory.scope.owner)
        return memory

    def seen_under_turn(self, store: MemoryStore, owner: Scope = ALICE, **request: Any) -> Snapshot:
        """Return the snapshot that a decision gets."""
        seen: list[Snapshot] = []
        drive(store, store.commit(owner, TurnRequest(**request), seen.append))
        return seen[0]

    def live_ids(self, store: MemoryStore, owner: Scope = ALICE) -> list[str]:
        """Return the ids of an owner's live rows, in the order of the snapshot."""
        return [row.id for row in drive(store, store.snapshot(owner)).rows]

    def shown(self, store: MemoryStore, owner: Scope = ALICE) -> Shown:
        """Return everything that the store shows of an owner."""
        rows = drive(store, store.rows(owner, limit=ALL))
        return Shown(
            head=drive(store, store.heads((owner,)))[0],
            live=drive(store, store.snapshot(owner)).rows,
            rows=rows,
            states=tuple(drive(store, store.states(owner, row.id)) for row in rows),
            derived=tuple(drive(store, store.derived(owner, row.id)) for row in rows),
            damaged=drive(store, store.damaged(owner)),
            held=drive(store, store.held(owner)),
            session_steps=drive(store, store.session_steps(owner)),
            reviews=drive(store, store.reviews(owner)),
            grants=drive(store, store.grants(owner)),
            consents=drive(store, store.consents(owner)),
            journaled=drive(store, store.journaled(owner, limit=ALL)),
            outbox=drive(store, store.outbox(source=owner, limit=ALL)),
            links=drive(store, store.links(owner, limit=ALL)),
            chain_head=drive(store, store.chain_head(owner)),
            owners=drive(store, store.owners()),
            strays=drive(store, store.strays()),
        )


def verify_chain(links: tuple[Link, ...], chain_head: tuple[bytes, int, bytes] | None) -> None:
    """Check an owner's whole chain from its first link to its head.

    Raises:
        AssertionError: If a link is missing or altered, or differs from the head.
    """
    if chain_head is None:
        assert links == ()
        return
    digest, last_seq, last_mac = chain_head
    assert len(digest) == 16
    mac = CHAIN_START
    for seq, link in enumerate(links, start=1):
        assert link.seq == seq
        if link.payload is not None and link.salt is not None:
            assert link.commitment == commit_to(link.salt, link.payload)
        mac = chain(mac, digest, seq, link.commitment)
        assert link.mac == mac
    assert (last_seq, last_mac) == (len(links), mac)


Call = Callable[[], Coroutine[Any, Any, object]]


def every_call(store: MemoryStore, owner: Scope) -> dict[str, Call]:
    """Return each call of the port except ``close``, ready to run."""
    return {
        "heads": lambda: store.heads((owner,)),
        "snapshot": lambda: store.snapshot(owner),
        "snapshots": lambda: store.snapshots({owner: None}),
        "as_of": lambda: store.as_of(owner, 0),
        "commit": lambda: store.commit(owner, TurnRequest(), unwritten(None)),
        "renew": lambda: store.renew(owner, ()),
        "get": lambda: store.get(owner, ("x",)),
        "history": lambda: store.history(owner, "x"),
        "keyed": lambda: store.keyed(owner, owner, "x"),
        "rows": lambda: store.rows(owner),
        "states": lambda: store.states(owner, "x"),
        "held": lambda: store.held(owner),
        "session_steps": lambda: store.session_steps(owner),
        "reviews": lambda: store.reviews(owner),
        "grants": lambda: store.grants(owner),
        "consents": lambda: store.consents(owner),
        "tombstoned": lambda: store.tombstoned(owner, (b"t" * 32,)),
        "size": lambda: store.size(owner),
        "journal": lambda: store.journal({owner: ()}),
        "journaled": lambda: store.journaled(owner),
        "condense": lambda: store.condense(owner, "access", (), {}),
        "lease": lambda: store.lease(owner, "gc", "me", now=1, until=2),
        "release": lambda: store.release(owner, "gc", "me"),
        "outbox": lambda: store.outbox(source=owner),
        "settle": lambda: store.settle(owner, ()),
        "derived": lambda: store.derived(owner, "x"),
        "purge": lambda: store.purge(owner),
        "damaged": lambda: store.damaged(owner),
        "links": lambda: store.links(owner),
        "chain_head": lambda: store.chain_head(owner),
    }
