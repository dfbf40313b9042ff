"""What a digest shows of the evidence that recall finds, and how often it stays empty.

    python -m benchmarks.digest FOLDER locomo realtalk beam_100k

FOLDER holds the development sets of the retrieval evaluation. Each conversation is a user, with its
turns stored verbatim. Printed for each set: the share of questions whose evidence the digest shows,
of those for which the first ten of `recall` hold it; the share of all evidence that the first five
of `recall` hold, and that the digest shows; and the share of questions of *other* conversations for
which the digest shows nothing beside the core block. Half of the conversations
choose nothing and are printed apart.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.harness import SimonidesAdapter

FOREIGN = 60
"""Questions of other conversations that each conversation is asked."""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def measure(folder: Path) -> None:
    dice = random.Random(3)
    items, queries = defaultdict(list), defaultdict(list)
    for item in lines(folder / "corpus.jsonl"):
        items[item["conv_id"]].append(item)
    for query in lines(folder / "queries.jsonl"):
        if not query.get("abstain") and query["evidence_item_ids"]:
            queries[query["conv_id"]].append(query)
    adapter = SimonidesAdapter()
    adapter.reset()
    rows: list[tuple[str | float, ...]] = []
    for conv in items:
        adapter.add(conv, items[conv])
        adapter.flush(conv)
    for conv in items:
        memory, shown = adapter.memory(conv), [0.0] * 6
        for query in queries[conv]:
            adapter.set_time(query["question_date"])
            gold = set(query["evidence_item_ids"])
            hits = memory.recall(query["question"], limit=10)
            first = [hit.record.metadata["item_id"] for hit in hits]
            digest = memory.digest(query["question"])
            ids = {id for item in digest.items for id in item.ids}
            found = {memory.get(id).metadata["item_id"] for id in ids}
            shown[3] += 1
            shown[4] += len(gold.intersection(first[:5])) / len(gold)
            shown[5] += len(gold & found) / len(gold)
            if gold.isdisjoint(first):
                continue
            shown[0] += 1
            shown[1] += bool(gold & found)
            shown[2] += len(digest.text)
        others = [q for each in queries if each != conv for q in queries[each]]
        asked = dice.sample(others, min(FOREIGN, len(others)))
        empty = sum(not memory.digest(query["question"]) for query in asked)
        rows.append((conv, len(items[conv]), *shown, empty, len(asked)))
    for name, chosen in (("even", rows[::2]), ("odd", rows[1::2]), ("all", rows)):
        total = [sum(row[n] for row in chosen) for n in range(2, 10)]
        if total[0] and total[7]:
            shown, empty = total[1] / total[0], total[6] / total[7]
            five, digest = total[4] / total[3], total[5] / total[3]
            print(
                f"{folder.parent.name:<12} {name:<5} {len(chosen):>3} conversations: evidence "
                f"shown {shown:.3f} of {total[0]:.0f}, five hits {five:.3f}, digest {digest:.3f}, "
                f"foreign empty {empty:.3f} of {total[7]}, "
                f"characters {total[2] / total[0]:.0f}"
            )


if __name__ == "__main__":
    for name in sys.argv[2:]:
        measure(Path(sys.argv[1]) / name / "dev")
