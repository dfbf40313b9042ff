"""How much junk extraction by rules stores of real conversations, how memory grows, and whether a
replay adds anything.

    python benchmarks/noise.py --data DIR --seed 1 --rows FILE

DIR holds the development sets ``locomo`` and ``beam_100k``. Every conversation is imported for a
user of its own, session after session, through the end that any session has; no language model
takes part. A talk of two people is imported twice, each of them being the user once and the other
somebody else. ``--sets`` names others of the same form: ``realtalk``, ``realmem``.

FILE gets a row for each of 200 stored facts, drawn with the seed from all that was stored: number,
set, content, key, category, and the quote that it was read from. A person reads them by the
write criteria and marks each as *kept* (an explicit preference or feedback, an important fact of
the user's life or work, an instruction that lasts) or *junk* (of the moment, part of a task that is
asked for, a question, a quotation, no statement about the user, cut so that it says nothing). The
file holds words of the data sets; the judgements alone are kept beside this file
(``noise_judged.md``).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import simonides
from principals import end_transcript
from simonides import Draft
from simonides.api.sync import Store
from simonides.settings import Settings

SETS = ("locomo", "beam_100k")
POLICY = "version: noise audit\nconsolidation:\n  arc_user_turns: 10000\n"
"""Facts are looked at: no session gets a summary."""

EVERYTHING = 1_000_000


def conversations(data: Path, name: str) -> Iterator[tuple[str, list[Draft]]]:
    """Yield each conversation of a set with its turns, in order."""
    turns = defaultdict[str, list[dict[str, Any]]](list)
    with (data / name / "dev" / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            turns[row["conv_id"]].append(row)
    for conversation, rows in turns.items():
        speakers = dict.fromkeys(row["speaker"] for row in rows)
        users = [each for each in speakers if each.casefold() == "user"]
        for user in users or [*speakers][:2]:
            yield f"{conversation}-{user}".replace("/", "-"), [_draft(row, user) for row in rows]


def _draft(row: dict[str, Any], user: str) -> Draft:
    other = "assistant" if row["speaker"].casefold() == "assistant" else "other"
    role = "user" if row["speaker"] == user else other
    return Draft(
        row["text"],
        kind="episodic",
        category="turn",
        session=row["session_id"].replace("/", "-"),
        turn=row["turn"],
        speaker=row["speaker"],
        at=row["timestamp"] + ("" if "+" in row["timestamp"] else "Z"),
        metadata={"role": role},
    )


def main() -> None:
    """Import, count, draw."""
    parser = argparse.ArgumentParser(description="Junk, growth and replay of extraction by rules.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--rows", type=Path, help="Where the drawn rows are written.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.yaml"
        policy.write_text(POLICY)
        with simonides.open(":memory:", settings=Settings(policy=policy)) as store:
            rows = [row for name in given.sets for row in _imported(store, given.data, name)]
    drawn = random.Random(given.seed).sample(rows, min(given.sample, len(rows)))
    print(f"{len(rows)} facts in all; {len(drawn)} drawn with seed {given.seed}")
    if given.rows is not None:
        text = ("\t".join(map(str, (number, *row))) for number, row in enumerate(drawn, start=1))
        given.rows.write_text("\n".join(text) + "\n", encoding="utf-8")


def _imported(store: Store, data: Path, name: str) -> list[tuple[str, ...]]:
    turns, users, held, rows, kinds = 0, 0, 0, list[tuple[str, ...]](), Counter[str]()
    for conversation, drafts in conversations(data, name):
        own = store.memory(user=conversation.replace(" ", "-"))
        reports = end_transcript(own, drafts)
        stored = own.list(limit=EVERYTHING)
        again = end_transcript(own, drafts)
        if own.list(limit=EVERYTHING) != stored or not all(one.already for one in again):
            sys.exit(f"{conversation}: a replay has changed what is stored")
        turns += len(drafts)
        users += sum(report.counts.get("user_turns", 0) for report in reports)
        held += len(own.pending.list(kind="held"))
        kinds.update(memory.category for memory in stored)
        rows += [
            (name, " ".join(m.content.split()), m.key or "", m.category, " ".join(m.quote.split()))
            for m in sorted(stored, key=lambda memory: (memory.origin.session, memory.content))
            if m.quote is not None
        ]
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    grown = 100 * sum(kinds.values()) / turns
    print(
        f"{name}: {turns:,} turns, {users:,} of users; stored {sum(kinds.values())} ({told}), "
        f"{grown:.1f} per 100 turns; {held} held; a replay adds nothing"
    )
    return rows


if __name__ == "__main__":
    main()
