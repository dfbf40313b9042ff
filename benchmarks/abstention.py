"""What a floor on relevance keeps of answerable questions and empties of foreign ones.

    python benchmarks/abstention.py --data DIR

A foreign question is a real one about another conversation of the same set, its people's names
exchanged for this conversation's. It should come back empty above the floor; an answerable one
whose first correct turn is among the first ten should keep it. Some foreign questions have an
answer all the same ("What pets does Maria have?"): nothing is done about them. Of the set
``precision``, short facts of one user, the questions of ``locomo`` are the foreign ones.

The same is asked of small owners, who have a few rows of such a conversation and no more: for an
answerable question its first correct one and others at random, for a foreign one any, or, *near*,
the one that it finds first in the whole conversation and others.

Printed: kept and emptied by floor and by set with the default calibration, the same at the floor
of 0.75 with coefficients fitted without the conversation that is asked about, the share of digests
that are not empty, whether or not what they hold is right; kept and emptied by the number of rows,
as means of the sets; and the coefficients, to which small owners contribute.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ranking import FOLDS, Watched, read_set

from simonides.retrieval.ranking.calibration import (
    Calibration,
    Measures,
    log_odds_behind,
    measure,
)
from simonides.retrieval.ranking.fusion import Fusion, fuse

SETS = ("locomo", "realtalk", "beam_100k", "precision")
SIZES = (1, 2, 3, 5, 10, 20, 30, 100)
"""Rows of small owners."""
SAMPLED = 24
"""Questions of either kind of each conversation that small owners are asked."""
SMALL_SHARE = 0.3
"""What small owners count in a fit, whole conversations counting 1; chosen, .2 to 1 are alike."""
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
    size: int | None = None
    is_near: bool = False


class Asking(NamedTuple):
    """A question that was asked of a whole conversation, for small owners to be asked it too."""

    fold: int
    question: Any
    gold: set[str]
    first: str


class Found(Watched):
    """The adapter, keeping which item was judged last."""

    first: str = ""


def exchanged(text: str, theirs: list[Any], ours: list[Any]) -> str:
    """Return a question with the people of its conversation exchanged for ours."""
    people = [sorted({item["speaker"] for item in items}) for items in (theirs, ours)]
    for name, other in zip(*people, strict=False):
        text = re.sub(rf"\b{re.escape(name)}\b", other, text)
    return text


def judged(adapter: Found, conversation: str, asked: Any, gold: set[str]) -> dict[str, Any]:
    """Ask, and return the measures, and relevance and distance of the first correct of ten."""
    adapter.search(conversation, asked["question"], 1, asked["question_date"])
    pool, signals = adapter.pool, adapter.signals()
    if not len(pool):
        return {}
    parts, relevance = fuse(pool, signals, Fusion())
    total = np.sum(list(parts.values()), axis=0)
    order = np.argsort(-total, kind="stable")[:TOP].tolist()
    right = [slot for slot in order if pool.memory(slot).metadata["item_id"] in gold]
    first = right[0] if right else order[0]
    adapter.first = pool.memory(first).metadata["item_id"]
    best = float(total[order[0]])
    return {
        "answerable": bool(right),
        "measured": measure(pool, signals, total),
        "relevance": float(relevance[first]),
        "behind": (best - float(total[first])) / max(best, 1.0),
        "is_empty": float(relevance[order[0]]) < FLOOR,
    }


def gather(data: Path, name: str) -> Iterator[Judged]:
    """Yield what is judged of a set: of its conversations, and of small owners after each."""
    conversations = list(read_set(data, name))
    strangers = conversations if len(conversations) > 1 else list(read_set(data, SETS[0]))
    rng = random.Random(7)
    adapter, few = Found(), Found()
    for number, (conversation, items, questions) in enumerate(conversations):
        adapter.add({"role": conversation, "content": items})
        askings: list[Asking] = []
        for place, question in enumerate(questions):
            gold = set(question["evidence_item_ids"])
            found = judged(adapter, conversation, question, gold) if gold else {}
            if found.get("answerable"):
                fold = fold_of(conversations, number, place)
                yield Judged(name, fold, **found)
                askings.append(Asking(fold, question, gold, adapter.first))
        others = [
            question | {"question": exchanged(question["question"], theirs, items)}
            for other, theirs, asked in strangers
            for question in asked
            if other != conversation and question["evidence_item_ids"] and not question["abstain"]
        ]
        for place, question in enumerate(rng.sample(others, min(len(questions), len(others)))):
            found = judged(adapter, conversation, question, set())
            fold = fold_of(conversations, number, place)
            yield Judged(name, fold, **found)
            askings.append(Asking(fold, question, set(), adapter.first))
        few.reset()
        yield from small_owners(few, name, items, askings)
    adapter.close()
    few.close()


def small_owners(
    adapter: Found, name: str, items: list[Any], askings: Sequence[Asking]
) -> Iterator[Judged]:
    """Yield what is judged where a few items of a conversation are all that there is."""
    rng, owners = random.Random(11), count()
    # Of beliefs only those of whom is asked are ones that stand and that the question sees.
    whose = items[0]["speaker"] if "title" in items[0] else None
    standing = [item for item in items if whose in (None, item["speaker"])]
    for is_foreign in (False, True):
        asked = [asking for asking in askings if bool(asking.gold) != is_foreign]
        for fold, question, gold, first in rng.sample(asked, min(SAMPLED, len(asked))):
            others = [item for item in standing if item["item_id"] not in {*gold, first}]
            rng.shuffle(others)
            for size, is_near in product(SIZES, (False, True) if is_foreign else (False,)):
                one = {first} if is_near or not is_foreign else set()
                ids = one | {item["item_id"] for item in others[: size - len(one)]}
                owner = f"{name}-{next(owners)}"
                adapter.add(
                    {"role": owner, "content": [item for item in items if item["item_id"] in ids]}
                )
                found = judged(adapter, owner, question, gold)
                if found and found["answerable"] != is_foreign:
                    yield Judged(name, fold, **found, size=size, is_near=is_near)


def fold_of(conversations: Sequence[Any], number: int, place: int) -> int:
    """By conversation; by question where there is but one."""
    return (number if len(conversations) > 1 else place) % FOLDS


def fitted(rows: list[Judged]) -> np.ndarray:
    """Return constant and coefficients; every set and both kinds count the same, and small owners
    :data:`SMALL_SHARE` of whole conversations. What is near to a foreign question takes no part.

    The constant is then moved to where as many foreign questions are emptied, in share, as
    answerable ones kept, of whole conversations.
    """
    rows = [row for row in rows if not row.is_near]
    groups = Counter(map(group_of, rows))
    is_small = np.array([row.size is not None for row in rows])
    share = np.array([1 / groups[group_of(row)] for row in rows])
    share *= np.where(is_small, SMALL_SHARE, 1.0)
    share /= share.sum()
    matrix = np.array([(1.0, *row.measured) for row in rows])
    wanted = np.array([row.answerable for row in rows], float)
    weights = np.zeros(matrix.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-matrix @ weights))
        slope = matrix.T @ (share * (wanted - chance)) - 1e-5 * weights
        curve = (matrix * (share * chance * (1 - chance))[:, None]).T @ matrix
        weights += np.linalg.solve(curve + 1e-5 * np.eye(len(weights)), slope)
    odds, wanted = odds_of(rows, weights)[~is_small], wanted[~is_small]
    cuts = np.quantile(odds, np.linspace(0.02, 0.98, 400))
    answerable = wanted > 0
    gaps = [abs((odds[answerable] >= cut).mean() - (odds[~answerable] < cut).mean())
            for cut in cuts]  # fmt: skip
    weights[0] += AT_FLOOR - cuts[int(np.argmin(gaps))]
    return weights


def group_of(row: Judged) -> tuple[str, bool, bool]:
    return row.set, row.answerable, row.size is not None


def odds_of(rows: list[Judged], weights: np.ndarray) -> np.ndarray:
    first = [float(weights @ (1.0, *row.measured)) for row in rows]
    behind = [np.array(row.behind) for row in rows]
    nothing = Calibration().nothing
    return np.array(
        [float(log_odds_behind(*pair, nothing)) for pair in zip(first, behind, strict=True)]
    )


def print_shares(title: str, rows: list[Judged], passes: np.ndarray) -> None:
    cells = []
    for name in (*SETS, "all"):
        mine = np.array([name in ("all", row.set) for row in rows])
        right = np.array([row.answerable for row in rows])
        kept, emptied = passes[mine & right].mean(), 1 - passes[mine & ~right].mean()
        cells.append(f"{kept:.3f} / {emptied:.3f}")
    print(f"| {title} | " + " | ".join(cells) + " |")


def print_sizes(title: str, rows: list[Judged], passes: np.ndarray) -> None:
    """Print kept, emptied and near emptied by the number of rows, as means of the sets."""
    cells = []
    for size in (*SIZES, None):
        kinds = [(True, False), (False, False)] + [(False, True)] * (size is not None)
        shares = []
        for kind in kinds:
            of_sets = [
                [passes[place] == kind[0] for place, row in enumerate(rows)
                 if (row.set, row.size, row.answerable, row.is_near) == (name, size, *kind)]
                for name in SETS
            ]  # fmt: skip
            shares.append(float(np.mean([np.mean(right) for right in of_sets if right])))
        cells.append(" / ".join(f"{share:.3f}" for share in shares))
    print(f"| {title} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    every = [row for name in SETS for row in gather(parser.parse_args().data, name)]
    seen = np.array([row.relevance for row in every])
    crossed = np.zeros(len(every), bool)
    for fold in range(FOLDS):
        mine = np.array([row.fold == fold for row in every])
        weights = fitted([row for row in every if row.fold != fold])
        crossed[mine] = odds_of([row for row in every if row.fold == fold], weights) >= AT_FLOOR
    whole = np.array([row.size is None for row in every])
    rows = [row for row in every if row.size is None]
    print("| kept / emptied | " + " | ".join((*SETS, "all")) + " |\n|---|" + "---|" * 5)
    for floor in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9):
        print_shares(f"floor {floor}", rows, seen[whole] >= floor)
    print_shares("floor 0.75, cross-validated", rows, crossed[whole])
    print_shares("digest not empty", rows, np.array([not row.is_empty for row in rows]))
    sizes = " | ".join([*map(str, SIZES), "whole"])
    print(f"\n| kept / emptied / near emptied | {sizes} |\n|---|" + "---|" * (len(SIZES) + 1))
    print_sizes("floor 0.75", every, seen >= FLOOR)
    print_sizes("floor 0.75, cross-validated", every, crossed)
    names = ("constant", *Measures._fields)
    print(dict(zip(names, fitted(every).round(2).tolist(), strict=True)))


if __name__ == "__main__":
    main()
