"""Codes under a key ring: what of an owner's rows nobody can change who has the store alone.

Each owner has a key of its own, derived from a master key and the owner's digest. A memory has
two codes, side by side in ``memories.mac``. That of its *content* binds the body and every plain
column that never changes: id, version, the tags. That of its *state* binds the state and when it
began; what other columns say of a state (status, due time) is read out of it and compared. A row
of ``states`` has a code over its state's and the state before, so that none can be left out. An
index entry ends with a code, and so do bodies of grants, held candidates and the outbox, which
become memories or rights one day. A row of ``owners`` has one over where the owner stands, the last
code of its audit chain (which is thereby sealed to its first link) and the *set sum*: of all its
memories, the sum mod 2^256 of a digest of their codes. The digests are keyed, and the sum is
masked by where the owner stands: who sees neither cannot look for other sets of genuine rows with
the same sum (Wagner's attack on unkeyed sums; MSet-Add-Hash of Clarke et al., 2003, as the remedy).
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from simonides.domain.codecs.memory import NEVER, STATE
from simonides.domain.writing.change import Head

CODE_BYTES = 32
CELL_CODE_BYTES = 16
"""Of the code that an index entry ends with, like what else stands alone in a column; half, for
there is one beside every vector."""

_MOD = 1 << 256
_DERIVED = b"simonides owner 1\0"
_NO_PREVIOUS = -1

# Of a content: version, codec, length of the id.
_CONTENT = struct.Struct("<qqi")
# A block of the hash, RFC 2104.
_BLOCK_BYTES = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_STATE = struct.Struct("<qqi")
_PAST = struct.Struct("<q")
_HEAD = struct.Struct("<16sqqqq32s")
# Where the soft and the hard expiry stand in a packed state.
_ENDS = struct.Struct("<qq")
_ENDS_AT = struct.calcsize("<5B3xI4xdq")
_ENDLESS = _ENDS.pack(NEVER, NEVER)


class Content(NamedTuple):
    """What of a memory never changes, beside its body; as its columns are.

    Attributes are those columns, in the order in which statements give them.
    """

    version: int
    codec: int
    scope_tag: bytes
    chain_tag: bytes
    key_tag: bytes | None
    hash_tag: bytes
    slot_tag: bytes | None
    source_tag: bytes | None
    session_tag: bytes | None
    key_id: str | None


class RowMacs:
    """Makes and reads the codes of one owner under one master key.

    Attributes:
        key_id: Name of the master key.
    """

    def __init__(self, key_id: str, master: bytes, owner: bytes) -> None:
        self.key_id = key_id
        key = hmac.digest(master, _DERIVED + owner, "sha256")
        block = key.ljust(_BLOCK_BYTES, b"\0")
        self._inner, self._outer = block.translate(_INNER), block.translate(_OUTER)
        self._set_key = hmac.digest(key, b"set", "sha256")

    def __repr__(self) -> str:
        """Say which key, not what it is."""
        return f"Codes({self.key_id!r})"

    def content(self, id: str, content: Sequence[Any], body: bytes) -> bytes:
        """Return the code of a content version.

        Args:
            id: Of the memory.
            content: The fields of :class:`Content`.
            body: As it is stored.

        Raises:
            ValueError: If a column holds what cannot have been written there.
        """
        version, codec, *tags, key_id = content
        if key_id is not None:
            tags.append(key_id.encode("utf-8"))
        name = id.encode("utf-8")
        # One more than each length, so that none at all is another than an empty one.
        sizes = bytes([0 if tag is None else len(tag) + 1 for tag in tags])
        there = [tag for tag in tags if tag]
        return self._code(
            b"c",
            _CONTENT.pack(version, codec, len(name)),
            name,
            b"%d" % len(tags),
            sizes,
            *there,
            body,
        )

    def state(self, id: str, revision: int, known_from: int, state: bytes) -> bytes:
        """Return the code of a state."""
        name = id.encode("utf-8")
        return self._code(b"s", _STATE.pack(revision, known_from, len(name)), name, state)

    def past(self, state_code: bytes, previous: int | None) -> bytes:
        """Return the code of a row of ``states``, after the state of another revision or none."""
        before = _NO_PREVIOUS if previous is None else previous
        return self._code(b"p", _PAST.pack(before), state_code)

    def entry(self, id: str, entry: bytes) -> bytes:
        """Return an index entry with its code; one that is empty has none."""
        return self.closed(b"i", id.encode("utf-8"), entry) if entry else entry

    def opened_entry(self, id: str, coded: bytes) -> bytes:
        """Undo :meth:`entry`.

        Raises:
            ValueError: If the code is not the entry's.
        """
        return self.opened(b"i", id.encode("utf-8"), coded) if coded else coded

    def closed(self, kind: bytes, name: bytes, body: bytes) -> bytes:
        """Return what stands in one column with its code behind it.

        Args:
            kind: What it is, one byte; no two columns have the same.
            name: Whatever else it is bound to.
            body: What stands there.
        """
        return body + self._code(kind, _PAST.pack(len(name)), name, body)[:CELL_CODE_BYTES]

    def opened(self, kind: bytes, name: bytes, coded: bytes) -> bytes:
        """Undo :meth:`closed`.

        Raises:
            ValueError: If the code is not that of what stands there.
        """
        body = coded[:-CELL_CODE_BYTES]
        if not hmac.compare_digest(coded, self.closed(kind, name, body)):
            raise ValueError("is not as it was written")
        return body

    def element(self, mac: bytes) -> int:
        """Return what a memory adds to the set sum of its owner."""
        digest = hashlib.blake2b(mac, key=self._set_key, digest_size=CODE_BYTES).digest()
        return int.from_bytes(digest, "big")

    def seal(self, head: Head, head_mac: bytes, total: int) -> bytes:
        """Return what is kept of where an owner stands and of its set sum.

        Args:
            head: Where it stands.
            head_mac: Last code of its audit chain.
            total: Sum of the elements of all its memories.
        """
        where = _where(head, head_mac)
        masked = (total + self._mask(where)) % _MOD
        kept = masked.to_bytes(CODE_BYTES, "big")
        return kept + self._code(b"h", where, kept)

    def unseal(self, head: Head, head_mac: bytes, sealed: bytes) -> int:
        """Return the set sum out of what :meth:`seal` returned.

        Raises:
            ValueError: If it was not made of this head.
        """
        try:
            where = _where(head, head_mac)
        except struct.error as error:
            raise ValueError(f"where it stands cannot be: {error}") from error
        kept, code = sealed[:CODE_BYTES], sealed[CODE_BYTES:]
        if not hmac.compare_digest(code, self._code(b"h", where, kept)):
            raise ValueError("where it stands is not what was written")
        return (int.from_bytes(kept, "big") - self._mask(where)) % _MOD

    def _mask(self, where: bytes) -> int:
        return int.from_bytes(self._code(b"m", where), "big")

    def _code(self, kind: bytes, *parts: bytes) -> bytes:
        # Parts are of fixed length, or their lengths stand before them, or they come last. This is
        # HMAC-SHA256 (RFC 2104) spelled out, for the library's takes twice as long on short texts.
        inner = hashlib.sha256(b"".join((self._inner, kind, *parts))).digest()
        return hashlib.sha256(self._outer + inner).digest()


def added(total: int, *elements: int) -> int:
    """Return a set sum with more elements; negative ones are taken away."""
    return (total + sum(elements)) % _MOD


def due_at(state: bytes) -> int | None:
    """Return what the column of a packed state's name says: the earlier end, µs, or None.

    Raises:
        ValueError: If it is no state.
    """
    if len(state) < STATE.size:
        raise ValueError("its state is cut short")
    if state[_ENDS_AT : _ENDS_AT + _ENDS.size] == _ENDLESS:
        return None
    ends = [end for end in _ENDS.unpack_from(state, _ENDS_AT) if end != NEVER]
    return min(ends) if ends else None


def _where(head: Head, head_mac: bytes) -> bytes:
    if (len(head.incarnation), len(head_mac)) != (16, CODE_BYTES):
        raise struct.error("an incarnation or a code of another length")
    return _HEAD.pack(*head, head_mac)
