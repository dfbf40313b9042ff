"""Whatever is written, in any order, no scope ever holds more than its quota."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from principals import memory_for, principal_of
from simonides import Draft, Memory, QuotaExceeded
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import NotFound
from simonides.domain.scope import Scope
from simonides.retrieval.index.entry import turn_of
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

MEMORIES, TURNS = 3, 2
WHO = st.sampled_from(("ana", "ana/t1", "bob"))
KEYS = st.sampled_from((None, None, "a", "b"))
TEXTS = st.sampled_from(("one", "two", "three", "four", "five", "six"))
DRAFTS = st.builds(
    Draft,
    TEXTS,
    key=KEYS,
    category=st.sampled_from(("fact", "fact", "constraint")),
    source=st.sampled_from(("user_stated", "agent_inferred", "external")),
    confidence=st.sampled_from((0.6, 1.0)),
    importance=st.sampled_from(("normal", "critical")),
    pinned=st.booleans(),
    ttl_days=st.sampled_from((None, 1.0)),
)


class Crowding(RuleBasedStateMachine):
    """Two processes write for two users and a task of one of them."""

    url: str | None = None
    lived = 0

    @initialize(on_disk=st.booleans())
    def open(self, on_disk: bool) -> None:
        Crowding.lived += 1
        self.org, self.refused = f"org-{Crowding.lived}", 0
        self.place = tempfile.TemporaryDirectory()
        policy = Path(self.place.name) / "policy.yaml"
        policy.write_text(f"quotas: {{memories: {MEMORIES}, turns: {TURNS}}}\n")
        file = str(Path(self.place.name) / "m.db") if on_disk else IN_MEMORY
        target = self.url or file
        self.clock, ids = ManualClock(), CountingIds()
        given: dict[str, Any] = {"clock": self.clock, "ids": ids, "inline": True}
        given["settings"] = Settings(embedder="none", policy=policy)
        self.opened = [
            Store(assemble(target, **given)) for _ in range(1 if target == IN_MEMORY else 2)
        ]

    def teardown(self) -> None:
        if hasattr(self, "opened"):
            for store in self.opened:
                assert store.admin(actor="root").check_audit().ok
                store.close()
            self.place.cleanup()

    def memory(self, who: str, process: int) -> Memory:
        user, _, task = who.partition("/")
        store = self.opened[process % len(self.opened)]
        self.clock.advance(us=7_000_000_000)
        return memory_for(store, user=user, org=self.org, task=task or None)

    @rule(who=WHO, draft=DRAFTS, process=st.integers(0, 1))
    def remember(self, who: str, draft: Draft, process: int) -> None:
        (outcome,) = self.memory(who, process).remember_many([draft])
        assert outcome.stored or outcome.reasons[0].startswith(
            ("quota_exceeded", "tombstoned", "external_never")
        )

    @rule(who=WHO, drafts=st.lists(DRAFTS, max_size=6), process=st.integers(0, 1))
    def remember_many(self, who: str, drafts: list[Draft], process: int) -> None:
        self.memory(who, process).remember_many(drafts)

    @rule(who=WHO, first=st.integers(0, 5), count=st.integers(1, 4), process=st.integers(0, 1))
    def import_turns(self, who: str, first: int, count: int, process: int) -> None:
        turns = [
            Draft(f"turn {n}", kind="episodic", category="turn", session="s", turn=n)
            for n in range(first, first + count)
        ]
        self.memory(who, process).remember_many(turns)

    @rule(who=WHO, key=st.sampled_from(("a", "b")), text=TEXTS, process=st.integers(0, 1))
    def correct(self, who: str, key: str, text: str, process: int) -> None:
        try:
            self.memory(who, process).correct(key, text)
        except QuotaExceeded:
            self.refused += 1
        except NotFound:
            self.refused += 1

    @rule(who=WHO, key=st.sampled_from(("a", "b")), process=st.integers(0, 1))
    def forget(self, who: str, key: str, process: int) -> None:
        with suppress(NotFound):
            self.memory(who, process).forget(key)

    @rule(place=st.integers(0, 5), process=st.integers(0, 1))
    def promote(self, place: int, process: int) -> None:
        task = self.memory("ana/t1", process)
        own = [m for m in task.list() if m.scope == principal_of(task).home]
        try:
            for memory in own[place : place + 1]:
                task.promote(memory.id, "user")
        except QuotaExceeded:
            self.refused += 1

    @rule(days=st.integers(1, 3))
    def pass_time(self, days: int) -> None:
        self.clock.advance(us=days * 86_400_000_000)

    @invariant()
    def no_scope_holds_more_than_its_quota(self) -> None:
        for store in getattr(self, "opened", ()):
            counted = Counter[tuple[str, bool]]()
            for name in ("ana", "bob"):
                owner = Scope.of_user(self.org, name)
                for row in store._driver.run(store.runtime.store.snapshot(owner)).rows:
                    memory = decode(row)
                    counted[memory.scope.path, turn_of(memory) is not None] += 1
            for (path, is_turn), number in counted.items():
                assert number <= (TURNS if is_turn else MEMORIES), path


PLAYED = settings(
    stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


def test_no_scope_ever_holds_more_than_its_quota() -> None:
    run_state_machine_as_test(Crowding, settings=settings(PLAYED, max_examples=25))


def test_no_scope_ever_holds_more_than_its_quota_in_postgres(postgres: Any, database: str) -> None:
    class OnServer(Crowding):
        url = str(postgres.url("simonides_app", database))

    run_state_machine_as_test(OnServer, settings=settings(PLAYED, max_examples=5))
