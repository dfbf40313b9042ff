"""Two users and a task of one of them: what they tell, correct, confirm, refuse and take back."""

import tempfile
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from lives import Fact, Shelf

from principals import erase, history_of
from simonides import Draft, Hit, Outcome, Record, UndoRefused
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.errors import NotFound
from simonides.domain.value import from_us
from simonides.engine.recall.read_journal import ReadJournal
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

NAMES = ("region", "languages", "Team-2", "a.b")
KEYS = st.sampled_from(NAMES)
VALUES = st.sampled_from(["one", "two", "ONE ", "three", "vier", "五"])
SOURCES = st.sampled_from(["user_stated", "agent_inferred", "tool_verified", "external"])
PLACES = ("ana", "bob", "ana/task")
WHO = st.sampled_from(PLACES)
PICK = st.integers(0, 11)
"""Which of what there is to choose from."""

ORG = "org"
"""The place that both users read, and write by promoting."""


@dataclass
class Believed:
    """What stood in one place at some time."""

    at: datetime
    place: str
    values: dict[str, str] = field(default_factory=dict)


class Living(RuleBasedStateMachine):
    """Plays what two users tell and take back against a shelf for each scope.

    Attributes:
        past: What was believed at some time.
        done: How to take back what was done last: the event, and what stood before, by place and
            key.
        promoted: What each promotion of a version came to, by its id and the target.
        from_whom: Whose copy a version of the org's is, by its id.
        handed: Who handed up each version of the org's under a key, by its number, and when it gave
            way: at once if it never stood, None if it stands.
        buried: Places where something was forgotten, which is not to come back by itself.
    """

    settings = Settings(embedder="none", synchronous="normal", gc="manual")
    lived = 0

    @initialize(on_disk=st.booleans())
    def open(self, on_disk: bool) -> None:
        Living.lived += 1
        self.number, self.org = Living.lived, f"life-{Living.lived}"
        self.clock, self.ids = ManualClock(), CountingIds()
        self.place = tempfile.TemporaryDirectory()
        self.target = self.new_target(on_disk)
        self.shelves = {name: Shelf() for name in (*PLACES, ORG)}
        self.refused: dict[str, set[str]] = {"ana": set(), "bob": set()}
        self.past: list[Believed] = []
        self.done: dict[tuple[str, str], tuple[str, Fact]] = {}
        self.promoted: dict[tuple[str, str], str] = {}
        self.from_whom: dict[str, str] = {}
        self.handed: dict[str, dict[int, tuple[str, datetime | None]]] = {}
        self.buried: set[str] = set()
        self.ticks = 0
        self.abandoned: list[Store] = []
        self.store = self.opened()
        for user in ("ana", "bob"):
            self.store.admin(actor="root").grant(user, "org_write", org=self.org)

    def new_target(self, on_disk: bool) -> str:
        return str(Path(self.place.name) / "m.db") if on_disk else IN_MEMORY

    def opened(self) -> Store:
        """Open the store as a process does that begins, and carry out what another one left."""
        given: dict[str, Any] = {"settings": Living.settings, "clock": self.clock, "ids": self.ids}
        store = Store(assemble(self.target, inline=True, **given))
        store.deliver_outbox()
        self.memories = {
            "ana": store.memory(user="ana", org=self.org),
            "bob": store.memory(user="bob", org=self.org),
            "ana/task": store.memory(user="ana", org=self.org).task(name="t1").memory,
        }
        return store

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Do what goes past the verbs as they do it."""
        return self.store._driver.run(call)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            try:
                self.the_trail_holds()
            finally:
                for store in (*self.abandoned, self.store):
                    store.close()
                self.place.cleanup()

    def the_trail_holds(self) -> None:
        report = self.store.admin(actor="root").check_audit()
        assert report.ok, report.problems

    @property
    def now(self) -> datetime:
        return from_us(self.clock.now_us())

    def tick(self) -> datetime:
        self.ticks += 1
        self.clock.advance(us=10)
        return self.now

    @rule(who=WHO, key=KEYS, value=VALUES, source=SOURCES, days=st.sampled_from([None, 1, 3]))
    def tell(self, who: str, key: str, value: str, source: str, days: int | None) -> None:
        self.remember(who, key, value, source, days)

    def remember(self, who: str, key: str, value: str, source: str, days: int | None) -> None:
        if self.is_refused(who, key):
            self.tick()
            outcome = self.memories[who].remember(
                Draft(value, key=key, source=source, ttl_days=days)
            )
            assert (outcome.kind, outcome.record) == ("blocked", None)
            return
        before = self.copied(who, key)
        expected = self.shelves[who].told(key, value, source, self.tick(), days)
        outcome = self.memories[who].remember(Draft(value, key=key, source=source, ttl_days=days))
        self.noted(who, key, outcome, before)

        assert outcome.kind == expected
        assert outcome.record is not None
        assert outcome.record.content == self.shelves[who].facts[key].value

    @precondition(lambda self: self.to_choose_from())
    @rule(pick=PICK, value=VALUES, source=SOURCES)
    def say_more(self, pick: int, value: str, source: str) -> None:
        """Say something about what is known already."""
        who, key = self.chosen(pick)
        self.remember(who, key, value, source, None)

    @rule(who=WHO, key=KEYS, value=VALUES)
    def correct(self, who: str, key: str, value: str) -> None:
        now = self.tick()
        if self.is_refused(who, key) or key not in self.shelves[who].standing(now):
            with pytest.raises(NotFound):
                self.memories[who].correct(key, value)
            return
        before = self.copied(who, key)
        expected = self.shelves[who].corrected(key, value, now)
        outcome = self.memories[who].correct(key, value)
        self.noted(who, key, outcome, before)

        assert outcome.kind == expected

    def copied(self, who: str, key: str) -> Fact | None:
        fact = self.shelves[who].facts.get(key)
        return None if fact is None else replace(fact)

    def noted(self, who: str, key: str, outcome: Outcome, before: Fact | None) -> None:
        """Remember which version stands now under a key, and how to take back what was done last,
        if that can be.
        """
        self.done.pop((who, key), None)
        if outcome.record is not None:
            self.shelves[who].facts[key].id = outcome.record.id
        if outcome.kind in ("superseded", "refreshed", "bumped") and before is not None:
            self.done[who, key] = outcome.events[0].id, before

    @precondition(lambda self: self.done)
    @rule(pick=PICK)
    def undo(self, pick: int) -> None:
        who, key = sorted(self.done)[pick % len(self.done)]
        event, before = self.done.pop((who, key))
        if self.is_refused(who, key):
            return
        now, shelf = self.tick(), self.shelves[who]
        if now >= before.expires:
            with pytest.raises(UndoRefused, match="expired"):
                self.memories[who].undo(event)
            return
        outcome = self.memories[who].undo(event)
        stood = shelf.facts[key]
        marked = None if before.marked is None else now
        shelf.facts[key] = replace(
            before, versions=stood.versions, shared=stood.shared, said=now, marked=marked
        )

        assert (outcome.kind, outcome.events[0].details["undoes"]) == ("undone", event)
        with pytest.raises(UndoRefused, match="already_undone"):
            self.memories[who].undo(event)

    @precondition(lambda self: self.to_choose_from())
    @rule(pick=PICK)
    def confirm(self, pick: int) -> None:
        who, key = self.chosen(pick)
        id = self.id_of(who, key)
        self.tick()
        self.done.pop((who, key), None)

        assert self.memories[who].confirm(id).kind == "bumped"
        self.shelves[who].confirmed(key, self.now)

    @rule(who=WHO, key=KEYS)
    def forget(self, who: str, key: str) -> None:
        self.tick()
        gone = self.shelves[who].removed(key)
        if gone:
            assert self.memories[who].forget(key).kind == "forgotten"
        else:
            with pytest.raises(NotFound):
                self.memories[who].forget(key)
        self._forgotten(who, [key])

    @rule(who=WHO)
    def forget_all_of_a_scope(self, who: str) -> None:
        self.tick()
        gone = [key for key in NAMES if self.shelves[who].removed(key)]
        outcome = self.memories[who].forget_many(scope="task" if "/" in who else "user")

        assert outcome.kind == ("forgotten" if gone else "dropped")
        self._forgotten(who, gone)

    def _forgotten(self, who: str, keys: list[str]) -> None:
        self.buried.add(who)
        for key in keys:
            self.done.pop((who, key), None)
        for believed in self.past:
            for key in keys if believed.place == who else ():
                believed.values.pop(key, None)

    # On a server it takes a vacuum of all tables.
    @precondition(lambda self: self.ticks > 15 and not self.target.startswith("postgresql"))
    @rule(who=st.sampled_from(("ana", "bob")))
    def erase(self, who: str) -> None:
        self.tick()
        self.ticks = 0
        receipt = erase(self.memories[who])

        assert receipt.state == "complete"
        for place in (each for each in PLACES if each.split("/")[0] == who):
            self.shelves[place] = Shelf()
            self._forgotten(place, [*NAMES])
        self.refused[who] = set()
        # What an org has from somebody goes with him.
        shared = self.shelves[ORG].facts
        for key in [key for key, fact in shared.items() if self.from_whom[fact.id] == who]:
            del shared[key]
        for key, fact in shared.items():
            left = {n: by for n, by in self.handed[key].items() if by[0] != who}
            if left != self.handed[key]:
                # What stays goes on from the highest version that is left.
                fact.versions, self.handed[key] = max(left), left

    @rule(who=st.sampled_from(("ana", "bob")), key=KEYS)
    def refuse(self, who: str, key: str) -> None:
        self.tick()
        change = self.memories[who].privacy.refuse(key=key)

        assert change.changed is (key not in self.refused[who])
        self.refused[who].add(key)

    @rule(who=st.sampled_from(("ana", "bob")), key=KEYS)
    def allow(self, who: str, key: str) -> None:
        self.tick()
        self.memories[who].privacy.allow(key=key)
        self.refused[who].discard(key)

    def is_refused(self, who: str, key: str) -> bool:
        return key in self.refused.get(who.split("/")[0], ())

    @rule(days=st.sampled_from([0.5, 1, 2, 31, 95, 365]))
    def wait(self, days: float) -> None:
        self.clock.advance(days=days)

    @rule(who=WHO)
    def look_back_later(self, who: str) -> None:
        # What was done in several turns at one reading of the clock was recorded some µs later.
        self.tick()
        standing = self.shelves[who].standing(self.now)
        values = {key: fact.value for key, fact in standing.items()}
        self.past = [*self.past[-3:], Believed(self.now, who, values)]
        self.tick()

    @rule()
    def the_past_stays_as_it_was_believed(self) -> None:
        for believed in self.past:
            memory, level = self.memories[believed.place], believed.place.count("/")
            found: dict[Any, str] = {}
            for key in NAMES:
                scopes = ["task" if level else "user"]
                hits = memory.recall(key, known_at=believed.at, filter={"key": key}, scopes=scopes)
                found |= {hit.record.key: hit.record.content for hit in hits}
                self.were_read(believed.place, hits)
            assert found == {
                key: value
                for key, value in believed.values.items()
                if not self.is_refused(believed.place, key)
            }

    def were_read(self, place: str, hits: Iterable[Hit]) -> None:
        """Take in what a recall returned. It is written at once, as at the end of a process."""
        read = {hit.record.id for hit in hits}
        for fact in self.shelves[place].facts.values():
            fact.read = self.now if fact.id in read else fact.read
        self.run(self.store.runtime.part(ReadJournal).flush())

    def standing(self, who: str) -> dict[str, Any]:
        """Return what is to be seen."""
        seen = self.shelves[who].standing(self.now)
        return {key: fact for key, fact in seen.items() if not self.is_refused(who, key)}

    def listed(self, place: str) -> tuple[Record, ...]:
        """Return what a scope shows; of the org's, what both users see alike."""
        if place != ORG:
            return self.memories[place].list(scopes=["task" if "/" in place else "user"])
        ours, theirs = (self.memories[who].list(scopes=["org"]) for who in ("ana", "bob"))
        assert ours == theirs
        return ours

    def to_choose_from(self) -> list[tuple[str, str]]:
        """Return where something is to be seen, and under which keys."""
        return [(place, key) for place in PLACES for key in sorted(self.standing(place))]

    def chosen(self, pick: int) -> tuple[str, str]:
        found = self.to_choose_from()
        return found[pick % len(found)]

    def id_of(self, who: str, key: str) -> str:
        """Return the id of what is to be seen under a key."""
        scope = "task" if "/" in who else "user"
        (found,) = self.memories[who].list(filter={"key": key}, scopes=[scope])
        return found.id

    @invariant()
    def every_face_shows_the_same_facts(self) -> None:
        for who in getattr(self, "shelves", ()):
            found = self.listed(who)
            listed = {m.key: m for m in found}
            assert len(listed) == len(found), "two stand under one key"
            facts = self.standing(who)
            assert {key: m.content for key, m in listed.items()} == {
                key: fact.value for key, fact in facts.items()
            }
            for key, fact in facts.items():
                memory = listed[key]
                assert memory.source == fact.source
                assert memory.confidence == pytest.approx(fact.left(self.now), abs=1e-6)
                assert memory.hard_expires_at is not None
                assert abs(memory.hard_expires_at - fact.expires) < timedelta(milliseconds=1)
                # History leaves out what has expired, so that it may have gaps here.
                assert memory.versions == fact.versions

    @precondition(lambda self: self.to_choose_from())
    @rule(pick=PICK)
    def a_chain_has_its_versions_in_order(self, pick: int) -> None:
        who, key = self.chosen(pick)
        memory = self.id_of(who, key)
        chain = [m.version for m in history_of(self.memories[who], memory)]
        assert chain == sorted(set(chain))
        assert chain[-1] <= self.standing(who)[key].versions
        for other in {"ana", "bob"} - {who.split("/")[0]}:
            assert self.memories[other].get(memory) is None
