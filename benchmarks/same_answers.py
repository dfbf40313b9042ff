"""The same recalls, byte for byte, from memory, SQLite and PostgreSQL, over public conversations.

    python -m benchmarks.same_answers --data DIR --postgres URL [--set locomo --set memdaily_zh]

``DIR`` holds the sets of the retrieval evaluation (development splits only); ``URL`` is a database
that ``simonides db init`` prepared and that has no rows. Each conversation is a user; a Cyrillic
one is made from a few tables here. Ends with 1 if any answer differs.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import _turn

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.canonical_json import canonical_json
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

BATCH = 500
QUESTIONS = 60
CONVERSATIONS = 10

_WHO = ("Мария", "Иван", "Наша команда", "Соседка с пятого этажа")
_DOES = ("едет в Москву поездом", "читает старую книгу", "любит чёрный чай", "чинит велосипед")
_WHEN = ("по пятницам", "каждое утро", "раз в году", "когда идёт дождь", "после работы")
_ASKED = ("кто едет в Москву?", "чёрный чай", "что делает Иван после работы?", "дождь", "книги")

Conversation = tuple[str, list[simonides.Draft], list[str]]


def cyrillic() -> Conversation:
    """Made-up statements; the forms of their words differ from those of the questions."""
    said = [" ".join(words) for words in itertools.product(_WHO, _DOES, _WHEN)]
    return "cyrillic", [simonides.Draft(text) for text in said], [*_ASKED, *said[::7]]


def conversations(directory: Path) -> Iterator[Conversation]:
    """The first conversations of a set, each with its first questions."""
    items: dict[str, list[simonides.Draft]] = {}
    asked: dict[str, list[str]] = {}
    for item in _lines(directory / "corpus.jsonl"):
        items.setdefault(item["conv_id"], []).append(_turn(item))
    for query in _lines(directory / "queries.jsonl"):
        asked.setdefault(query["conv_id"], []).append(query["question"])
    for name in sorted(items)[:CONVERSATIONS]:
        user = f"{directory.parent.name}.{name}".replace("/", "_")
        yield user, items[name], asked.get(name, [])[:QUESTIONS]


def _lines(file: Path) -> Iterable[Mapping[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def answers(target: str, told: list[Conversation]) -> list[tuple[str, str, str]]:
    """Write everything, open the store anew and ask; user, question and digest of each answer."""
    clock = ManualClock()
    store = _open(target, clock)
    for user, drafts, _ in told:
        for start in range(0, len(drafts), BATCH):
            store.memory(user=user).remember_many(drafts[start : start + BATCH])
        clock.advance(seconds=1)
    if target != IN_MEMORY:
        store.close()
        store = _open(target, clock)
    said = []
    for user, _, questions in told:
        for question in questions:
            found = store.memory(user=user).recall(question, limit=20)
            digest = hashlib.sha256(canonical_json(found.to_dict())).hexdigest()
            said.append((user, question, digest))
    store.close()
    return said


def _open(target: str, clock: ManualClock) -> Store:
    made = assemble(target, settings=Settings(), inline=True, clock=clock, ids=CountingIds())
    return Store(made)


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--data", type=Path, required=True)
    words.add_argument("--postgres", required=True)
    words.add_argument("--set", action="append", dest="sets")
    given = words.parse_args()
    told = [cyrillic()]
    for name in given.sets or ["locomo", "memdaily_zh"]:
        told += conversations(given.data / name / "dev")
    wanted = answers(IN_MEMORY, told)
    with tempfile.TemporaryDirectory() as directory:
        on_disk = answers(str(Path(directory) / "m.db"), told)
    in_database = answers(given.postgres, told)
    wrong = 0
    for ours, disk, database in zip(wanted, on_disk, in_database, strict=True):
        if not ours == disk == database:
            wrong += 1
            print(f"differs: {ours[0]}: {ours[1]!r}", file=sys.stderr)
    memories = sum(len(drafts) for _, drafts, _ in told)
    print(f"{len(told)} conversations, {memories} memories, {len(wanted)} recalls: {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
