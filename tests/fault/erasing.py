"""Lives of users full of canaries, erased, and the bytes of every file looked at afterwards."""

import random
import string
from pathlib import Path

from simonides import Draft
from simonides.domain.codecs.parts import PARTS

PLACES = ("text", "key", "tag", "note", "quote", "talk", "fact", "query")


class Life:
    """One cycle: a user who says, corrects, promotes and asks, all of it marked with canaries.

    Attributes:
        canaries: Words that nothing else has, with and without a capital.
    """

    def __init__(self, seed):
        self._random = random.Random(seed)
        self.canaries = []
        self.turns = []

    def word(self, place):
        made = "".join(self._random.choices(string.ascii_lowercase, k=14))
        self.canaries.append(f"{place}{made}")
        return self.canaries[-1]

    def padding(self):
        return " and so on" * self._random.choice((0, 1, 20, 300))

    def lead(self, own, org=True):
        """Say, correct, promote, capture, ask; returns what was stored."""
        stored = []
        for _ in range(self._random.randint(2, 8)):
            outcome = own.remember(
                Draft(
                    f"The {self.word('text')} is blue{self.padding()}",
                    key=self.word("key") if self._random.random() < 0.7 else None,
                    tags=[self.word("tag"), self.word("tag")],
                    metadata={"note": self.word("note"), "in": {"more": [self.word("note")]}},
                    quote=f"{self.word('quote')} is blue",
                    idempotency_key=self.word("fact"),
                )
            )
            stored.append(outcome.record)
        keyed = [memory for memory in stored if memory.key]
        for memory in keyed[:2]:
            own.correct(memory.key, f"It is {self.word('text')}{self.padding()}")
            own.confirm(memory.key)
        insight = Draft(f"All is {self.word('text')}", parents=(stored[0].id,))
        own.remember_many([insight])
        if org:
            shared = own.remember(f"Known to all: {self.word('text')}").record
            own.promote(shared.id, "org")
        for said in (f"I live in {self.word('talk').capitalize()}.", "Be concise."):
            self.turns.append(said)
        self.turns.append(f"Call me {self.word('talk').capitalize()}.")
        self.replay(own)
        own.digest(f"What of {self.word('query')}?")
        own.recall(self.canaries[0])
        return stored

    def replay(self, memory):
        """Hear the transcript, turn by turn and as a file."""
        outcomes = [o for turn in self.turns for o in memory.add(turn).outcomes]
        drafts = [
            Draft(turn, kind="episodic", session="s", turn=place, speaker="Ana")
            for place, turn in enumerate(self.turns)
        ]
        return [*outcomes, *memory.remember_many(drafts)]


def bytes_of(directory):
    """The files of a store, by name."""
    return {file.name: file.read_bytes() for file in sorted(Path(directory).iterdir())}


def found_in(directory, canaries):
    """Which canaries stand in which files, in any case."""
    files = {name: raw.lower() for name, raw in bytes_of(directory).items()}
    return [
        (name, canary)
        for name, raw in files.items()
        for canary in canaries
        if canary.lower().encode() in raw
    ]


def rows_of(opened, *scopes):
    """Everything that a store has of some owners, the journal of their reads included."""
    store, run = opened.runtime.store, opened._driver.run
    digests = [run(store.chain_head(scope))[0] for scope in scopes]
    return [
        (run(store.facts(digest)), [run(store.page(digest, p, limit=10**6)) for p in PARTS])
        for digest in digests
    ]
