"""Turning texts into vectors: interfaces of models, the checked call, the embedded embedder.

The embedded embedder is a mean of static token vectors: numpy only, no model to run.

The artefact next to this module is an int8 table of one vector per WordPiece token, distilled from
all-MiniLM-L6-v2. Its NOTICE and scripts/build_static_embedder.py have the recipe and the measured
quality. Rows are as long as their token weighs. A text's vector is thus the plain sum of its
tokens' rows, scaled to length 1.

The sum is one of integers, hence exact in any order. One square root and one division follow, both
correctly rounded under IEEE 754. So a text has the same bytes alone, in any batch, and on any
machine.

The tokenizer is BERT's uncased WordPiece, in pure Python. `normalise` rewrites each character on
its own: drop controls and accents, lower case, spaces around punctuation and CJK ideographs. Blanks
then separate the words. Each word is cut greedily into the longest pieces of the vocabulary.
Markers such as "[MASK]" inside a text are plain text here, never special tokens.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simonides.core.errors import SimonidesError
from simonides.text.analyse import is_latin


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors. Thread-safe.

    Attributes:
        model_id: Names the model and its version; vectors under different ids are not compared.
        dimensions: Length of a vector.

    One that knows more than Latin script says so by an attribute ``is_multilingual``; of others,
    texts in other scripts are searched by their words alone.
    """

    model_id: str
    dimensions: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, shape (n, dimensions); zeros for a text without meaning."""


@runtime_checkable
class Reranker(Protocol):
    """Looks at the best hits of a query again. Thread-safe."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text; a higher one bears more on the query."""


class TokenCounter(Protocol):
    """Counts the tokens of a text as the user's model does. Thread-safe."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens."""


class EmbedderFailed(SimonidesError, RuntimeError):
    """The embedder raised an error, or returned something else than vectors."""

    hint = "check the embedder; until then words alone are searched"
    retryable = True


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Return a vector for each text, shape (n, dimensions), float32.

    Raises:
        EmbedderFailed: If the embedder fails, or its answer has another shape or is not finite.
    """
    if not getattr(embedder, "is_multilingual", False):
        texts = [text if is_latin(text) else "" for text in texts]
    try:
        found = np.asarray(embedder.encode(texts), np.float32)
    except Exception as error:
        raise EmbedderFailed(f"{embedder.model_id}: {type(error).__name__}") from error
    if found.shape != (len(texts), embedder.dimensions) or not np.isfinite(found).all():
        wanted = f"finite vectors of shape ({len(texts)}, {embedder.dimensions})"
        raise EmbedderFailed(f"{embedder.model_id}: returned no {wanted}")
    return found


# -- the embedded embedder -------------------------------------------------------------------------

ARTEFACT = Path(__file__).with_name("static_embedder")

# Only the beginning of a text counts. Chosen: 16,384 characters are about 3,500 English tokens, far
# beyond where a mean says anything, and the worst text of any length costs 60 CPU ms (measured).
MAX_CHARS = 16_384

# Raise this when the same table would give another vector: stored vectors then get another id.
ENCODING_REVISION = 1

# Hexadecimal digits of the content digest in the model id: 48 bits distinguish versions.
DIGEST_CHARS = 12


class StaticEmbedder:
    """Text to unit vectors from a static token table; an `Embedder`.

    It opens no socket. The first `encode` memory-maps the table; only the pages of tokens in use
    become resident. A short text takes 0.15 ms. Instances may be shared between threads. Text in
    other than Latin script gets vectors of little meaning.

    Attributes:
        model_id: Name, dimensions and the first digits of a digest over the artefact's file
            digests; vectors under different ids must never be compared.
    """

    def __init__(self) -> None:
        """Read the manifest (1 KB); the first `encode` loads the table and the vocabulary."""
        manifest = json.loads((ARTEFACT / "manifest.json").read_text(encoding="utf-8"))
        self.dimensions: int = manifest["dimensions"]
        digests = sorted((name, file["sha256"]) for name, file in manifest["files"].items())
        content = json.dumps([ENCODING_REVISION, digests]).encode()
        digest = hashlib.sha256(content).hexdigest()[:DIGEST_CHARS]
        self.model_id = f"{manifest['name']}-{self.dimensions}-{digest}"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, each on its own: a vector never depends on the rest of the batch.

        Args:
            texts: Any strings; the first MAX_CHARS characters of each are considered.

        Returns:
            Float32 array (len(texts), dimensions), rows of length 1 in the order given. A text
                without a known token (empty, blank, unknown symbols only) gives the zero vector.
        """
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        tokenizer, table = _weights_of(self.model_id)
        for row, text in zip(vectors, texts, strict=True):
            tokens = tokenizer.encode(text[:MAX_CHARS])
            if not tokens:
                continue
            # A character gives at most three tokens and a token at most 127 in each dimension, so
            # neither the sum nor its squared length can overflow.
            total = np.add.reduce(table.take(tokens, axis=0), axis=0, dtype=np.int64)
            squared_length = int(total @ total)
            # Special tokens, "[UNK]" among them, have zero rows: the sum may be zero.
            if squared_length:
                row[:] = total / math.sqrt(squared_length)
        return vectors


@lru_cache(maxsize=1)
def _weights_of(model_id: str) -> tuple[WordPiece, NDArray[np.int8]]:
    """Load the tokenizer and the (tokens, dimensions) table, once for all embedders of a process.

    Threads that ask at the same time may each load them; all give the same vectors.
    """
    del model_id  # the key of the cache: the files may have been replaced
    mapped = np.load(ARTEFACT / "table.npy", mmap_mode="r", allow_pickle=False)
    # A plain view of the map: pooling through np.memmap itself is a third slower.
    table: NDArray[np.int8] = np.asarray(mapped)
    return WordPiece(read_vocabulary(ARTEFACT)), table


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
CJK = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class WordPiece:
    """Text to token ids over a fixed vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Index the vocabulary.

        Args:
            vocabulary: Tokens by id; pieces that continue a word begin with "##". "[UNK]" is the
                one of words without pieces.
        """
        self._first: dict[str, int] = {}
        self._next: dict[str, int] = {}
        for token_id, token in enumerate(vocabulary):
            continues = token.startswith(CONTINUATION)
            pieces = self._next if continues else self._first
            pieces[token.removeprefix(CONTINUATION)] = token_id
        self._unknown = (self._first["[UNK]"],)
        self._longest = max(map(len, [*self._first, *self._next]))
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
            for word in normalise(text).split()
            for token in (self._pieces(word) if len(word) <= MAX_WORD_CHARS else self._unknown)
        ]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut one word into the longest known pieces from the left, or return the unknown token."""
        ids: list[int] = []
        start, vocabulary = 0, self._first
        while start < len(word):
            # No piece is longer than the longest token: this keeps a word's cost linear.
            for end in range(min(len(word), start + self._longest), start, -1):
                token = vocabulary.get(word[start:end])
                if token is not None:
                    break
            else:
                return self._unknown
            ids.append(token)
            start, vocabulary = end, self._next
        return tuple(ids)


def normalise(text: str) -> str:
    """Rewrite a text so that splitting it at blanks gives BERT's uncased words. Each character is
    rewritten alone, so a final Greek sigma is lowered like any other, as in the reference.
    """
    return text.translate(_REWRITES)


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
    return f" {bare} " if CJK.match(char) else bare


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
