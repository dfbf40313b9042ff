"""Undo disguises in a text: confusable letters, invisible characters, encoded parts.

A *view* is a text as the poison rules and classifier read it: in lower case, without invisible
characters, with confusable letters of other scripts replaced by Latin ones. Each encoded part is a
view of its own. It is decoded once: a model does not read a text that is encoded twice.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import string
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from urllib.parse import unquote

from simonides.text import patterns

PLAIN = "plain"

# Chosen. A longer piece is cut; of more pieces the first ones are read.
_MOST_PIECES = 24
_LONGEST_PIECE = 16_384
_ENOUGH_LEETED = 2
_ENOUGH_MIXED = 2
_LONGEST_UNIT = 3
_LONGEST_WORD = 64
_LONGEST_LIGATURE = 3

# Invisible: soft hyphen, joiners, direction marks, fillers, variation selectors.
_INVISIBLE = frozenset(
    {0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0}
    | {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)}
    | {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x300, 0x370)}
)

_TAGS = range(0xE0000, 0xE0080)

# Latin letters and the letters of other scripts that look like them: the part of Unicode's
# confusables that occurs in disguised texts.
_CONFUSABLES = dict(
    pair
    for latin, others in {
        "a": "аαɑ", "b": "ьъʙβв", "c": "сϲ", "d": "ԁɗ", "e": "еєεҽ", "g": "ɡԍ", "h": "һ",
        "i": "іιїıɩ", "j": "јʝ", "k": "кκ", "l": "ӏʟ", "m": "м", "n": "пηɴ", "o": "оοօσө",
        "p": "рρ", "q": "ԛ", "r": "гʀ", "s": "ѕꜱ", "t": "тτ", "u": "υսц", "v": "ѵν", "w": "ѡωԝш",
        "x": "хχ", "y": "уγү", "z": "ᴢ", "3": "зҙ",
    }.items()
    for pair in ((ord(other), latin) for other in others)
)  # fmt: skip

_LEET_SIGNS = "0134567@$!|+€"
_SIGNS = frozenset(_LEET_SIGNS)
_LEET = str.maketrans(_LEET_SIGNS, "oieasgtasilte")

_MIXED = r"[a-z][\x{370}-\x{52f}]|[\x{370}-\x{52f}][a-z]"
_SPACED = r"(?:[\pL\pN][ .\-_*/]{1,2}){5,}[\pL\pN]"
_BASE64 = r"[A-Za-z0-9+/_-]{16,}={0,2}"
_HEX = r"(?:(?:\\x|0x|%)?[0-9A-Fa-f]{2}[ :,]?){8,}"
_BINARY = r"(?:[01]{8}[ ,]?){6,}"
_ESCAPE = r"(?:\\u[0-9A-Fa-f]{4}|&#x?[0-9A-Fa-f]{2,6};|%[0-9A-Fa-f]{2})"
_ESCAPES = rf"{_ESCAPE}(?:{_ESCAPE}|[\w .,]){{5,}}"

# Frequent in English: a text with several of them is English, one with several in rot13 is encoded.
_ENGLISH = frozenset(
    "the and you your all this that with from for not have now are what instructions ignore"
    " previous prompt system show tell reveal follow rules send password user".split()
)
_ROTATED = frozenset(codecs.encode(word, "rot13") for word in _ENGLISH)
_REVERSED = frozenset(word[::-1] for word in _ENGLISH)


@dataclass(frozen=True, slots=True)
class View:
    """One reading of a text.

    Attributes:
        text: Lower case, disguises undone.
        how: ``plain`` for the text itself, else the encoding.
        start: Where it starts in the original text.
        end: Where it ends there, exclusive.
        widths: Characters in the view for each original character; empty if always one.
    """

    text: str
    how: str
    start: int
    end: int
    widths: tuple[int, ...] = ()

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of this view to the original text; in an encoded part, to all of the part."""
        if self.how != PLAIN:
            return self.start, self.end
        if not self.widths:
            return start, end
        ends = list(accumulate(self.widths))
        covered = [i for i, at in enumerate(ends) if at > start and at - self.widths[i] < end]
        return (covered[0], covered[-1] + 1) if covered else (self.start, self.end)


