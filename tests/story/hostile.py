"""More than five hundred identities that someone might try, made from a few short tables."""

import unicodedata
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any


class Liar(str):
    """A text that shows itself as another's name."""

    __slots__ = ()

    def __str__(self) -> str:
        return "alice"

    def __format__(self, spec: str) -> str:
        return "alice"


_TRAVERSAL = ("..", ".", "...", "../alice", "./alice", "alice/..", "alice/../bob", "..\\alice")
_TRAVERSAL += ("/", "//", "/alice", "alice/", "alice//", "/user/alice/", "/global/", "global/org")
_TRAVERSAL += ("/global/org/default/user/alice/", "alice/task/t1", "alice/task/t1/", "~", "~root")
_TRAVERSAL += ("C:\\alice", "\\\\host\\alice", "file:///alice", "alice\\", "alice/.", "….", "․․")
_ENCODED = (
    "%2e%2e%2f",
    "%2fuser%2falice",
    "alice%00",
    "%61lice",
    "%",
    "%%",
    "%25",
    "%c0%ae",
    "&#97;",
)
_ENCODED += ("\\u0061lice", "\\x61lice", "&amp;alice", "alice%20", "+alice", "=61lice", "x27alice")
_WILD = (
    "*",
    "?",
    "_",
    "__",
    "a*",
    "al_ce",
    "al?ce",
    "[a]lice",
    "{alice}",
    "%lice",
    "a%",
    ".*",
    "^a",
)
_WILD += (
    "a|b",
    "(alice)",
    "alice$",
    "[!x]",
    "alic[e]",
    "_lice",
    "alic_",
    "a.i.e",
    "~alice",
    "!alice",
)
_SEPARATED = tuple(f"alice{mark}bob" for mark in "/\\:;,|&=+#@!~^<>()[]{}\"'`*%?$ \t\n\r\v\f")
_SQL = (
    "' OR '1'='1",
    "alice'--",
    'alice"--',
    "1; DROP TABLE memories",
    "alice') OR 1=1 --",
    "NULL",
)
_SQL += (
    "x' UNION SELECT * FROM owners --",
    "alice\x00'",
    "sqlite_master",
    "rowid",
    ":id",
    "?1",
    "@id",
)
_SQL += (
    "$1",
    "LIKE",
    "ESCAPE",
    "GLOB '*'",
    "0x616c696365",
    "char(97)",
    "alice/**/",
    "alice;--",
    "''",
)
_RESERVED = ("global", "Global", "GLOBAL", "org", "ORG", "user", "USER", "task", "session", "null")
_RESERVED += (
    "none",
    "None",
    "NULL",
    "ſession",
    "uſer",
    "taſk",
    "undefined",
    "true",
    "nan",
    "admin",
)
_RESERVED += ("root", "system", "default", "workspace", "self", "me", "anonymous", "0", "-1", "42")
_LENGTHS = ("", "a" * 127, "a" * 128, "a" * 129, "a" * 10_000, "é" * 128, "é" * 129, "🦊" * 128)
_LENGTHS += ("x" * 10_240, "文" * 128, "文" * 10_000, "a\u0301" * 64, "../" * 3_400, "%" * 10_000)
_LOOKALIKES = (
    "alice",
    "Alice",
    "ALICE",
    "aLICE",
    "alicE",
    "аlice",
    "alіce",
    "aliсe",
    "alicе",
    "ɑlice",
)
_LOOKALIKES += (
    "ａｌｉｃｅ",
    "𝐚𝐥𝐢𝐜𝐞",
    "𝒶𝓁𝒾𝒸ℯ",
    "ⓐⓛⓘⓒⓔ",
    "alıce",
    "alİce",
    "aⅼice",
    "alⅰce",
    "aliⅽe",
    "ali‌ce",
)
_LOOKALIKES += (
    "αlice",
    "alic℮",
    "a1ice",
    "aIice",
    "alicé",
    "alice\u0301",
    "álice",
    "a\u0301lice",
    "äliċe",
)
_LOOKALIKES += (
    "ﬁona",
    "fiona",
    "straße",
    "strasse",
    "STRASSE",
    "ΑΛΙΣ",
    "αλις",
    "αλισ",
    "K",
    "K",
    "Å",
    "Å",
)
_LOOKALIKES += (
    "Ω",
    "Ω",
    "ǆ",
    "ǅ",
    "Ǆ",
    "한",
    "\u1112\u1161\u11ab",
    "ｶﾞ",
    "ガ",
    "か\u3099",
    "が",
    "①",
    "１",
    "1",
)
_LOOKALIKES += (
    "fi",
    "ﬀ",
    "ff",
    "ĳ",
    "ij",
    "²",
    "2",
    "µ",
    "μ",
    "ſ",
    "s",
    "ẞ",
    "ß",
    "ss",
    "ŉ",
    "א",
    "ﬡ",
    "豈",
    "豈",
)
_INVISIBLE = (
    0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180E, 0x180F,
    0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2060,
    0x2061, 0x2062, 0x2063, 0x2064, 0x2065, 0x2066, 0x2067, 0x2068, 0x2069, 0x206A, 0x206F,
    0x2800, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFA, 0xFFFB, 0x1BCA0, 0x1D173,
    0xE0001, 0xE0020, 0xE0061, 0xE007F, 0xE0100, 0xE01EF,
)  # fmt: skip
_SPACES = (0x20, 0x85, 0xA0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007)
_SPACES += (0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_ODD = (0xE000, 0xF8FF, 0xFDD0, 0xFFFE, 0xFFFF, 0x10FFFF, 0x378, 0xFFFD, 0xF0000, 0x1FFFE)
_SURROGATES = (0xD800, 0xDBFF, 0xDC00, 0xDC80, 0xDCFF, 0xDFFF)

TEXTS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            *_TRAVERSAL, *_ENCODED, *_WILD, *_SEPARATED, *_SQL, *_RESERVED, *_LENGTHS, *_LOOKALIKES,
            *(f"alice{chr(code)}" for code in (*range(0x20), *range(0x7F, 0xA0))),
            *(f"al{chr(code)}ice" for code in (*_INVISIBLE, *_SPACES, *_ODD, *_SURROGATES)),
            *(f"{chr(code)}alice" for code in (*_INVISIBLE, *_SPACES, *_SURROGATES)),
            *(f"alice{chr(code)}" for code in (*_INVISIBLE, *_SPACES, *_SURROGATES)),
            *(chr(code) for code in (0, *_INVISIBLE, *_SPACES, *_SURROGATES)),
        ]
    )
)  # fmt: skip

NOT_TEXTS: tuple[Any, ...] = (
    0, 1, -1, 42, 10**30, True, False, 1.0, float("nan"), float("inf"), 1j, b"alice", b"",
    bytearray(b"alice"), memoryview(b"alice"), [], ["alice"], (), ("alice",), {}, {"user": "alice"},
    set(), frozenset({"alice"}), object(), type, len, ..., NotImplemented, Fraction(1, 2),
    PurePosixPath("alice"), range(3), iter("alice"), Exception("alice"),
)  # fmt: skip

ALL: tuple[Any, ...] = (*TEXTS, *NOT_TEXTS, Liar("mallory"))


def shows_nothing(text: str) -> bool:
    """Whether a text holds an invisible character that ids may not hold, because nobody can see
    it."""
    hidden = {chr(code) for code in (*_INVISIBLE, *_SPACES, *_SURROGATES)}
    return any(char in hidden or unicodedata.category(char) == "Cc" for char in text)
