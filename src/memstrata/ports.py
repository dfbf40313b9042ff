"""What the outside must supply, as Protocols whose docstrings are the contract.

An adapter implements one of these and imports nothing above it. An optional ability is declared
in ``capabilities``, never found out by trying.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

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
from memstrata.domain.decision import Usage
from memstrata.domain.event import Link
from memstrata.domain.memory import Memory, Place, Triple
from memstrata.domain.scope import Grant, Scope
from memstrata.domain.session import Observation, SessionEntry, SessionRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


__all__ = [
    "Capability",
    "Clock",
    "Embedder",
    "Ids",
    "LanguageModel",
    "MemoryStore",
    "ModelAnswer",
    "OwnerView",
    "SessionStore",
    "TokenCounter",
]


class Capability(StrEnum):
    """What an adapter can do beyond its port.

    ``inline``: every call completes without suspending, so that a caller without an event loop
    may drive it on its own thread (DESIGN D6). ``durable``: an acknowledged write survives the
    process.
    """

    INLINE = "inline"
    DURABLE = "durable"


class MemoryStore(Protocol):
    """Rows of many owners; every call but the operator's names the owner it is about.

    An owner is a scope that is its own :attr:`~memstrata.domain.scope.Scope.owner`. No call
    returns or changes anything of another owner. A store knows nothing of ranking or policy.

    Every call raises :class:`~memstrata.domain.errors.StoreError` subclasses and nothing of a
    vendor: ``StoreUnavailable`` if closed, locked past its time-out, unreachable or used in a
    forked child; ``StoreFull``, ``StoreReadOnly``, ``StoreCorrupt`` as their names say. After
    any of them the store is as it was before the call. A scope that is no owner (a task) is the
    caller's mistake: ``ValueError``. Ids and keys to be looked up may be any text.
    """

    capabilities: frozenset[Capability]
    location: str

    async def close(self) -> None:
        """Release every resource; twice does no harm, other calls then raise. In a forked child
        it does nothing.
        """

    async def heads(self, owners: Sequence[Scope]) -> tuple[Head | None, ...]:
        """Return where each owner stands, in the order asked; None for one never written."""

    async def snapshot(self, owner: Scope, *, since: Head | None = None) -> Snapshot:
        """Return an owner's rows as of one moment.

        With ``since`` of the same incarnation and epoch only rows changed after its revision are
        returned, those that are no longer live included; otherwise all live rows. Live is
        :attr:`~memstrata.domain.memory.Status.is_live`. Order: revision, then id.
        """

    async def as_of(
        self, owner: Scope, known_at: int, *, superseded: bool = False
    ) -> tuple[StoredRow, ...]:
        """Return the rows that were live at system time ``known_at`` (µs), each with the state
        then in force, its ``revision`` and its times: ``known_from <= known_at < known_to``.
        With ``superseded`` also those that had been superseded by then: they may have been true
        at an earlier time of the world. Order: id. Rows purged or forgotten since are not among
        them.
        """

    async def commit(self, owner: Scope, request: TurnRequest, decide: Decide) -> Committed:
        """Take the owner's write turn, show ``decide`` what stands, write what it returns.

        Turns of one owner are served first come, first served, over all threads and processes,
        and one at a time. ``decide`` runs once, is synchronous, must not call the store, and
        sees every commit that was acknowledged before. All of the change is written or none;
        when the call returns it is as durable as the store promises. If ``decide`` returns None
        nothing is written; what it raises is passed on and nothing is written.

        The owner is created with its first change. Each change raises the revision by one; one
        with ``forgotten`` ids raises the epoch too. Events are linked in order; a link's payload
        is the canonical JSON of the event. States: a restated memory's open state ends at
        ``known_at`` and the new one begins there; its body stays as it was, and so does its
        index entry unless the change brings another (``reindexed``).

        Forgetting erases salt and payload of the events so far that have the id among their
        subjects; the change's own events stay. What a change lifts (``revived``, ``revoked``,
        ``released``; unknown ones are ignored) is lifted before the rest is set. A held
        candidate replaces one of its id, a grant one of its grantee, right and subject. A policy is
        kept behind those recorded before it, be it one of them or not.

        An added memory is kept as derived from those of its parents that are this owner's own;
        of parents elsewhere :meth:`settle` tells their owner.

        Raises:
            ValueError: The caller is wrong and nothing was written. ``known_at`` is not after
                the head's; an added id, an outbox id or an idempotency key exists; a restated
                or forgotten id does not; an id stands twice among these; what is reindexed is not
                restated; a memory's scope lives
                with another owner; the versions added to a chain do not go on by one from the
                highest that is left of it; or a value cannot be written as JSON.
        """

    async def get(self, owner: Scope, ids: Sequence[str]) -> tuple[StoredRow, ...]:
        """Return the rows of those of ``ids`` that exist, whatever their status; order: as
        asked, each once.
        """

    async def history(self, owner: Scope, root: str) -> tuple[StoredRow, ...]:
        """Return every version of a chain, by version rising, each with its latest state."""

    async def keyed(self, owner: Scope, scope: Scope, key: str) -> tuple[StoredRow, ...]:
        """Return every version ever stored under ``key`` in ``scope``, whatever its status;
        order: created, then id.
        """

    async def rows(
        self, owner: Scope, *, after: str = "", limit: int = 1000
    ) -> tuple[StoredRow, ...]:
        """Page through all rows of an owner, whatever their status, by id rising, from the first
        id greater than ``after``.
        """

    async def states(self, owner: Scope, id: str) -> tuple[Memory, ...]:
        """Return every state of one memory, oldest first, with ``known_from`` and ``known_to``."""

    async def held(self, owner: Scope, *, session: str | None = None) -> tuple[HeldCandidate, ...]:
        """Return held candidates, of one session if named; order: id."""

    async def grants(self, owner: Scope) -> tuple[Grant, ...]:
        """Return the grants kept with an owner; order: grantee, then name."""

    async def journal(self, owner: Scope, entries: Sequence[JournalEntry]) -> None:
        """Append what a reader did; no revision is raised, no event linked, no owner created."""

    async def journaled(self, owner: Scope, *, limit: int = 1000) -> tuple[JournalEntry, ...]:
        """Return the entries appended last, oldest of them first."""

    async def outbox(
        self, *, source: Scope | None = None, limit: int = 100
    ) -> tuple[PendingOutbox, ...]:
        """Return unsettled work, of one owner or (for the operator) of all; order: id, then
        source.
        """

    async def settle(
        self, source: Scope, ids: Sequence[str], *, edges: Sequence[tuple[str, Scope, str]] = ()
    ) -> None:
        """Remove outbox items whose work is done; unknown ids are ignored.

        In the same transaction keep what the work derived from the source's memories: each edge
        is a parent's id, the child's owner and the child's id. An edge that is kept already, or
        whose parent the source does not have (any more), is ignored.
        """

    async def derived(self, owner: Scope, parent: str) -> tuple[tuple[Scope, str], ...]:
        """Return owner and id of what was derived from a memory of this owner; order: owner's
        path, then id.

        Gone with the parent, and with a child of the same owner. A child elsewhere may have been
        forgotten since; one whose owner does not exist is left out.
        """

    async def links(self, owner: Scope, *, after: int = 0, limit: int = 1000) -> tuple[Link, ...]:
        """Return links of the owner's audit chain, by seq rising, from ``after + 1`` on."""

    async def chain_head(self, owner: Scope) -> tuple[bytes, int, bytes] | None:
        """Return the owner's 16-byte digest, its last seq and last code; None if never written.

        The digest is what :func:`memstrata.domain.event.chain` binds links to.
        """

    async def owners(self) -> tuple[Scope, ...]:
        """For the operator: every owner ever written and not erased, by path."""

    async def strays(self) -> tuple[str, ...]:
        """For the operator: whose rows stand under no owner of :meth:`owners`, because somebody
        edited them: for each the wrong name that stands there, empty where none does; sorted.
        """

    async def damaged(self, owner: Scope) -> tuple[str, ...]:
        """For the operator: ids of memories whose stored content does not match its code, or of
        which only a part is there; order: id. Reads do not look; this looks at every row.
        """