def views(text: str) -> list[View]:
    """Return the text with its disguises undone, then its decoded parts; linear in the text."""
    found = [folded(text)]
    for how, start, end, decoded in _pieces(text):
        if len(found) > _MOST_PIECES:
            break
        found.append(View(folded(decoded[:_LONGEST_PIECE]).text, how, start, end))
    return found


def without_invisible(text: str) -> list[tuple[str, list[int]]]:
    """Return a text without invisible characters, with each character's original position.

    Letters keep their case. Empty if nothing is invisible. Tag characters may pad a token or spell
    one, so they give two readings: without them, and as the ASCII that they encode.
    """
    if text.isascii():
        return []
    codes = {ord(char) for char in set(text)}
    tags = codes.intersection(_TAGS)
    gone = dict.fromkeys(tags | codes & _INVISIBLE, "")
    if not gone:
        return []
    found = [_without(text, gone)]
    if spelled := [code for code in tags if 0xE0020 <= code < 0xE007F]:
        found.append(_without(text, gone | {code: chr(code - _TAGS.start) for code in spelled}))
    return found


def _without(text: str, readings: dict[int, str]) -> tuple[str, list[int]]:
    places = [at for at, char in enumerate(text) if readings.get(ord(char), char)]
    return text.translate(readings), places


def folded(text: str) -> View:
    """Return the view of a text as a whole, without decoding parts."""
    widths: tuple[int, ...] = ()
    end = len(text)
    if text.isascii():
        text = text.lower()
    else:
        table = {ord(char): _read(char) for char in set(text)}
        if any(len(reading) != 1 for reading in table.values()):
            widths = tuple(len(table[ord(char)]) for char in text)
        text = text.translate(table)
        if patterns.compile(_MIXED).search(text):
            text = text.translate(_CONFUSABLES)
    return View(_unleeted(text), PLAIN, 0, end, widths)


def mixed_words(text: str) -> list[tuple[int, int]]:
    """Return the spans of the first two words of mixed scripts; "kΩ" is too short to count."""
    found: list[tuple[int, int]] = []
    at = 0
    for word in () if text.isascii() else text.split():
        if (
            _LONGEST_UNIT < len(word) < _LONGEST_WORD
            and not word.isascii()
            and _is_mixed(word.lower())
        ):
            at = text.index(word, at)
            found.append((at, at + len(word)))
            at += len(word)
            if len(found) == _ENOUGH_MIXED:
                break
    return found


def _is_mixed(word: str) -> bool:
    latin = sum(1 for char in word if "a" <= char <= "z")
    others = [char for char in word if char > "z" and char.isalpha()]
    # Adjacent letters only: the first letter of "α-blocker" is no disguise.
    adjacent = any(
        "a" <= min(pair) <= "z" < max(pair) and pair[1].isalpha() for pair in pairwise(word)
    )
    return latin > 1 and adjacent and bool(others) and _are_confusable(others)


def _are_confusable(letters: list[str]) -> bool:
    return all(all(ord(part) in _CONFUSABLES for part in letter) for letter in letters)


def _read(char: str) -> str:
    """Return what a character looks like; a ligature of over three letters stays as it is."""
    code = ord(char)
    if code in _TAGS:
        return chr(code - _TAGS.start).lower() if 0xE0020 <= code < 0xE007F else ""
    if code in _INVISIBLE:
        return ""
    reading = unicodedata.normalize("NFKC", char).lower()
    return reading if len(reading) <= _LONGEST_LIGATURE else char


def _unleeted(text: str) -> str:
    """Replace digits and signs by the letters that they imitate, if the text is leetspeak.

    Leetspeak has such signs in three words and in one of twenty, or in two words and in one of
    four. A single "k8s" or "p@ss" stays.
    """
    words = text.split(" ")
    enough = max(3, len(words) / 20)
    leeted = 0
    for word in words:
        leeted += not _SIGNS.isdisjoint(word) and _is_leeted(word)
        if leeted >= enough:
            break
    if leeted < enough and (leeted < _ENOUGH_LEETED or leeted * 4 < len(words)):
        return text
    return " ".join(
        word if word.isalpha() or not _has_letters(word) else word.translate(_LEET)
        for word in words
    )


