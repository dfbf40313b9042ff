"""Ranking as research: the evidence of every development question, and what to make of it.

    python benchmarks/ranking.py --data DIR show      figures of the default weights
    python benchmarks/ranking.py --data DIR fit       weights fitted to all conversations
    python benchmarks/ranking.py --data DIR cross     figures of weights fitted without the
                                                      conversation that is asked about
    python benchmarks/ranking.py --data DIR ablate    the same, with one piece left out at a time

DIR holds the development sets (``locomo/dev/corpus.jsonl`` …). Every item is written and every
question asked once, through the public API; what the ranking saw is kept in memory (and in
``--cache FILE``), and fusions are then tried in seconds. Weights are fitted as a softmax
regression: the evidence turns of a question against the other rows of its pool, for each form of
query apart. Each set counts as :data:`SHARES` says, whatever its size. Cross-validation
has four folds; a conversation is never both fitted and asked, in any set that shares it.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from harness import SimonidesAdapter

import simonides.engine.recall.reader as reading
from simonides.domain.value import to_us
from simonides.ports import TYPICAL_UNRELATED
from simonides.retrieval.query.cues import said_at
from simonides.retrieval.ranking.evidence import NAMES, form_of, gather_evidence
from simonides.retrieval.ranking.fusion import Fusion
from simonides.retrieval.ranking.signals import Signals
from simonides.retrieval.ranking.versions import newest_first
from simonides.text.questions.intent import Form

SHARES = {
    "locomo": 1.0,
    "realtalk": 1.0,
    "beam_100k": 0.7,
    "realmem": 0.7,
    "locomo_plus": 0.4,
    "memdaily_zh": 0.1,
}
"""Weight of each set in a fit: conversations most, short Chinese histories least."""
FOLDS = 4
DEPTH = 50
"""Hits that are looked at, as the evaluation asks for them."""
HEADER = (
    ("locomo", "R@1 R@5 R@10 nDCG"),
    ("locomo adversarial", "R@10"),
    ("realtalk", "R@5 R@10 nDCG"),
    ("beam_100k", "R@5 R@10 nDCG new<old"),
    ("locomo_plus", "R@10"),
    ("realmem", "R@10 sessR@10"),
    ("memdaily_zh", "R@5 R@10"),
)


Fitted = Mapping[Form, np.ndarray]
"""Weights in the order of ``NAMES``, by the form of the query."""


class Standing:
    """What :func:`newest_first` looks at in a pool, without the pool, so that it can be cached."""

    def __init__(self, pool: Any) -> None:
        self.dimensions = pool.dimensions
        self.entry = {name: np.array(pool.entry[name]) for name in ("speaker", "turn")}
        self._said = pool.cached(said_at)
        self._vectors = pool.vectors(np.arange(len(pool))).astype(np.int8)

    def __len__(self) -> int:
        return len(self._said)

    def once(self, make: Any) -> np.ndarray:
        assert make is said_at
        return self._said

    def vectors(self, slots: np.ndarray) -> np.ndarray:
        return self._vectors[slots].astype(np.float32)


@dataclass
class Asked:
    """One question and what the ranking saw of it; ``evidence`` is (rows, pieces) before weights,
    ``standing`` is there where of two versions the newer one is wanted.
    """

    set: str
    conversation: str
    question: Mapping[str, Any]
    items: list[str]
    sessions: list[str]
    gold: np.ndarray
    evidence: np.ndarray
    form: Form
    standing: Standing | None = None
    unrelated: float = TYPICAL_UNRELATED
    group: str = field(init=False)

    def __post_init__(self) -> None:
        adversarial = self.question["category"] == "adversarial"
        self.group = f"{self.set} adversarial" if adversarial else self.set

    def scores(self, weights: Fitted) -> np.ndarray:
        total = self.evidence @ weights[self.form]
        return total if self.standing is None else total + self._lifts(total)

    def _lifts(self, total: np.ndarray) -> np.ndarray:
        return newest_first(self.standing, total, self.unrelated)


class Watched(SimonidesAdapter):
    """The adapter of the evaluation, keeping the pool and the query of the last search."""

    def search(self, conv_id: str, query: str, k: int, now: str) -> list[str]:
        plain = reading.rank

        def watching(pool: Any, asked: Any, *rest: Any, **named: Any) -> Any:
            self.pool, self.query, self.clock = pool, asked, rest[2]
            return plain(pool, asked, *rest, **named)

        reading.rank = watching
        try:
            return super().search(conv_id, query, k, now)
        finally:
            reading.rank = plain

    def signals(self) -> Signals:
        """Return the signals of the last search."""
        query = self.query
        asked = (query.term_ids, query.vector, query.question)
        return Signals(self.pool, *asked, to_us(self.clock), 30.0, query.unrelated, query.aliases)


# -- gathering -------------------------------------------------------------------------------


def read_set(data: Path, name: str) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Yield each conversation of a set with its items and questions, in order."""
    items: dict[str, list[Any]] = defaultdict(list)
    questions: dict[str, list[Any]] = defaultdict(list)
    for file, rows in (("corpus", items), ("queries", questions)):
        for line in (data / name / "dev" / f"{file}.jsonl").open(encoding="utf-8"):
            row = json.loads(line)
            rows[row["conv_id"]].append(row)
    for conversation in sorted(items):
        asked = questions[conversation]
        asked.sort(key=lambda question: question.get("as_of_seq", math.inf))
        yield conversation, items[conversation], asked


