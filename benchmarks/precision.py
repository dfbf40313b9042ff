"""Whether a memory returns what it should and never what it must not, asked as a caller asks.

    python benchmarks/precision.py --data DIR            figures
    python benchmarks/precision.py --data DIR --cases    and every case that is not as expected

DIR holds the development set ``precision``: beliefs of two users in domains, some superseded, some
settled, and cases that say who asks, in which domains, and what may come back. A retrieval
evaluation hands an adapter the question alone; here each belief is remembered, and each case asked,
as an application would that knows who is signed in and what they work on:

* a belief goes to its user, in a task of the domain's name, or at the user for what is universal;
* a belief and what replaced it are told under one key, in the order they were held;
* an open question that has been settled (its row says that it is a historical record only, and
  names no successor) is forgotten when that is done;
* title and aliases are tags, type is metadata, pins are pins.

A case asks the domains' facts and, apart from them, their open questions, with a filter. Nothing
is read from a case but who asks, where and what. What it expects is compared afterwards:

* *leaks*: cases in which a belief that a section must not hold is returned in it, at any depth,
  with no floor; without one, everything readable comes back that has a word in common;
* *sections*: cases whose pinned facts, open questions and prelude are as expected;
* *ranked*: of the cases with relevant beliefs, those whose best hits, pins apart, are just these;
* *quiet*: of the cases without, those for which nothing but pins is above the default floor.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import QuestionClock

import simonides
from principals import memory_for, principal_of
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.settings import Settings

FLOOR = 0.75
"""The policy's default."""
EVERYTHING = 1000
UNIVERSAL = "user:universal"
SETTLED = "Historical record only"
QUESTIONS = {"metadata.type": "open_question"}
FACTS = {"$not": QUESTIONS}


@dataclass(frozen=True)
class Answer:
    """What a caller gets for one case, as ids of beliefs."""

    facts: Sequence[str]
    relevant: Sequence[str]
    ranked: Sequence[str]
    pinned: Sequence[str]
    questions: Sequence[str]
    prelude: Sequence[str]
    prelude_text: str


class Application:
    """Holds beliefs and asks for them; knows who is signed in and which domains they work in."""

    def __init__(self) -> None:
        clock = QuestionClock()
        self._opened = Store(assemble(":memory:", settings=Settings(), inline=True, clock=clock))

    def close(self) -> None:
        self._opened.close()

    def learn(self, beliefs: Sequence[Mapping[str, Any]]) -> None:
        rows = {row["item_id"]: row for row in beliefs}
        for row in sorted(beliefs, key=lambda row: row["timestamp"]):
            last = row
            while last["superseded_by"]:
                last = rows[last["superseded_by"]]
            memory = self._memory(row["speaker"], row["scope"][0])
            memory.remember_many([_draft(row, key=last["title"])])
            if row["why_it_matters"].startswith(SETTLED) and not row["superseded_by"]:
                memory.forget(row["title"])

    def ask(self, user: str, domains: Sequence[str], question: str) -> Answer:
        facts, above, questions = [], [], []
        for domain in domains:
            own = self._memory(user, domain)
            here = {"scopes": [principal_of(own).home.path], "limit": EVERYTHING}
            facts += own.recall(question, filter=FACTS, **here)
            above += own.recall(question, filter=FACTS, min_relevance=FLOOR, **here)
            questions += own.list(filter=QUESTIONS, scopes=here["scopes"])
        facts.sort(key=lambda hit: -hit.score)
        prelude = self._memory(user, UNIVERSAL).list()
        return Answer(
            facts=[_id(hit.record) for hit in facts],
            relevant=[_id(hit.record) for hit in above if not hit.record.pinned],
            ranked=[_id(hit.record) for hit in facts if not hit.record.pinned],
            pinned=[_id(hit.record) for hit in facts if hit.record.pinned],
            questions=[_id(memory) for memory in questions],
            prelude=[_id(memory) for memory in prelude],
            prelude_text=" ".join(memory.content for memory in prelude),
        )

    def _memory(self, user: str, domain: str) -> Memory:
        task = None if domain == UNIVERSAL else domain.replace(":", "-")
        return memory_for(self._opened, user=user, task=task)


