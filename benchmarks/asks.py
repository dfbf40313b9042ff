"""Train what estimates whether a sentence asks something of the memory (`capture/asks.py`).

    python -m benchmarks.asks DATA

Requests and look-alikes are those of `requests.yaml`, of `privacy*.yaml` but the set of
`KEPT_BACK`, and the project's other sentences; blind ones stay blind. Sentences of users in
DATA ask nothing. Five folds give the floor, which `MOST_OTHERS` of these pass; they and
the set kept back are printed, and src/…/capture/asks.npz is written.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import yaml
from benchmarks.fit import lines
from scipy.optimize import minimize

import simonides.capture
from simonides.capture.asks import REACH, features
from simonides.capture.clauses import sentences
from simonides.capture.moods import Mood, Sense, senses
from simonides.models import Encoder

KEPT_BACK = "privacy.fourth"

L2, SHARE, OF_VECTOR = 0.3, 3.0, 2.0
"""Of .3 and 1; the weight of the project's requests against other sentences, of 3 and 10; and the
length of the vector beside the words."""

LEAST_OFTEN = 3
"""Sentences of the project that must hold a word or a pair; chosen."""

MOST_OTHERS = 0.003
FOLDS = 5
MOST_OF_A_SET = 1_500
SETS = "everyday locomo realtalk beam_100k realmem".split()


def own(name: str = "") -> dict[str, bool]:
    """Return the project's sentences, or those of one file, and whether each asks something."""
    found: dict[str, bool] = {}
    for path in sorted(Path(__file__).parent.glob(f"{name or '*'}.yaml")):
        if path.stem.startswith("whose") or (path.stem == KEPT_BACK and not name):
            continue
        for kind, entries in yaml.safe_load(path.read_text("utf-8")).items():
            for each in entries:
                text = each if isinstance(each, str) else each.get("said", "")
                blind = not isinstance(each, str) and each.get("blind")
                if kind in ("requests", "privacy", "looks", "talk", "ordinary") and not blind:
                    found[text] = kind in ("requests", "privacy")
    return found


def others(data: Path) -> Iterator[str]:
    """Yield sentences of users in conversations and messages that are no stories."""
    for name in SETS:
        found: dict[str, None] = {}
        for file in sorted((data / name).rglob("corpus.jsonl")):
            for row in lines(file):
                if row.get("role", row.get("speaker")) != "assistant":
                    found |= dict.fromkeys(sentences(row["text"]))
        chosen = [each for each in found if not any(map(_is_told, senses(each)))]
        yield from chosen[:: len(chosen) // MOST_OF_A_SET + 1]


def _is_told(sense: Sense) -> bool:
    return sense.mood in (Mood.UNREAL, Mood.REPORTED)


def matrix(texts: Sequence[str], known: Sequence[str], encoder: Encoder) -> np.ndarray:
    """Return the features of texts, shape (n, features + dimensions + 1), the last one 1."""
    places = {name: place for place, name in enumerate(known)}
    words = np.zeros((len(texts), len(known)), np.float32)
    for row, text in enumerate(texts):
        found = [places[each] for each in features(text) if each in places]
        words[row, found] = 1 / max(len(found), 1) ** 0.5
    return np.c_[words, OF_VECTOR * encoder.encode(texts), np.ones(len(texts), np.float32)]


def fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression."""
    share = np.where(y, SHARE, 1.0)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        sums = x @ w
        p = 1 / (1 + np.exp(-sums))
        slope = x.T @ (share * (p - y))
        slope[:-1] += L2 * w[:-1]
        lost = (share * np.logaddexp(0, np.where(y, -sums, sums))).sum()
        return float(lost + L2 / 2 * (w[:-1] ** 2).sum()), slope

    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x)


def main() -> None:
    encoder, mine = Encoder(), own()
    often = Counter(each for text in mine for each in features(text))
    known = sorted(each for each, count in often.items() if count >= LEAST_OFTEN)
    texts = [*mine, *(text for text in others(Path(sys.argv[1])) if text not in mine)]
    x, y = matrix(texts, known, encoder), np.array([mine.get(text, False) for text in texts])
    fold = np.random.default_rng(0).integers(0, FOLDS, len(y))
    sums, of_words = np.zeros(len(y)), np.zeros(len(y))
    for number in range(FOLDS):
        here, w = fold == number, fit(x[fold != number], y[fold != number])
        sums[here] = x[here] @ w
        of_words[here] = x[here, : len(known)] @ w[: len(known)] + w[-1]
    of_others = np.sort(sums[len(mine) :])
    floor = of_others[-int(MOST_OTHERS * len(of_others)) - 1]
    is_own, reach = np.arange(len(y)) < len(mine), of_words > floor - REACH
    for name, chosen in (("requests", y), ("looks", ~y & is_own), ("others", ~is_own)):
        passes = ((sums > floor) & reach)[chosen].sum()
        print(f"folds {name} {passes} of {chosen.sum()}, in reach {reach[chosen].sum()}")
    w = fit(x, y)
    for name, asks in (("requests", True), ("looks", False)):
        kept = [text for text, is_request in own(KEPT_BACK).items() if is_request is asks]
        passes = (matrix(kept, known, encoder) @ w > floor).sum()
        print(f"{KEPT_BACK} {name} {passes} of {len(kept)}")
    np.savez_compressed(
        Path(simonides.capture.__file__).with_name("asks.npz"),
        features=np.array(known),
        weights=w[: len(known)].astype(np.float16),
        of_vector=(OF_VECTOR * w[len(known) : -1]).astype(np.float32),
        floor=np.float32(floor - w[-1]),
        model=np.array(encoder.model_id),
    )


if __name__ == "__main__":
    main()
