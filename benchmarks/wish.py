"""Train the heads of the encoder: what asks for work, and what states a standing wish.

    python -m benchmarks.wish DATA OUT  # after `benchmarks.fit collect DATA OUT everyday`

A message of the everyday set is a wish if it is evidence of a question of category rule; such a
question asks for work. Further examples are the project's own sentences; blind ones stay blind.
Each person is measured with heads and weight of the others; then src/…/minilm/heads.npy is written.
"""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from benchmarks.fit import CachedEncoder, figures, lines, turns_of
from scipy.optimize import minimize_scalar

from simonides.models import encoder
from simonides.recall.question import Form
from simonides.recall.rank import CLOSER, FIRST
from simonides.recall.relevance import logistic

L2, OWN = 3.0 / 16.0, 0.3
"""Of .3 to 10 in sixteenths, and the share of an own sentence, of 0, .3 and 1: by the area under
the curve of people that were not trained on. The figures of ranking differ little."""

KINDS = {
    "pairs": "rule", "rules": "rule", "safe": "rule", "ordinary": "said", "talk": "said",
    "slots": "said", "updates": "said", "stays": "said",
}  # fmt: skip

Texts = dict[str, float]
Examples = tuple[Texts, Texts]


def person(folder: Path) -> Examples:
    """Return the messages and the questions of a person, each with its label."""
    asked = lines(folder / "queries.jsonl")
    rules = [each for each in asked if each["category"] == "rule"]
    gold = {id for each in rules for id in each["evidence_item_ids"]}
    said = [row for row in lines(folder / "corpus.jsonl") if row["speaker"] == "user"]
    return (
        {row["text"]: float(row["item_id"] in gold) for row in said},
        {each["question"]: float(each["category"] == "rule") for each in asked},
    )


def own() -> Examples:
    """Return the project's sentences and questions; a question's last words are no task, too."""
    said, asked = Texts(), Texts()
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        for kind, entries in yaml.safe_load(path.read_text("utf-8")).items():
            for each in entries:
                if kind not in KINDS or each.get("blind"):
                    continue
                is_rule = float(KINDS[kind] == "rule")
                texts = [each[name] for name in ("rule", "said", "old", "new") if name in each]
                said |= dict.fromkeys(texts, is_rule)
                if "task" in each:
                    asked[each["task"]] = 1.0
                elif "ask" in each:
                    asked[each["ask"]] = 0.0
                    asked[" ".join(re.findall(r"\w{4,}", each["ask"])[-2:])] = 0.0
    return said, asked


def heads(people: Sequence[Examples], own: Examples, encode: CachedEncoder) -> np.ndarray:
    """Return both heads, that of questions first."""
    return np.stack([
        head([(t, y, 1.0) for each in people for t, y in each[n].items()]
             + [(t, y, OWN) for t, y in own[n].items()], encode)
        for n in (1, 0)
    ])  # fmt: skip


def head(examples: Sequence[tuple[str, float, float]], encode: CachedEncoder) -> np.ndarray:
    """Return a logistic regression of text, label and share by Newton's method."""
    x = np.c_[encode.encode([text for text, _, _ in examples]), np.ones(len(examples))]
    y, share = (np.array([each[n] for each in examples]) for n in (1, 2))
    w, penalty = np.zeros(x.shape[1]), np.r_[np.full(x.shape[1] - 1, L2), 1e-6]
    for _ in range(50):
        p = logistic(x @ w)
        slope = x.T @ (share * (p - y)) + penalty * w
        step = np.linalg.solve((x.T * (share * p * (1 - p))) @ x + np.diag(penalty), slope)
        w -= step
        if np.abs(step).max() < 1e-6:
            break
    return w.astype(np.float32)


def wish(asked: Mapping[str, Any], given: np.ndarray) -> Any:
    """Return the signal as `recall.signals.wish` does; none for a turn of a running talk."""
    asks, states = given
    of_work = logistic(asked["asked"] @ asks[:-1] + asks[-1]) * (asked["form"] != "message")
    return of_work * logistic(asked["vectors"].astype(np.float32) @ states[:-1] + states[-1])


def plain(asked: Mapping[str, Any], stage: Any = CLOSER) -> Any:
    """Return the sum of the other signals."""
    found, weights = asked["evidence"], stage[Form(asked["form"])]
    return sum(w * found[n] for n, w in weights.items() if n in found and n != "wish")


def weight(rows: Sequence[tuple[Any, Any, Any]]) -> float:
    """Return the weight that makes the evidence most probable."""

    def loss(w: float) -> float:
        total = 0.0
        for others, signal, gold in rows:
            p = np.exp(others + w * signal - np.max(others))
            total -= np.log(p[gold].sum() / p.sum() + 1e-12)
        return float(total)

    return float(minimize_scalar(loss, bounds=(0.0, 10.0), method="bounded").x)


def main() -> None:
    data, out = map(Path, sys.argv[1:])
    encode = CachedEncoder(out / "encoded.pkl")
    folders = sorted(each for each in (data / "everyday").iterdir() if each.is_dir())
    people, sentences = [person(folder) for folder in folders], own()
    talks = pickle.loads((out / "everyday.pkl").read_bytes())
    talks = [[turns_of(asked) for asked in talk if not asked["abstain"]] for talk in talks]

    def without(*left_out: int) -> np.ndarray:
        chosen = [each for n, each in enumerate(people) if n not in left_out]
        return heads(chosen, sentences, encode)

    for name, stage in (("first", FIRST), ("closer", CLOSER)):
        weights = []
        for number, talk in enumerate(talks):
            rows = [
                (plain(asked, stage), wish(asked, given), asked["gold"])
                for other in range(len(talks)) if other != number
                for given in [without(number, other)]
                for asked in talks[other] if asked["gold"].any()
            ]  # fmt: skip
            weights.append(weight(rows))
            for asked in talk:
                asked["before"] = plain(asked, stage)
                asked["after"] = plain(asked, stage) + weights[-1] * wish(asked, without(number))
        print(name, "weights", np.round(weights, 2).tolist())
        for kind, is_rule in (("rule", True), ("others", False)):
            chosen = [[a for a in talk if (a["category"] == "rule") is is_rule] for talk in talks]
            for column in ("before", "after"):
                found = figures(chosen, lambda asked, column=column: asked[column])
                print(f"  {kind:6} {column:6}", " ".join(f"{value:.3f}" for value in found[:3]))
    encode.close()
    np.save(encoder.WEIGHTS / "heads.npy", without())


if __name__ == "__main__":
    main()
