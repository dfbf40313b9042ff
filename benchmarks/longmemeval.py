"""How often recall finds the sessions that answer a question of LongMemEval-S (arXiv 2410.10813).

    python -m benchmarks.longmemeval FOLDER [--every N]

FOLDER is the unpacked source distribution of `mempalace` 3.11.0, whose file of results holds up to
50 dated sessions for each question: the first 500 characters of what the user said. Each session
becomes one turn in a session of its own. Each question is asked in a store that holds only its own
sessions. No model is called. Questions without an answer are left out.

Printed for all questions and for each type: the share of questions with a gold session among the
first 1, 5 and 10 hits (any@k), and the mean share of the gold sessions that are among the first 5
(recall@5). ``--every N`` takes each Nth question only.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import simonides
import simonides.testing
from simonides.testing import ManualClock

RESULTS = "benchmarks/results_mempal_raw_session_20260414_1629.jsonl"
DATE = "%Y/%m/%d (%a) %H:%M"
GOLD = "answer_"
"""How the id of a session begins that holds the answer or a part of it."""


def questions(folder: Path) -> list[dict[str, Any]]:
    """Return the questions that have an answer, in the order of the file."""
    lines = (folder / RESULTS).read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if not row["question_id"].endswith("_abs")]


def sessions(question: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the sessions of a question by date, so that the file's ranking is not visible.

    Some questions hold a session twice, with two dates; the later one is kept.
    """
    items = sorted(question["retrieval_results"]["ranked_items"], key=date)
    latest = {item["corpus_id"]: item for item in items}
    return sorted(latest.values(), key=date)


def date(item: dict[str, Any]) -> datetime:
    return datetime.strptime(item["timestamp"], DATE).replace(tzinfo=UTC)


def turn(item: dict[str, Any]) -> simonides.Draft:
    id = item["corpus_id"]
    return simonides.Draft(
        item["text"], kind="episodic", category="turn", role="user",
        session=id, position=0, at=date(item), metadata={"session": id},
    )  # fmt: skip


def ask(question: dict[str, Any]) -> tuple[list[str], set[str], int]:
    """Return the sessions found, best first, the gold sessions, and how many were not stored."""
    items = sessions(question)
    # The newest session is now: nothing expires. The file does not say when the question was asked.
    with simonides.testing.open(clock=ManualClock(date(items[-1]))) as store:
        memory = store.memory(user=question["question_id"])
        outcomes = memory.remember_many([turn(item) for item in items], atomic=False)
        hits = memory.recall(question["question"], limit=10)
        found = [hit.record.metadata["session"] for hit in hits]
    gold = {item["corpus_id"] for item in items if item["corpus_id"].startswith(GOLD)}
    return found, gold, sum(not outcome for outcome in outcomes)


def main(folder: Path, every: int) -> None:
    start, refused = time.perf_counter(), 0
    scores: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for question in questions(folder)[::every]:
        found, gold, missing = ask(question)
        refused += missing
        score = (
            *(not gold.isdisjoint(found[:k]) for k in (1, 5, 10)),
            len(gold.intersection(found[:5])) / len(gold),
        )
        for row in ("all", question["question_type"]):
            scores[row].append(score)
    print(f"{'':26} questions  any@1  any@5 any@10  recall@5")
    for row, each in scores.items():
        one, five, ten, recall = (sum(column) / len(each) for column in zip(*each, strict=True))
        print(f"{row:26} {len(each):9} {one:6.3f} {five:6.3f} {ten:6.3f} {recall:9.3f}")
    print(f"{refused} sessions not stored, {time.perf_counter() - start:.0f} seconds")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    main(arguments.folder, arguments.every)
