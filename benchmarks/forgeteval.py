"""What ForgetEval, an outside judge of forgetting (arXiv 2606.15903), says of simonides.

    python -m benchmarks.forgeteval FOLDER [--failures]

FOLDER is a checkout of `deeplethe/lethe`. No model is called. The judge stores facts, changes or
deletes some, recalls ten memories, and looks in them for strings that must be there and strings
that must not. Its requests name no memory, so each way finds what is meant, the same for all cases:

- operations: a fact goes in by `remember`. What is superseded is the first hit of `recall`, which
  `correct` replaces. What is released or purged are the first hit and every other that holds the
  same words of the request (`hit.terms`); `forget` deletes them.
- words: a fact goes in by `add`, and what is released or purged is asked for in plain words,
  "Forget everything about X." Cases that supersede something are left out.

Printed for each part and category: percent right, of all cases and of the even and odd numbers;
with ``--failures`` each failure of an even number.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib import import_module
from typing import Any

import simonides.testing


class Operations:
    """Facts are remembered, corrected and forgotten."""

    def reset(self) -> None:
        self._store = simonides.testing.open()
        self.memory = self._store.memory(user="ana", session="one")

    def inscribe(self, text: str) -> None:
        self.memory.remember(text)

    def supersede(self, query: str, new: str) -> None:
        hits = self.memory.recall(query, limit=1)
        if hits:
            self.memory.correct(hits[0], new)
        else:
            self.memory.remember(new)

    def release(self, query: str) -> None:
        hits = self.memory.recall(query, limit=20)
        for hit in hits:
            if set(hit.terms) >= set(hits[0].terms):
                self.memory.forget(hit)

    purge = release

    def recall_texts(self, query: str, k: int) -> list[str]:
        return [hit.content for hit in self.memory.recall(query, limit=k)]

    def close(self) -> None:
        self._store.close()


class Words(Operations):
    """Facts are said, and what is to be forgotten is said."""

    def inscribe(self, text: str) -> None:
        self.memory.add(text)

    def release(self, query: str) -> None:
        self.memory.add(f"Forget everything about {query}.")

    purge = release


def run(name: str, adapter: Operations, parts: dict[str, list[Any]], failures: bool) -> None:
    """Judge an adapter, and print what is right."""
    right: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    print(f"\n{name}")
    for category, cases in parts.items():
        for case in cases:
            passed, odd = case.run(adapter), int(case.id[-1]) % 2
            for row in ("all", category):
                right[row][odd] += passed
                total[row][odd] += 1
            if failures and not passed and not odd:
                found = adapter.recall_texts(case.final_query, 10)
                print(f"  {case.id} {case.mutations} {case.final_query}\n    {found}")
            adapter.close()
    for row, count in total.items():
        pairs = [(sum(right[row]), sum(count)), *zip(right[row], count, strict=True)]
        whole, even, odd = (f"{100 * good / of:.1f}" for good, of in pairs)
        print(f"  {row:26}{whole:>6} of {sum(count):4}   even {even:>5}   odd {odd:>5}")


def main(folder: str, failures: bool) -> None:
    sys.path.insert(0, folder)
    template: dict[str, list[Any]] = defaultdict(list)
    for case in import_module("bench.forgeteval.generate").generate(200):
        template[case.family].append(case)
    written = import_module("bench.forgeteval.adversarial").ATTACK_CATEGORIES
    generated = import_module("bench.forgeteval.adversarial_generated").ADVERSARIAL_GENERATED
    adversarial = {name: [*cases, *generated.get(name, [])] for name, cases in written.items()}
    run("operations, template part", Operations(), template, failures)
    run("operations, adversarial part", Operations(), adversarial, failures)
    for name, part in (("template", template), ("adversarial", adversarial)):
        asked = {
            category: chosen
            for category, cases in part.items()
            if (chosen := [c for c in cases if all(op != "supersede" for op, *_ in c.mutations)])
        }
        run(f"words, {name} part", Words(), asked, failures)


if __name__ == "__main__":
    main(sys.argv[1], "--failures" in sys.argv)
