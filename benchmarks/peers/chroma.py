"""simonides beside Chroma, embedded and persistent: recall and single writes, interleaved.

    pip install -e . chromadb
    python benchmarks/peers/chroma.py --users 100 --memories 100

One collection, the user in the metadata and in every query's `where`, as its users keep tenants
apart. Both sides use the same embedder (simonides's) and the same texts; durability is each side's
default. Chroma searches by vector only. Development only: not part of the tests.
"""

from __future__ import annotations

import itertools
import tempfile

import chromadb
from chromadb.config import Settings
from workload import arguments, compare

from simonides.providers.embeddings.static import StaticEmbedder


def main() -> None:
    chosen = arguments(__doc__, queries=200, writes=100)
    embedder = StaticEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        space = client.create_collection("memories", embedding_function=None)
        number = itertools.count()

        def add(user: str, lines: list[str]) -> None:
            space.add(
                ids=[f"m{next(number)}" for _ in lines],
                embeddings=embedder.encode(lines),
                documents=lines,
                metadatas=[{"user": user} for _ in lines],
            )

        def search(user: str, text: str) -> object:
            return space.query(
                query_embeddings=embedder.encode([text]), n_results=5, where={"user": user}
            )

        compare("chroma", chosen, search, lambda user, text: add(user, [text]), add)


if __name__ == "__main__":
    main()
