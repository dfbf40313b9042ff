"""What is kept outside a store so that nobody who has the store can pass for who writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from simonides.domain.scope import Scope
from simonides.ports.stores import MemoryStore

KEY_BYTES = 32
"""Length of a master key."""


class KeyRing(Protocol):
    """Master keys by name, kept where the store is not (FX-7, FX-13).

    A ring answers from memory: it may be asked under an owner's turn. No representation of it
    shows a key.
    """

    @property
    def current(self) -> str:
        """Name of the key by which is written from now on."""

    def key(self, id: str) -> bytes:
        """Return a key of :data:`KEY_BYTES` bytes.

        Raises:
            KeyUnavailable: If the ring has none of this name.
        """


class DataKey(NamedTuple):
    """A key of one owner, by which what is kept of it is encrypted (FX-13), as a vault keeps it.

    Attributes:
        id: 8 bytes, told with whatever is encrypted by it.
        key_id: Name of the master key that it is wrapped under.
        wrapped: Itself, encrypted; None once it is destroyed.
    """

    id: bytes
    key_id: str
    wrapped: bytes | None


class KeyVault(Protocol):
    """Owners' data keys, kept outside their store and its copies (FX-13).

    A key that is destroyed here is nowhere: what was encrypted by it cannot be read again, in the
    store or in a copy that was made of it before. Several stores, and processes, may share a vault.
    It is asked under an owner's turn. Errors are
    :class:`~simonides.domain.errors.StoreError`.

    A store puts in one key under an owner of 16 zero bytes, who is nobody: by that it tells its
    vault from another, which may be empty.
    """

    def version(self) -> int:
        """Return another number whenever anybody may have changed something."""

    def keys(self, store: bytes, owner: bytes) -> tuple[DataKey, ...]:
        """Return an owner's keys in the order in which they came, those destroyed too; store and
        owner are named by 16 bytes.
        """

    def holds(self, store: bytes) -> bool:
        """Return whether a key of a store was ever put in, were it destroyed since."""

    def add(self, store: bytes, owner: bytes, key: DataKey) -> None:
        """Keep one more key of an owner. When it returns that is as durable as what the store
        acknowledges.
        """

    def destroy(self, store: bytes, owner: bytes, until: bytes) -> None:
        """Destroy what came before the key of that id; nothing, if the owner has none of it. When
        it returns no byte of them is left in the vault. Twice does no harm.
        """

    def rewrap(self, store: bytes, change: Callable[[bytes, DataKey], DataKey]) -> int:
        """Give every key that is left, with its owner, to ``change`` and keep what it returns, all
        or none; return how many are another then.
        """

    def close(self) -> None:
        """Release every resource; twice does no harm."""


class Anchored(NamedTuple):
    """How far an owner had come when that was last noted.

    Attributes:
        incarnation: As in :class:`simonides.domain.change.Head`, like the others.
        epoch: See there.
        revision: See there.
    """

    incarnation: bytes
    epoch: int
    revision: int


class Anchor(Protocol):
    """How far owners have come, kept where whoever can put an older store back cannot reach.

    Several stores may share one. Errors are :class:`~simonides.domain.errors.StoreError`.
    """

    def last(self, store: bytes, owner: bytes) -> Anchored | None:
        """Return what was noted of an owner of a store; both are named by 16 bytes."""

    def advance(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """Note where some owners stand; one that is noted farther on in the same incarnation
        stays. When it returns that is as durable as what the store acknowledges.
        """

    def put(self, store: bytes, stands: Mapping[bytes, Anchored]) -> None:
        """As :meth:`advance`, and what was noted farther on gives way: an older copy was put back
        on purpose.
        """

    def close(self) -> None:
        """Release every resource; twice does no harm."""


class CodedStore(MemoryStore, Protocol):
    """A memory store under a :class:`~simonides.ports.KeyRing`, which serves no edited row (FX-7).

    What is written has codes that nobody can make who has the store and not the ring. Calls that
    return memories, heads of chains or snapshots raise ``Tampered`` where a memory, one of its
    states or what it is found by is not as it was written; :meth:`snapshot` and :meth:`commit` also
    where the set of an owner's memories is not, and any of them where an owner stands where it
    stood before this process, or the anchor, last saw it. ``KeyUnavailable`` is raised where the
    ring lacks a key.

    Attributes:
        key_id: Name of the ring's current key.
        problems: What could not be done beside a call, for ``status``.
    """

    @property
    def key_id(self) -> str:
        """See above."""

    @property
    def problems(self) -> tuple[str, ...]:
        """See above."""

    @property
    def is_sealed(self) -> bool:
        """Whether what is kept is encrypted too (FX-13)."""

    async def rewrap(self) -> None:
        """Bring under the ring's current key what has no name to be recoded by: where those stand
        who were erased, and the keys of a store that is encrypted.
        """

    async def lost(self) -> tuple[bytes, ...]:
        """Return the digests of owners of whom something is here, encrypted by a key that was
        destroyed: an older copy of the store was put back.
        """

    async def sweep(self, bans: Mapping[bytes, Sequence[bytes]] = ...) -> tuple[bytes, ...]:
        """Erase what is here of the lost, each owner whole, and return their digests.

        Args:
            bans: Tombstones to be kept with them, as their rows are, by digest.
        """

    async def recode(self, owner: Scope, *, adopt: bool = False, accept: bool = False) -> bool:
        """Bring an owner's codes under the ring's current key, all in one turn, and note with the
        anchor where it stands.

        Args:
            owner: Whose; one never written has nothing to be coded.
            adopt: Whether one that has no codes gets them. Its contents are compared with the codes
                that need no key; whoever asks for it vouches for the rest.
            accept: Whether whatever stands there is taken for what was written. The current key is
                no reason then to leave it as it is.

        Returns:
            Whether anything was written.

        Raises:
            Tampered: If something is not as it was written, and that is not accepted; nothing was
                changed.
        """
