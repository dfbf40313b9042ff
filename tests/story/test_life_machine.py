"""Whole lives in any order, on every store, end where a dictionary would end.

Two users, a task of one of them and their org: they write, correct, confirm, undo, refuse, promote,
forget and erase, what has aged out is collected, users are carried away in files, time passes, and
processes end well, badly, or in the middle of a write. After each step every face shows what the
model says, of each scope its own and nothing of another's. ``LIFE_STEPS`` sets how many steps are
played on SQLite and in memory, ``LIFE_SEED`` where they begin.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from lives import HISTORY, Fact
from living import KEYS, ORG, PICK, VALUES, WHO, Living

from principals import memory_for, principal_of
from simonides import CarryRefused, Record
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.codecs.memory import decode
from simonides.domain.scope import Scope
from simonides.domain.value import to_us
from simonides.testing import CountingIds

STEPS = int(os.environ.get("LIFE_STEPS", "10000"))
SEED = int(os.environ.get("LIFE_SEED", "5"))
STEPS_OF_A_LIFE = 50

USERS = st.sampled_from(("ana", "bob"))
HISTORY_DAYS = 90


class Crash(BaseException):
    """A process ends here."""


class Lives(Living):
    """The same with what is done besides, and with processes that end."""

    @rule(who=WHO, key=KEYS)
    def ask(self, who: str, key: str) -> None:
        scope = "task" if "/" in who else "user"
        hits = self.memories[who].recall(key, filter={"key": key}, scopes=[scope])
        self.were_read(who, hits)
        expected = self.standing(who).get(key)

        assert [hit.record.content for hit in hits] == ([expected.value] if expected else [])

    @precondition(lambda self: self.to_choose_from())
    @rule(pick=PICK, to=st.sampled_from(("user", "org")))
    def promote(self, pick: int, to: str) -> None:
        who, key = self.chosen(pick)
        id, to = self.id_of(who, key), to if "/" in who else "org"
        self.handed_up(who, key, id, to, lambda: self.memories[who].promote(id, to).kind)

    def handed_up(
        self, who: str, key: str, id: str, to: str, verb: Callable[[], str | None]
    ) -> None:
        """Have a copy made, by a verb that says what it came to if it lives to say it."""
        place = ORG if to == "org" else "ana"
        shelf, before = self.shelves[place], deepcopy(self.shelves[place])
        original, now = self.shelves[who].facts[key], self.tick()
        stood = self.copied(place, key)
        left = original.left(now)
        copy = Fact(original.value, original.source, left, original.expires, now)
        again = self.promoted.get((id, to))
        if again is not None:
            # Done once, whatever became of the copy.
            assert verb() in (again, "forgotten", None)
            return
        if original.is_unsure(now):
            # Refused for now: what somebody confirms first is handed up.
            assert verb() in ("dropped", None)
            return
        expected, kind = shelf.given(key, copy), verb()

        if kind == "blocked":
            # What was forgotten comes back by nobody's wording but the user's own.
            assert place in self.buried
            self.shelves[place] = before
            return
        assert kind in (expected, None)
        self.promoted[id, to] = expected
        if place == ORG:
            self.hand_over(key, who.split("/")[0], expected, now)
        self.copy_stands(place, key, who, stood)

    def hand_over(self, key: str, user: str, kind: str, now: datetime) -> None:
        """Note whose a version of the org's is, if there is another one."""
        number = self.shelves[ORG].facts[key].versions
        chain = {} if (kind, number) == ("created", 1) else self.handed[key]
        if kind in ("created", "superseded"):
            chain = {n: (by, ended or now) for n, (by, ended) in chain.items()}
            chain[number] = (user, None)
        elif kind == "touched":
            chain[number] = (user, now)
        self.handed[key] = chain

    def copy_stands(self, place: str, key: str, who: str, stood: Fact | None) -> None:
        found: dict[Any, Record] = {memory.key: memory for memory in self.listed(place)}
        self.done.pop((place, key), None)
        fact = self.shelves[place].facts[key]
        id = found[key].id if key in found else fact.id
        if place == ORG and (stood is None or stood.id != id):
            self.from_whom[id] = who.split("/")[0]
            for original in self.shelves[who].facts.values():
                original.shared = original.shared or original.id in found[key].parents
        fact.id = id

    @rule(who=st.sampled_from(("ana", "bob", ORG)), days=st.sampled_from([0, 1, 2.5, 31, 95]))
    def collect(self, who: str, days: float) -> None:
        self.clock.advance(days=days)
        self.tick()
        gc = self.collector(who)
        foreseen, done = gc(dry_run=True), gc(dry_run=False)
        places = [place for place in self.shelves if place.split("/")[0] == who]
        expected: dict[str, int] = {}
        for place in places:
            for rule_, keys in self.shelves[place].collected(self.now).items():
                expected[rule_] = expected.get(rule_, 0) + len(keys)

        assert foreseen.counts == done.counts
        assert (done.left, done.busy, done.rows) == (0, 0, foreseen.rows)
        apart = {"superseded_old", "evicted_old", "read_noted"}
        assert {str(r): n for r, n in done.counts.items() if r not in apart} == expected
        if who == ORG:
            for key, chain in self.handed.items():
                kept = {n: by for n, by in chain.items() if not by[1] or self.now - by[1] < HISTORY}
                self.handed[key] = kept
        if {*done.counts} - {"in_review"}:
            self.done = {at: each for at, each in self.done.items() if at[0] not in places}
        horizon = to_us(self.now) - HISTORY_DAYS * 86_400_000_000
        self.past = [b for b in self.past if b.place not in places or to_us(b.at) > horizon]

    def collector(self, who: str) -> Callable[..., Any]:
        if who != ORG:
            return self.memories[who].maintenance.gc
        scope = Scope.of_org(self.org).path
        return lambda dry_run: self.store.admin(actor="root").gc(dry_run=dry_run, scopes=[scope])

    @rule(who=USERS)
    def carry(self, who: str) -> None:
        """Export a user, restore it where it stands, and go on with it elsewhere."""
        self.tick()
        path = Path(self.place.name) / f"{who}.jsonl"
        former = events_of(path)
        # A file of somebody who had nothing brings nothing, whatever there is by now.
        if former and former != self.events_now(who, path):
            with pytest.raises(CarryRefused):
                self.memories[who].data.restore(path)
        self.memories[who].data.export(path, overwrite=True)
        given: dict[str, Any] = {"settings": Living.settings, "clock": self.clock}
        with Store(assemble(IN_MEMORY, inline=True, ids=CountingIds(), **given)) as elsewhere:
            elsewhere.memory(user=who, org=self.org).data.restore(path)
            for place in (p for p in self.memories if p.split("/")[0] == who):
                task = "t1" if "/" in place else None
                there = memory_for(elsewhere, user=who, org=self.org, task=task)
                assert there.list(scopes=["task" if task else "user"]) == self.listed(place)
            assert elsewhere.admin(actor="root").check_audit().ok

        assert not self.memories[who].data.restore(path).restored

    def events_now(self, who: str, path: Path) -> list[str]:
        beside = path.with_suffix(".now")
        self.memories[who].data.export(beside, overwrite=True)
        return events_of(beside) or []

    @precondition(lambda self: self.target != IN_MEMORY)
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.opened()

    @precondition(lambda self: self.target != IN_MEMORY and len(self.abandoned) < 2)
    @rule()
    def open_again_beside_one_that_nobody_closed(self) -> None:
        self.abandoned.append(self.store)
        self.store = self.opened()

    @precondition(lambda self: self.target != IN_MEMORY)
    @rule(who=WHO, key=KEYS, value=VALUES, after=st.booleans())
    def crash_while_remembering(self, who: str, key: str, value: str, after: bool) -> None:
        if self.is_refused(who, key):
            return
        now = self.tick()
        with self.crashing(who, after=after):
            self.memories[who].remember(value, key=key)
        if after:
            self.shelves[who].told(key, value, "user_stated", now, None)
            self.done.pop((who, key), None)
            self.shelves[who].facts[key].id = self.id_of(who, key)

    @precondition(lambda self: self.target != IN_MEMORY and self.to_choose_from())
    @rule(pick=PICK, at=st.sampled_from(("before", "sent", "delivered")))
    def crash_while_promoting(self, pick: int, at: str) -> None:
        who, key = self.chosen(pick)
        id = self.id_of(who, key)

        def promoting() -> None:
            with self.crashing(ORG if at == "delivered" else who, after=at != "before"):
                self.memories[who].promote(id, "org")

        if at == "before":
            promoting()
        else:
            self.handed_up(who, key, id, "org", promoting)

    @contextmanager
    def crashing(self, place: str, *, after: bool) -> Iterator[None]:
        """Have the process end at the next change of a place's owner, before or after it; then
        there is another.
        """
        store: Any = self.store.runtime.store
        commit, owner = store.commit, self.owner_of(place)

        async def dying(target: Scope, request: Any, decide: Any) -> Any:
            if target != owner:
                return await commit(target, request, decide)
            if after:
                await commit(target, request, decide)
            raise Crash

        store.commit = dying
        with pytest.raises(Crash):
            yield
        # As the end of a process does: nothing is written down any more.
        self.run(store.close())
        self.store._driver.stop()
        self.store = self.opened()

    def owner_of(self, place: str) -> Scope:
        return (
            Scope.of_org(self.org)
            if place == ORG
            else principal_of(self.memories[place]).home.owner
        )

    def the_trail_holds(self) -> None:
        super().the_trail_holds()
        store = self.store.runtime.store
        for place in ("ana", "bob", ORG):
            owner = self.owner_of(place)
            links = self.run(store.links(owner, limit=10_000))
            events = [json.loads(link.payload) for link in links if link.payload is not None]
            told = {(id, event["at"]) for event in events for id in event["subjects"]}
            # Of those that were collected together it tells a code.
            together = {event["at"] for event in events if "memories" in event["details"]}
            states = [
                (memory.id, memory.known_from.isoformat())
                for memory in map(decode, self.run(store.rows(owner)))
            ]
            # An event that also named what was forgotten keeps its place and nothing else.
            silent = len(links) - len(events)
            untold = [at for id, at in states if (id, at) not in told and at not in together]
            assert len(untold) <= silent, "a row without its event"


def events_of(path: Path) -> list[str] | None:
    """Return the events in an export, None if there is none."""
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8").split("\n")
    return [line for line in lines if '"type":"event"' in line]


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
            return str(postgres.url("simonides_app", database))

        def the_trail_holds(self) -> None:
            # Of every life so far; once is enough.
            if self.number % 10 == 0:
                super().the_trail_holds()

    played(OnServer, STEPS // 40)
