"""Any order of writes, corrections, forgetting and waiting ends where a dictionary would end."""

import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

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

from memstrata.blocking import Strata
from memstrata.domain.value import from_us
from memstrata.settings import Settings
from memstrata.testing import CountingIds, ManualClock
from memstrata.wiring import IN_MEMORY, assemble

KEYS = st.sampled_from(["region", "language", "Team-2", "a.b"])
VALUES = st.sampled_from(["one", "two", "ONE ", "three", "vier", "五"])
SOURCES = st.sampled_from(["user_stated", "agent_inferred", "tool_verified", "external"])
TRUST = {
    "user_stated": 3,
    "user_correction": 3,
    "tool_verified": 2,
    "agent_inferred": 1,
    "external": 0,
}
CONFIDENCE = {"user_stated": 1.0, "tool_verified": 0.9, "agent_inferred": 0.6, "external": 0.3}
FACT_DAYS = 365


@dataclass
class Fact:
    """What the model knows of one key: its standing value and how many versions there were."""

    value: str
    source: str
    confidence: float
    expires: datetime
    versions: int = 1

    def says(self, value: str) -> bool:
        return self.value.strip().casefold() == value.strip().casefold()


@dataclass
class Believed:
    """What was believed at some time."""

    at: datetime
    values: dict[str, str] = field(default_factory=dict)


class WriteMachine(RuleBasedStateMachine):
    """Plays the verbs of one user against a dictionary of facts."""

    settings = Settings(embedder="none")

    @initialize(on_disk=st.booleans())
    def open(self, on_disk: bool) -> None:
        self.clock, self.ids = ManualClock(), CountingIds()
        self.place = tempfile.TemporaryDirectory()
        self.target = str(Path(self.place.name) / "m.db") if on_disk else IN_MEMORY
        self.facts: dict[str, Fact] = {}
        self.past: list[Believed] = []
        self.strata = self._opened()

    def _opened(self) -> Strata:
        given = {"settings": WriteMachine.settings, "clock": self.clock, "ids": self.ids}
        strata = Strata(assemble(self.target, inline=True, **given))
        self.manager = strata.manager(user="ana")
        return strata

    def teardown(self) -> None:
        if hasattr(self, "strata"):
            assert self.strata.verify_audit().ok
            self.strata.close()
            self.place.cleanup()

    @property
    def now(self) -> datetime:
        return from_us(self.clock.now_us())

    def standing(self) -> dict[str, Fact]:
        return {key: fact for key, fact in self.facts.items() if self.now < fact.expires}

    @rule(key=KEYS, value=VALUES, source=SOURCES, days=st.sampled_from([None, 1, 3]))
    def remember(self, key: str, value: str, source: str, days: int | None) -> None:
        self.clock.advance(us=10)
        outcome = self.manager.remember(value, key=key, source=source, ttl_days=days)

        assert outcome.kind == self._told(key, value, source, CONFIDENCE[source], days)
        assert outcome.memory is not None
        assert outcome.memory.content == self.facts[key].value

    @rule(key=KEYS, value=VALUES)
    def correct(self, key: str, value: str) -> None:
        self.clock.advance(us=10)
        stood = self.standing().get(key)
        outcome = self.manager.correct(key, value)

        if stood is not None and stood.value != value:
            # By name, whatever stands gives way, be it to the same words in other letters.
            fact, versions = self.facts[key], self.facts[key].versions + 1
            end = self.now + timedelta(days=FACT_DAYS)
            self.facts[key] = Fact(value, "user_correction", 1.0, end, versions)
            assert (outcome.kind, fact.versions + 1) == ("superseded", versions)
        else:
            assert outcome.kind == self._told(key, value, "user_correction", 1.0, None)

    def _told(self, key: str, value: str, source: str, confidence: float, days: int | None) -> str:
        end = self.now + timedelta(days=days or FACT_DAYS)
        known = self.facts.get(key)
        if known is None or self.now >= known.expires:
            versions = 1 if known is None else known.versions + 1
            self.facts[key] = Fact(value, source, confidence, end, versions)
            return "created"
        if known.says(value):
            return self._repeated(known, source, confidence, end)
        outside = source == "external" and known.source != "external"
        if source != "user_correction" and (outside or confidence < known.confidence):
            known.versions += 1
            return "touched"
        self.facts[key] = Fact(value, source, confidence, end, known.versions + 1)
        return "superseded"

    def _repeated(self, known: Fact, source: str, confidence: float, end: datetime) -> str:
        if TRUST[source] < TRUST[known.source]:
            known.expires = max(known.expires, end)
            return "refreshed"
        known.expires, stood = end, known.source
        if confidence > known.confidence:
            known.source, known.confidence = source, confidence
        same_user = TRUST[source] == TRUST[stood] == TRUST["user_stated"]
        return "refreshed" if source == stood or same_user else "bumped"

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.clock.advance(us=10)
        gone = self.facts.pop(key, None)
        outcome = self.manager.forget(key=key)

        assert outcome.kind == ("dropped" if gone is None else "forgotten")
        for believed in self.past:
            believed.values.pop(key, None)

    @rule(days=st.sampled_from([0.5, 1, 2, 365]))
    def wait(self, days: float) -> None:
        self.clock.advance(days=days)

    @rule()
    def look_back_later(self) -> None:
        values = {key: fact.value for key, fact in self.standing().items()}
        self.past = [*self.past[-3:], Believed(self.now, values)]
        self.clock.advance(us=10)

    @rule()
    def reopen(self) -> None:
        if self.target != IN_MEMORY:
            self.strata.close()
            self.strata = self._opened()

    @invariant()
    def every_face_shows_the_same_facts(self) -> None:
        if not hasattr(self, "strata"):
            return
        facts = self.standing()
        listed = {memory.key: memory for memory in self.manager.list()}
        assert {key: memory.content for key, memory in listed.items()} == {
            key: fact.value for key, fact in facts.items()
        }
        for key, fact in facts.items():
            memory = listed[key]
            assert (memory.source, memory.confidence) == (fact.source, fact.confidence)
            assert memory.hard_expires_at == fact.expires
            # History leaves out what has expired, so that it may have gaps here.
            assert memory.versions == fact.versions
            chain = [m.version for m in self.manager.history(key)]
            assert chain == sorted(set(chain))
            assert memory.version in chain

    @invariant()
    def the_past_stays_as_it_was_believed(self) -> None:
        for believed in getattr(self, "past", ()):
            found: dict[Any, str] = {}
            for key in ("region", "language", "Team-2", "a.b"):
                hits = self.manager.recall(key, known_at=believed.at, filter={"key": key})
                found |= {hit.memory.key: hit.memory.content for hit in hits}
            assert found == believed.values


@pytest.mark.slow
def test_any_order_of_writes_ends_where_a_dictionary_would() -> None:
    chosen = settings(
        max_examples=40,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(WriteMachine, settings=chosen)
