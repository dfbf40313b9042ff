"""An endpoint for embeddings over real HTTP, against the scripted server of the test kit."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from simonides.api.open.models import choose_models
from simonides.domain.errors import (
    ConfigurationError,
    MissingExtra,
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.providers.embeddings.openai import (
    BATCH,
    MAX_CHARS,
    PROBES,
    OpenAIEmbedder,
)
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.providers.http.json_client import MAX_BODY_BYTES, REST_S
from simonides.settings import Settings
from simonides.testing.model_server import (
    ModelServer,
    Reply,
    cut,
    embedding_by,
    embeddings,
    empty,
    failing,
    hanging,
    limited,
)

KEY = "sk-test-very-secret-0123456789"


class Waits:
    """Notes what the adapter wants to wait, and does not wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def embedder_of(server: ModelServer, **options: Any) -> OpenAIEmbedder:
    settings = {"dimensions": 3, "unrelated": 0.2, "sleep": Waits(), "jitter": lambda: 1.0}
    return OpenAIEmbedder(
        model="test-model", api_key=KEY, base_url=server.base_url, **(settings | options)
    )


def failure_of(
    server: ModelServer, texts: tuple[str, ...] = ("a", "b"), **options: Any
) -> ModelError:
    embedder = embedder_of(server, **options)
    try:
        with pytest.raises(ModelError) as caught:
            embedder.encode(texts)
    finally:
        embedder.close()
    assert KEY not in str(caught.value)
    return caught.value


def data(*rows: Any) -> Reply:
    """Rows as an endpoint sends them; ``rows`` are the objects of ``data``."""
    return Reply(body=json.dumps({"data": rows}).encode())


def test_the_request_names_model_dimensions_and_key_and_the_rows_are_normalised() -> None:
    with ModelServer([embeddings([[3, 0, 4], [0, 2, 0]])]) as server:
        vectors = embedder_of(server).encode(["a", "b"])

    (sent,) = server.received
    assert sent.path == "/v1/embeddings"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "test-model",
        "input": ["a", "b"],
        "dimensions": 3,
        "encoding_format": "float",
    }
    assert vectors.tolist() == np.float32([[0.6, 0, 0.8], [0, 1, 0]]).tolist()


def test_rows_are_put_in_the_order_of_the_texts_by_their_numbers() -> None:
    rows = [{"index": 1, "embedding": [0, 1, 0]}, {"index": 0, "embedding": [1, 0, 0]}]
    with ModelServer([data(*rows)]) as server:
        vectors = embedder_of(server).encode(["a", "b"])

    assert vectors.argmax(axis=1).tolist() == [0, 1]


def test_many_texts_go_in_batches() -> None:
    static = StaticEmbedder()
    texts = [f"boat number {number}" for number in range(2 * BATCH + 1)]
    with ModelServer(answers=embedding_by(static.encode)) as server:
        vectors = embedder_of(server, dimensions=256).encode(texts)

    assert [len(sent.body["input"]) for sent in server.received] == [BATCH, BATCH, 1]
    assert vectors == pytest.approx(static.encode(texts), abs=1e-6)


def test_blank_texts_are_not_sent_and_have_no_vector() -> None:
    with ModelServer([embeddings([[0, 0, 1]])]) as server:
        vectors = embedder_of(server).encode(["", " \n", "boat", "\0"])
        none = embedder_of(server).encode(["", " "])

    assert [sent.body["input"] for sent in server.received] == [["boat"]]
    assert vectors.any(axis=1).tolist() == [False, False, True, False]
    assert not none.any()


def test_long_and_broken_texts_are_sent_as_far_as_they_can_be() -> None:
    with ModelServer([embeddings([[0, 0, 1], [0, 0, 1]])]) as server:
        embedder_of(server).encode(["x" * 100_000, "a\ud800b"])

    assert server.received[0].body["input"] == ["x" * MAX_CHARS, "a?b"]


def test_queries_and_what_is_remembered_get_the_prefixes_that_a_model_wants() -> None:
    with ModelServer([embeddings([[0, 0, 1]])] * 2) as server:
        embedder = embedder_of(server, query_prefix="query: ", passage_prefix="passage: ")
        embedder.encode(["the boat"])
        embedder.encode_queries(["which boat?"])

    assert [s.body["input"] for s in server.received] == [
        ["passage: the boat"],
        ["query: which boat?"],
    ]


