"""Whole lives in any order, on every store, end where a dictionary would end.

Two users and a task of one of them write, correct, confirm, undo, refuse, forget and erase, time
passes, and processes end well or not. After each step every face shows what the model says, of each
scope its own and nothing of another's. ``LIFE_STEPS`` sets how many steps are played on SQLite and
in memory, ``LIFE_SEED`` where they begin.
"""

import os
import tempfile
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from lives import Fact, Shelf

from memstrata import Outcome, UndoRefused
from memstrata.blocking import Strata
from memstrata.domain.value import from_us
from memstrata.settings import Settings
from memstrata.testing import CountingIds, ManualClock
from memstrata.wiring import IN_MEMORY, assemble

STEPS = int(os.environ.get("LIFE_STEPS", "10000"))
SEED = int(os.environ.get("LIFE_SEED", "5"))
STEPS_OF_A_LIFE = 50

NAMES = ("region", "languages", "Team-2", "a.b")
KEYS = st.sampled_from(NAMES)
VALUES = st.sampled_from(["one", "two", "ONE ", "three", "vier", "五"])
SOURCES = st.sampled_from(["user_stated", "agent_inferred", "tool_verified", "external"])
PLACES = ("ana", "bob", "ana/task")
WHO = st.sampled_from(PLACES)


@dataclass
class Believed:
    """What stood in one place at some time."""

    at: datetime
    place: str
    values: dict[str, str] = field(default_factory=dict)


