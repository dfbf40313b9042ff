"""Normal form of texts for identity, and validation of text input.

The normal form is for identity only: recall analyses the text as it was written (``analyser``).
"""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache

from simonides.domain.errors import InvalidInput


def normalise(text: str) -> str:
    """Return the form under which equal statements are equal: NFKC, case-folded, single spaces.

    Idempotent. White space at both ends is removed; any run of white space in between becomes one
    space. Lone surrogates are kept.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    # Folding can undo the normal form, and composing can restore capitals (U+03D4 and others).
    # NFKC ∘ casefold is stable after the second round, as in Unicode's toNFKC_Casefold.
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).split())


def without_accents(text: str) -> str:
    """Return letters without accents: "où" as "ou", "sœur" as "soeur". Character positions may
    change.
    """
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text.replace("œ", "oe"))
    bare = "".join(char for char in apart if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare)


# Cached: one write needs the hash of its text four times.
@lru_cache(maxsize=8)
def content_hash(text: str) -> str:
    """Return the SHA-256 of the normalised text as 64 hexadecimal digits.

    Raises:
        UnicodeEncodeError: If the text holds lone surrogates; :func:`check_text` rejects these in
            input.
    """
    return hashlib.sha256(normalise(text).encode("utf-8")).hexdigest()


def check_text(field: str, text: object, max_bytes: int) -> str:
    """Return ``text`` if it can be stored and searched.

    Args:
        field: Name of the value, for the message.
        text: The input.
        max_bytes: Largest size in UTF-8, inclusive.

    Raises:
        InvalidInput: If it is not text, blank, larger than ``max_bytes``, or holds NUL or a lone
            surrogate.
    """
    if not isinstance(text, str):
        raise InvalidInput(field, f"must be text, not {type(text).__name__}")
    if not text or text.isspace():
        raise InvalidInput(field, "must not be empty or blank")
    # The character count bounds the size from below: a huge text is refused before it is encoded.
    size = len(text) if len(text) > max_bytes else _utf8_size(field, text)
    if size > max_bytes:
        unit = "characters" if size == len(text) else "bytes in UTF-8"
        raise InvalidInput(field, f"has {size:,} {unit}; at most {max_bytes:,} bytes are allowed")
    nul = text.find("\0")
    if nul >= 0:
        raise InvalidInput(field, f"holds NUL (U+0000) at character {nul}")
    return text


def _utf8_size(field: str, text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        problem = f"holds a lone surrogate U+{ord(text[error.start]):04X}"
        raise InvalidInput(field, f"{problem} at character {error.start}") from error


def storable(text: str) -> str:
    """Return a text that can be searched and shown: without NUL, and with a form in UTF-8."""
    if "\0" in text:
        text = text.replace("\0", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
