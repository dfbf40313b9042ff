"""What is left of something after the user has asked to forget it: in turns, notes, summaries.

    python -m benchmarks.forgetting benchmarks/forgetting.yaml [--all] [--derived | --by-id]

Each story of the file has talks, notes of an agent, a request, and expressions that must match
nothing, or something, that is stored afterwards. A question that the request leaves is
approved, if it proposes anything. --all prints what went wrong in each story.

With --by-id no request is made: the user's statements that match are forgotten by their ids, but
for those that are to stay in part. With --derived the assistant says nothing of its own, and the
user's statements themselves are forgotten, so that all that is left would be what the program
derived: facts, summaries, receipts.
"""

from __future__ import annotations

import argparse
import contextlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

import simonides
from simonides import Draft
from simonides.testing import ManualClock


def told(
    store: simonides.Store, name: str, story: dict[str, Any], *, with_agents: bool = True
) -> simonides.Memory:
    """Tell a story up to its request."""
    memory = store.memory(user=name, agent="helper")
    for number, talk in enumerate(story["talks"]):
        session = memory.session(f"talk {number}")
        for line in talk:
            [(role, text)] = line.items()
            is_kept = role == "user" or with_agents
            session.add({"role": role, "content": text if is_kept else "All right, go on."})
        session.end()
    for note in (story.get("agent_notes") or []) if with_agents else []:
        memory.remember(Draft(note, source="agent_inferred"))
    return memory


def stored(memory: simonides.Memory) -> list[str]:
    """Return all texts that are stored."""
    records = memory.list(limit=1000)
    versions = [each for record in records for each in memory.history(record)]
    texts = [text for each in versions for text in (each.content, each.quote, each.key) if text]
    sessions = [str(each) for each in memory.sessions()]
    return texts + sessions + [str(each) for each in memory.pending.list()]


def matches(pattern: str, texts: list[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for text in texts)


def requested(memory: simonides.Memory, story: dict[str, Any]) -> list[Any]:
    """Ask for it in words; return the questions that this left, which are approved."""
    memory.session("later").add({"role": "user", "content": story["forget"]})
    asked = [each for each in memory.pending.list() if each.kind == "privacy"]
    for each in asked:
        with contextlib.suppress(simonides.InvalidInput):  # nothing is proposed
            memory.pending.approve(each.id)
    return asked


def deleted(memory: simonides.Memory, story: dict[str, Any]) -> list[Any]:
    """Forget what the user said by its ids."""
    for record in memory.list(limit=1000):
        is_meant = any(matches(pattern, [record.content]) for pattern in story["gone"])
        is_mixed = any(matches(pattern, [record.content]) for pattern in story["stay"])
        if record.trust != "agent" and is_meant and not is_mixed:
            with contextlib.suppress(simonides.NotFound):  # it went with another one
                memory.forget(record)
    return []


def judged(
    memory: simonides.Memory, story: dict[str, Any], *, by_id: bool = False
) -> dict[str, list[str]]:
    """Return the expressions that matched before and not as they should after the request."""
    before = stored(memory)
    asked = deleted(memory, story) if by_id else requested(memory, story)
    after = stored(memory)
    stays = [p for p in story["stay"] if matches(p, before)]
    gone = [p for p in story["gone"] if matches(p, before)]
    return {
        "asked": [str(each) for each in asked],
        "gone": gone,
        "stays": stays,
        "left": [p for p in gone if matches(p, after)],
        "lost": [p for p in stays if not matches(p, after)],
        "texts": [text for text in after if any(matches(p, [text]) for p in gone)],
    }


def derived(memory: simonides.Memory, story: dict[str, Any]) -> tuple[bool, list[str]]:
    """Forget the turns that match; return whether derived text did, and what matches still."""
    memory.digest(story["forget"])
    memory.maintenance.consolidate()
    made = [each.content for each in memory.list(limit=1000) if each.category != "turn"]
    has_derived = any(re.search(p, text, re.IGNORECASE) for p in story["gone"] for text in made)
    for record in memory.list(limit=1000):
        is_meant = any(re.search(p, record.content, re.IGNORECASE) for p in story["gone"])
        if record.category == "turn" and is_meant:
            memory.forget(record)
    texts = [*stored(memory), str(memory.digest(story["forget"])), str(memory.profile())]
    left = [p for p in story["gone"] if any(re.search(p, text, re.IGNORECASE) for text in texts)]
    return has_derived, left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--derived", action="store_true")
    parser.add_argument("--by-id", action="store_true")
    given = parser.parse_args()
    counts = Counter[str]()
    with simonides.open(":memory:", clock=ManualClock()) as store:
        for number, story in enumerate(yaml.safe_load(given.file.read_text("utf-8"))):
            if given.derived:
                memory = told(store, f"user{number}", story, with_agents=False)
                has_derived, left = derived(memory, story)
                counts["stories"] += 1
                counts["with derived text"] += has_derived
                counts["nothing left"] += not left
                if left:
                    print(story["name"], left)
                continue
            found = judged(told(store, f"user{number}", story), story, by_id=given.by_id)
            counts["stories"] += 1
            counts["nothing left"] += not found["left"]
            counts["nothing lost"] += not found["lost"]
            counts["asked"] += bool(found["asked"])
            for name in ("gone", "left", "stays", "lost"):
                counts[name] += len(found[name])
            if given.all and (found["left"] or found["lost"]):
                print(f"{story['name']}: {story['forget']}")
                print("   asked" if found["asked"] else "", "left", found["left"])
                print("    lost", found["lost"], *found["texts"], sep="\n      ")
    print(dict(counts))


if __name__ == "__main__":
    main()
