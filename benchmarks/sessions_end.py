"""What the end of a session costs: against importing its turns as one batch, and how long each is.

    python benchmarks/sessions_end.py [--turns 200] [--rounds 9]

A session of 200 turns, half of them the user's, in a file, without a language model. Measured by
turns, one after the other: importing the same turns as verbatim memories in one batch, and the
session's end: extraction by rules, the summary, promotion, the record, and the drop of the log. The
end may take 20 times as long as the import.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import simonides
from simonides import Draft
from simonides.api.sync import Store
from simonides.domain.conversation.session import Entry, EntryKind
from simonides.domain.conversation.turn import Role
from simonides.domain.scope import Principal, Scope
from simonides.engine.recall.session_log import SessionLog
from simonides.engine.sessions.end import SessionEnder
from simonides.settings import Settings

LIMIT = 20.0

SAID = (
    "I moved my desk next to the window last week and it is much brighter there now, number {n}.",
    "We talked about the roadmap for quarter {n} and nobody agreed on the order of the items.",
    "My favorite colleague brought cake number {n} today, so the afternoon was rather slow.",
    "Could you look at ticket {n} and tell me why the build is red on the second runner?",
    "I prefer trains to planes, trip {n} took nine hours and I finished a whole book.",
)
ANSWERED = "Here is what I found on point {n}: it depends on two things, and both can be checked."


def turns(count: int, round_: int) -> list[tuple[Role, str]]:
    """Return a session's turns; no two rounds say the same."""
    said = []
    for place in range(count):
        number = round_ * count + place
        is_user = place % 2 == 0
        text = SAID[place // 2 % len(SAID)] if is_user else ANSWERED
        said.append((Role.USER if is_user else Role.ASSISTANT, text.format(n=number)))
    return said


def imported(store: Store, said: list[tuple[Role, str]], round_: int) -> float:
    """Return the seconds that one batch takes."""
    drafts = [
        Draft(
            text,
            kind="episodic",
            category="turn",
            source=role.source,
            session=f"import-{round_}",
            turn=place,
            metadata={"role": role.value},
        )
        for place, (role, text) in enumerate(said)
    ]
    memory = store.memory(user=f"batch-{round_}")
    begun = time.perf_counter()
    memory.remember_many(drafts)
    return time.perf_counter() - begun


def ended(store: Store, said: list[tuple[Role, str]], round_: int) -> float:
    """Return the seconds that the end of a session takes, its log written before."""
    owner = Scope.of_user("default", f"session-{round_}")
    run = store._driver.run
    entries = [Entry(kind=EntryKind.TURN, text=text, role=role) for role, text in said]
    run(SessionLog(store.runtime, owner, "s").append(entries))
    ender = SessionEnder(store.runtime, Principal(owner, session="s"))
    begun = time.perf_counter()
    report = run(ender.end("s"))
    took = time.perf_counter() - begun
    if report.entries != len(said):
        raise SystemExit(f"{report.entries} of {len(said)} turns were looked at")
    if report.summary is None:
        raise SystemExit("no summary was written")
    return took


def main() -> None:
    """Measure by turns and print both, and the ratio of their medians."""
    parser = argparse.ArgumentParser(description="The end of a session against an import.")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    batches, ends = [], []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings()
        with simonides.open(Path(folder) / "m.db", settings=settings) as store:
            for round_ in range(given.rounds + 1):
                said = turns(given.turns, round_)
                batch, end = imported(store, said, round_), ended(store, said, round_)
                if round_:  # the first warms up
                    batches.append(batch)
                    ends.append(end)
    batch, end = statistics.median(batches), statistics.median(ends)
    print(
        f"{given.turns} turns: one batch {1e3 * batch:.1f} ms, end of the session "
        f"{1e3 * end:.1f} ms: {end / batch:.1f} times (at most {LIMIT:.0f})"
    )


if __name__ == "__main__":
    main()