def _id(memory: simonides.Record) -> str:
    return str(memory.metadata["item_id"])


def _draft(row: Mapping[str, Any], *, key: str) -> simonides.Draft:
    return simonides.Draft(
        row["text"],
        key=key,
        category="preference" if row["type"] == "preference" else "fact",
        tags=(row["title"].replace("_", " "), *row["aliases"]),
        at=row["timestamp"],
        pinned=row["pinned"],
        metadata={"item_id": row["item_id"], "type": row["type"]},
    )


# -- comparing -------------------------------------------------------------------------------


def leaked(case: Mapping[str, Any], answer: Answer) -> set[str]:
    """Return what a section holds that it must not. What another section may show is looked for
    in the facts only.
    """
    forbidden = set(case["forbidden_item_ids"])
    expect = case["expect"]
    elsewhere = set(expect.get("pinnedFacts", {}).get("mustExclude", ()))
    elsewhere -= set(expect.get("openQuestions", {}).get("mustExclude", ()))
    found = forbidden & set(answer.facts) | (forbidden - elsewhere) & set(answer.questions)
    return found | (forbidden - elsewhere) & set(answer.prelude)


def wrong_sections(case: Mapping[str, Any], answer: Answer) -> list[str]:
    expect, wrong = case["expect"], []
    for section, shown in (("pinnedFacts", answer.pinned), ("openQuestions", answer.questions)):
        wanted = expect.get(section, {})
        if not set(wanted.get("mustInclude", ())) <= set(shown):
            wrong.append(f"{section} lacks {set(wanted['mustInclude']) - set(shown)}")
        if set(wanted.get("mustExclude", ())) & set(shown):
            wrong.append(f"{section} holds {set(wanted['mustExclude']) & set(shown)}")
    prelude, text = expect.get("personaPrelude", {}), answer.prelude_text
    if (prelude.get("nonEmpty") and not text) or (prelude.get("isNull") and text):
        wrong.append("prelude")
    lacks = [word for word in prelude.get("contains", ()) if word not in text.lower()]
    holds = [word for word in prelude.get("mustNotContain", ()) if word in text]
    return wrong + [f"prelude: {word}" for word in lacks + holds]


def shown_as(found: list[bool]) -> str:
    return f"{sum(found)} of {len(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cases", action="store_true")
    chosen = parser.parse_args()
    beliefs, cases = (
        [json.loads(line) for line in (chosen.data / "precision" / "dev" / name).open()]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    application = Application()
    application.learn(beliefs)
    clean, sections, ranked, quiet, exact = [], [], [], [], []
    for case in cases:
        answer = application.ask(case["user_id"], case["scope"], case["question"])
        wanted = set(case["evidence_item_ids"])
        leaks, wrong = leaked(case, answer), wrong_sections(case, answer)
        clean.append(not leaks)
        sections.append(not wrong)
        notes = [f"leaks {leaks}"] * bool(leaks) + wrong
        if wanted:
            ranked.append(set(answer.ranked[: len(wanted)]) == wanted)
            exact.append(set(answer.relevant) == wanted)
            if not ranked[-1]:
                notes.append(f"ranks {answer.ranked[: len(wanted) + 2]} for {sorted(wanted)}")
            if not exact[-1]:
                notes.append(f"above the floor: {answer.relevant}")
        elif "relevantBeliefs" in case["expect"]:
            quiet.append(not answer.relevant)
            if not quiet[-1]:
                notes.append(f"not quiet: {answer.relevant}")
        if notes and chosen.cases:
            print(f"{case['query_id']} ({case['question']!r}): " + "; ".join(notes))
    application.close()
    print("| no leak | sections | ranked | exact | quiet |\n|---|---|---|---|---|")
    print("| " + " | ".join(map(shown_as, (clean, sections, ranked, exact, quiet))) + " |")


if __name__ == "__main__":
    main()