def test_an_endpoint_that_cannot_shorten_is_asked_without_and_only_once_with() -> None:
    refusal = failing(400, "this model does not support matryoshka dimensions")
    with ModelServer([refusal, *[embeddings([[0, 0, 1]])] * 2]) as server:
        embedder = embedder_of(server)
        embedder.encode(["a"])
        embedder.encode(["b"])

    assert ["dimensions" in sent.body for sent in server.received] == [True, False, False]


def test_a_vector_of_another_length_says_what_to_set() -> None:
    with ModelServer([embeddings([[0.1] * 1536])]) as server:
        failure = failure_of(server, ("a",), dimensions=512)

    assert isinstance(failure, ModelGarbled)
    assert "1536 dimensions where 512" in str(failure)
    assert "SIMONIDES_EMBEDDINGS_DIMENSIONS" in str(failure)


@pytest.mark.parametrize("dimensions", [0, 1025, 1536])
def test_dimensions_that_cannot_be_kept_are_refused_before_anything_is_asked(
    dimensions: int,
) -> None:
    with pytest.raises(ConfigurationError, match="SIMONIDES_EMBEDDINGS_DIMENSIONS"):
        OpenAIEmbedder(model="m", dimensions=dimensions)


BAD_ROWS = {
    "too few": data({"index": 0, "embedding": [0, 0, 1]}),
    "too many": embeddings([[0, 0, 1]] * 3),
    "twice the same": data(*[{"index": 0, "embedding": [0, 0, 1]}] * 2),
    "numbered from one": data(*[{"index": n, "embedding": [0, 0, 1]} for n in (1, 2)]),
    "another length": embeddings([[0, 0, 1], [0, 1]]),
    "not a number": embeddings([[0, 0, 1], [0, 1, math.nan]]),
    "infinite": Reply(body=b'{"data": [{"embedding": [1, 2, 3]}, {"embedding": [1, 2, 1e999]}]}'),
    "huge": data({"embedding": [1, 2, 3]}, {"embedding": [1, 2, 10**400]}),
    "text": data({"embedding": [1, 2, 3]}, {"embedding": [1, 2, "3"]}),
    "truth": data({"embedding": [1, 2, 3]}, {"embedding": [1, 2, True]}),
    "base64": data({"embedding": "AAAA"}, {"embedding": "AAAA"}),
    "nothing in a row": data(None, None),
    "no rows": Reply(body=b'{"object": "list"}'),
    "a list": Reply(body=b"[]"),
    "a chat": empty(),
    "no JSON": Reply(body=b"<html>"),
    "deep": Reply(body=b"[" * 100_000),
    "nothing": Reply(),
    "endless": Reply(body=b" " * (MAX_BODY_BYTES + 1)),
}