class Lives(RuleBasedStateMachine):
    """Plays the verbs of two users against a shelf for each scope."""

    settings = Settings(embedder="none")
    lived = 0

    @initialize(on_disk=st.booleans())
    def open(self, on_disk: bool) -> None:
        Lives.lived += 1
        self.number = Lives.lived
        self.clock, self.ids = ManualClock(), CountingIds()
        self.place = tempfile.TemporaryDirectory()
        self.target = self.new_target(on_disk)
        self.shelves = {name: Shelf() for name in PLACES}
        self.refused: dict[str, set[str]] = {"ana": set(), "bob": set()}
        self.past: list[Believed] = []
        self.done: dict[tuple[str, str], tuple[str, Fact]] = {}
        self.abandoned: list[Strata] = []
        self.strata = self._opened()

    def new_target(self, on_disk: bool) -> str:
        return str(Path(self.place.name) / "m.db") if on_disk else IN_MEMORY

    def _opened(self) -> Strata:
        given: dict[str, Any] = {"settings": Lives.settings, "clock": self.clock, "ids": self.ids}
        strata = Strata(assemble(self.target, inline=True, **given))
        org = f"life-{self.number}"
        self.managers = {
            "ana": strata.manager(user="ana", org=org),
            "bob": strata.manager(user="bob", org=org),
            "ana/task": strata.manager(user="ana", org=org, task="t1"),
        }
        return strata

    def teardown(self) -> None:
        if hasattr(self, "strata"):
            try:
                self.the_trail_holds()
            finally:
                for strata in (*self.abandoned, self.strata):
                    strata.close()
                self.place.cleanup()

    def the_trail_holds(self) -> None:
        report = self.strata.verify_audit()
        assert report.ok, report.problems

    @property
    def now(self) -> datetime:
        return from_us(self.clock.now_us())

    def tick(self) -> datetime:
        self.clock.advance(us=10)
        return self.now

    @rule(who=WHO, key=KEYS, value=VALUES, source=SOURCES, days=st.sampled_from([None, 1, 3]))
    def remember(self, who: str, key: str, value: str, source: str, days: int | None) -> None:
        if self.is_refused(who, key):
            self.tick()
            outcome = self.managers[who].remember(value, key=key, source=source, ttl_days=days)
            assert (outcome.kind, outcome.memory) == ("blocked", None)
            return
        before = self._copied(who, key)
        expected = self.shelves[who].told(key, value, source, self.tick(), days)
        outcome = self.managers[who].remember(value, key=key, source=source, ttl_days=days)
        self._note(who, key, outcome, before)

        assert outcome.kind == expected
        assert outcome.memory is not None
        assert outcome.memory.content == self.shelves[who].facts[key].value

    @rule(who=WHO, key=KEYS, value=VALUES)
    def correct(self, who: str, key: str, value: str) -> None:
        if self.is_refused(who, key):
            self.tick()
            assert self.managers[who].correct(key, value).kind == "blocked"
            return
        before = self._copied(who, key)
        expected = self.shelves[who].corrected(key, value, self.tick())
        outcome = self.managers[who].correct(key, value)
        self._note(who, key, outcome, before)

        assert outcome.kind == expected

    def _copied(self, who: str, key: str) -> Fact | None:
        fact = self.shelves[who].facts.get(key)
        return None if fact is None else replace(fact)

    def _note(self, who: str, key: str, outcome: Outcome, before: Fact | None) -> None:
        """Remember how to take back what was done last under a key, if that can be."""
        self.done.pop((who, key), None)
        if outcome.kind in ("superseded", "refreshed", "bumped") and before is not None:
            self.done[who, key] = outcome.events[0].id, before

    @rule(who=WHO, key=KEYS)
    def undo(self, who: str, key: str) -> None:
        event, before = self.done.pop((who, key), (None, None))
        if event is None or before is None or self.is_refused(who, key):
            return
        now, shelf = self.tick(), self.shelves[who]
        if now >= before.expires:
            with pytest.raises(UndoRefused, match="expired"):
                self.managers[who].undo(event)
            return
        outcome = self.managers[who].undo(event)
        shelf.facts[key] = replace(before, versions=shelf.facts[key].versions)

        assert (outcome.kind, outcome.events[0].details["undoes"]) == ("undone", event)
        with pytest.raises(UndoRefused, match="already_undone"):
            self.managers[who].undo(event)

    @rule(who=WHO, key=KEYS)
    def confirm(self, who: str, key: str) -> None:
        stood = self.standing(who).get(key)
        self.tick()
        self.done.pop((who, key), None)
        id = self._id(who, key)
        if id is not None:
            assert stood is not None
            assert self.managers[who].confirm(id).kind == "bumped"
            stood.verified = True

    @rule(who=WHO, key=KEYS)
    def forget(self, who: str, key: str) -> None:
        self.tick()
        gone = self.shelves[who].facts.pop(key, None)
        outcome = self.managers[who].forget(key=key)

        assert outcome.kind == ("dropped" if gone is None else "forgotten")
        self._forgotten(who, [key])

    @rule(who=WHO)
    def forget_all_of_a_scope(self, who: str) -> None:
        self.tick()
        gone = self.shelves[who].facts
        self.shelves[who].facts = {}
        outcome = self.managers[who].forget(scope="task" if "/" in who else "user")

        assert outcome.kind == ("forgotten" if gone else "dropped")
        self._forgotten(who, [*gone])

    def _forgotten(self, who: str, keys: list[str]) -> None:
        for key in keys:
            self.done.pop((who, key), None)
        for believed in self.past:
            for key in keys if believed.place == who else ():
                believed.values.pop(key, None)

    @rule(who=st.sampled_from(("ana", "bob")), seldom=st.sampled_from([False] * 9 + [True]))
    def erase(self, who: str, seldom: bool) -> None:
        if not seldom or self.target.startswith("postgresql"):
            return  # a vacuum of all of a server's tables takes long
        self.tick()
        receipt = self.managers[who].erase()

        assert receipt.state == "complete"
        for place in (each for each in PLACES if each.split("/")[0] == who):
            self.shelves[place].facts = {}
            self._forgotten(place, [*NAMES])
        self.refused[who] = set()

    @rule(who=st.sampled_from(("ana", "bob")), key=KEYS)
    def refuse(self, who: str, key: str) -> None:
        self.tick()
        change = self.managers[who].refuse(key=key)

        assert change.changed is (key not in self.refused[who])
        self.refused[who].add(key)

    @rule(who=st.sampled_from(("ana", "bob")), key=KEYS)
    def allow(self, who: str, key: str) -> None:
        self.tick()
        self.managers[who].allow(key=key)
        self.refused[who].discard(key)

    def is_refused(self, who: str, key: str) -> bool:
        return key in self.refused[who.split("/")[0]]

    @rule(days=st.sampled_from([0.5, 1, 2, 365]))
    def wait(self, days: float) -> None:
        self.clock.advance(days=days)

    @rule(who=WHO)
    def look_back_later(self, who: str) -> None:
        standing = self.shelves[who].standing(self.now)
        values = {key: fact.value for key, fact in standing.items()}
        self.past = [*self.past[-3:], Believed(self.now, who, values)]
        self.tick()

    @rule()
    def the_past_stays_as_it_was_believed(self) -> None:
        for believed in self.past:
            manager, level = self.managers[believed.place], believed.place.count("/")
            found: dict[Any, str] = {}
            for key in NAMES:
                scopes = ["task" if level else "user"]
                hits = manager.recall(key, known_at=believed.at, filter={"key": key}, scopes=scopes)
                found |= {hit.memory.key: hit.memory.content for hit in hits}
            assert found == {
                key: value
                for key, value in believed.values.items()
                if not self.is_refused(believed.place, key)
            }

    @rule()
    def reopen(self) -> None:
        if self.target != IN_MEMORY:
            self.strata.close()
            self.strata = self._opened()

    @rule()
    def open_again_beside_one_that_nobody_closed(self) -> None:
        if self.target != IN_MEMORY and len(self.abandoned) < 2:
            self.abandoned.append(self.strata)
            self.strata = self._opened()

    def standing(self, who: str) -> dict[str, Any]:
        """Return what is to be seen."""
        seen = self.shelves[who].standing(self.now)
        return {key: fact for key, fact in seen.items() if not self.is_refused(who, key)}

    def _id(self, who: str, key: str) -> str | None:
        scope = "task" if "/" in who else "user"
        found = self.managers[who].list(filter={"key": key}, scopes=[scope])
        return found[0].id if found else None

    @invariant()
    def every_face_shows_the_same_facts(self) -> None:
        for who in getattr(self, "shelves", ()):
            scope = "task" if "/" in who else "user"
            listed = {m.key: m for m in self.managers[who].list(scopes=[scope])}
            facts = self.standing(who)
            assert {key: m.content for key, m in listed.items()} == {
                key: fact.value for key, fact in facts.items()
            }
            for key, fact in facts.items():
                memory = listed[key]
                assert memory.source == fact.source
                assert memory.confidence == pytest.approx(fact.left(self.now), abs=1e-4)
                assert memory.hard_expires_at == fact.expires
                # History leaves out what has expired, so that it may have gaps here.
                assert memory.versions == fact.versions

    @rule(who=WHO, key=KEYS)
    def a_chain_has_its_versions_in_order(self, who: str, key: str) -> None:
        memory = self._id(who, key)
        if memory is not None:
            chain = [m.version for m in self.managers[who].history(memory)]
            assert chain == sorted(set(chain))
            assert chain[-1] <= self.standing(who)[key].versions


def played(lives: type[Lives], steps: int) -> None:
    """Play so many steps, in lives of :data:`STEPS_OF_A_LIFE`."""
    chosen = settings(
        max_examples=max(steps // STEPS_OF_A_LIFE, 1),
        stateful_step_count=STEPS_OF_A_LIFE,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        database=None,
    )
    run_state_machine_as_test(seed(SEED)(lives), settings=chosen)


@pytest.mark.slow
def test_lives_end_where_a_dictionary_would() -> None:
    played(Lives, STEPS)


@pytest.mark.slow
def test_lives_on_a_server_end_where_a_dictionary_would(postgres: Any, database: str) -> None:
    """All in one database, each life in an org of its own."""

    class OnServer(Lives):
        def new_target(self, on_disk: bool) -> str:
            del on_disk
            return str(postgres.url("memstrata_app", database))

        def the_trail_holds(self) -> None:
            # Of every life so far; once is enough.
            if self.number % 10 == 0:
                super().the_trail_holds()

    played(OnServer, STEPS // 20)
