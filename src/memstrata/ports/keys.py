"""What is kept outside a store so that nobody who has the store can pass for who writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

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


class Anchored(NamedTuple):
    """How far an owner had come when that was last noted.

    Attributes:
        incarnation: As in :class:`memstrata.domain.change.Head`, like the others.
        epoch: See there.
        revision: See there.
    """

    incarnation: bytes
    epoch: int
    revision: int


class Anchor(Protocol):
    """How far owners have come, kept where whoever can put an older store back cannot reach.

    Several stores may share one. Errors are :class:`~memstrata.domain.errors.StoreError`.
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