def _is_leeted(word: str) -> bool:
    """Whether a word of at least 60 % letters has leet signs before or between letters.

    A number with a unit and a file's hash do not count.
    """
    inner = word.strip(".,;:!?\"'()")
    letters = sum(map(str.isalpha, inner))
    if not 0.6 * len(inner) <= letters < len(inner):
        return False
    runs = "".join("x" if char in _SIGNS else "a" if char.isalpha() else " " for char in inner)
    return runs.startswith("xa") or "axa" in runs or "axxa" in runs


def _has_letters(word: str) -> bool:
    return sum(map(str.isalpha, word)) * 3 >= len(word)


def _pieces(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield encoding, start, end and decoded text."""
    for how, pattern, decode in _DECODERS:
        if how == "escapes" and not _has_escapes(text):
            continue
        for match in patterns.compile(pattern).finditer(text):
            start, end = match.span()
            decoded = decode(text[start : min(end, start + 2 * _LONGEST_PIECE)])
            if decoded is not None and _is_prose(decoded):
                yield how, start, end, decoded
    words = frozenset(text[:_LONGEST_PIECE].lower().split())
    if len(words & _ROTATED) > max(1, len(words & _ENGLISH)):
        yield "rot13", 0, len(text), codecs.encode(text, "rot13")
    if len(words & _REVERSED) > max(1, len(words & _ENGLISH)):
        yield "reversed", 0, len(text), text[::-1]


def _has_escapes(text: str) -> bool:
    found = patterns.compile(_ESCAPE).finditer(text)
    return next(found, None) is not None and next(found, None) is not None


def _is_prose(text: str) -> bool:
    """Whether a decoded piece is readable text, not bytes: 85 % letters, spaces, punctuation."""
    if len(text) < 6:
        return False
    head = text[:512]
    said = sum(1 for char in head if char.isalpha() or char in " ,.:;!?'\"-\n")
    return said >= 0.85 * len(head) and head.isprintable() | ("\n" in head)


def _of_base64(piece: str) -> str | None:
    stripped = piece.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        found = base64.b64decode(stripped[: len(stripped) // 4 * 4 or None], validate=True)
        rest = stripped[len(stripped) // 4 * 4 :]
        if len(rest) > 1:
            found += base64.b64decode(rest + "=" * (4 - len(rest)))
    except binascii.Error:
        return None
    return _utf8(found)


def _of_hex(piece: str) -> str | None:
    digits = piece.replace("\\x", "").replace("0x", "").translate(_NO_MARKS)
    return _utf8(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _of_binary(piece: str) -> str | None:
    bits = piece.replace(" ", "").replace(",", "")
    return _utf8(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8)))


def _of_escapes(piece: str) -> str | None:
    head, *rest = html.unescape(unquote(piece)).split("\\u")
    text = "".join((head, *(_of_code(part) for part in rest)))
    return text if text != piece else None


def _of_code(part: str) -> str:
    digits = part[:4]
    if len(digits) < 4 or not set(digits) <= _HEX_DIGITS:
        return f"\\u{part}"
    return chr(int(digits, 16)) + part[4:]


def _of_spaced(piece: str) -> str | None:
    # Two spaces separate words.
    words = piece.replace("   ", "  ").split("  ")
    return " ".join(word.translate(_NO_SEPARATORS) for word in words)


def _utf8(found: bytes) -> str | None:
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError:
        return None


_HEX_DIGITS = frozenset(string.hexdigits)
_NO_MARKS = str.maketrans("", "", " :,%")
_NO_SEPARATORS = str.maketrans("", "", " .-_*/")

_DECODERS: tuple[tuple[str, str, Callable[[str], str | None]], ...] = (
    ("base64", _BASE64, _of_base64),
    ("hex", _HEX, _of_hex),
    ("binary", _BINARY, _of_binary),
    ("escapes", _ESCAPES, _of_escapes),
    ("spaced", _SPACED, _of_spaced),
)
