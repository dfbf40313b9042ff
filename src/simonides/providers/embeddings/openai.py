"""Any OpenAI-compatible ``/embeddings`` as an embedder: OpenAI, vLLM, llama.cpp, TEI, Ollama. It is
a network call: texts leave the machine, and it never runs on an event loop or under an owner's
turn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simonides.domain.errors import ConfigurationError, ModelGarbled
from simonides.ports import Capability
from simonides.providers.http.json_client import JsonEndpoint, RequestRefused
from simonides.providers.http.retry_after import DEFAULT_BASE_URL

MAX_DIMENSIONS = 1_024
"""See :class:`simonides.ports.Embedder`."""
BATCH = 128
"""Texts of one request; chosen: OpenAI takes 2,048 and 300,000 tokens, others less."""
MAX_CHARS = 4_000
"""Characters of a text that are sent; chosen: within the 8,191 tokens of OpenAI's models in any
language."""

PROBES = (
    "My sister lives in a small house by the sea.",
    "The train to the airport leaves at seven in the morning.",
    "I am allergic to peanuts and shellfish.",
    "We deploy the server every Friday evening.",
    "The doctor said my blood pressure is too high.",
    "Our cat sleeps on the kitchen table.",
    "He wants to learn to play the violin.",
    "The price of coffee has doubled this year.",
)
"""Sentences on different subjects; their mean cosine is the baseline for unrelated texts."""


class OpenAIEmbedder:
    """Text to unit vectors by an endpoint; satisfies :class:`simonides.ports.QueryEmbedder`.

    An endpoint may compute the last digits of a vector differently in another batch; storing a
    component in 255 steps removes most of that.

    Attributes:
        model_id: Model, endpoint, dimensions and all else that determines a vector.
        unrelated: As configured, or measured with :data:`PROBES` at the first query.
    """

    capabilities: frozenset[Capability] = frozenset({Capability.QUERIES, Capability.CHARGED})

    def __init__(
        self,
        *,
        model: str,
        dimensions: int,
        api_key: str = "",
        base_url: str | None = None,
        timeout_s: float = 10.0,
        scripts: Iterable[str] = ("Latin",),
        unrelated: float | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        **http: Any,
    ) -> None:
        """Configure the embedder; opens no connection.

        Args:
            model: Name that the endpoint knows.
            dimensions: Components of a vector, 1 to 1,024. They are requested (``dimensions``); an
                endpoint without that parameter must return as many by itself.
            api_key: Credentials; empty for local servers.
            base_url: Root of the API, ``…/v1``; None is OpenAI's.
            timeout_s: Longest time for one batch of 128 texts, attempts included, in seconds.
            scripts: Unicode scripts that the model knows.
            unrelated: The model's cosine of unrelated texts; None measures it.
            query_prefix: Put before a query, for example ``query: ``, where a model wants it.
            passage_prefix: Put before a stored text.
            http: Retries and time, as :class:`~simonides.providers.http.json_client.JsonEndpoint`
            has them.

        Raises:
            MissingExtra: If the extra ``openai`` is not installed.
            ConfigurationError: If the dimensions are out of range or the base URL is invalid.
        """
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise ConfigurationError(
                f"an embedder has 1 to {MAX_DIMENSIONS:,} dimensions, not {dimensions}: set"
                " SIMONIDES_EMBEDDINGS_DIMENSIONS; models that can be shortened take fewer"
            )
        root = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._http = JsonEndpoint(
            base_url=root, api_key=api_key, purpose="embeddings", timeout_s=timeout_s, **http
        )
        self._model = model
        self._prefixes = (query_prefix, passage_prefix)
        self._asks_for_dimensions = True
        self.dimensions = dimensions
        self.scripts = frozenset(scripts)
        self.unrelated: Mapping[str, float] = {}
        if unrelated is not None:
            self.unrelated = dict.fromkeys(self.scripts, unrelated)
        recipe = json.dumps([root, model, dimensions, query_prefix, passage_prefix, MAX_CHARS])
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        self.model_id = f"{model}@{self._http.host}-{dimensions}-{digest}"

    def __repr__(self) -> str:
        return f"OpenAIEmbedder(model_id={self.model_id!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 unit vectors of stored texts; the zero vector for a blank text.

        Args:
            texts: Any strings; the first :data:`MAX_CHARS` characters of each are sent.

        Raises:
            ModelTimeout: Time-out, connection failure, 429 or 5xx after the attempts.
            ModelUnavailable: Credentials, model or request refused.
            ModelGarbled: If rows are missing or too many, of another dimension, or not finite.
        """
        return self._encoded(texts, self._prefixes[1])

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries; otherwise as :meth:`encode`."""
        if self.unrelated:
            return self._encoded(texts, self._prefixes[0])
        # More texts in this request cost almost no time; a second request would.
        vectors = self._encoded([*PROBES, *texts], self._prefixes[0])
        self.unrelated = dict.fromkeys(self.scripts, unrelated_among(vectors[: len(PROBES)]))
        return vectors[len(PROBES) :]

    def close(self) -> None:
        """Release the connections; twice does no harm."""
        self._http.close()

    def _encoded(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        cleaned = [text[:MAX_CHARS].replace("\0", " ").strip() for text in texts]
        places = [place for place, text in enumerate(cleaned) if text]
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            vectors[batch] = self._rows([prefix + cleaned[place] for place in batch])
        return vectors

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        question = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asks_for_dimensions:
            try:
                answer = self._http.ask("/embeddings", question | {"dimensions": self.dimensions})
                return self._unit_rows(answer, len(texts))
            except RequestRefused as error:
                # Only the server's message tells that the model has fixed dimensions.
                if error.status not in (400, 422) or "dimension" not in error.text:
                    raise
                self._asks_for_dimensions = False
        return self._unit_rows(self._http.ask("/embeddings", question), len(texts))

    def _unit_rows(self, answer: Any, count: int) -> NDArray[np.float32]:
        rows = [self._vector(row) for row in _in_order(answer, count)]
        try:
            matrix = np.array(rows, np.float64).reshape(count, self.dimensions)
        except OverflowError:
            raise _garbled("a component is not a finite number") from None
        if not np.isfinite(matrix).all():
            raise _garbled("a component is not a finite number")
        # Components up to 1e308 would overflow when squared.
        peaks = np.abs(matrix).max(axis=1, keepdims=True)
        matrix = matrix / np.where(peaks > 0.0, peaks, 1.0)
        lengths = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
        return (matrix / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)

    def _vector(self, row: object) -> Sequence[float]:
        found = row.get("embedding") if isinstance(row, dict) else None
        if not isinstance(found, list) or not all(type(value) in (int, float) for value in found):
            raise _garbled("an embedding is no list of numbers")
        if len(found) != self.dimensions:
            raise _garbled(
                f"{self._model} gave {len(found)} dimensions where {self.dimensions} are"
                " configured; set SIMONIDES_EMBEDDINGS_DIMENSIONS to what it gives, up to"
                f" {MAX_DIMENSIONS:,}, or choose a model that can be shortened"
            )
        return found


def unrelated_among(vectors: NDArray[np.float32]) -> float:
    """Return the mean cosine of all pairs of unit vectors, to two places. An endpoint need not
    repeat its last digits. It is at most 0.95, so that texts stay distinguishable.
    """
    count = len(vectors)
    total = vectors.astype(np.float64).sum(axis=0)
    mean = (float(total @ total) - count) / (count * (count - 1))
    return min(max(round(mean, 2), -0.5), 0.95)


def _in_order(answer: Any, count: int) -> list[Any]:
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        found = len(rows) if isinstance(rows, list) else "no"
        raise _garbled(f"{found} embeddings for {count} texts")
    numbers: list[Any] = [row.get("index", place) if isinstance(row, dict) else None
                          for place, row in enumerate(rows)]  # fmt: skip
    if any(type(number) is not int for number in numbers) or sorted(numbers) != [*range(count)]:
        raise _garbled("the embeddings are not numbered by their texts")
    return [row for _, row in sorted(zip(numbers, rows, strict=True), key=lambda pair: pair[0])]


def _garbled(problem: str) -> ModelGarbled:
    return ModelGarbled("invalid_schema", problem)
