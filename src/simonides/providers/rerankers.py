"""Any ``POST /rerank`` as a reranker: vLLM, llama.cpp's server, Jina, Cohere and compatible ones.

They agree on the question (``model``, ``query``, ``documents``, ``top_n``) and on the answer
(``results`` of ``index`` and ``relevance_score``). Text Embeddings Inference refuses that, wants
``texts`` instead and answers with a bare list of ``index`` and ``score``: it gets a second request.
Queries and texts leave the machine.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

from simonides.domain.errors import ModelGarbled
from simonides.ports import Capability
from simonides.providers.http.json_client import JsonEndpoint, RequestRefused

MAX_QUERY_CHARS = 2_000
"""Characters of a query that are sent."""
MAX_CHARS = 4_000
"""Characters of a text that are sent; chosen: rerankers see 512 to 8,192 tokens."""


class HttpReranker:
    """Scores by an endpoint; satisfies :class:`simonides.ports.Reranker`."""

    capabilities: frozenset[Capability] = frozenset()

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        api_key: str = "",
        timeout_s: float = 5.0,
        **http: Any,
    ) -> None:
        """Configure the reranker; opens no connection.

        Args:
            model: Name that the endpoint knows.
            base_url: What ``/rerank`` is appended to, for example ``https://api.jina.ai/v1``.
            api_key: Credentials; empty for local servers.
            timeout_s: Longest time for one query, attempts included, in seconds.
            http: Retries and time, as :class:`~simonides.providers.http.json_client.JsonEndpoint`
            has them.

        Raises:
            MissingExtra: If the extra ``openai`` is not installed.
            ConfigurationError: If the base URL is not HTTP.
        """
        self._model = model
        self._http = JsonEndpoint(
            base_url=base_url, api_key=api_key, purpose="a reranker", timeout_s=timeout_s, **http
        )
        digest = hashlib.sha256(f"{base_url.rstrip('/')} {model}".encode()).hexdigest()[:12]
        self.model_id = f"{model}@{self._http.host}-{digest}"

    def __repr__(self) -> str:
        return f"HttpReranker(model_id={self.model_id!r})"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """See the port.

        Args:
            query: The first :data:`MAX_QUERY_CHARS` characters are sent.
            texts: Of each the first :data:`MAX_CHARS` characters.

        Raises:
            ModelTimeout: Time-out, connection failure, 429 or 5xx after the attempts.
            ModelUnavailable: Credentials, model or request refused.
            ModelGarbled: If not every text has exactly one finite score.
        """
        if not texts:
            return ()
        question = {
            "model": self._model,
            "query": _cleaned(query, MAX_QUERY_CHARS),
            "documents": [_cleaned(text, MAX_CHARS) for text in texts],
            "top_n": len(texts),
        }
        try:
            answer = self._http.ask("/rerank", question)
        except RequestRefused as error:
            if "texts" not in error.text:
                raise
            alternative = {"query": question["query"], "texts": question["documents"]}
            answer = self._http.ask("/rerank", alternative)
        return scores_in(answer, len(texts))

    def close(self) -> None:
        """Release the connections; twice does no harm."""
        self._http.close()


def scores_in(answer: Any, count: int) -> tuple[float, ...]:
    """Return the scores of an answer in the order of the texts.

    Raises:
        ModelGarbled: If not every text has exactly one finite score.
    """
    results = answer.get("results") if isinstance(answer, dict) else answer
    if not isinstance(results, list) or len(results) != count:
        raise _garbled(f"not one result for each of {count} texts")
    found: dict[int, float] = {}
    for result in results:
        place, score = _result(result)
        found[place] = score
    if sorted(found) != [*range(count)]:
        raise _garbled("the results are not numbered by their texts")
    return tuple(found[place] for place in range(count))


def _result(result: Any) -> tuple[int, float]:
    if not isinstance(result, dict):
        raise _garbled("a result is not an object")
    place: Any = result.get("index")
    score: Any = result.get("relevance_score", result.get("score"))
    try:
        value = float(score) if type(score) in (int, float) else math.nan
    except OverflowError:
        value = math.inf
    if type(place) is not int or not math.isfinite(value):
        raise _garbled("a result lacks its index or a finite score")
    return place, value


def _cleaned(text: str, most: int) -> str:
    # Servers refuse empty texts; a blank matches no query either.
    return text[:most].replace("\0", " ") or " "


def _garbled(problem: str) -> ModelGarbled:
    return ModelGarbled("invalid_schema", f"the reranker's answer cannot be used: {problem}")
