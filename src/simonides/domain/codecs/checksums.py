"""CRC-32 checksums, which detect bit errors of a disk when data is read.

They detect accidents only. An attacker who edits a store can recompute them; MACs under a key ring
detect that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

CHECK_BYTES: Final = 4

_WHOLE: Final = 0x2144DF1C
"""Residue of CRC-32: its value for any bytes followed by their own CRC-32 (ISO 3309)."""

_AGAIN: Final = (_WHOLE ^ 0x6DD90A9D).to_bytes(4, "little")
"""Four bytes that reset CRC-32 from its residue to its initial state. The constant is 0xFFFFFFFF
XOR the four bytes that take its register from 0 to its initial value."""

_AT_ONCE: Final = 4096
"""Blobs joined for one check; chosen: some megabytes of index entries."""

_JSON = b'{"":"'
_JSON_BYTES = len(_JSON) + 8 + len(b'",')


def with_check(packed: bytes, of: str = "") -> bytes:
    """Return bytes followed by their checksum; ``of`` is the id of their row."""
    return packed + crc32(packed, _seed(of)).to_bytes(CHECK_BYTES, "little")


def is_whole(checked: bytes, of: str = "") -> bool:
    """Whether the checksum of bytes from :func:`with_check` is correct."""
    return crc32(checked, _seed(of)) == _WHOLE


def are_whole(checked: Sequence[bytes], of: Sequence[str] | None = None) -> bool:
    """Whether all checksums are correct, in half the time of single checks.

    The blobs are joined into one text that resets CRC-32 before each blob. An error in one of them
    shows at the end. Errors in two of them cancel each other as rarely as two errors in one.
    """
    found, step = _WHOLE, 2 if of is None else 3
    for first in range(0, len(checked), _AT_ONCE):
        some = checked[first : first + _AT_ONCE]
        parts = [_AGAIN] * (step * len(some))
        if of is not None:
            parts[1::step] = map(str.encode, of[first : first + _AT_ONCE])
        parts[step - 1 :: step] = some
        found = crc32(b"".join(parts), found)
    return found == _WHOLE


def json_with_check(text: bytes, of: str) -> bytes:
    """Return a JSON object with its checksum as the first field, under the empty name.

    The object must not be empty; ``of`` is the id of its row.
    """
    return b'%s%08x",%s' % (_JSON, crc32(text, _seed(of)), text[1:])


def json_without_check(checked: bytes, of: str) -> bytes:
    """Undo :func:`json_with_check`.

    Raises:
        ValueError: If the checksum is missing or wrong.
    """
    text = b"{" + checked[_JSON_BYTES:]
    if checked != json_with_check(text, of):
        raise ValueError("it is not as it was written")
    return text


def json_vouched(checked: bytes, of: str) -> bytes:
    """Return an object with a recomputed checksum.

    Call it for an edited object whose MAC under a key ring is correct.
    """
    return json_with_check(b"{" + checked[_JSON_BYTES:], of)


def _seed(of: str) -> int:
    return crc32(of.encode("utf-8", "surrogatepass")) if of else 0