def gather_set(
    data: Path, name: str, embedder: str = "static", conversations: int | None = None
) -> Iterator[Asked]:
    """Write a set, or its first conversations by name, ask its questions, and yield what the
    ranking saw.
    """
    adapter = Watched(embedder=embedder)
    for conversation, items, questions in islice(read_set(data, name), conversations):
        written = 0
        last = standing = None
        sessions = {item["item_id"]: item["session_id"] for item in items}
        for question in questions:
            upto = min(question.get("as_of_seq", len(items)), len(items))
            if upto > written:
                adapter.add({"role": conversation, "content": items[written:upto]})
                written = upto
            adapter.search(conversation, question["question"], 1, question["question_date"])
            pool, signals = adapter.pool, adapter.signals()
            if pool is not last:
                last, standing = pool, Standing(pool)
            seen = gather_evidence(pool, signals)
            ids = [pool.memory(slot).metadata["item_id"] for slot in range(len(pool))]
            gold = set(question["evidence_item_ids"])
            columns = [seen.get(piece, np.zeros(len(pool))) for piece in NAMES]
            yield Asked(
                name,
                conversation,
                question,
                ids,
                [sessions[id] for id in ids],
                np.array([id in gold for id in ids], bool),
                np.stack(columns, axis=1).astype(np.float32),
                form_of(pool, signals),
                standing if signals.question.wants_latest else None,
                signals.unrelated,
            )
    adapter.close()


# -- figures ---------------------------------------------------------------------------------


def figures(asked: Asked, scores: np.ndarray) -> dict[str, float]:
    """Return the figures of one question, as the evaluation defines them."""
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    found: dict[str, float] = {}
    gold = len(set(asked.question["evidence_item_ids"]))
    if gold:
        hits = asked.gold[order]
        found = {f"R@{k}": hits[:k].sum() / gold for k in (1, 5, 10)}
        discount = 1 / np.log2(np.arange(2, 12))
        found["nDCG"] = (hits[:10] * discount[: len(hits[:10])]).sum() / discount[:gold].sum()
    wanted = set(asked.question.get("evidence_session_ids") or ())
    if wanted:
        sessions = list(dict.fromkeys(asked.sessions[slot] for slot in order))
        found["sessR@10"] = len(wanted & set(sessions[:10])) / len(wanted)
    roles = asked.question.get("evidence_roles") or {}
    if set(roles) == {"original_info", "updated_info"}:
        place = {asked.items[slot]: at for at, slot in enumerate(order)}
        old, new = (
            min((place.get(id, DEPTH) for id in roles[role]), default=DEPTH)
            for role in ("original_info", "updated_info")
        )
        found["new<old"] = float(new < old)
    return found


def means(scored: Sequence[tuple[Asked, np.ndarray]], by_category: bool = False) -> Any:
    sums: dict[tuple[str, str], list[float]] = defaultdict(list)
    for asked, scores in scored:
        groups = [asked.group]
        if by_category:
            groups.append(f"{asked.set} / {asked.question['category']}")
        for name, value in figures(asked, scores).items():
            for group in groups:
                sums[group, name].append(value)
    return {key: float(np.mean(values)) for key, values in sums.items()}


def print_header(extra: str = "") -> None:
    cells = [f"{group} {name}" for group, names in HEADER for name in names.split()]
    print(f"| {extra} | " + " | ".join(cells) + " |\n|---|" + "---|" * len(cells))


def print_row(title: str, found: Mapping[tuple[str, str], float]) -> None:
    keys = [(group, name) for group, names in HEADER for name in names.split()]
    cells = [f"{found.get(key, math.nan):.3f}".removeprefix("0") for key in keys]
    print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


# -- fitting ---------------------------------------------------------------------------------


def fit(rows: Sequence[Asked], pieces: Sequence[int], steps: int = 200) -> Fitted:
    """Return weights of some pieces that make the evidence turns most likely; others are 0."""
    used = [row for row in rows if row.gold.any() and row.set in SHARES]
    counts = Counter(row.set for row in used)
    share = {name: SHARES[name] / counts[name] for name in counts}
    return {
        form: fit_one([row for row in used if row.form is form], share, pieces, steps)
        for form in Form
    }


def fit_one(
    used: Sequence[Asked], share: Mapping[str, float], pieces: Sequence[int], steps: int
) -> np.ndarray:
    if not used:
        return np.zeros(len(NAMES))
    parts = [row.evidence[:, pieces] for row in used]
    targets = [row.gold / row.gold.sum() for row in used]
    shares = np.array([share[row.set] for row in used])
    fitted = np.zeros(len(NAMES))
    sizes = [len(part) for part in parts]
    fitted[list(pieces)] = softmax_regression(parts, targets, shares, sizes, steps)
    return fitted


