"""Owners' data keys and what is encrypted by them.

Each owner has a random key of 256 bits. It lies, wrapped under a master key of the ring, in a vault
outside the store. Everything is AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits: far
fewer than the 2^32 texts for which that is safe are encrypted by one key.

A sealed cell is a byte that names this format, the id of the data key (8 bytes), the nonce (12),
and the text with its tag (16). What it is and where it stands is associated data, so that a cell
put in another's place does not open.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from simonides.domain.errors import KeyDestroyed, KeyUnavailable
from simonides.ports import DataKey, KeyRing, KeyVault

FORMAT = b"\x01"
ID_BYTES = 8
NONCE_BYTES = 12
TAG_BYTES = 16
OVERHEAD_BYTES = len(FORMAT) + ID_BYTES + NONCE_BYTES + TAG_BYTES
"""By how much a cell grows."""

_KEY_BYTES = 32
_WRAPS = b"simonides wrap 1"
_INDEX = b"simonides index key 1"
_STORE_BYTES = 16
_KNOWN_OWNERS = 4096
# Nobody's digest: under it lies the key by which a store knows its vault.
_NOBODY = bytes(16)
_SWEEP = (
    "holds memories of an owner who was erased: an older copy was put back, and their key is "
    "destroyed; remove what is left of them with `simonides admin sweep`"
)
_AT_ID = len(FORMAT)
_AT_NONCE = _AT_ID + ID_BYTES
_AT_TEXT = _AT_NONCE + NONCE_BYTES


class Unopened(ValueError):
    """A cell is not as it was sealed: cut, changed, or put in the place of another."""


class _Known(NamedTuple):
    """The keys of an owner, those that are left by their ids, and those destroyed.

    Attributes:
        left: In the order in which they came; by the last is written.
        destroyed: Ids.
    """

    left: dict[bytes, AESGCM]
    destroyed: frozenset[bytes]


class Wrapping:
    """Wraps keys under the master keys of a ring.

    Args:
        ring: The keys.
    """

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def __repr__(self) -> str:
        """Say which key, not what it is."""
        return f"Wrapping({self._ring.current!r})"

    @property
    def current(self) -> str:
        """Name of the key under which is wrapped."""
        return self._ring.current

    def wrapped(self, key: bytes, what: bytes) -> bytes:
        """Return a key wrapped under the ring's current one; ``what`` is told along."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._by(self.current).encrypt(nonce, key, what)

    def unwrapped(self, key_id: str, wrapped: bytes, what: bytes) -> bytes:
        """Undo :meth:`wrapped`.

        Raises:
            KeyUnavailable: If the ring lacks the key, or has another of its name.
        """
        nonce, text = wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:]
        try:
            return self._by(key_id).decrypt(nonce, text, what)
        except InvalidTag:
            raise KeyUnavailable(
                f"a key is not wrapped under the ring's {key_id}, or was changed; give the ring by "
                "which it was made",
                key_id,
            ) from None

    def _by(self, key_id: str) -> AESGCM:
        return AESGCM(hmac.digest(self._ring.key(key_id), _WRAPS, "sha256"))


def index_key_kept(wrapping: Wrapping, salt: bytes, key: bytes) -> bytes:
    """Return how a store keeps the key of its tags: behind the name of the master key."""
    name = wrapping.current.encode("utf-8")
    return name + b"\0" + wrapping.wrapped(key, _INDEX + salt)


def index_key_of(wrapping: Wrapping, salt: bytes, kept: bytes) -> bytes:
    """Undo :func:`index_key_kept`.

    Raises:
        KeyUnavailable: If the ring lacks the master key.
    """
    name, _, wrapped = kept.partition(b"\0")
    return wrapping.unwrapped(name.decode("utf-8", "replace"), wrapped, _INDEX + salt)


