"""memstrata beside LangGraph's SqliteStore: recall and single durable writes, interleaved.

    pip install -e . langgraph-checkpoint-sqlite pysqlite3-binary
    python benchmarks/peers/langgraph_sqlite.py --users 100 --memories 100

Both sides use the same embedder (memstrata's), the same texts and files on the same disk, and
`synchronous=FULL`. Each round asks both the same question, one after the other, so that a slow
moment of the machine hits both; the ratio is taken over the medians. LangGraph's store searches
by vector only; memstrata ranks by keyword and vector and says why. LangGraph's write embeds and
inserts; memstrata's also runs policy and both dedup gates and writes a chained audit event.
Development only: not part of the tests.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pysqlite3
from langgraph.store.sqlite import SqliteStore

import memstrata
from memstrata.adapters.embedding_static import StaticEmbedder

SUBJECTS = "the team|my sister|our vendor|a neighbour|the office|Ana|Dr. Lee|the band".split("|")
VERBS = "prefers|visited|ordered|fixed|recommended|sold|painted|cancelled".split("|")
THINGS = "green tea|a blue bicycle|the payment service|an old piano|two tickets".split("|")
PLACES = "in Lisbon|near the lake|on Tuesday|for the launch|after the outage".split("|")


def sentence(rng: random.Random) -> str:
    parts = (SUBJECTS, VERBS, THINGS, PLACES)
    said = " ".join(rng.choice(part) for part in parts)
    return f"{said}, ticket {rng.randrange(10**6)}"


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def report(name: str, ours: list[float], theirs: list[float]) -> None:
    a, b = statistics.median(ours), statistics.median(theirs)
    p95 = [sorted(v)[int(0.95 * len(v))] for v in (ours, theirs)]
    print(
        f"{name:<28} memstrata p50 {a * 1e3:8.3f} ms p95 {p95[0] * 1e3:8.3f}   "
        f"langgraph p50 {b * 1e3:8.3f} ms p95 {p95[1] * 1e3:8.3f}   ratio {a / b:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--memories", type=int, default=100)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--writes", type=int, default=300)
    chosen = parser.parse_args()
    rng = random.Random(7)
    embedder = StaticEmbedder()
    embed = lambda texts: [list(map(float, row)) for row in embedder.encode(texts)]  # noqa: E731
    texts = [[sentence(rng) for _ in range(chosen.memories)] for _ in range(chosen.users)]
    with tempfile.TemporaryDirectory() as folder:
        connection = pysqlite3.connect(
            str(Path(folder) / "langgraph.db"), check_same_thread=False, isolation_level=None
        )
        index = {"dims": embedder.dimensions, "embed": embed, "fields": ["text"]}
        theirs = SqliteStore(connection, index=index)
        theirs.setup()
        connection.execute("PRAGMA synchronous=FULL")
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        sync = connection.execute("PRAGMA synchronous").fetchone()[0]
        print(f"langgraph: journal_mode={journal} synchronous={sync}; memstrata: WAL, FULL")
        with memstrata.open(Path(folder) / "memstrata.db") as strata:
            for user, lines in enumerate(texts):
                manager = strata.manager(user=f"u{user}")
                manager.remember_many([memstrata.Draft(line) for line in lines])
                for place, line in enumerate(lines):
                    theirs.put(("users", f"u{user}"), f"m{place}", {"text": line})
        # Opened anew: nothing of either side is warm.
        with memstrata.open(Path(folder) / "memstrata.db") as strata:
            ours_s, theirs_s = [], []
            for number in range(chosen.users + chosen.queries):
                user = number if number < chosen.users else rng.randrange(chosen.users)
                query = sentence(rng)
                manager = strata.manager(user=f"u{user}")
                ask_ours = lambda m=manager, q=query: m.recall(q, limit=5)  # noqa: E731
                ask_theirs = lambda u=user, q=query: theirs.search(  # noqa: E731
                    ("users", f"u{u}"), query=q, limit=5
                )
                first, second = (ask_ours, ask_theirs) if number % 2 else (ask_theirs, ask_ours)
                spent = {first: timed(first), second: timed(second)}
                ours_s.append(spent[ask_ours])
                theirs_s.append(spent[ask_theirs])
            first_of_owner = chosen.users
            report("first recall of an owner", ours_s[:first_of_owner], theirs_s[:first_of_owner])
            report("recall, warm", ours_s[first_of_owner:], theirs_s[first_of_owner:])
            ours_s, theirs_s = [], []
            for number in range(chosen.writes):
                user, line = rng.randrange(chosen.users), sentence(rng)
                manager = strata.manager(user=f"u{user}")
                ours_s.append(timed(lambda m=manager, t=line: m.remember(t)))
                theirs_s.append(
                    timed(
                        lambda u=user, t=line, n=number: theirs.put(
                            ("users", f"u{u}"), f"w{n}", {"text": t}
                        )
                    )
                )
            report("single durable write", ours_s, theirs_s)
        connection.close()


if __name__ == "__main__":
    main()
