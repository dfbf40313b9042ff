"""Which of many real sentences the near gates hold to be one statement, and which they keep apart.

    python benchmarks/duplicates.py SENTENCES [--show 30]

`SENTENCES` has one statement a line; each is remembered once, as free text of one user, in the
order of the file. Printed are the merges that gates 3 and 4 make, for a person to judge, and beside
them the pairs that the bare numbers (Jaccard ≥ 0.85, cosine > 0.95) would have merged: what
lies between is what the rule of `text/similarity/same_statement.py` told apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import simonides
from simonides import Draft
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.text.similarity.same_statement import overlap, read


def merged(sentences: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Return, by gate, each sentence that is held to be a repetition, and of which."""
    found: dict[str, list[tuple[str, str]]] = {"near_text": [], "near_meaning": []}
    with simonides.open(":memory:") as store:
        ana = store.memory(user="ana")
        for sentence in sentences:
            outcome = ana.remember(Draft(sentence, kind="semantic"))
            for gate, pairs in found.items():
                if gate in outcome.reasons and outcome.record is not None:
                    pairs.append((outcome.record.content, sentence))
        counted = ana.maintenance.metrics()
        print("writes", {k: v for k, v in counted["writes"].items() if v})
        print("dedups", {k: v for k, v in counted["dedups"].items() if v})
    return found


def by_numbers(sentences: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the pairs that the thresholds alone would merge, by which of them."""
    vectors = StaticEmbedder().encode(sentences)
    said = [read(sentence) for sentence in sentences]
    found: dict[str, list[tuple[str, str]]] = {"jaccard": [], "cosine": []}
    for place, vector in enumerate(vectors):
        cosines = vectors[:place] @ vector
        for other in np.flatnonzero(cosines > 0.8).tolist():
            pair = sentences[other], sentences[place]
            if overlap(said[other], said[place]) >= 0.85:
                found["jaccard"].append(pair)
            elif cosines[other] > 0.95:
                found["cosine"].append(pair)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--show", type=int, default=30)
    given = parser.parse_args()
    lines = given.sentences.read_text(encoding="utf-8").splitlines()
    sentences = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    print(f"{len(sentences)} different sentences")
    for title, found in (("merged", merged(sentences)), ("by numbers", by_numbers(sentences))):
        for name, pairs in found.items():
            print(f"\n{title}, {name}: {len(pairs)}")
            for one, other in pairs[: given.show]:
                print(f"  {one}\n    = {other}")


if __name__ == "__main__":
    main()
