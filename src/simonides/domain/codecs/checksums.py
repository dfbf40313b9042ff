"""Check sums: a bit that turned over on a disk is noticed where it is read.

They find accidents. Who edits a store makes them anew; codes under a key ring are for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from zlib import crc32

CHECK_BYTES: Final = 4

_WHOLE: Final = 0x2144DF1C
"""What CRC-32 makes of any bytes with their own CRC-32 behind them: its residue (ISO 3309)."""

_AGAIN: Final = (_WHOLE ^ 0x6DD90A9D).to_bytes(4, "little")
"""What takes CRC-32 from its residue back to where it begins. The number is 0xFFFFFFFF exclusive or
what takes its register from 0 to its first value, likewise by four bytes."""

_AT_ONCE: Final = 4096
"""How many are joined to be looked at; chosen: some megabytes of index entries."""

_JSON = b'{"":"'
_JSON_BYTES = len(_JSON) + 8 + len(b'",')


def with_check(packed: bytes, of: str = "") -> bytes:
    """Return bytes with their check sum behind them; ``of`` is the id that they stand under."""
    return packed + crc32(packed, _seed(of)).to_bytes(CHECK_BYTES, "little")


def is_whole(checked: bytes, of: str = "") -> bool:
    """Whether bytes are what :func:`with_check` returned."""
    return crc32(checked, _seed(of)) == _WHOLE


def are_whole(checked: Sequence[bytes], of: Sequence[str] | None = None) -> bool:
    """Whether all of many are, in half the time that one by one takes.

    They are one text to CRC-32, in which it begins anew before each: whatever is changed in one of
    them shows at the end, and changes in two cancel each other out as seldom as two in one.
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
    """Return a JSON object, not empty, that tells its check sum first, by the empty name; ``of`` is
    the id that it stands under.
    """
    return b'%s%08x",%s' % (_JSON, crc32(text, _seed(of)), text[1:])


def json_without_check(checked: bytes, of: str) -> bytes:
    """Undo :func:`json_with_check`.

    Raises:
        ValueError: If the check sum is missing, or not the object's.
    """
    text = b"{" + checked[_JSON_BYTES:]
    if checked != json_with_check(text, of):
        raise ValueError("it is not as it was written")
    return text


def json_vouched(checked: bytes, of: str) -> bytes:
    """Return an object with a check sum that fits it. Call it for an object that was edited and
    whose code under a key ring is right.
    """
    return json_with_check(b"{" + checked[_JSON_BYTES:], of)


def _seed(of: str) -> int:
    return crc32(of.encode("utf-8", "surrogatepass")) if of else 0
