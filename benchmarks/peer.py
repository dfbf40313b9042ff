"""simonides beside LangGraph's SqliteStore and Chroma: the same encoder, by turns in one process.

    python -m benchmarks.peer                      # speed, up to 10,000 memories
    python -m benchmarks.peer --quick              # speed, up to 1,000 memories
    python -m benchmarks.peer --wal                # LangGraph's store in WAL mode
    python -m benchmarks.peer --everyday FOLDER --picture quality.png

It needs `pip install . --group bench` and a Python whose sqlite3 loads extensions, as Debian's
does. Each side encodes every timed text and every timed question itself. The memories that fill a
store are encoded once for all sides. simonides and LangGraph commit with synchronous=FULL. Chroma
runs as it comes, without telemetry. simonides keeps more memories than its default quota, because
the others have none. It judges, screens, compares, versions and audits each write.

Each owner has a namespace in LangGraph and a collection in Chroma. Chroma's cookbook lists a
collection for each user among its strategies for several users; its guide to performance finds
many small collections as fast as a large one.

FOLDER holds a folder for each person, with corpus.jsonl and queries.jsonl. R@k is the share of the
evidence in the first k hits, by text; for k = 1, whether the first hit is evidence.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import chromadb
import numpy as np
from benchmarks.sentences import sentence
from chromadb.config import Settings as ChromaSettings
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore

import simonides
from simonides.models import Encoder
from simonides.models.embedder import MAX_TOKENS, Encoded
from simonides.testing import ManualClock

SLICE = 1_000
"""Memories of one call while a store is filled: Chroma takes at most 5,461."""


class CachedEncoder:
    """The encoder. While `caches` is set, each text is encoded once for all sides."""

    def __init__(self) -> None:
        self.encoder = Encoder()
        self.model_id, self.dimensions = self.encoder.model_id, self.encoder.dimensions
        self.pieces = self.encoder.pieces
        self.caches, self.known = False, dict[tuple[str, int], Encoded]()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([each.whole for each in self.encode_tokens(texts)])

    def encode_tokens(self, texts: Sequence[str], most: int = MAX_TOKENS) -> list[Encoded]:
        known = self.known if self.caches else {}
        for text in texts:
            if (text, most) not in known:
                [known[text, most]] = self.encoder.encode_tokens([text], most)
        return [known[text, most] for text in texts]


class Simonides:
    def __init__(
        self, folder: Path, encoder: CachedEncoder, clock: ManualClock | None = None
    ) -> None:
        policy = folder / "policy.yaml"
        policy.write_text("quotas: {memories: null}\n")
        settings = simonides.Settings(policy=policy)
        self.store = simonides.open(folder / "db", settings=settings, embedder=encoder, clock=clock)
        self.memory = cache(lambda user: self.store.memory(user=user))
        self.close = self.store.close

    def remember(self, user: str, texts: Sequence[str]) -> None:
        self.memory(user).remember_many([simonides.Draft(text) for text in texts], atomic=False)

    def hear(self, user: str, row: dict[str, Any]) -> None:
        session = self.memory(user).session(row["session_id"].replace("/", "_"))
        session.add({"role": "user", "content": row["text"]}, at=when(row["timestamp"]))

    def recall(self, user: str, question: str, limit: int) -> list[str]:
        return [hit.content for hit in self.memory(user).recall(question, limit=limit)]


class LangGraph:
    def __init__(self, folder: Path, encoder: CachedEncoder, *, wal: bool = False) -> None:
        self.connection = sqlite3.connect(folder / "db", isolation_level=None)
        index = {"dims": encoder.dimensions, "embed": lambda texts: encoder.encode(texts).tolist()}
        self.store = SqliteStore(self.connection, index=index)
        self.store.setup()
        if wal:
            self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.ids = map(str, count())
        self.close = self.connection.close

    def remember(self, user: str, texts: Sequence[str]) -> None:
        space, fields = ("users", user), ["text"]
        self.store.batch([PutOp(space, next(self.ids), {"text": text}, fields) for text in texts])

    def hear(self, user: str, row: dict[str, Any]) -> None:
        self.remember(user, [row["text"]])

    def recall(self, user: str, question: str, limit: int) -> list[str]:
        found = self.store.search(("users", user), query=question, limit=limit)
        return [item.value["text"] for item in found]


class Chroma:
    def __init__(self, folder: Path, encoder: CachedEncoder) -> None:
        quiet = ChromaSettings(anonymized_telemetry=False)
        self.client = chromadb.PersistentClient(str(folder), settings=quiet)
        collection = partial(self.client.get_or_create_collection, embedding_function=None)
        self.collection = cache(lambda user: collection(f"user-{user}"))
        self.encoder = encoder
        self.ids = map(str, count())
        self.close = self.client.close

    def remember(self, user: str, texts: Sequence[str]) -> None:
        ids, vectors = [next(self.ids) for _ in texts], self.encoder.encode(texts)
        self.collection(user).add(ids, embeddings=vectors, documents=list(texts))

    def hear(self, user: str, row: dict[str, Any]) -> None:
        self.remember(user, [row["text"]])

    def recall(self, user: str, question: str, limit: int) -> list[str]:
        vectors = self.encoder.encode([question])
        return self.collection(user).query(vectors, n_results=limit)["documents"][0]


NAMES = [side.__name__ for side in (Simonides, LangGraph, Chroma)]


@contextmanager
def opened(
    root: str, encoder: CachedEncoder, clock: ManualClock | None = None, *, wal: bool = False
) -> Iterator[list]:
    """Give the sides, each with a folder of its name under the root; close them at the end."""
    folders = [Path(root) / name for name in NAMES]
    for folder in folders:
        folder.mkdir()
    with (
        closing(Simonides(folders[0], encoder, clock)) as ours,
        closing(LangGraph(folders[1], encoder, wal=wal)) as langgraph,
        closing(Chroma(folders[2], encoder)) as chroma,
    ):
        yield [ours, langgraph, chroma]


def show(name: str, figures: Sequence[float], unit: str) -> None:
    ratios = "  ".join(f"{figures[0] / other:5.2f}" for other in figures[1:])
    line = " ".join(f"{each:10.3f}" for each in figures)
    print(f"{name:<16} {line} {unit:<5}  ratios {ratios}", flush=True)


def compare(name: str, rounds: Sequence, sides: Sequence, verb: str) -> list[float]:
    """Time the sides by turns in all orders, and return their medians in ms."""
    spent: list[list[float]] = [[] for _ in sides]
    for number, given in enumerate(rounds):
        step = (-1) ** (number // len(sides))
        for place in range(len(sides)):
            which = (number + step * place) % len(sides)
            call = getattr(sides[which], verb)
            begun = time.perf_counter()
            call(*given)
            spent[which].append((time.perf_counter() - begun) * 1e3)
    medians = [statistics.median(each) for each in spent]
    show(name, medians, "ms")
    return medians


def measure(
    encoder: CachedEncoder, users: int, memories: int, *, wal: bool, rounds: int
) -> list[float]:
    """Print the speed and the size of the sides, and return their medians of recall in ms."""
    rng = random.Random(7)  # the same for each size: most texts of the next store are encoded
    names = [f"u{number}" for number in range(users)]
    batches = 3 if memories <= 1_000 else 0

    def some(number: int, size: int) -> list[tuple[str, list[str]]]:
        return [(rng.choice(names), [sentence(rng) for _ in range(size)]) for _ in range(number)]

    print(f"\n{users} owners with {memories} memories each:", ", ".join(NAMES))
    with tempfile.TemporaryDirectory(dir=".") as root:
        with opened(root, encoder, wal=wal) as sides:
            encoder.caches = True
            for name in names:
                for first in range(0, memories, SLICE):
                    texts = [sentence(rng) for _ in range(min(SLICE, memories - first))]
                    for side in sides:
                        side.remember(name, texts)
            encoder.caches = False
            compare("remember", some(rounds, 1), sides, "remember")
            asked = [(user, question, 5) for user, [question] in some(rounds, 1)]
            recall = compare("recall (5 hits)", asked, sides, "recall")
            if batches:
                compare("batch of 1,000", some(batches, 1_000), sides, "remember")
        kept = users * memories + rounds + batches * 1_000
        files = [filter(Path.is_file, (Path(root) / name).rglob("*")) for name in NAMES]
        sizes = [sum(file.stat().st_size for file in each) for each in files]
        show("disk, a memory", [size / kept for size in sizes], "bytes")
    return recall


def when(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def quality(encoder: CachedEncoder, people: Path) -> list[float]:
    """Print R@k of the sides over all persons, and return R@5."""
    found: list[Counter[int]] = [Counter() for _ in NAMES]
    questions, encoder.caches = 0, True
    for person in sorted(path.parent for path in people.glob("*/queries.jsonl")):
        corpus, queries = (rows(person / f"{kind}.jsonl") for kind in ("corpus", "queries"))
        said = {row["item_id"]: row for row in corpus if row["speaker"] == "user"}
        clock = ManualClock(when(corpus[0]["timestamp"]))
        with tempfile.TemporaryDirectory(dir=".") as root, opened(root, encoder, clock) as sides:
            for row in said.values():
                clock.set(when(row["timestamp"]))
                for side in sides:
                    side.hear(person.name, row)
            clock.set(max(when(query["question_date"]) for query in queries))
            queries = [query for query in queries if not query["abstain"]]
            questions += len(queries)
            sides[0].store.flush()
            for query in queries:
                gold = {said[item]["text"] for item in query["evidence_item_ids"]}
                for side, right in zip(sides, found, strict=True):
                    hits = side.recall(person.name, query["question"], 10)
                    for k in (1, 5, 10):
                        right[k] += len(gold & set(hits[:k])) / min(k, len(gold))
    print(f"\n{questions} questions of {people.name}:", ", ".join(NAMES))
    for k in (1, 5, 10):
        show(f"R@{k}", [right[k] / questions for right in found], "")
    return [right[5] / questions for right in found]


def draw(recall: list[float], right: list[float], picture: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4))
    axis = figure.subplots()
    for name, x, y in zip(NAMES, recall, right, strict=True):
        axis.scatter(x, y, s=60, label=name)
    axis.set_xlim(0, max(recall) * 1.3)
    axis.set_ylim(0, 1)
    axis.set_xlabel("median recall at 1,000 memories, question encoded, ms")
    axis.set_ylabel("R@5, everyday questions")
    axis.grid(visible=True, alpha=0.3)
    axis.legend(loc="lower left")
    figure.tight_layout()
    figure.savefig(picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wal", action="store_true", help="LangGraph's store in WAL mode")
    parser.add_argument("--quick", action="store_true", help="leave out 10,000 memories")
    parser.add_argument("--everyday", type=Path, metavar="FOLDER", help="measure the quality, too")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw quality against time")
    given = parser.parse_args()
    if given.picture and not given.everyday:
        parser.error("--picture needs --everyday")
    encoder = CachedEncoder()
    right = quality(encoder, given.everyday) if given.everyday else []
    measure(encoder, 100, 100, wal=given.wal, rounds=300)
    recall = measure(encoder, 1, 1_000, wal=given.wal, rounds=150)
    if not given.quick:
        measure(encoder, 1, 10_000, wal=given.wal, rounds=60)
    if given.picture:
        draw(recall, right, given.picture)


if __name__ == "__main__":
    main()
