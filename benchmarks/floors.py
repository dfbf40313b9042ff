"""Where the relevance floor goes when answers use what they should.

    PYTHONPATH=benchmarks python benchmarks/floors.py --data DIR

Development questions of a conversation are asked in a random order, as they are or with as many
foreign ones among them (another conversation's, the names exchanged); of each digest the turns are
"used" that are evidence for the question. Printed for two ways of counting false positives: how
often anything was used, and the floor after each decision. Nothing here was fitted.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abstention import exchanged
from harness import SimonidesAdapter
from ranking import read_set

from simonides.domain.policy.floors import FeedbackRules, FloorState, Served

BASE = 0.75
ASKED = 160
"""Questions of each conversation: eight decisions."""

RULES = FeedbackRules()


def questions(mine: Any, theirs: Any, *, foreign: bool) -> list[tuple[str, set[str]]]:
    """Return questions with their evidence, which foreign ones have none of."""
    chance = random.Random(1)
    _, items, asked = mine
    found = [(q["question"], set(q["evidence_item_ids"])) for q in asked if q["evidence_item_ids"]]
    if foreign:
        _, their_items, their_asked = theirs
        others = [q["question"] for q in their_asked if q["evidence_item_ids"]]
        taken = chance.sample(others, min(len(found), len(others)))
        found += [(exchanged(text, their_items, items), set()) for text in taken]
    chance.shuffle(found)
    return found[:ASKED]


def played(memory: Any, asked: list[tuple[str, set[str]]], *, by_memory: bool) -> Iterator[Any]:
    """Yield for each question whether it had a hit, and the floor after it.

    ``by_memory`` counts each memory that went unused: a read in vain as often as such memories
    are among those that were shown. It is what the product does not do.
    """
    state, admitted, unused = FloorState(), 0, 0
    for number, (text, gold) in enumerate(asked):
        digest = memory.digest(text, min_relevance=state.floor(BASE, RULES))
        ids = {item.record.metadata["item_id"] for item in digest.items}
        hit = bool(ids & gold)
        seen = Served(digest.receipt.at, str(number), hit, bool(ids), bool(ids) and not hit)
        shift, decided = state.shift, state.reads + 1 == RULES.reads
        admitted, unused = admitted + len(ids), unused + len(ids - gold)
        state = state.after(seen, BASE, RULES)
        if decided and by_memory:
            share = unused / admitted if admitted else 0.0
            step = RULES.step if share > RULES.max_false_positives else 0.0
            if not step and (state.hit_rate or 0.0) < RULES.min_hit_rate:
                step = -RULES.step
            to = min(max(BASE + shift + step, RULES.least), RULES.most)
            state, admitted, unused = FloorState(shift=round(to - BASE, 6)), 0, 0
        yield hit, state.floor(BASE, RULES) if decided else None


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--data", type=Path, required=True)
    given.add_argument("--set", default="locomo")
    options = given.parse_args()
    conversations = list(read_set(options.data, options.set))
    adapter = SimonidesAdapter()
    for place, mine in enumerate(conversations):
        adapter.add({"role": mine[0], "content": mine[1]})
        memory = adapter._memory(mine[0])
        for foreign in (False, True):
            asked = questions(
                mine, conversations[(place + 1) % len(conversations)], foreign=foreign
            )
            for by_memory in (False, True):
                seen = list(played(memory, asked, by_memory=by_memory))
                hits = sum(hit for hit, _ in seen)
                floors = " ".join(f"{floor:.2f}" for _, floor in seen if floor is not None)
                what = "half foreign" if foreign else "answerable  "
                counted = "memories" if by_memory else "reads   "
                print(f"{mine[0]:<10} {what} by {counted} hits {hits:>3}/{len(asked)}  {floors}")
    adapter.close()


if __name__ == "__main__":
    main()
