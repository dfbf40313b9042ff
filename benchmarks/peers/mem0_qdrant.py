"""simonides beside mem0 with its local qdrant: recall and single writes, interleaved.

    pip install -e . mem0ai qdrant-client
    python benchmarks/peers/mem0_qdrant.py --users 20 --memories 100

No language model takes part: mem0 stores with `infer=False`, simonides by rules. Both sides use the
same embedder (simonides's) and the same texts; durability is each side's default. Development only:
not part of the tests.
"""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("MEM0_TELEMETRY", "False")
os.environ.setdefault("OPENAI_API_KEY", "never-asked")

from mem0 import Record
from mem0.configs.base import MemoryConfig
from workload import arguments, compare

from simonides.providers.embeddings.static import StaticEmbedder


class Embedder:
    """simonides's embedder behind mem0's interface."""

    def __init__(self) -> None:
        self.inner = StaticEmbedder()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return list(map(float, self.inner.encode([text])[0]))

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [list(map(float, row)) for row in self.inner.encode(texts)]


def main() -> None:
    chosen = arguments(__doc__, queries=100, writes=50)
    embedder = Embedder()
    with tempfile.TemporaryDirectory() as folder:
        qdrant = {
            "path": f"{folder}/qdrant",
            "on_disk": True,
            "embedding_model_dims": embedder.inner.dimensions,
        }
        config = MemoryConfig(
            vector_store={"provider": "qdrant", "config": qdrant},
            history_db_path=f"{folder}/history.db",
        )
        memory = Record(config)
        memory.embedding_model = embedder

        def put(user: str, text: str) -> None:
            memory.add(text, user_id=user, infer=False)

        def put_many(user: str, lines: list[str]) -> None:
            for line in lines:
                put(user, line)

        def search(user: str, text: str) -> object:
            return memory.search(query=text, filters={"user_id": user}, top_k=5)

        compare("mem0", chosen, search, put, put_many)


if __name__ == "__main__":
    main()