class SessionStore(Protocol):
    """What was observed in sessions, until they are finalised (SE-1, SE-2).

    It holds entries only; held candidates and the steps of a session's end live in the memory
    store (SE-5). Every call but the operator's names the owner it is about, and no call returns or
    changes anything of another's. Errors are those of :class:`MemoryStore`. Names of sessions may
    be any text that has a UTF-8; a call with another, or with a scope that is no owner, raises
    ``ValueError``.
    """

    capabilities: frozenset[Capability]
    location: str

    async def close(self) -> None:
        """Release every resource; twice does no harm, other calls then raise."""

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
        """Append observations, all or none, and return the number of the first.

        Numbers go on from the last without gaps, whoever else appends. When the call returns they
        are as durable as the store promises. The first append opens the session.

        Args:
            owner: Whose session.
            session: Its name.
            observations: In order; may be empty, to open the session or to move ``due_at``.
            now: The clock, µs; when a new session started.
            due_at: When the session counts as left from now on, µs; None for never.
            first: The number that the first must get, for a caller that tries again after an
                error: what stands there already is not written a second time.

        Raises:
            ValueError: If ``first`` would leave a gap, or something else stands there; nothing was
                written.
        """

    async def entries(
        self, owner: Scope, session: str, *, after: int = -1, limit: int = 1000
    ) -> tuple[SessionEntry, ...]:
        """Return entries by number rising, from ``after + 1`` on; empty for an unknown session."""

    async def sessions(self, owner: Scope) -> tuple[SessionRecord, ...]:
        """Return an owner's sessions; order: started, then id."""

    async def due(self, now: int, *, limit: int = 100) -> tuple[tuple[Scope, SessionRecord], ...]:
        """For the operator: sessions with ``due_at <= now``, of all owners; order: due, owner's
        path, id.
        """

    async def drop(self, owner: Scope, session: str) -> None:
        """Remove a session that is finalised with all its entries; an unknown one is ignored."""


