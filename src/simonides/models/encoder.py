"""The encoder that ships with the package: all-MiniLM-L6-v2 with int8 weights, in numpy.

A sentence transformer of six layers. `Network` turns a text into the last hidden states of its
tokens; `Encoder` projects their mean on 128 principal axes. The weights lie beside this module;
NOTICE there and scripts/build_encoder.py have origin and recipe.

The table of tokens stays mapped in memory, and only rows in use are widened; the layers (10 MB) are
widened once, at the first text. Each text is run by itself, so its vectors never depend on the
others of a call. If onnxruntime is installed (extra `fast`), it runs the layers in less time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from mmap import mmap
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simonides.models.embedder import MAX_TOKENS, Encoded, no_tokens
from simonides.models.threads import one_thread
from simonides.models.wordpiece import WordPiece, read_vocabulary

Floats = NDArray[np.float32]
Runtime = Literal["onnxruntime", "numpy"]

WEIGHTS = Path(__file__).with_name("minilm")

MAX_CHARS = 4_096
"""Characters of a text that are cut into tokens: most texts reach `READ_TOKENS` long before."""

READ_TOKENS = 256
"""Tokens of a text that count; what long texts say later is found by its words."""

PIECE = 128
"""Tokens that see each other; a longer text is run in pieces: attention grows with the square."""

CLS, SEP = 101, 102
HEADS = 12
EPSILON = np.float32(1e-12)

REVISION = 1
"""Raise this when the same files would give other vectors: stored vectors then get another id."""

DIGEST_CHARS = 12
"""Hexadecimal digits of the files' digest in the model id: 48 bits distinguish versions."""


class Encoder:
    """Texts to unit vectors; a `TokenEmbedder`. Thread-safe; opens no socket.

    A text of 12 tokens takes about 8 ms on one core, one of 40 tokens 13 ms. The first one loads
    the weights (.1 s, 50 MB). With onnxruntime a text takes 60 to 70 % of the time, and weights and
    library take 100 MB. It knows English; other Latin script gets vectors of less meaning.

    Attributes:
        model_id: Name, dimensions and the first digits of a digest over the files; vectors under
            different ids must never be compared.
        dimensions: Length of a vector, 128.
        wish_heads: Two logistic regressions on a vector, shape (2, dimensions + 1), the constants
            last: whether a prompt asks for work, and whether a text states a standing wish
            (`benchmarks/wish.py`).
        runtime: What runs the layers. The vectors differ by rounding only.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        """Read the manifest (1 KB); the first `encode` loads the weights.

        Args:
            runtime: Default: onnxruntime if it is installed, else numpy.
        """
        self.runtime: Runtime = runtime or ("onnxruntime" if find_spec("onnxruntime") else "numpy")
        manifest = json.loads((WEIGHTS / "manifest.json").read_text(encoding="utf-8"))
        self.dimensions: int = manifest["dimensions"]
        self.wish_heads: Floats = np.load(WEIGHTS / "heads.npy", allow_pickle=False)
        content = json.dumps([REVISION, sorted(manifest["files"].items())]).encode()
        digest = hashlib.sha256(content).hexdigest()[:DIGEST_CHARS]
        self.model_id = f"{manifest['name']}-{self.dimensions}-{digest}"

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text, shape (n, dimensions).

        Only the first 256 tokens of a text count. A text without tokens gives zeros.
        """
        wholes = [each.whole for each in self.encode_tokens(texts)]
        return np.array(wholes, np.float32).reshape(len(wholes), self.dimensions)

    def encode_tokens(self, texts: Sequence[str], most: int = MAX_TOKENS) -> list[Encoded]:
        """Return the vectors of each text, and of its tokens with a letter or a digit.

        Of a token that occurs twice the first is taken. Of more than ``most`` those are kept
        that are rarest in English: the vocabulary is ordered by frequency.
        """
        network, found = _network(self.model_id, self.runtime), []
        for text in texts:
            with one_thread():
                found.append(self._encoded(network, text, most))
        return found

    def pieces(self, word: str) -> Sequence[int]:
        """Return the ids of the tokens of a word."""
        return _network(self.model_id, self.runtime).ids_of(word)

    def _encoded(self, network: Network, text: str, most: int) -> Encoded:
        ids, states = network.hidden(text)
        if not len(ids):
            return Encoded(np.zeros(self.dimensions, np.float32), *no_tokens(self.dimensions))
        places = np.flatnonzero(network.counts[ids])
        _, first = np.unique(ids[places], return_index=True)  # by id: the rarest are the last
        kept = np.sort(places[first[-most:]])
        rows = np.concatenate([states.mean(axis=0)[None], states[kept]])
        vectors = (rows - network.mean) @ network.axes
        vectors /= np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-6)[:, None]
        tokens = np.rint(vectors[1:] * np.float32(127.0)).astype(np.int8)
        return Encoded(vectors[0], ids[kept].astype(np.uint16), tokens)


