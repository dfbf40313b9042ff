"""What the embedded embedder promises: unit vectors, the same bytes always, no network."""

import hashlib
import json
import shutil
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.providers.embeddings.static import ARTEFACT, MAX_CHARS, StaticEmbedder

EMBEDDER = StaticEmbedder()

TEXTS = [
    "Always deploy to us-east-1.",
    "Ana: I moved from Berlin to Madrid last spring",
    "naïve café, 100 % organic",
    "The quick brown fox jumps over the lazy dog. " * 40,
    "日本語のテキスト",
    "",
]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def artefact(tmp_path: Path) -> Path:
    """A private copy of the artefact that a test may change."""
    return Path(shutil.copytree(ARTEFACT, tmp_path / "artefact"))


def change_table(artefact: Path) -> None:
    """Change one entry of the table and record its new digest, as a rebuild would."""
    table = np.load(artefact / "table.npy")
    table[2000, 0] ^= 1
    np.save(artefact / "table.npy", table)
    manifest = json.loads((artefact / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["table.npy"]["sha256"] = digest(artefact / "table.npy")
    (artefact / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_vectors_are_float32_of_length_one() -> None:
    vectors = EMBEDDER.encode(TEXTS[:5])

    assert vectors.shape == (5, EMBEDDER.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-6)


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800\udfff", "\u200b", "😀", "x" * 101])
def test_a_text_without_a_known_token_gives_the_zero_vector(text: str) -> None:
    assert not EMBEDDER.encode([text]).any()


def test_no_texts_give_no_vectors() -> None:
    assert EMBEDDER.encode([]).shape == (0, EMBEDDER.dimensions)


def test_a_vector_has_the_same_bytes_alone_and_in_a_batch_of_a_thousand() -> None:
    batch = [f"{TEXTS[i % len(TEXTS)]} number {i}" for i in range(1000)]

    together = EMBEDDER.encode(batch)

    alone = [EMBEDDER.encode([text])[0] for text in batch]
    assert together.tobytes() == b"".join(vector.tobytes() for vector in alone)


def test_two_instances_give_the_same_bytes() -> None:
    assert StaticEmbedder().encode(TEXTS).tobytes() == EMBEDDER.encode(TEXTS).tobytes()


def test_the_bytes_are_those_recorded_for_this_model() -> None:
    """If this fails, raise ENCODING_REVISION (or commit the new table's manifest) first."""
    encoded = EMBEDDER.encode(TEXTS).astype("<f4").tobytes()

    assert EMBEDDER.model_id == "static-minilm-l6-v2-256-d910039161e1"
    assert hashlib.sha256(encoded).hexdigest() == (
        "4559c2dd6fd271c6c86b89fb907a09635400e0d1089e3e6e6ebe6509b169a2f9"
    )


def test_threads_that_share_a_fresh_instance_agree() -> None:
    shared, results = StaticEmbedder(), []
    gate = threading.Barrier(8)

    def encode() -> None:
        gate.wait()
        results.append(shared.encode(TEXTS).tobytes())

    threads = [threading.Thread(target=encode) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [EMBEDDER.encode(TEXTS).tobytes()] * 8


@pytest.mark.parametrize(
    ("cue", "near", "far"),
    [
        ("Where do I deploy?", "Deployments go to us-east-1", "My sister plays the violin"),
        ("What car does she drive?", "She bought a blue Toyota", "The soup needs more salt"),
        ("favourite food", "I love pasta and pizza", "The meeting is on Thursday"),
        ("He is a doctor", "She works as a nurse in a hospital", "The compiler rejects the type"),
    ],
)
def test_related_texts_are_closer_than_unrelated_ones(cue: str, near: str, far: str) -> None:
    vectors = EMBEDDER.encode([cue, near, far])

    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_case_accents_and_spacing_do_not_matter() -> None:
    one, other = EMBEDDER.encode(["Crème  brûlée, PLEASE", "creme brulee , please"])

    assert one.tobytes() == other.tobytes()


def test_only_the_beginning_of_a_long_text_counts() -> None:
    beginning = ("word salad " * MAX_CHARS)[:MAX_CHARS]

    one, other = EMBEDDER.encode([beginning, beginning + " and then a thousand penguins"])

    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("unit", ["a", "word ", "\x00", "\ud800", "中", ",", "q" * 99 + " "])
def test_a_megabyte_of_text_costs_little(unit: str) -> None:
    start = time.process_time()

    EMBEDDER.encode([unit * (1_000_000 // len(unit))])

    # Measured under 0.06 CPU seconds; the margin is for slow machines.
    assert time.process_time() - start < 2


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_gives_length_one_or_zero(text: str) -> None:
    vector = EMBEDDER.encode([text])[0]

    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6) or not vector.any()


def test_the_files_are_those_the_manifest_names() -> None:
    manifest = json.loads((ARTEFACT / "manifest.json").read_text(encoding="utf-8"))

    assert set(manifest["files"]) == {"table.npy", "vocab.txt"}
    for name, file in manifest["files"].items():
        assert digest(ARTEFACT / name) == file["sha256"], name


def test_the_table_has_a_row_for_every_token() -> None:
    table = np.load(ARTEFACT / "table.npy", mmap_mode="r")
    tokens = (ARTEFACT / "vocab.txt").read_bytes().count(b"\n")

    assert table.dtype == np.int8
    assert table.shape == (tokens, EMBEDDER.dimensions)


def test_the_artefact_stays_small_and_carries_its_notice() -> None:
    assert sum(file.stat().st_size for file in ARTEFACT.iterdir()) < 9_000_000
    notice = (ARTEFACT / "NOTICE").read_text(encoding="utf-8")
    assert "all-MiniLM-L6-v2" in notice
    assert "Apache License" in notice


def test_a_changed_table_is_another_model(artefact: Path) -> None:
    unchanged = StaticEmbedder(artefact).model_id

    change_table(artefact)

    assert unchanged == EMBEDDER.model_id
    assert StaticEmbedder(artefact).model_id != unchanged


def test_the_model_id_names_the_model_and_its_dimensions() -> None:
    assert EMBEDDER.model_id.startswith(f"static-minilm-l6-v2-{EMBEDDER.dimensions}-")


def test_it_says_which_scripts_it_knows() -> None:
    assert EMBEDDER.scripts == {"Latin"}


def test_the_weights_wait_for_the_first_text(artefact: Path) -> None:
    (artefact / "table.npy").unlink()

    embedder = StaticEmbedder(artefact)

    assert embedder.encode([]).shape == (0, embedder.dimensions)
    with pytest.raises(FileNotFoundError):
        embedder.encode(["now"])


def test_it_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert StaticEmbedder().encode(["offline"]).any()