class DataKeys:
    """Seals and opens what one store keeps of its owners; any thread may call.

    Args:
        location: Of the store, for errors.
        salt: Of the store; names it in the vault.
        wrapping: By which data keys are wrapped.
        vault: Where they are kept.

    Attributes:
        location: As given.
    """

    def __init__(self, location: str, salt: bytes, wrapping: Wrapping, vault: KeyVault) -> None:
        self.location = location
        self._store = salt[:_STORE_BYTES]
        self._wrapping = wrapping
        self._vault = vault
        self._known: dict[bytes, _Known] = {}
        self._version: int | None = None

    def claim(self) -> None:
        """Let the vault know the store, as its own; call it before anything is encrypted."""
        if not self._vault.keys(self._store, _NOBODY):
            self.renew(_NOBODY)

    def check(self) -> None:
        """Make sure that the vault is that of the store, which is encrypted.

        Raises:
            KeyUnavailable: If it is another, or an empty one.
        """
        if not self._vault.holds(self._store):
            raise KeyUnavailable(
                f"{self.location}: this is not the key vault of this store; name the right one by "
                "the setting key_vault (docs/privacy.md)"
            )

    def refresh(self) -> None:
        """Forget what others may have changed; call it when a write begins."""
        version = self._vault.version()
        if version != self._version:
            # One assignment: who reads meanwhile has the old or the new.
            self._known = {}
            self._version = version

    def sealed(self, owner: bytes, place: bytes, text: bytes) -> bytes:
        """Return a text sealed by the newest key of its owner, who gets one if he never had any.

        Args:
            owner: Digest.
            place: What it is, and of which row.
            text: The plain text.

        Raises:
            KeyDestroyed: If all that he had are destroyed.
        """
        known = self._of(owner)
        if not known.left:
            if known.destroyed:
                raise KeyDestroyed(self.location, _SWEEP)
            self.renew(owner)
            known = self._of(owner)
        id = next(reversed(known.left))
        nonce = secrets.token_bytes(NONCE_BYTES)
        text = known.left[id].encrypt(nonce, text, owner + place)
        return b"".join((FORMAT, id, nonce, text))

    def opened(self, owner: bytes, place: bytes, cell: bytes) -> bytes:
        """Undo :meth:`sealed`.

        Raises:
            Unopened: If it is not what was sealed there.
            KeyDestroyed: If its key was.
            KeyUnavailable: If the vault has none of its owner's, or the ring lacks the master key.
        """
        if cell[:_AT_ID] != FORMAT or len(cell) < OVERHEAD_BYTES:
            raise Unopened("is not sealed")
        id = cell[_AT_ID:_AT_NONCE]
        key = self._of(owner).left.get(id) or self._wanted(owner, id)
        try:
            return key.decrypt(cell[_AT_NONCE:_AT_TEXT], cell[_AT_TEXT:], owner + place)
        except InvalidTag:
            raise Unopened("is not as it was sealed") from None

    def renew(self, owner: bytes) -> bytes:
        """Give an owner another key, by which is sealed from now on; return its id."""
        id, key = secrets.token_bytes(ID_BYTES), secrets.token_bytes(_KEY_BYTES)
        wrapped = self._wrapping.wrapped(key, self._what(owner, id))
        self._vault.add(self._store, owner, DataKey(id, self._wrapping.current, wrapped))
        self._known = {}
        return id

    def destroy(self, owner: bytes, firsts: Collection[bytes]) -> bool:
        """Destroy an owner's keys of the lives before the one he leads.

        Args:
            owner: Digest.
            firsts: Ids of the first keys of his lives after an erasure. One that the vault has
                none of came with him from another store and says nothing here; nor does the time
                at which it was noted, so the vault's order alone tells the latest.

        Returns:
            Whether the vault has one of them; else nothing was destroyed.
        """
        if not firsts:
            return False
        there = [key.id for key in self._vault.keys(self._store, owner) if key.id in firsts]
        if not there:
            return False
        self._vault.destroy(self._store, owner, there[-1])
        self._known = {}
        return True

    def revive(self, owner: bytes) -> None:
        """Let one whose keys are all destroyed begin anew, once nothing of him is here."""
        known = self._of(owner)
        if known.destroyed and not known.left:
            self.renew(owner)

    def destroyed(self, owner: bytes) -> frozenset[bytes]:
        """Return the ids of an owner's keys that were destroyed."""
        return self._of(owner).destroyed

    def rewrap(self) -> int:
        """Wrap all keys of the store under the ring's current one; return how many were not."""

        def again(owner: bytes, key: DataKey) -> DataKey:
            if key.key_id == self._wrapping.current or key.wrapped is None:
                return key
            what = self._what(owner, key.id)
            plain = self._wrapping.unwrapped(key.key_id, key.wrapped, what)
            return DataKey(key.id, self._wrapping.current, self._wrapping.wrapped(plain, what))

        return self._vault.rewrap(self._store, again)

    def _wanted(self, owner: bytes, id: bytes) -> AESGCM:
        """Return a key that was not known before."""
        self._known.pop(owner, None)
        known = self._of(owner)
        if id in known.left:
            return known.left[id]
        if id in known.destroyed:
            raise KeyDestroyed(self.location, _SWEEP)
        if known.left or known.destroyed:
            raise Unopened("is sealed by a key that is not its owner's")
        raise KeyUnavailable(
            f"{self.location}: the key vault has no key for what is kept here of an owner; name the"
            " vault of this store by the setting key_vault (docs/privacy.md)"
        )

    def _of(self, owner: bytes) -> _Known:
        # Bound before the vault is asked: whoever changes something there puts another in its
        # place, and what was read before that is filed where nobody looks any more.
        filed = self._known
        known = filed.get(owner)
        if known is None:
            left, destroyed = {}, set()
            for id, key_id, wrapped in self._vault.keys(self._store, owner):
                if wrapped is None:
                    destroyed.add(id)
                else:
                    what = self._what(owner, id)
                    left[id] = AESGCM(self._wrapping.unwrapped(key_id, wrapped, what))
            known = _Known(left, frozenset(destroyed))
            if len(filed) >= _KNOWN_OWNERS:
                filed.clear()
            filed[owner] = known
        return known

    def _what(self, owner: bytes, id: bytes) -> bytes:
        return self._store + owner + id
