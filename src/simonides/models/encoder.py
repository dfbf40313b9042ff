"""The encoder that ships with the package: all-MiniLM-L6-v2 with int8 weights.

`Network` turns a text into the last hidden states of its tokens; `Encoder` projects their mean on
128 principal axes. The weights lie beside this module; NOTICE there and scripts/build_encoder.py
have origin and recipe. Numpy and the weights are loaded at the first text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simonides.models.embedder import MAX_TOKENS, Encoded, no_tokens

if TYPE_CHECKING:
    from simonides.models.network import Floats, Network

Runtime = Literal["onnxruntime", "numpy"]

WEIGHTS = Path(__file__).with_name("minilm")

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
        runtime: What runs the layers. The vectors differ by rounding only.
    """

    def __init__(self, runtime: Runtime | None = None) -> None:
        """Read the manifest (1 KB); the first `encode` loads numpy and the weights.

        Args:
            runtime: Default: onnxruntime if it is installed, else numpy.
        """
        self.runtime: Runtime = runtime or ("onnxruntime" if find_spec("onnxruntime") else "numpy")
        manifest = json.loads((WEIGHTS / "manifest.json").read_text(encoding="utf-8"))
        self.dimensions: int = manifest["dimensions"]
        content = json.dumps([REVISION, sorted(manifest["files"].items())]).encode()
        digest = hashlib.sha256(content).hexdigest()[:DIGEST_CHARS]
        self.model_id = f"{manifest['name']}-{self.dimensions}-{digest}"

    @cached_property
    def wish_heads(self) -> Floats:
        """Two logistic regressions on a vector, shape (2, dimensions + 1), the constants last.

        They say whether a prompt asks for work, and whether a text states a standing wish
        (`benchmarks/wish.py`).
        """
        import numpy as np

        heads: Floats = np.load(WEIGHTS / "heads.npy", allow_pickle=False)
        return heads

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text, shape (n, dimensions).

        Only the first 256 tokens of a text count. A text without tokens gives zeros.
        """
        import numpy as np

        wholes = [each.whole for each in self.encode_tokens(texts)]
        return np.array(wholes, np.float32).reshape(len(wholes), self.dimensions)

    def encode_tokens(self, texts: Sequence[str], most: int = MAX_TOKENS) -> list[Encoded]:
        """Return the vectors of each text, and of its tokens with a letter or a digit.

        Of a token that occurs twice the first is taken. Of more than ``most`` those are kept
        that are rarest in English: the vocabulary is ordered by frequency.
        """
        from simonides.models.threads import one_thread

        network, vectors = _network(self.model_id, self.runtime), []
        for text in texts:
            with one_thread():
                vectors.append(self._encoded(network, text, most))
        return vectors

    def pieces(self, word: str) -> Sequence[int]:
        """Return the ids of the tokens of a word."""
        return _network(self.model_id, self.runtime).ids_of(word)

    def _encoded(self, network: Network, text: str, most: int) -> Encoded:
        import numpy as np

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
    from simonides.models.network import Network

    return Network(WEIGHTS, runtime)
