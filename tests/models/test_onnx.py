"""The encoder's layers in onnxruntime and in numpy."""

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from simonides.models import Encoder
from simonides.models.encoder import WEIGHTS

if not os.environ.get("NO_SKIPS"):
    pytest.importorskip("onnxruntime")

SENTENCE = "Ana moved to a new office in Berlin and her dentist is Dr Okafor. "
TEXTS = [
    "",
    "   ",
    "x",
    "?",
    "7",
    "tea",
    "Tea, no sugar.",
    "ANA LIKES TEA",
    "Do not call before 10:30 a.m.!",
    "What is the user's favourite food?",
    "The flight LH2041 leaves at 06:55 on 3 March 2026.",
    "She prefers window seats, but not over the wing.",
    "the the the the the the the the",
    "https://example.org/a?b=c&d=%20#e",
    "def add(a, b):\n    return a + b",
    "ana.lima@example.org, +351 21 555 0100",
    "Café crème, s'il vous plaît: déjà vu à Orléans.",
    "Die Prüfung fällt aus; Grüße an Jürgen Weiß.",
    "Mañana el niño irá al colegio en autobús.",
    "Zażółć gęślą jaźń.",
    "今日は天気がいい。",
    "Привет, как дела?",
    "🙂🙂 great 👍",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "a" * 200,
    SENTENCE,
    SENTENCE * 4,
    SENTENCE * 8 + "Over 128 tokens.",
    SENTENCE * 15,
    SENTENCE * 20 + "Over 256 tokens.",
]


@pytest.fixture(scope="module")
def numpy_vectors():
    return Encoder("numpy").encode(TEXTS)


def test_an_installed_onnxruntime_is_chosen():
    assert Encoder().runtime == "onnxruntime"


def test_numpy_is_chosen_without_onnxruntime(monkeypatch):
    monkeypatch.setattr("simonides.models.encoder.find_spec", lambda name: None)
    assert Encoder().runtime == "numpy"


def test_the_shipped_graph_is_what_the_script_writes():
    script = Path(__file__).parents[2] / "scripts" / "build_graph.py"
    spec = importlib.util.spec_from_file_location("build_graph", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (WEIGHTS / "layers.onnx").read_bytes() == module.model(module.shapes())


def test_both_runtimes_give_one_model_id():
    assert Encoder("onnxruntime").model_id == Encoder("numpy").model_id


def test_both_runtimes_give_the_same_vectors(numpy_vectors):
    vectors = Encoder("onnxruntime").encode(TEXTS)
    lengths = np.linalg.norm(numpy_vectors, axis=1)
    assert (lengths > 0.99).sum() == len(TEXTS) - 2
    assert not vectors[:2].any()
    cosines = np.einsum("ij,ij->i", vectors, numpy_vectors)
    assert cosines[2:].min() >= 0.9999
    assert np.abs(vectors - numpy_vectors).max() < 1e-5


@pytest.mark.parametrize("runtime", ["onnxruntime", "numpy"])
def test_a_vector_does_not_depend_on_the_other_texts(runtime):
    encoder = Encoder(runtime)
    alone = [encoder.encode([text])[0] for text in TEXTS]
    assert np.array_equal(encoder.encode(TEXTS), alone)


def test_threads_get_the_same_bytes():
    encoder = Encoder("onnxruntime")
    expected = encoder.encode(TEXTS).tobytes()
    orders = [np.random.default_rng(seed).permutation(len(TEXTS)) for seed in range(16)]

    def encoded(order):
        vectors = encoder.encode([TEXTS[at] for at in order])
        return vectors[np.argsort(order)].tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(encoded, orders)) == {expected}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_threads_encode_can_encode():
    program = """
import os, signal, threading
from simonides.models import Encoder

encoder, done = Encoder("onnxruntime"), threading.Event()
before = encoder.encode(["tea"]).tobytes()

def encode():
    while not done.is_set():
        encoder.encode(["Her sister will come for dinner on Friday."])

threads = [threading.Thread(target=encode) for _ in range(4)]
for thread in threads:
    thread.start()
failed = []
for _ in range(30):
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends a child that waits for a lock
        os._exit(encoder.encode(["tea"]).tobytes() != before)
    failed.append(os.waitpid(child, 0)[1])
done.set()
raise SystemExit(any(failed))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)
