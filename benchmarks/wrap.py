"""What a wrapped client adds to a request: ``python benchmarks/wrap.py``.

Asks a scripted server of OpenAI's API through a wrapped client, and through a plain one with a
digest that is made and put in by hand. The two take turns, since each kind of work is faster in a
loop of its own. Prints the medians and the median difference in milliseconds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import openai

import simonides
from simonides.testing.model_server import ModelServer, saying

FACTS, ROUNDS = 100, 300


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        ModelServer(answers=lambda request: saying("ok")) as server,
        simonides.open(f"{folder}/m.db") as store,
    ):
        memory = store.memory(user="ana")
        for n in range(FACTS):
            memory.add(f"I walked {n} miles to lake {n} with Tom.")
        plain = openai.OpenAI(api_key="none", base_url=server.base_url)
        wrapped = simonides.wrap(plain, memory)

        def by_hand(said: dict[str, Any]) -> None:
            told = {"role": "system", "content": str(memory.digest([said]))}
            plain.chat.completions.create(model="m", messages=[told, said])  # type: ignore[list-item]

        def by_wrap(said: dict[str, Any]) -> None:
            wrapped.chat.completions.create(model="m", messages=[said])  # type: ignore[list-item]

        kinds: list[Callable[[dict[str, Any]], None]] = [by_hand, by_wrap]
        seconds: list[list[float]] = [[], []]
        for n in range(-2, ROUNDS):
            said = {"role": "user", "content": f"How far did I walk to lake {n % FACTS}?"}
            for ask, taken in zip(kinds, seconds, strict=True):
                store.flush()  # else a request waits for what the one before said
                begun = time.perf_counter()
                ask(said)
                taken.append(time.perf_counter() - begun)
    hand, wrap = ([1000 * each for each in taken[2:]] for taken in seconds)
    more = statistics.median(b - a for a, b in zip(hand, wrap, strict=True))
    print(f"by hand {statistics.median(hand):.2f} ms, wrapped {statistics.median(wrap):.2f} ms, "
          f"median difference {more:.2f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
