"""BERT's uncased WordPiece, in pure Python.

Each character is rewritten on its own: drop controls and accents, lower case, spaces around
punctuation and CJK ideographs. So a final Greek sigma is lowered like any other, as in the
reference. Blanks then separate the words. Each word is cut greedily into the longest pieces of the
vocabulary. Markers such as "[MASK]" inside a text are plain text here, never special tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path


def read_vocabulary(directory: Path) -> list[str]:
    """Return the tokens of an artefact by id; the file has one a line."""
    text = (directory / "vocab.txt").read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n")


# As in the reference implementation of BERT: a longer word is unknown as a whole.
MAX_WORD_CHARS = 100

# Cached words, per tokenizer. Chosen: the active vocabulary of a busy process
# fits, and at about 200 bytes a word the cache stays near 6 MB.
CACHED_WORDS = 32_768

# Cached characters, out of 1.1 million: all scripts in living use fit, and a text with every code
# point cannot grow the table without limit.
CACHED_CHARACTERS = 65_536

CONTINUATION = "##"

# CJK ideographs as BERT defines them; each becomes a word of its own. Kana and Hangul do not. The
# start of the last-but-two block (2B920) is the reference tokenizer's, kept for equal ids.
CJK = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """Text to token ids over a fixed vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Index the vocabulary.

        Args:
            vocabulary: Tokens by id; pieces that continue a word begin with "##". "[UNK]" is the
                one of words without pieces.
        """
        self._ids = {token: id for id, token in enumerate(vocabulary)}
        self._unknown = (self._ids["[UNK]"],)
        self._longest = max(map(len, vocabulary))
        self._pieces = lru_cache(maxsize=CACHED_WORDS)(self._cut)
        self._chunks = lru_cache(maxsize=CACHED_WORDS)(self._words)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, in order, without any begin or end marker. Any string is
        accepted: NUL, other controls and lone surrogates are dropped. Time is linear in the length
        of the text; nothing is truncated, so callers limit the length.
        """
        if not (text.isascii() and text.isprintable()):
            return self._words(text)
        # In printable ASCII only the space separates words, so each chunk can be cached.
        tokens: list[int] = []
        for chunk in text.split():
            # Overlong chunks are not cached: they would fill the cache.
            tokens += self._chunks(chunk) if len(chunk) <= MAX_WORD_CHARS else self._words(chunk)
        return tokens

    def _words(self, text: str) -> list[int]:
        return [
            token
            for word in text.translate(_REWRITES).split()
            for token in (self._pieces(word) if len(word) <= MAX_WORD_CHARS else self._unknown)
        ]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut one word into the longest known pieces from the left, or return the unknown token."""
        ids: list[int] = []
        start, lead = 0, ""
        while start < len(word):
            # No piece is longer than the longest token: this keeps a word's cost linear.
            for end in range(min(len(word), start + self._longest), start, -1):
                token = self._ids.get(lead + word[start:end])
                if token is not None:
                    break
            else:
                return self._unknown
            ids.append(token)
            start, lead = end, CONTINUATION
        return tuple(ids)


def _rewrite(char: str) -> str:
    """Return a character's replacement: nothing, its bare lower case, or a spaced token."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or category[0] == "Z":
        return " "
    # Cc, Cf, Cs, Co; unassigned code points (Cn) stay and make their word unknown.
    if char == "\ufffd" or (category[0] == "C" and category != "Cn"):
        return ""
    bare = "".join(
        _spaced_if_punctuation(part)
        for part in unicodedata.normalize("NFD", char)
        if unicodedata.category(part) != "Mn"
    )
    return f" {bare} " if any(low <= ord(char) <= high for low, high in CJK) else bare


def _spaced_if_punctuation(char: str) -> str:
    # In ASCII, BERT counts symbols such as "$" and "+" as punctuation too.
    ascii_symbol = char.isascii() and not char.isalnum() and char.isprintable() and char != " "
    if ascii_symbol or unicodedata.category(char)[0] == "P":
        return f" {char} "
    return char.lower()


class _Rewrites(dict[int, str]):
    """Bounded cache of `_rewrite` by code point, in the form that `str.translate` reads."""

    def __missing__(self, code_point: int) -> str:
        rewritten = _rewrite(chr(code_point))
        if len(self) < CACHED_CHARACTERS:
            self[code_point] = rewritten
        return rewritten


_REWRITES = _Rewrites()
