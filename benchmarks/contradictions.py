"""How rules alone tell contradiction, update and neither, on 300 pairs of public annotations.

    python benchmarks/contradictions.py DATA [--pairs FILE] [--show RELATION]

`DATA` holds the development conversations of BEAM, LoCoMo and `precision` (BEAM is CC BY-SA, LoCoMo
CC BY-NC), so that a row names the two items and their label and holds no text; `--pairs` writes the
rows. What is labelled, and by what:

* ``update``: the first and the deciding evidence of a BEAM ``knowledge_update`` question; a belief
  of `precision` and the one that superseded it;
* ``contradiction``: the two sides of a BEAM ``contradiction_resolution`` question;
* ``neither``: evidence that belongs together (LoCoMo ``multi_hop``, BEAM
  ``multi_session_reasoning``, said by one person), beliefs of `precision` that hold at once, and,
  to fill up, what one person of LoCoMo said at two times that is nearest by cosine. The first three
  are *additive*: both are true, by annotation. The last are taken to be so because LoCoMo's people
  contradict themselves by accident only; nobody has read them all.

Turns are judged as they were said, up to some hundred words each, which is harder than memories of
a sentence.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simonides.hygiene.contradiction.rules import compare
from simonides.providers.embeddings.static import StaticEmbedder

PAIRS = 300
LABELS = ("contradiction", "update", "neither")


class Pair(NamedTuple):
    """One row: two items by their ids, the older first, and what they are to each other."""

    source: str
    older: str
    newer: str
    label: str


def rows(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class Corpus:
    """The items of one set, by id, in their order."""

    def __init__(self, place: Path) -> None:
        self.items = {str(row["item_id"]): row for row in rows(place / "corpus.jsonl")}
        self.queries = rows(place / "queries.jsonl")
        self.order = {id: number for number, id in enumerate(self.items)}

    def text(self, id: str) -> str:
        row = self.items[id]
        return str(row.get("text_raw") or row["text"])

    def evidence(self, category: str) -> Iterator[tuple[dict[str, object], list[str]]]:
        """Yield questions of a category with the user's turns that answer them, oldest first."""
        for query in self.queries:
            if query["category"] == category:
                named = query["evidence_item_ids"]
                assert isinstance(named, list)
                known = [id for id in named if id in self.items]
                yield query, sorted(known, key=self.order.__getitem__)


def figures_of(text: str) -> set[str]:
    words = text.replace(",", "").replace("$", " ").replace("%", " ").split()
    return {word.strip(".:;()") for word in words if any(map(str.isdigit, word))}


def of_beam(beam: Corpus) -> Iterator[Pair]:
    for query, ids in beam.evidence("knowledge_update"):
        told = figures_of(str(query["answer"]))
        deciding = [id for id in ids[1:] if told & figures_of(beam.text(id))] or ids[1:]
        if deciding:
            yield Pair("beam", ids[0], deciding[0], "update")
    for _, ids in beam.evidence("contradiction_resolution"):
        denying = [id for id in ids if "never" in beam.text(id).lower()]
        saying = [id for id in ids if id not in denying]
        if denying and saying:
            older, newer = sorted((denying[0], saying[0]), key=beam.order.__getitem__)
            yield Pair("beam", older, newer, "contradiction")
    for _, ids in beam.evidence("multi_session_reasoning"):
        for older, newer in pairwise(ids):
            yield Pair("beam", older, newer, "neither")


def of_precision(precision: Corpus) -> Iterator[Pair]:
    live = []
    for id, row in precision.items.items():
        if row.get("superseded_by") in precision.items:
            yield Pair("precision", id, str(row["superseded_by"]), "update")
        elif row["status"] == "active":
            live.append(id)
    for cosine, older, newer in nearest(precision, live)[:30]:
        if cosine > 0:
            yield Pair("precision", older, newer, "neither")


def nearest(corpus: Corpus, ids: list[str]) -> list[tuple[float, str, str]]:
    """Return all pairs of some items, the nearest first."""
    vectors = StaticEmbedder().encode([corpus.text(id) for id in ids])
    cosines = np.triu(vectors @ vectors.T, 1)
    order = np.argsort(-cosines, axis=None, kind="stable")[:4_000].tolist()
    places = [divmod(place, len(ids)) for place in order]
    return [(float(cosines[a, b]), ids[a], ids[b]) for a, b in places]


def of_locomo(locomo: Corpus) -> Iterator[Pair]:
    for _, ids in locomo.evidence("multi_hop"):
        for older, newer in pairwise(ids):
            if locomo.items[older]["speaker"] == locomo.items[newer]["speaker"]:
                yield Pair("locomo", older, newer, "neither")


def filling(locomo: Corpus) -> Iterator[Pair]:
    found = []
    people = {(row["conv_id"], row["speaker"]) for row in locomo.items.values()}
    for person in sorted(people, key=str):
        said = [
            id
            for id, row in locomo.items.items()
            if (row["conv_id"], row["speaker"]) == person and len(locomo.text(id)) > 40
        ]
        found += nearest(locomo, said)
    for cosine, older, newer in sorted(found, key=lambda each: (-each[0], each[1:])):
        if (
            cosine < 0.999
            and locomo.items[older]["session_id"] != locomo.items[newer]["session_id"]
        ):
            yield Pair("locomo-near", older, newer, "neither")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--show", choices=LABELS)
    given = parser.parse_args()
    names = {"beam": "beam_100k", "locomo": "locomo", "precision": "precision"}
    sets = {name: Corpus(given.data / place / "dev") for name, place in names.items()}
    chosen = [*of_beam(sets["beam"]), *of_precision(sets["precision"]), *of_locomo(sets["locomo"])]
    pairs = list(dict.fromkeys(chosen))
    for pair in filling(sets["locomo"]):
        if len(pairs) >= PAIRS:
            break
        if pair not in pairs:
            pairs.append(pair)
    counted: Counter[tuple[str, str]] = Counter()
    collateral: Counter[str] = Counter()
    for pair in pairs:
        corpus = sets[pair.source.split("-")[0]]
        verdict = compare(corpus.text(pair.older), corpus.text(pair.newer))
        counted[pair.label, verdict.relation.value] += 1
        if pair.label == "neither" and verdict.relation == "update":
            collateral[pair.source] += 1
        if given.show == pair.label:
            print(
                f"\n{verdict.reason}\n  - {corpus.text(pair.older)}\n  - {corpus.text(pair.newer)}"
            )
    if given.pairs is not None:
        lines = (json.dumps(pair._asdict()) + "\n" for pair in pairs)
        given.pairs.write_text("".join(lines), encoding="utf-8")
    print(f"{len(pairs)} pairs: {dict(Counter((p.source, p.label) for p in pairs))}")
    print(f"{'labelled':<16}" + "".join(f"{name:>15}" for name in LABELS))
    for label in LABELS:
        print(f"{label:<16}" + "".join(f"{counted[label, name]:>15}" for name in LABELS))
    print(f"true statements that an update would have displaced: {dict(collateral)}")


if __name__ == "__main__":
    main()
