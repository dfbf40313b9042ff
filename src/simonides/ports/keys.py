"""Keys and anchors kept outside a store, so that a stolen or replaced store is detected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from simonides.domain.scope import Scope
from simonides.ports.stores import MemoryStore

KEY_BYTES = 32
"""Length of a master key."""


class KeyRing(Protocol):
    """Master keys by name, kept apart from the store. A ring answers from memory, so it may be
    called under an owner's turn. Its ``repr`` never shows a key.
    """

    @property
    def current(self) -> str:
        """Name of the key for new writes."""

    def key(self, id: str) -> bytes:
        """Return a key of :data:`KEY_BYTES` bytes.

        Raises:
            KeyUnavailable: If the ring has no key of this name.
        """


class DataKey(NamedTuple):
    """One owner's encryption key, as a vault keeps it.

    Attributes:
        id: 8 bytes, stored with everything that it encrypts.
        key_id: Name of the master key that wraps it.
        wrapped: The key, encrypted; None once it is destroyed.
    """

    id: bytes
    key_id: str
    wrapped: bytes | None


class KeyVault(Protocol):
    """Owners' data keys, kept apart from their store and its copies.

    Destroying a key makes all that it encrypted unreadable, in the store and in every earlier copy.
    Several stores and processes may share a vault. It is called under an owner's turn. Errors are
    :class:`~simonides.domain.errors.StoreError`.

    A store adds one key under an owner of 16 zero bytes, which is no real owner. By it the store
    recognises its own vault, even among empty ones.
    """

    def version(self) -> int:
        """Return a number that differs after every possible change by any process."""

    def keys(self, store: bytes, owner: bytes) -> tuple[DataKey, ...]:
        """Return an owner's keys in the order they were added, destroyed ones included. Store and
        owner are named by 16 bytes.
        """

    def holds(self, store: bytes) -> bool:
        """Return whether any key of a store was ever added, even if destroyed since."""

    def add(self, store: bytes, owner: bytes, key: DataKey) -> None:
        """Add a key of an owner; on return it is as durable as the store's commits."""

    def destroy(self, store: bytes, owner: bytes, until: bytes) -> None:
        """Destroy the keys added before the one with that id; without such a key, nothing. On
        return no byte of them is left in the vault. Twice does no harm.
        """

    def rewrap(self, store: bytes, change: Callable[[bytes, DataKey], DataKey]) -> int:
        """Replace every key that is left by what ``change`` returns for its owner and it. All or
        none; returns how many changed.
        """

    def close(self) -> None:
        """Release every resource; twice does no harm."""


class Anchored(NamedTuple):
    """The last recorded position of an owner, as in
    :class:`simonides.domain.writing.change.Head`.
    """

    incarnation: bytes
    epoch: int
    revision: int


class Anchor(Protocol):
    """The last known position of each owner, kept where an attacker cannot roll it back. It detects
    that an older copy of the store was put back. Several stores may share one. Errors are
    :class:`~simonides.domain.errors.StoreError`.
    """

    def last(self, store: bytes, owner: bytes) -> Anchored | None:
        """Return the last recorded position of an owner; store and owner are named by 16 bytes."""

    def advance(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """Record positions of some owners; a later one of the same incarnation stays. On return
        they are as durable as the store's commits.
        """

    def put(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """Record positions as :meth:`advance`, even over later ones: after an intended restore."""

    def close(self) -> None:
        """Release every resource; twice does no harm."""


class CodedStore(MemoryStore, Protocol):
    """A memory store whose rows are authenticated under a :class:`~simonides.ports.KeyRing`.

    Rows carry MACs that cannot be made without the ring. Calls that return memories, heads of
    chains or snapshots raise ``Tampered`` where a memory, one of its states or its index entry was
    changed. :meth:`snapshot` and :meth:`commit` raise it also where the set of an owner's memories
    was changed. All of them raise it where an owner is older than this process, or the anchor, last
    saw it. ``KeyUnavailable`` is raised where the ring lacks a key.

    Attributes:
        key_id: Name of the ring's current key.
        problems: Background failures, for ``status``.
    """

    @property
    def key_id(self) -> str:
        """Name of the ring's current key."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Background failures, for ``status``."""

    @property
    def is_sealed(self) -> bool:
        """Whether the contents are encrypted too."""

    async def rewrap(self) -> None:
        """Bring under the ring's current key what :meth:`recode` cannot name an owner for. That is
        the heads of erased owners, and the data keys of an encrypted store.
        """

    async def lost(self) -> tuple[bytes, ...]:
        """Return the digests of owners with rows encrypted by a destroyed key. Such rows mean that
        an older copy of the store was put back.
        """

    async def sweep(self, bans: Mapping[bytes, Sequence[bytes]] = ...) -> tuple[bytes, ...]:
        """Erase the rows of the :meth:`lost` owners, each owner whole, and return their digests.

        Args:
            bans: Tombstones to keep with them, as their rows are, by digest.
        """

    async def recode(self, owner: Scope, *, adopt: bool = False, accept: bool = False) -> bool:
        """Recompute an owner's MACs with the ring's current key in one turn, and update the anchor.

        Args:
            owner: One never written has nothing to recompute.
            adopt: Whether an owner without MACs gets them. Its contents are compared with the
                unkeyed checksums; the caller vouches for the rest.
            accept: Whether the present rows are taken as genuine. The owner is then rewritten even
                if it has the current key already.

        Returns:
            Whether anything was written.

        Raises:
            Tampered: If something was changed, and that is not accepted; nothing was written.
        """
