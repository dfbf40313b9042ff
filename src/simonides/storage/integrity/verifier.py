"""What a store does under a key ring, whatever keeps its rows: heads, sets, the anchor."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simonides.domain.errors import SimonidesError, Tampered
from simonides.domain.writing.change import Head
from simonides.ports import Alarm, Anchor, KeyRing
from simonides.storage.integrity.anchoring import Anchoring
from simonides.storage.integrity.codes import RowMacs
from simonides.storage.integrity.row_codec import Reader, Ring, Stood
from simonides.storage.integrity.set_sums import (
    Mark,
    Move,
    SetHashes,
    whole,
)
from simonides.storage.schema.owner_ids import Owner


class IntegrityVerifier:
    """Keeps the codes of one store; any thread may call.

    Args:
        location: Of the store.
        ring: The keys.
        anchoring: How far owners have come, or None.

    Attributes:
        ring: The codes of owners.
        watches: Their sets of memories.
    """

    def __init__(self, location: str, ring: KeyRing, anchoring: Anchoring | None) -> None:
        self.ring = Ring(ring)
        self.watches = SetHashes()
        self._location = location
        self._anchoring = anchoring

    @classmethod
    def of(
        cls,
        location: str,
        salt: bytes,
        ring: KeyRing,
        *,
        anchor: Anchor | None,
        owns_anchor: bool,
        alarm: Alarm | None,
    ) -> IntegrityVerifier:
        """Make the keeper of a store with this salt; see :class:`Anchoring` for the rest."""
        if anchor is None:
            return cls(location, ring, None)
        return cls(location, ring, Anchoring(anchor, salt, alarm, is_own=owns_anchor))

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be done beside a call, for ``status``."""
        return () if self._anchoring is None else self._anchoring.problems

    def close(self) -> None:
        """Tell the anchor what waits."""
        if self._anchoring is not None:
            self._anchoring.close()

    def reader(self, owner: Owner, codes: RowMacs | None = None) -> Reader:
        """Return what reads an owner's rows; without codes it can only refuse."""
        return Reader(self._location, owner, codes)

    def codes(self, owner: Owner, stood: Stood | None) -> RowMacs:
        """Return the codes by which is written: those that the owner has, or the ring's current.

        Raises:
            KeyUnavailable: If the ring does not have the key.
        """
        if stood is not None:
            return stood.codes
        return self.ring.codes(owner.digest, self.ring.current)

    def seen(self, owner: Owner) -> Head | None:
        """Return where an owner was last seen; ask before a transaction that must see as much."""
        return self.watches.head(owner.digest)

    def missed(self, owner: Owner, head: Head | None) -> None:
        """Note a head that was asked for by itself.

        Raises:
            Tampered: If there is none, of an owner that was here.
        """
        if head is None and self.seen(owner) is not None:
            self.reader(owner).refuse("head", "was here and is gone")

    def stood(
        self,
        owner: Owner,
        found: Sequence[Any] | None,
        seen: Head | None,
        is_inhabited: Callable[[], bool],
    ) -> Stood | None:
        """Return where an owner stands; None for one never written.

        Args:
            owner: Who.
            found: Head, last code, key and seal; None where there is no such row.
            seen: Where it is known to have stood before that was read.
            is_inhabited: Whether rows of it are there that come with that one.

        Raises:
            Tampered: If that is not what was sealed, or lies before where it stood.
            KeyUnavailable: If the ring does not have its key.
        """
        refusing = self.reader(owner)
        head = None if found is None else Head._make(found[:5])
        if self._anchoring is not None and self._anchoring.is_behind(owner.digest, head):
            refusing.refuse("rolled_back", "stands where it stood before: an old copy was put back")
        if found is None or head is None:
            if seen is not None or is_inhabited():
                refusing.refuse("head", "was here, and what says where it stands is gone")
            return None
        if seen is not None and seen.incarnation == head.incarnation and seen[1:3] > head[1:3]:
            refusing.refuse("rolled_back", "stands where it stood before: it was put back")
        return refusing.stood(self.ring, owner.digest, found)

    def follow(
        self, owner: Owner, stood: Stood, marks: Mapping[str, Mark], since: Head | None
    ) -> bool:
        """Check an owner's set of memories by what has changed since a head, or by all marks; False
        if the former do not suffice.

        Raises:
            Tampered: If it is not the one that was sealed.
        """
        move: Move | None
        if since is None:
            move = whole(stood.codes, stood.head, marks)
        elif self.watches.is_past(owner.digest, stood.head):
            # Another thread has read on, and checked.
            return True
        else:
            move = self.watches.moved(owner.digest, stood.codes, since, stood.head, marks)
        if move is None:
            return False
        if move.total != stood.total:
            self.reader(owner).refuse("rows", "a memory was removed, added or put back")
        self.watches.take_in(owner.digest, move)
        return True

    def reborn(self, owner: bytes, found: Sequence[Any]) -> dict[str, Any]:
        """Return an owner's new incarnation, the name of its key and its new seal; an incarnation
        is under the seal of the head.

        Args:
            owner: Digest.
            found: Head, last code, key and seal.

        Raises:
            Tampered: If that is not what was sealed.
        """
        codes, total = self._unsealed(owner, found)
        return self._again(owner, _newborn(found), found[5], codes, total)

    def resealed(self, owner: bytes, found: Sequence[Any]) -> dict[str, Any]:
        """Return the name of the ring's current key and a seal by it, of an owner who was erased:
        nobody knows by which name its codes could be made anew, and it has none but this.

        Raises:
            Tampered: If where it stands is not what was sealed.
        """
        _, total = self._unsealed(owner, found)
        codes = self.ring.codes(owner, self.ring.current)
        return self._again(owner, Head._make(found[:5]), found[5], codes, total)

    def emptied(self, owner: bytes, found: Sequence[Any]) -> dict[str, Any]:
        """Return where an owner stands of whom nothing is left, and its seal.

        Raises:
            Tampered: If where it stood is not what was sealed.
        """
        codes, _ = self._unsealed(owner, found)
        head = _newborn(found)
        return self._again(owner, head._replace(epoch=head.epoch + 1), found[5], codes, 0)

    def _unsealed(self, owner: bytes, found: Sequence[Any]) -> tuple[RowMacs, int]:
        head, (mac, key_id, sealed) = Head._make(found[:5]), found[5:]
        try:
            if key_id is None or sealed is None:
                raise ValueError("it has no codes; see `simonides admin rekey --adopt`")
            codes = self.ring.codes(owner, key_id)
            return codes, codes.unseal(head, mac, sealed)
        except SimonidesError:
            raise
        except ValueError as error:
            raise Tampered(self._location, "head", owner.hex(), str(error)) from error

    def _again(
        self, owner: bytes, head: Head, mac: bytes, codes: RowMacs, total: int
    ) -> dict[str, Any]:
        self.watches.drop(owner)
        sealed = codes.seal(head, mac, total)
        stands = {"incarnation": head.incarnation, "epoch": head.epoch}
        return {**stands, "key_id": codes.key_id, "set_sum": sealed}

    def committed(self, owner: Owner, move: Move) -> None:
        """Take in a change of this process's own once it is written."""
        self.watches.take_in(owner.digest, move)
        if self._anchoring is not None:
            self._anchoring.note(owner.digest, move.head, is_new=move.base is None)

    def recoded(self, owner: Owner, move: Move) -> None:
        """Take in that all codes of an owner were written anew, and where it stands for good."""
        self.watches.drop(owner.digest)
        self.watches.take_in(owner.digest, move)
        if self._anchoring is not None:
            self._anchoring.accept(owner.digest, move.head)


def _newborn(found: Sequence[Any]) -> Head:
    return Head._make(found[:5])._replace(incarnation=secrets.token_bytes(len(found[0])))
