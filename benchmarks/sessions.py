"""Sessions: what an entry costs beside a bare commit, what a read within one does, what is found.

    python benchmarks/sessions.py add
    python benchmarks/sessions.py read
    python benchmarks/sessions.py search --data DIR [--sets locomo realtalk]

``add``: each `session.add` is timed beside one insert of the same bytes by bare SQLite, in WAL mode
with ``synchronous=FULL`` as well, into a file in the same directory, in turns of one and one; with
a short, a usual and a long text. ``read``: recall and digest over 1,000 memories by who is in no
session, and in one of 40 turns of which 10 state something, in turns of one and one. ``search``:
every question whose evidence lies in one session is asked of that session alone, by each fusion,
and its two rarest words too; DIR holds the development sets (``locomo/dev/corpus.jsonl`` …).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw

import simonides
from simonides.settings import Settings

ROUNDS = 7
ADDS = 200
READS = 300
MEMORIES = 1_000
CUTOFF = 5
SENTENCE = "I would like the report on the Lisbon office to come by email every second Monday. "
TEXTS = {"short": "Yes, please.", "usual": SENTENCE * 2, "long": SENTENCE * 50}
STATED = (
    "My name is Ana.", "I live in Lisbon.", "I work as a nurse.", "Please answer in French.",
    "From now on use email as the primary channel.", "My birthday is on 3 May.",
    "I prefer dark mode.", "My timezone is UTC+1.", "My phone is a Pixel 8.", "I am vegetarian.",
)  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def bare(file: Path) -> Callable[[bytes], None]:
    """Return what commits a text by SQLite alone."""
    connection = apsw.Connection(str(file))
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("CREATE TABLE said (n INTEGER PRIMARY KEY, body BLOB)")

    def commit(body: bytes) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO said (body) VALUES (?)", (body,))
        connection.execute("COMMIT")

    return commit


def interleaved(*ways: Callable[[], object], times: int) -> list[float]:
    """Return the median seconds of each way, in turns of one and one."""
    spent = [[seconds(way) for way in ways] for _ in range(times)]
    return [statistics.median(each) for each in zip(*spent, strict=True)]


def add() -> None:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        directory = Path(place)
        with simonides.open(directory / "m.db") as store:
            session = store.memory(user="ana").session("s")
            commit = bare(directory / "bare.db")
            print("| text | bare commit, ms | session.add, ms | ratio (rounds) |")
            print("| --- | --- | --- | --- |")
            for name, text in TEXTS.items():
                body = text.encode()
                ways = partial(commit, body), partial(session.add, "user", text)
                rounds = [interleaved(*ways, times=ADDS) for _ in range(ROUNDS)]
                them, us = (statistics.median(each) for each in zip(*rounds, strict=True))
                ratios = sorted(ours / theirs for theirs, ours in rounds)
                spread = f"{ratios[ROUNDS // 2]:.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
                figures = f"{1e3 * them:.2f} | {1e3 * us:.2f} | {spread}"
                print(f"| {name} ({len(body):,} bytes) | {figures} |")


def read() -> None:
    with simonides.open(":memory:") as store:
        memory = store.memory(user="ana")
        memory.remember_many(
            [simonides.Draft(f"Item {n}: {SENTENCE}", key=f"item_{n}") for n in range(MEMORIES)]
        )
        memory.remember("Oslo", key="location")
        session = memory.session("s")
        for turn in range(40):
            session.add(
                {
                    "role": "user",
                    "content": STATED[turn // 4] if turn % 4 == 0 else f"And item {turn}?",
                }
            )
        print("| read | in no session, ms | in one, ms | ratio |")
        print("| --- | --- | --- | --- |")
        for verb in ("recall", "digest"):
            ways = [partial(getattr(m, verb), "Where do I live?") for m in (memory, session.memory)]
            outside, inside = interleaved(*ways, times=READS)
            ratio = inside / outside
            print(f"| {verb} | {1e3 * outside:.2f} | {1e3 * inside:.2f} | {ratio:.2f} |")


def lines(file: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


FUSIONS: dict[str, dict[str, Any]] = {
    "conversational (the default)": {},
    "words alone": {"fusion": "hybrid", "hybrid_weight": 0.0},
    "words and meaning": {"fusion": "hybrid", "hybrid_weight": 0.5},
    "meaning alone": {"fusion": "hybrid", "hybrid_weight": 1.0},
    "rrf": {"fusion": "rrf"},
}
Place = tuple[str, str]


def rarest(question: str, seen: Counter[str], count: int = 2) -> str:
    """Return what somebody would type instead: the rarest words that were said at all."""
    words = [word for word in question.lower().replace("?", "").split() if seen[word]]
    return " ".join(sorted(words, key=lambda word: seen[word])[:count])


def corpus(directory: Path) -> tuple[dict[Place, list[Any]], list[tuple[str, Place, set[int]]]]:
    """Return the turns of each session, and the questions whose evidence lies in one."""
    sessions, where = defaultdict[Place, list[Any]](list), {}
    for item in lines(directory / "corpus.jsonl"):
        place = item["conv_id"], item["session_id"].replace("/", "-")
        where[item["item_id"]] = (place, len(sessions[place]))
        sessions[place].append(item)
    asked = []
    for query in lines(directory / "queries.jsonl"):
        places = [where[id] for id in query["evidence_item_ids"] if id in where]
        if places and len({place for place, _ in places}) == 1:
            asked.append((query["question"], places[0][0], {turn for _, turn in places}))
    return sessions, asked


def search(data: Path, sets: list[str]) -> None:
    for name in sets:
        sessions, asked = corpus(data / name / "dev")
        seen = Counter(
            word for items in sessions.values() for i in items for word in i["text"].lower().split()
        )
        print(f"{name}: {len(asked)} questions of {len(sessions)} sessions")
        head = f"questions, first 1 | first {CUTOFF} | two rare words, first 1 | first {CUTOFF}"
        print(f"| fusion | {head} |\n| --- | --- | --- | --- | --- |")
        for title, settings in FUSIONS.items():
            figures = " | ".join(f"{each:.3f}" for each in found(sessions, asked, seen, settings))
            print(f"| {title} | {figures} |", flush=True)


def found(
    sessions: dict[Place, list[Any]],
    asked: list[tuple[str, Place, set[int]]],
    seen: Counter[str],
    settings: dict[str, Any],
) -> list[float]:
    """Return which share of the evidence is among the first hits, for each way of asking."""
    totals = [0.0] * 4
    with simonides.open(":memory:", settings=Settings(**settings)) as store:
        opened = {}
        for place, items in sessions.items():
            opened[place] = session = store.memory(user=place[0]).session(place[1])
            for item in items:
                session.add(
                    {"role": "user", "content": item["text"], "name": item["speaker"]},
                    at=item["timestamp"],
                )
        for question, place, evidence in asked:
            for way, query in enumerate((question, rarest(question, seen))):
                hits = opened[place].search(query, limit=CUTOFF)
                turns = [hit.record.origin.turn for hit in hits]
                for slot, cut in enumerate((1, CUTOFF)):
                    totals[2 * way + slot] += len(evidence & {*turns[:cut]}) / len(evidence)
    return [total / len(asked) for total in totals]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("add", "read", "search"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["locomo", "realtalk"])
    given = parser.parse_args()
    if given.what == "search":
        search(given.data, given.sets)
    else:
        (add if given.what == "add" else read)()


if __name__ == "__main__":
    main()
