"""simonides beside LangGraph's SqliteStore: recall and single durable writes, interleaved.

    pip install -e . langgraph-checkpoint-sqlite pysqlite3-binary
    python benchmarks/peers/langgraph_sqlite.py --users 100 --memories 100

Both sides use the same embedder (simonides's), the same texts and files on the same disk, and
`synchronous=FULL`. LangGraph's store searches by vector only; simonides ranks by keyword and vector
and says why. LangGraph's write embeds and inserts; simonides's also runs policy and both dedup
gates and writes a chained audit event. Development only: not part of the tests.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pysqlite3
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore
from workload import arguments, compare

from simonides.providers.embeddings.static import StaticEmbedder


def main() -> None:
    chosen = arguments(__doc__)
    embedder = StaticEmbedder()
    embed = lambda texts: [list(map(float, row)) for row in embedder.encode(texts)]  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        connection = pysqlite3.connect(
            str(Path(folder) / "langgraph.db"), check_same_thread=False, isolation_level=None
        )
        index = {"dims": embedder.dimensions, "embed": embed, "fields": ["text"]}
        store = SqliteStore(connection, index=index)
        store.setup()
        connection.execute("PRAGMA synchronous=FULL")
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        sync = connection.execute("PRAGMA synchronous").fetchone()[0]
        print(f"langgraph: journal_mode={journal} synchronous={sync}; simonides: WAL, FULL")
        number = itertools.count()

        def put(user: str, text: str) -> None:
            store.put(("users", user), f"m{next(number)}", {"text": text})

        def put_many(user: str, lines: list[str]) -> None:
            spaces, names = ("users", user), (f"m{next(number)}" for _ in lines)
            store.batch(
                [
                    PutOp(spaces, name, {"text": line})
                    for name, line in zip(names, lines, strict=True)
                ]
            )

        def search(user: str, text: str) -> object:
            return store.search(("users", user), query=text, limit=5)

        compare("langgraph", chosen, search, put, put_many)
        connection.close()


if __name__ == "__main__":
    main()