class OwnerView(Protocol):
    """What gates and hygiene may ask of one owner's standing memories under the turn (D1).

    Only live rows are seen; hard-expired ones by key alone, so that a new version follows them.
    """

    def by_key(self, place: Place, key: str) -> Memory | None:
        """Return the one active memory of a key in exactly this place."""

    def by_hash(self, place: Place, content_hash: str) -> tuple[Memory, ...]:
        """Return the unkeyed memories of equal normalised text in this place, by id; verbatim
        turns are not among them.
        """

    def by_turn(self, place: Place, session: str, turn: int) -> Memory | None:
        """Return the verbatim turn with this number in a session."""

    def by_id(self, id: str) -> Memory | None:
        """Return a live memory."""

    def by_root(self, root: str) -> Memory | None:
        """Return the live version of a chain, named by the id of its first version."""

    def by_slot(self, place: Place, slot: Triple) -> tuple[Memory, ...]:
        """Return the memories in this place whose triple has this one's subject and predicate in
        normal form, by id; keyed ones are among them, verbatim turns are not.
        """


class Embedder(Protocol):
    """Texts to unit vectors.

    Attributes:
        model_id: Changes whenever the vector of any text would.
        dimensions: Length of a vector, at most 1,024 (so that int8 dot products stay exact).
        scripts: Unicode scripts that the model knows, for example ``Latin``; recall leaves the
            dense part out for texts mainly in others.
    """

    model_id: str
    dimensions: int
    scripts: frozenset[str]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors of shape (len(texts), dimensions).

        A text with nothing in it that the model knows gives the zero vector. The vector of a
        text does not depend on what is encoded beside it. Any text is accepted.
        """


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A structured answer of a language model: parsed JSON, not yet believed (LM-3).

    Attributes:
        value: Whatever JSON the model gave; validated by who asked.
        usage: Calls and tokens.
        model: Name of the model that answered.
    """

    value: Any
    usage: Usage
    model: str


class LanguageModel(Protocol):
    """One question, one structured answer."""

    capabilities: frozenset[Capability]
    model_id: str

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """Ask for JSON that follows a schema.

        Args:
            system: Instructions.
            user: The question and its material.
            schema: JSON Schema of the answer; the adapter asks the provider to hold to it, tries
                once more with the error when the answer does not, and then gives up.
            name: Short name of the schema.
            deadline_s: Seconds in all, retries and repair included.

        Raises:
            ModelTimeout: Time-out, connection failure, 429 or 5xx after the allowed retries.
            ModelUnavailable: Credentials refused.
            ModelGarbled: Empty, not JSON, or off the schema after the repair attempt.

        Each of them carries the usage of all that was asked before it.
        """

    async def close(self) -> None:
        """Release connections."""


class TokenCounter(Protocol):
    """How many tokens a text costs (WM-7).

    Attributes:
        counter_id: Changes whenever the count of any text would; receipts name it.
    """

    counter_id: str

    def count(self, text: str) -> int:
        """Return the tokens of a text, at once and the same for the same text; 0 for the empty
        one. Any text is accepted.
        """


class Clock(Protocol):
    """Time as an input (D5)."""

    def now_us(self) -> int:
        """Return the wall time in µs since 1970 UTC."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for budgets."""


class Ids(Protocol):
    """Identity and randomness as inputs (D5)."""

    def new(self, at_us: int) -> str:
        """Return a new UUIDv7 text for a moment; rising within one process."""

    def salt(self) -> bytes:
        """Return 16 random bytes."""