@pytest.mark.parametrize("reply", BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_an_answer_that_cannot_be_used_is_garbled(reply: Reply) -> None:
    with ModelServer([reply]) as server:
        assert isinstance(failure_of(server), ModelGarbled)


def test_large_components_do_not_overflow() -> None:
    with ModelServer([embeddings([[3e300, 0, 4e300]])]) as server:
        vectors = embedder_of(server).encode(["a"])

    assert vectors[0].tolist() == pytest.approx([0.6, 0.0, 0.8])


@pytest.mark.parametrize("fault", [failing(500), failing(503), failing(408), cut()], ids=repr)
def test_a_failure_that_passes_is_asked_again_after_a_wait(fault: Reply) -> None:
    waits = Waits()
    with ModelServer([fault, fault, embeddings([[0, 0, 1]])]) as server:
        vectors = embedder_of(server, sleep=waits).encode(["a"])

    assert vectors.any()
    assert waits.seconds == [0.5, 1.0]


def test_how_long_to_wait_is_what_the_endpoint_says() -> None:
    waits = Waits()
    with ModelServer([limited("3"), embeddings([[0, 0, 1]])]) as server:
        embedder_of(server, sleep=waits).encode(["a"])

    assert waits.seconds == [3.0]


def test_it_gives_up_after_the_retries() -> None:
    with ModelServer([failing(500)] * 9) as server:
        failure = failure_of(server, max_retries=2)

    assert isinstance(failure, ModelTimeout)
    assert "after 3 attempts" in str(failure)
    assert len(server.received) == 3


def test_it_does_not_wait_longer_than_there_is_time() -> None:
    waits = Waits()
    with ModelServer([limited("60")] * 2) as server:
        failure = failure_of(server, sleep=waits, timeout_s=10.0)

    assert isinstance(failure, ModelTimeout)
    assert waits.seconds == []


def test_an_endpoint_that_never_answers_ends_in_time() -> None:
    with ModelServer([hanging()]) as server:
        failure = failure_of(server, timeout_s=0.2, max_retries=0)

    assert isinstance(failure, ModelTimeout)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
def test_a_refusal_is_not_asked_again_and_repeats_nothing_of_what_was_said(status: int) -> None:
    with ModelServer([failing(status, f"your key {KEY} is wrong")] * 2) as server:
        failure = failure_of(server)

    assert isinstance(failure, ModelUnavailable)
    assert str(status) in str(failure)
    assert len(server.received) == 1


def test_an_endpoint_that_does_not_answer_is_left_alone_for_a_while() -> None:
    now = [100.0]
    with ModelServer([failing(503), embeddings([[0, 0, 1]])]) as server:
        embedder = embedder_of(server, max_retries=0, monotonic=lambda: now[0])
        for moment in (100.0, 100.0 + REST_S - 1):
            now[0] = moment
            with pytest.raises(ModelTimeout):
                embedder.encode(["a"])
        asked = len(server.received)
        now[0] = 100.0 + REST_S
        vectors = embedder.encode(["a"])

    assert asked == 1
    assert vectors.any()


def test_nobody_there_is_a_time_out() -> None:
    with ModelServer() as server:
        address = server.base_url

    with pytest.raises(ModelTimeout, match="connection failed"):
        OpenAIEmbedder(model="m", dimensions=3, base_url=address, sleep=Waits()).encode(["a"])


@pytest.mark.parametrize(
    "other",
    [
        {"model": "n"},
        {"dimensions": 4},
        {"base_url": "http://other.example/v1"},
        {"base_url": "http://example/v2"},
        {"query_prefix": "query: "},
        {"passage_prefix": "passage: "},
    ],
    ids=str,
)
def test_its_name_changes_with_all_that_decides_of_a_vector(other: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"model": "m", "dimensions": 3, "base_url": "http://example/v1"}

    one, changed = OpenAIEmbedder(**plain), OpenAIEmbedder(**(plain | other))

    assert one.model_id != changed.model_id
    assert one.model_id == OpenAIEmbedder(**plain, api_key=KEY, timeout_s=1.0).model_id
    assert KEY not in repr(OpenAIEmbedder(**plain, api_key=KEY))


def test_how_alike_unrelated_texts_are_is_measured_with_the_first_query() -> None:
    static = StaticEmbedder()
    with ModelServer(answers=embedding_by(static.encode)) as server:
        embedder = embedder_of(server, dimensions=256, unrelated=None)
        before = dict(embedder.unrelated)
        first = embedder.encode_queries(["which boat?"])
        embedder.encode_queries(["which harbour?"])

    assert before == {}
    assert embedder.unrelated == {"Latin": 0.18}
    assert [len(sent.body["input"]) for sent in server.received] == [len(PROBES) + 1, 1]
    assert first == pytest.approx(static.encode(["which boat?"]), abs=1e-6)


def test_without_the_extra_the_command_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match="pip install 'openai>="):
        OpenAIEmbedder(model="m", dimensions=3)


@pytest.mark.parametrize("address", ["", "example/v1", "ftp://example/v1", "http:///v1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="http"):
        OpenAIEmbedder(model="m", dimensions=3, base_url=address or "/v1")


def chosen(server: ModelServer, **given: Any) -> Any:
    return choose_models(Settings(embedder="openai", **given), None, None, hidden=False)


@pytest.mark.parametrize(
    ("own", "expected"),
    [({}, None), ({"embeddings_api_key": "own-key"}, "Bearer own-key")],
    ids=["no key of its own", "a key of its own"],
)
def test_the_language_models_key_goes_to_no_other_address(
    own: dict[str, str], expected: str | None
) -> None:
    with ModelServer([embeddings([[0, 0, 1]])]) as server:
        models = chosen(
            server,
            openai_api_key=KEY,
            embeddings_base_url=server.base_url,
            embeddings_dimensions=3,
            **own,
        )
        models.embedder.encode(["a"])
        models.closers[0]()

    assert server.received[0].headers.get("authorization") == expected


def test_the_language_models_address_and_key_serve_where_no_other_is_set() -> None:
    with ModelServer([embeddings([[0, 0, 1]])]) as server:
        models = chosen(
            server,
            openai_api_key=KEY,
            openai_base_url=server.base_url,
            embeddings_dimensions=3,
            embeddings_model="other",
        )
        models.embedder.encode(["a"])
        models.closers[0]()

    assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.received[0].body["model"] == "other"
