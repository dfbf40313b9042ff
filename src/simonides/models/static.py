"""The embedded embedder: a mean of static token vectors, numpy only, no model to run.

The artefact next to this module is an int8 table of one vector per WordPiece token, distilled from
all-MiniLM-L6-v2. Its NOTICE and scripts/build_static_embedder.py have the recipe and the measured
quality. Rows are as long as their token weighs. A text's vector is thus the plain sum of its
tokens' rows, scaled to length 1.

The sum is one of integers, hence exact in any order. One square root and one division follow, both
correctly rounded under IEEE 754. So a text has the same bytes alone, in any batch, and on any
machine.
"""

import hashlib
import json
import math
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.models.wordpiece import WordPiece

ARTEFACT = Path(__file__).with_name("static_embedder")

# Only the beginning of a text counts. Chosen: 16,384 characters are about 3,500 English tokens, far
# beyond where a mean says anything, and the worst text of any length costs 60 CPU ms (measured).
MAX_CHARS = 16_384

# Raise this when the same table would give another vector: stored vectors then get another id.
ENCODING_REVISION = 1

# Hexadecimal digits of the content digest in the model id: 48 bits distinguish versions.
DIGEST_CHARS = 12


class _Weights(NamedTuple):
    """The tokenizer and the (tokens, dimensions) table."""

    tokenizer: WordPiece
    table: NDArray[np.int8]


class StaticEmbedder:
    """Text to unit vectors from a static token table; an `Embedder`.

    It opens no socket. The first `encode` memory-maps the table; only the pages of tokens in use
    become resident. A short text takes 0.15 ms. Instances may be shared between threads. Text in
    other than Latin script gets vectors of little meaning.

    Attributes:
        model_id: Name, dimensions and the first digits of a digest over the artefact's file
            digests; vectors under different ids must never be compared.
    """

    def __init__(self, directory: Path = ARTEFACT) -> None:
        """Read the manifest (1 KB); the first `encode` loads the table and the vocabulary.

        Args:
            directory: Holds manifest.json, table.npy and vocab.txt as the build script writes them.

        Raises:
            FileNotFoundError: If the directory has no manifest.
        """
        manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        self.dimensions: int = manifest["dimensions"]
        self.model_id: str = _model_id(manifest)
        self._directory = directory
        self._weights: _Weights | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, each on its own: a vector never depends on the rest of the batch.

        Args:
            texts: Any strings; the first MAX_CHARS characters of each are considered.

        Returns:
            Float32 array (len(texts), dimensions), rows of length 1 in the order given. A text
                without a known token (empty, blank, unknown symbols only) gives the zero vector.

        Raises:
            FileNotFoundError: On the first call, if the artefact is incomplete.
        """
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        if not texts:
            return vectors
        tokenizer, table = self._weights or self._load()
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

    def _load(self) -> _Weights:
        # Of two threads on the first call one loads and the other waits for it.
        with _loading:
            self._weights = _weights_of(self._directory.resolve(), self.model_id)
            return self._weights


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _weights_of(directory: Path, model_id: str) -> _Weights:
    """Load an artefact, once for all embedders of a process, since it never changes."""
    del model_id  # part of the cache key: the files may have been replaced
    mapped = np.load(directory / "table.npy", mmap_mode="r", allow_pickle=False)
    # A plain view of the map: pooling through np.memmap itself is a third slower.
    table: NDArray[np.int8] = np.asarray(mapped)
    return _Weights(WordPiece(read_vocabulary(directory)), table)


def read_vocabulary(directory: Path) -> list[str]:
    """Return the tokens of an artefact by id; the file has one a line."""
    text = (directory / "vocab.txt").read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n")


def _model_id(manifest: dict[str, Any]) -> str:
    digests = sorted((name, file["sha256"]) for name, file in manifest["files"].items())
    content = json.dumps([ENCODING_REVISION, digests]).encode()
    digest = hashlib.sha256(content).hexdigest()[:DIGEST_CHARS]
    return f"{manifest['name']}-{manifest['dimensions']}-{digest}"
