"""What a floor on relevance keeps of answerable questions and empties of foreign ones (RE-4).

    python benchmarks/abstention.py --data DIR

A foreign question is a real one about another conversation of the same set, its people's names
exchanged for this conversation's. It should come back empty above the floor; an answerable one
whose first correct turn is among the first ten should keep it. Some foreign questions have an
answer all the same ("What pets does Maria have?"): nothing is done about them. Of the set
``precision``, short facts of one user, the questions of ``locomo`` are the foreign ones.

Printed: kept and emptied by floor and by set with the default calibration, the same at the floor
of 0.75 with coefficients fitted without the conversation that is asked about, the share of digests
that are not empty, whether or not what they hold is right, and the coefficients.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ranking import FOLDS, Watched, read_set

from memstrata.retrieval.calibration import Calibration, Measures, fallen, measure
from memstrata.retrieval.fusion import Fusion, fuse

SETS = ("locomo", "realtalk", "beam_100k", "precision")
TOP = 10
FLOOR = 0.75
AT_FLOOR = float(np.log(FLOOR / (1 - FLOOR)))


@dataclass
class Judged:
    """A question: what calibration measures, and how far behind its first correct turn lies."""

    set: str
    fold: int
    answerable: bool
    measured: Measures
    relevance: float
    behind: float
    is_empty: bool


def exchanged(text: str, theirs: list[Any], ours: list[Any]) -> str:
    """Return a question with the people of its conversation exchanged for ours."""
    people = [sorted({item["speaker"] for item in items}) for items in (theirs, ours)]
    for name, other in zip(*people, strict=False):
        text = re.sub(rf"\b{re.escape(name)}\b", other, text)
    return text


def judged(adapter: Watched, conversation: str, asked: Any, gold: set[str]) -> dict[str, Any]:
    """Ask, and return the measures, and relevance and distance of the first correct of ten."""
    adapter.search(conversation, asked["question"], 1, asked["question_date"])
    pool, signals = adapter.pool, adapter.signals()
    parts, relevance = fuse(pool, signals, Fusion())
    total = np.sum(list(parts.values()), axis=0)
    order = np.argsort(-total, kind="stable")[:TOP].tolist()
    right = [slot for slot in order if pool.memory(slot).metadata["item_id"] in gold]
    first = right[0] if right else order[0]
    best = float(total[order[0]])
    return {
        "answerable": bool(right),
        "measured": measure(pool, signals, total),
        "relevance": float(relevance[first]),
        "behind": (best - float(total[first])) / max(best, 1.0),
        "is_empty": float(relevance[order[0]]) < FLOOR,
    }


def gather(data: Path, name: str) -> Iterator[Judged]:
    conversations = list(read_set(data, name))
    strangers = conversations if len(conversations) > 1 else list(read_set(data, SETS[0]))
    rng = random.Random(7)
    adapter = Watched()
    for number, (conversation, items, questions) in enumerate(conversations):
        adapter.add(conversation, items)
        for place, question in enumerate(questions):
            gold = set(question["evidence_item_ids"])
            found = judged(adapter, conversation, question, gold) if gold else {}
            if found.get("answerable"):
                yield Judged(name, fold_of(conversations, number, place), **found)
        others = [
            question | {"question": exchanged(question["question"], theirs, items)}
            for other, theirs, asked in strangers
            for question in asked
            if other != conversation and question["evidence_item_ids"] and not question["abstain"]
        ]
        for place, question in enumerate(rng.sample(others, min(len(questions), len(others)))):
            found = judged(adapter, conversation, question, set())
            yield Judged(name, fold_of(conversations, number, place), **found)
    adapter.close()


def fold_of(conversations: Sequence[Any], number: int, place: int) -> int:
    """By conversation; by question where there is but one."""
    return (number if len(conversations) > 1 else place) % FOLDS


def fitted(rows: list[Judged]) -> np.ndarray:
    """Return constant and coefficients; every set and both kinds count the same.

    The constant is then moved to where as many foreign questions are emptied, in share, as
    answerable ones kept.
    """
    groups = {key: sum((row.set, row.answerable) == key for row in rows)
              for key in {(row.set, row.answerable) for row in rows}}  # fmt: skip
    share = np.array([1 / groups[row.set, row.answerable] for row in rows]) / len(groups)
    matrix = np.array([(1.0, *row.measured) for row in rows])
    wanted = np.array([row.answerable for row in rows], float)
    weights = np.zeros(matrix.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-matrix @ weights))
        slope = matrix.T @ (share * (wanted - chance)) - 1e-5 * weights
        curve = (matrix * (share * chance * (1 - chance))[:, None]).T @ matrix
        weights += np.linalg.solve(curve + 1e-5 * np.eye(len(weights)), slope)
    odds = odds_of(rows, weights)
    cuts = np.quantile(odds, np.linspace(0.02, 0.98, 400))
    answerable = wanted > 0
    gaps = [abs((odds[answerable] >= cut).mean() - (odds[~answerable] < cut).mean())
            for cut in cuts]  # fmt: skip
    weights[0] += AT_FLOOR - cuts[int(np.argmin(gaps))]
    return weights


def odds_of(rows: list[Judged], weights: np.ndarray) -> np.ndarray:
    first = [float(weights @ (1.0, *row.measured)) for row in rows]
    behind = [np.array(row.behind) for row in rows]
    nothing = Calibration().nothing
    return np.array([float(fallen(*pair, nothing)) for pair in zip(first, behind, strict=True)])


def print_shares(title: str, rows: list[Judged], passes: np.ndarray) -> None:
    cells = []
    for name in (*SETS, "all"):
        mine = np.array([name in ("all", row.set) for row in rows])
        right = np.array([row.answerable for row in rows])
        kept, emptied = passes[mine & right].mean(), 1 - passes[mine & ~right].mean()
        cells.append(f"{kept:.3f} / {emptied:.3f}")
    print(f"| {title} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    rows = [row for name in SETS for row in gather(parser.parse_args().data, name)]
    print("| kept / emptied | " + " | ".join((*SETS, "all")) + " |\n|---|" + "---|" * 5)
    seen = np.array([row.relevance for row in rows])
    for floor in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9):
        print_shares(f"floor {floor}", rows, seen >= floor)
    crossed = np.zeros(len(rows), bool)
    for fold in range(FOLDS):
        mine = np.array([row.fold == fold for row in rows])
        weights = fitted([row for row in rows if row.fold != fold])
        crossed[mine] = odds_of([row for row in rows if row.fold == fold], weights) >= AT_FLOOR
    print_shares("floor 0.75, cross-validated", rows, crossed)
    print_shares("digest not empty", rows, np.array([not row.is_empty for row in rows]))
    names = ("constant", *Measures._fields)
    print(dict(zip(names, fitted(rows).round(2).tolist(), strict=True)))


if __name__ == "__main__":
    main()
