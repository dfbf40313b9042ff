"""Whatever is said, read, confirmed and collected in whatever order, age has the last word on time.

Nothing is returned from the instant its hard expiry passes; what the user stated, pinned or set as
a constraint is evicted by nothing else; collecting twice is collecting once, and a dry run says
what the run will do.
"""

import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.errors import NotFound
from simonides.domain.scope import Scope
from simonides.domain.value import from_us
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.store_contract import drive

WORDS = ("harbour", "coffee", "invoice", "garden")
SOURCES = ("user_stated", "agent_inferred", "tool_verified", "external")
CATEGORIES = ("fact", "entity_fact", "preference", "constraint", "tool_result", "task_learning")
ANA = Scope.of_user("default", "ana")
DAYS = st.sampled_from([0.01, 0.9, 1, 7, 29, 30, 61, 90, 180])


@dataclass
class Kept:
    """What the model knows of a memory."""

    protected: bool
    ends: datetime | None
    evicted: bool = False


class AgeingMachine(RuleBasedStateMachine):
    """One user's memories through the years."""

    settings = Settings(embedder="none", synchronous="normal")

    @initialize(on_disk=st.booleans())
    def open(self, on_disk: bool) -> None:
        self.clock, self.ids = ManualClock(), CountingIds()
        self.place = tempfile.TemporaryDirectory()
        self.target = str(Path(self.place.name) / "m.db") if on_disk else IN_MEMORY
        self.kept: dict[str, Kept] = {}
        self.count = 0
        self._open()

    def _open(self) -> None:
        given = {"settings": AgeingMachine.settings, "clock": self.clock, "ids": self.ids}
        self.store = Store(assemble(self.target, inline=True, **given))
        self.own = self.store.memory(user="ana")

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.admin(actor="root").check_audit().ok
            self.store.close()
            self.place.cleanup()

    @property
    def now(self) -> datetime:
        return from_us(self.clock.now_us())

    def tick(self) -> None:
        """Let time pass between two writes.

        A turn is later than the one before it even where the clock stood still, so that a memory
        could have ended for the turn and not yet by the clock.
        """
        self.clock.advance(us=1_000)

    @rule(
        word=st.sampled_from(WORDS),
        source=st.sampled_from(SOURCES),
        category=st.sampled_from(CATEGORIES),
        pinned=st.booleans(),
        days=st.sampled_from([None, None, 1, 40]),
        confidence=st.sampled_from([None, 0.5, 1.0]),
    )
    def remember(
        self,
        word: str,
        source: str,
        category: str,
        pinned: bool,
        days: int | None,
        confidence: float | None,
    ) -> None:
        self.tick()
        self.count += 1
        said = {"source": source, "category": category, "pinned": pinned, "ttl_days": days}
        outcome = self.own.remember(
            Draft(f"The {word} {self.count}", confidence=confidence, **said)
        )
        if outcome.record is not None:
            memory = outcome.record
            protected = pinned or source == "user_stated" or category == "constraint"
            self.kept[memory.id] = Kept(protected, memory.hard_expires_at)

    @rule(place=st.integers(0, 50))
    def confirm(self, place: int) -> None:
        self.tick()
        if self.kept:
            id = list(self.kept)[place % len(self.kept)]
            kept = self.kept[id]
            if kept.evicted or self._ended(kept):
                with pytest.raises(NotFound):
                    self.own.confirm(id)
            else:
                assert self.own.confirm(id).done

    @rule(word=st.sampled_from(WORDS))
    def read(self, word: str) -> None:
        for hit in self.own.recall(f"the {word}", limit=3):
            assert not self._ended(self.kept[hit.record.id])

    @rule(days=DAYS)
    def wait(self, days: float) -> None:
        self.clock.advance(days=days)

    @rule()
    def wait_for_the_next_end(self) -> None:
        ends = [kept.ends for kept in self.kept.values() if kept.ends and kept.ends > self.now]
        if ends:
            self.clock.advance(us=(min(ends) - self.now) // timedelta(microseconds=1))

    @rule()
    def collect(self) -> None:
        self.tick()
        dry = self.own.maintenance.gc(dry_run=True)
        run = self.own.maintenance.gc()
        again = self.own.maintenance.gc()

        told = (dry.counts, dry.rows, dry.reads_folded, dry.receipts_old)
        assert told == (run.counts, run.rows, run.reads_folded, run.receipts_old)
        assert run.left == run.busy == 0
        assert again.evicted == again.purged == again.reads_folded == 0
        assert set(again.counts) <= {"in_review"}
        self._look()

    def _look(self) -> None:
        rows = drive(self.store.runtime.store, self.store.runtime.store.rows(ANA))
        standing = {memory.id for memory in self.own.list(limit=1_000)}
        there = {row.id for row in rows}
        for id, kept in self.kept.items():
            kept.evicted = id not in standing
            if kept.evicted and kept.protected:
                assert self._ended(kept)
            if id not in there:
                assert kept.evicted

    @rule()
    def reopen(self) -> None:
        if self.target != IN_MEMORY:
            self.store.close()
            self._open()

    @invariant()
    def nothing_is_shown_past_its_end(self) -> None:
        if not hasattr(self, "store"):
            return
        listed = {memory.id for memory in self.own.list(limit=1_000)}
        ended = {id for id, kept in self.kept.items() if kept.evicted or self._ended(kept)}
        assert listed == set(self.kept) - ended
        for id in sorted(self.kept)[-3:]:
            memory = self.own.get(id)
            assert memory is None or not self._ended(self.kept[id])

    def _ended(self, kept: Kept) -> bool:
        return kept.ends is not None and self.now >= kept.ends


@pytest.mark.slow
def test_no_order_of_things_keeps_what_has_ended_or_evicts_what_is_protected() -> None:
    chosen = settings(
        max_examples=15,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(AgeingMachine, settings=chosen)