@lru_cache(maxsize=2)
def _network(model_id: str, runtime: Runtime) -> Network:
    """Return the network, loaded once for all encoders of a process."""
    del model_id  # the key of the cache: the files may have been replaced
    return Network(WEIGHTS, runtime)


class Network:
    """The transformer. Thread-safe after construction: it only reads.

    Attributes:
        mean: Centre of the hidden states.
        axes: Their principal axes, shape (width, dimensions).
        counts: Which ids of the vocabulary have a letter or a digit.
    """

    def __init__(self, directory: Path, runtime: Runtime = "numpy") -> None:
        """Load the files of `scripts/build_encoder.py`."""
        self._pieces = WordPiece(read_vocabulary(directory))
        mapped = np.load(directory / "table.npy", mmap_mode="r", allow_pickle=False)
        self._table: NDArray[np.int8] = np.asarray(mapped)  # a plain view is faster than np.memmap
        self._weights: dict[str, Floats] = {}
        with np.load(directory / "layers.npz", allow_pickle=False) as held:
            for name in held.files:
                cells = held[name]
                if cells.dtype == np.int8:
                    wide = cells.astype(np.float32) * held[f"{name}.steps"][:, None]
                    # The system gets a mapping back when it is dropped; a heap would keep it.
                    cells = np.frombuffer(mmap(-1, wide.nbytes), np.float32).reshape(wide.T.shape)
                    cells[:] = wide.T
                self._weights[name] = cells
        self._layers = sum(name.endswith(".attend") for name in self._weights)
        self._session = None
        if runtime == "onnxruntime":
            from simonides.models.onnx import session_of

            self._session = session_of(self._weights, (directory / "layers.onnx").read_bytes())
            kept = {name: each for name, each in self._weights.items() if not name[0].isdigit()}
            self._weights = kept
        with np.load(directory / "axes.npz", allow_pickle=False) as held:
            self.mean, self.axes, self.counts = held["mean"], held["axes"], held["counts"]

    def ids_of(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        return self._pieces.encode(text[:MAX_CHARS])[:READ_TOKENS]

    def hidden(self, text: str) -> tuple[NDArray[np.int64], Floats]:
        """Return the token ids of a text, and their last hidden states, shape (tokens, width)."""
        ids = np.array(self.ids_of(text), np.int64)
        if not len(ids):
            return ids, np.zeros((0, len(self.mean)), np.float32)
        pieces = [self._states(ids[at : at + PIECE]) for at in range(0, len(ids), PIECE)]
        return ids, np.concatenate(pieces)

    def _states(self, ids: NDArray[np.int64]) -> Floats:
        w = self._weights
        ids = np.concatenate(([CLS], ids, [SEP]))
        x = self._table[ids] * w["table.steps"][ids][:, None] + w["positions"][: len(ids)]
        x = _normed(x, w["norm.gain"], w["norm.bias"])
        if self._session:
            return self._session(x)[1:-1]
        for n in range(self._layers):
            joint = x @ w[f"{n}.attend"] + w[f"{n}.attend.bias"]
            q, k, v = joint.reshape(len(ids), 3, HEADS, -1).transpose(1, 2, 0, 3)
            seen = q @ k.swapaxes(-1, -2)  # the scale is part of the weights
            seen -= seen.max(axis=-1, keepdims=True)
            np.exp(seen, out=seen)
            seen /= seen.sum(axis=-1, keepdims=True)
            mixed = (seen @ v).transpose(1, 0, 2).reshape(len(ids), -1)
            x = x + mixed @ w[f"{n}.merge"] + w[f"{n}.merge.bias"]
            x = _normed(x, w[f"{n}.first.gain"], w[f"{n}.first.bias"])
            wide = _gelu(x @ w[f"{n}.widen"] + w[f"{n}.widen.bias"])
            x = x + wide @ w[f"{n}.narrow"] + w[f"{n}.narrow.bias"]
            x = _normed(x, w[f"{n}.last.gain"], w[f"{n}.last.bias"])
        return x[1:-1]


def _normed(x: Floats, gain: Floats, bias: Floats) -> Floats:
    """Return a layer normalisation."""
    x = x - x.mean(axis=-1, keepdims=True)
    square = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
    found: Floats = x / np.sqrt(square + EPSILON) * gain + bias
    return found


def _gelu(x: Floats) -> Floats:
    """Return the Gaussian error linear unit, by the approximation with tanh (Hendrycks and Gimpel
    2016).
    """
    inner = x * x
    inner *= np.float32(0.044715)
    inner += np.float32(1.0)
    inner *= x
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += np.float32(1.0)
    inner *= x
    inner *= np.float32(0.5)
    return inner
