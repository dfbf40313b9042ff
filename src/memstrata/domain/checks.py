"""Check sums: a bit that turned over on a disk is noticed where it is read.

They find accidents. Who edits a store makes them anew; codes under a key ring are for that (FX-7).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from zlib import crc32

CHECK_BYTES: Final = 4

_WHOLE: Final = 0x2144DF1C
"""What CRC-32 makes of any bytes with their own CRC-32 behind them: its residue (ISO 3309)."""

_JSON = b'{"":"'
_JSON_BYTES = len(_JSON) + 8 + len(b'",')


def with_check(packed: bytes, of: str = "") -> bytes:
    """Return bytes with their check sum behind them; ``of`` is the id that they stand under."""
    return packed + crc32(packed, _seed(of)).to_bytes(CHECK_BYTES, "little")


def is_whole(checked: bytes, of: str = "") -> bool:
    """Whether bytes are what :func:`with_check` returned."""
    return crc32(checked, _seed(of)) == _WHOLE


def are_whole(checked: Iterable[bytes], of: Iterable[str] | None = None) -> bool:
    """Whether all of many are, without a step of Python's for each."""
    if of is None:
        return set(map(crc32, checked)) <= {_WHOLE}
    return set(map(crc32, checked, map(crc32, map(str.encode, of)))) <= {_WHOLE}


def json_with_check(text: bytes, of: str) -> bytes:
    """Return a JSON object, not empty, that tells its check sum first, by the empty name; ``of`` is
    the id that it stands under.
    """
    return b'%s%08x",%s' % (_JSON, crc32(text, _seed(of)), text[1:])


def json_without_check(checked: bytes, of: str) -> bytes:
    """Undo :func:`json_with_check`; what has no check sum is returned as it is.

    Raises:
        ValueError: If it is not the object's.
    """
    if not checked.startswith(_JSON):
        return checked
    text = b"{" + checked[_JSON_BYTES:]
    if checked[:_JSON_BYTES] != b'%s%08x",' % (_JSON, crc32(text, _seed(of))):
        raise ValueError("it is not as it was written")
    return text


def json_vouched(checked: bytes, of: str) -> bytes:
    """Return an object as it stands, its check sum left out where it is another's: somebody else
    vouches for it.
    """
    try:
        json_without_check(checked, of)
    except ValueError:
        return b"{" + checked[_JSON_BYTES:]
    return checked


def _seed(of: str) -> int:
    return crc32(of.encode("utf-8", "surrogatepass")) if of else 0
