"""The transformer of the shipped encoder: six layers with int8 weights, in numpy.

The table of tokens stays mapped in memory, and only rows in use are widened; the layers (10 MB) are
widened once, at the first text. Each text is run by itself, so its vectors never depend on the
others of a call. If onnxruntime is installed (extra `fast`), it runs the layers in less time.
"""

from __future__ import annotations

from os import SEEK_CUR
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from simonides.models.wordpiece import WordPiece, read_vocabulary

if TYPE_CHECKING:
    from simonides.models.encoder import Runtime

Floats = NDArray[np.float32]

MAX_CHARS = 4_096
"""Characters of a text that are cut into tokens: most texts reach `READ_TOKENS` long before."""

READ_TOKENS = 256
"""Tokens of a text that count; what long texts say later is found by its words."""

PIECE = 128
"""Tokens that see each other; a longer text is run in pieces: attention grows with the square."""

CLS, SEP = 101, 102
HEADS = 12
EPSILON = np.float32(1e-12)

LENGTHS_AT = 26
"""Where the header of a ZIP entry holds the lengths of its name and its extra field, which follow
(PKWARE, APPNOTE 4.3.7)."""


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
        held = _arrays(directory / "layers.npz")
        self._weights: dict[str, Floats] = {
            name: (cells * held[f"{name}.steps"][:, None]).T if cells.dtype == np.int8 else cells
            for name, cells in held.items()
        }
        self._layers = sum(name.endswith(".attend") for name in self._weights)
        self._session = None
        if runtime == "onnxruntime":
            from simonides.models.onnx import session_of

            self._session = session_of(self._weights, (directory / "layers.onnx").read_bytes())
            kept = {name: each for name, each in self._weights.items() if not name[0].isdigit()}
            self._weights = kept
        held = _arrays(directory / "axes.npz")
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


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file of `numpy.savez`, in half of the time of `numpy.load`.

    The entries are not compressed. Their checksums are not checked.
    """
    arrays = {}
    with path.open("rb") as stream, ZipFile(stream) as entries:
        for entry in entries.infolist():
            stream.seek(entry.header_offset + LENGTHS_AT)
            stream.seek(sum(unpack("<HH", stream.read(4))), SEEK_CUR)
            arrays[entry.filename.removesuffix(".npy")] = np.lib.format.read_array(stream)
    return arrays


def _normed(x: Floats, gain: Floats, bias: Floats) -> Floats:
    """Return a layer normalisation."""
    x = x - x.mean(axis=-1, keepdims=True)
    square = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
    normed: Floats = x / np.sqrt(square + EPSILON) * gain + bias
    return normed


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
