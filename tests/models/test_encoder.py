"""The encoder that ships with the package: files, vectors, threads, and when it is loaded."""

import hashlib
import json
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import simonides
from simonides.models import Encoder, encoder

pytestmark = pytest.mark.real_encoder

TEXTS = [
    "My sister has moved into a new flat.",
    "Ich wohne in Köln.",
    "Café, naïve, façade",
    "我喜欢喝茶",
    "a",
    "word " * 400,
    "I was born on 3 May 1990 \U0001f382",
    "\ud800 lone",
    "NUL \x00 inside",
]


def test_the_files_are_those_of_the_manifest():
    manifest = json.loads((encoder.WEIGHTS / "manifest.json").read_text())
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((encoder.WEIGHTS / name).read_bytes()).hexdigest() == digest


def test_vectors_have_length_one_and_do_not_depend_on_the_other_texts():
    together = Encoder().encode(TEXTS)
    assert together.shape == (len(TEXTS), Encoder().dimensions)
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    alone = np.concatenate([Encoder().encode([text]) for text in reversed(TEXTS)])[::-1]
    assert together.tobytes() == np.ascontiguousarray(alone).tobytes()


@pytest.mark.parametrize("text", ["", " \n\t", "\x00"])
def test_a_text_without_tokens_has_no_direction(text):
    assert not Encoder().encode([text]).any()


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("Where do I live?", "My flat is in Porto.", "I like green tea."),
        ("What can't I eat?", "Peanuts give me a rash.", "The train leaves at nine."),
        ("Who is my boss?", "I report to Carla.", "Carla's cat is ill."),
    ],
)
def test_what_means_alike_is_near_without_a_common_word(one, near, far):
    asked, wanted, other = Encoder().encode([one, near, far])
    assert asked @ wanted > asked @ other + 0.1


def test_many_threads_get_the_same_vectors_and_the_process_its_threads_back():
    expected = Encoder().encode(TEXTS).tobytes()
    before = [each["num_threads"] for each in threadpool_info()]
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(Encoder().encode(TEXTS).tobytes()))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [expected] * 8
    assert [each["num_threads"] for each in threadpool_info()] == before


def test_nothing_loads_the_weights_before_a_text_is_encoded(tmp_path):
    with simonides.open(tmp_path / "memory.db") as store:
        store.memory(user="ana").remember("Porto", key="home")
    encoder._network.cache_clear()
    with simonides.open(tmp_path / "memory.db") as store:
        ana = store.memory(user="ana")
        assert ana.get("home").content == "Porto"
        assert [each.content for each in ana.list()] == ["Porto"]
        ana.status(), ana.history("home"), ana.profile(), ana.digest()
        assert encoder._network.cache_info().currsize == 0
        assert ana.recall("Where do I live?")[0].content == "Porto"
        assert encoder._network.cache_info().currsize == 1
