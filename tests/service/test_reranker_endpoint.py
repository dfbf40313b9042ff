"""A reranker over real HTTP, against the scripted server of the test kit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simonides.domain.errors import (
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.providers.rerankers import MAX_CHARS, HttpReranker
from simonides.testing.model_server import (
    ModelServer,
    Reply,
    failing,
    hanging,
    ranks,
)

KEY = "sk-test-very-secret-0123456789"


def reranker_of(server: ModelServer, **options: Any) -> HttpReranker:
    settings = {"sleep": lambda seconds: None, "jitter": lambda: 1.0} | options
    return HttpReranker(model="test-model", api_key=KEY, base_url=server.base_url, **settings)


def results(*rows: Any) -> Reply:
    return Reply(body=json.dumps({"results": rows}).encode())


def test_the_request_is_the_common_one_and_scores_come_in_the_order_of_the_texts() -> None:
    with ModelServer([ranks([0.1, 0.9, -3])]) as server:
        scores = reranker_of(server).score("which boat?", ["a", "b", "c"])

    (sent,) = server.received
    assert sent.path == "/v1/rerank"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "test-model",
        "query": "which boat?",
        "documents": ["a", "b", "c"],
        "top_n": 3,
    }
    assert scores == (0.1, 0.9, -3.0)


def test_a_server_that_wants_texts_is_asked_so() -> None:
    refusal = failing(422, "Failed to deserialize: missing field `texts`")
    bare = Reply(body=b'[{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}]')
    with ModelServer([refusal, bare]) as server:
        scores = reranker_of(server).score("which?", ["a", "b"])

    assert server.received[1].body == {"query": "which?", "texts": ["a", "b"]}
    assert scores == (0.2, 0.9)


def test_any_text_can_be_sent() -> None:
    with ModelServer([ranks([1, 2, 3])]) as server:
        reranker_of(server).score("a\0\ud800", ["", "x" * 100_000, "\ud800"])

    assert server.received[0].body["query"] == "a ?"
    assert server.received[0].body["documents"] == [" ", "x" * MAX_CHARS, "?"]


def test_without_texts_nothing_is_asked() -> None:
    with ModelServer() as server:
        assert reranker_of(server).score("which?", []) == ()

    assert server.received == []


GOOD = {"index": 0, "relevance_score": 0.5}
BAD = {
    "too few": results(GOOD),
    "too many": ranks([1, 2, 3]),
    "twice the same": results(GOOD, GOOD),
    "out of range": results(GOOD, {"index": 2, "relevance_score": 0.5}),
    "no score": results(GOOD, {"index": 1}),
    "text": results(GOOD, {"index": 1, "relevance_score": "0.5"}),
    "not a number": results(GOOD, {"index": 1, "relevance_score": float("nan")}),
    "huge": results(GOOD, {"index": 1, "relevance_score": 10**400}),
    "truth": results(GOOD, {"index": True, "relevance_score": 0.5}),
    "nothing": Reply(),
    "no object": results(1, 2),
    "no JSON": Reply(body=b"{"),
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD.keys())
def test_an_answer_that_cannot_be_used_is_garbled(reply: Reply) -> None:
    with ModelServer([reply]) as server, pytest.raises(ModelGarbled):
        reranker_of(server).score("which?", ["a", "b"])


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failing(401, KEY), ModelUnavailable),
        (failing(422, "no such model"), ModelUnavailable),
        (failing(500), ModelTimeout),
        (hanging(), ModelTimeout),
    ],
    ids=["401", "422", "500", "hanging"],
)
def test_failures_are_typed_and_say_no_secret(reply: Reply, kind: type[ModelError]) -> None:
    with ModelServer([reply]) as server:
        reranker = reranker_of(server, timeout_s=0.3, max_retries=0)
        with pytest.raises(kind) as caught:
            reranker.score("which?", ["a", "b"])

    assert KEY not in str(caught.value) + repr(reranker)


def test_its_name_changes_with_model_and_address() -> None:
    names = {
        HttpReranker(model=model, base_url=address).model_id
        for model in ("one", "two")
        for address in ("http://example/v1", "http://example/v2", "http://other/v1")
    }

    assert len(names) == 6
