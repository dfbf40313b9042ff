"""No read is lost or counted twice, whatever fails in between and whenever it is written."""

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from simonides import Draft, StoreUnavailable
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.engine.recall.read_journal import FLUSH_S
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.contracts.base import drive
from simonides.types import Scope

USERS = ("ana", "bob")


class Readers(RuleBasedStateMachine):
    """Two users read, time passes, the store fails and recovers."""

    @initialize()
    def open(self) -> None:
        self.clock = ManualClock()
        core = assemble(
            ":memory:", inline=True, settings=Settings(embedder="none"), clock=self.clock,
            alarm=self.clock, ids=CountingIds(),
        )  # fmt: skip
        self.opened, self.store = Store(core), core.runtime.store
        self.fails = False
        self.read = {user: dict[str, int]() for user in USERS}
        self.shown = {user: list[str]() for user in USERS}
        self.memories = {user: self.opened.memory(user=user) for user in USERS}
        for memory in self.memories.values():
            memory.remember_many([Draft(f"The harbour of town {n}") for n in range(3)])
        plain = self.store.journal

        async def journal(*given: Any) -> None:
            if self.fails:
                raise StoreUnavailable("here", "gone for now")
            await plain(*given)

        self.store.journal = journal  # type: ignore[method-assign]

    def count(self, user: str, ids: list[str]) -> None:
        for id in ids:
            self.read[user][id] = self.read[user].get(id, 0) + 1

    @rule(user=st.sampled_from(USERS), limit=st.integers(1, 3))
    def recall(self, user: str, limit: int) -> None:
        found = self.memories[user].recall("harbour", limit=limit)
        self.count(user, [hit.record.id for hit in found])

    @rule(user=st.sampled_from(USERS))
    def digest(self, user: str) -> None:
        found = self.memories[user].digest("harbour", min_relevance=0)
        self.count(user, [item.record.id for item in found.items])
        assert found.receipt.page is not None
        self.shown[user].append(found.receipt.page.sha256)

    @rule(user=st.sampled_from(USERS))
    def capture(self, user: str) -> None:
        self.memories[user].add("Hello.")
        if not self.fails:
            self.check(user)

    @rule(seconds=st.sampled_from([0.5, 2.0, FLUSH_S]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)

    @rule(fails=st.booleans())
    def fail(self, fails: bool) -> None:
        self.fails = fails

    @rule()
    def renew(self) -> None:
        """Memories come and go with requests; what waits does not."""
        self.memories = {user: self.opened.memory(user=user) for user in USERS}

    @rule()
    def settle(self) -> None:
        self.fails = False
        self.clock.advance(seconds=2 * FLUSH_S)
        for user in USERS:
            self.check(user)

    @invariant()
    def never_more_than_was_read(self) -> None:
        for user in USERS:
            for id, times in self.written(user).items():
                assert times <= self.read[user][id]

    def written(self, user: str) -> dict[str, int]:
        owner, found = Scope.of_user("default", user), dict[str, int]()
        for entry in drive(self.store, self.store.journaled(owner, kind="access")):
            memories = json.loads(entry.body)["memories"]
            assert [*memories] == [owner.path]
            for id, times in memories[owner.path].items():
                found[id] = found.get(id, 0) + times
        return found

    def check(self, user: str) -> None:
        owner = Scope.of_user("default", user)
        entries = drive(self.store, self.store.journaled(owner, kind="digest"))
        assert self.written(user) == self.read[user]
        assert [json.loads(e.body)["page"]["sha256"] for e in entries] == self.shown[user]


TestReaders = Readers.TestCase
TestReaders.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