def softmax_regression(
    parts: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    shares: np.ndarray,
    sizes: Sequence[int],
    steps: int,
    penalty: float = 3e-4,
    rate: float = 0.06,
) -> np.ndarray:
    """Minimise the shared-out cross-entropy with a small squared penalty, by Adam."""
    matrix, target = np.concatenate(parts), np.concatenate(targets)
    across = np.ascontiguousarray(matrix.T)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    share = (shares / shares.sum())[of_row]
    weights = np.zeros(matrix.shape[1])
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        scores = matrix @ weights.astype(np.float32)
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[of_row])
        chance = odds / np.add.reduceat(odds, starts)[of_row]
        slope = across @ ((chance - target) * share).astype(np.float32) + penalty * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope * slope
        pace = rate * (1.0 if step < 0.7 * steps else 0.3)
        scale = np.sqrt(second / (1 - 0.99**step)) + 1e-8
        weights -= pace * (first / (1 - 0.9**step)) / scale
    return weights


def folds(rows: Sequence[Asked]) -> dict[str, int]:
    """Return the fold of each conversation; ``plus-X`` holds conversation ``X`` too."""
    fold: dict[str, int] = {}
    for name in SHARES:
        ids = sorted({row.conversation for row in rows if row.set == name})
        fold |= {id: place % FOLDS for place, id in enumerate(ids)}
    return fold


def cross(rows: Sequence[Asked], pieces: Sequence[int]) -> list[tuple[Asked, np.ndarray]]:
    """Score every question by weights that were fitted without its conversation."""
    fold = folds(rows)
    scored = []
    for left_out in range(FOLDS):
        weights = fit([row for row in rows if fold[row.conversation] != left_out], pieces)
        asked = [row for row in rows if fold[row.conversation] == left_out]
        scored += [(row, row.scores(weights)) for row in asked]
    return scored


DEFAULT: Fitted = {
    form: np.array([asdict(Fusion().weights_of(form))[name] for name in NAMES]) for form in Form
}


# -- commands --------------------------------------------------------------------------------


def show(rows: Sequence[Asked], by_category: bool = True) -> None:
    print_header("default weights")
    found = means([(row, row.scores(DEFAULT)) for row in rows], by_category)
    print_row("development, as tuned", found)
    for group in sorted({key[0] for key in found if " / " in key[0]}):
        cells = [f"{name} {found[group, name]:.3f}" for name in ("R@1", "R@5", "R@10", "nDCG")
                 if (group, name) in found]  # fmt: skip
        print(f"{group}: {', '.join(cells)}")


def show_fit(rows: Sequence[Asked]) -> None:
    weights = fit(rows, range(len(NAMES)), steps=400)
    print(f"{'default / fitted':16}" + "".join(f"{form:>18}" for form in Form))
    for place, name in enumerate(NAMES):
        pairs = [f"{DEFAULT[form][place]:.2f} / {weights[form][place]:.3f}" for form in Form]
        print(f"{name:16}" + "".join(f"{pair:>18}" for pair in pairs))
    print_header("")
    print_row("fitted", means([(row, row.scores(weights)) for row in rows]))


def show_cross(rows: Sequence[Asked]) -> None:
    print_header("cross-validated")
    print_row("all pieces", means(cross(rows, range(len(NAMES)))))


def ablate(rows: Sequence[Asked]) -> None:
    print_header("cross-validated")
    every = range(len(NAMES))
    print_row("all pieces", means(cross(rows, every)))
    for place, name in enumerate(NAMES):
        print_row(f"without {name}", means(cross(rows, [p for p in every if p != place])))
    for row in rows:
        row.standing = None
    print_row("without newest first", means(cross(rows, every)))


def gathered(
    data: Path,
    names: Sequence[str],
    cache: Path | None,
    embedder: str = "static",
    conversations: int | None = None,
) -> list[Asked]:
    if cache is not None and cache.exists():
        rows: list[Asked] = pickle.loads(cache.read_bytes())
        return rows
    rows = [row for name in names for row in gather_set(data, name, embedder, conversations)]
    if cache is not None:
        cache.write_bytes(pickle.dumps(rows))
    return rows


COMMANDS: Mapping[str, Callable[[Sequence[Asked]], None]] = {
    "show": show,
    "fit": show_fit,
    "cross": show_cross,
    "ablate": ablate,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SHARES))
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--conversations", type=int, help="of each set, the first so many by name")
    parser.add_argument("command", choices=sorted(COMMANDS), nargs="+")
    chosen = parser.parse_args()
    sets, embedder, most = chosen.sets.split(","), chosen.embedder, chosen.conversations
    rows = gathered(chosen.data, sets, chosen.cache, embedder, most)
    for command in chosen.command:
        COMMANDS[command](rows)


if __name__ == "__main__":
    main()
