"""Two replicas and their remote, written to in any order, offline, killed, with clocks that differ:
once they have met, all three say the same, and nothing comes back that was forgotten.

``SYNC_EXAMPLES`` sets how many lives are played.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from principals import erase
from simonides import Draft, Record, StoreUnavailable
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.codecs.memory import decode
from simonides.domain.errors import NotFound
from simonides.domain.scope import Scope
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.transfer.sync.replica import Replica

EXAMPLES = int(os.environ.get("SYNC_EXAMPLES", "20"))
STEPS = 30

ALICE = Scope.parse("/user/alice")
REPLICAS = ("a", "b")
SIDES = st.sampled_from((*REPLICAS, "remote"))
KEYS = st.sampled_from(("drink", "city"))
VALUES = st.sampled_from(("tea", "coffee", "Oslo", "Rome", "seven cats"))
SOURCES = st.sampled_from(("user_stated", "agent_inferred", "tool_verified"))


class Killed(BaseException):
    """The process ends here."""


class Syncing(RuleBasedStateMachine):
    """What three stores of one person do to each other."""

    remote: str | None = None
    """Where the remote is; None makes a file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.ids = CountingIds()
        self.clocks = {name: ManualClock() for name in (*REPLICAS, "remote")}
        self.open: dict[str, Store] = {}
        self.said: dict[str, Record] = {}
        self.gone: set[str] = set()
        self.barred: set[str] = set()
        self.was_erased = False

    @initialize(ahead=st.integers(-3, 3))
    def begin(self, ahead: int) -> None:
        for name in self.clocks:
            self.start(name)
        self.clocks["b"].advance(days=max(ahead, 0))
        self.clocks["a"].advance(days=max(-ahead, 0))

    def place(self, name: str) -> str:
        if name == "remote" and self.remote is not None:
            return self.remote
        return str(Path(self.folder.name) / f"{name}.db")

    def start(self, name: str) -> None:
        synced = {"mode": "synced", "remote": self.place("remote")} if name in REPLICAS else {}
        made = assemble(
            self.place(name),
            settings=Settings(synchronous="normal"),
            inline=True,
            clock=self.clocks[name],
            ids=self.ids,
            **synced,  # type: ignore[arg-type]
        )
        self.open[name] = Store(made)
        self.memory(name)  # whoever acts for alice has her exchanged

    def memory(self, name: str) -> Any:
        return self.open[name].memory(user="alice")

    # -- what a person does ---------------------------------------------------------------

    @rule(where=SIDES, key=KEYS, value=VALUES, source=SOURCES)
    def remember(self, where: str, key: str, value: str, source: str) -> None:
        self.tick(where)
        self.heard(
            self.memory(where).remember(Draft(f"The {key} is {value}", key=key, source=source))
        )

    @rule(where=SIDES, value=VALUES)
    def remark(self, where: str, value: str) -> None:
        self.tick(where)
        self.heard(self.memory(where).remember(f"Was seen beside {value}"))

    @rule(where=SIDES, town=st.sampled_from(("Oslo", "Rome")), yes=st.booleans())
    def live(self, where: str, town: str, yes: bool) -> None:
        self.tick(where)
        said = f"I live in {town}" if yes else f"I do not live in {town} any more"
        self.heard(self.memory(where).remember(said))

    @rule(where=SIDES, key=KEYS, value=VALUES)
    def correct(self, where: str, key: str, value: str) -> None:
        self.tick(where)
        with suppress(NotFound):
            self.heard(self.memory(where).correct(key, f"The {key} is {value}"))

    @rule(where=SIDES, pick=st.integers(0, 9))
    def confirm(self, where: str, pick: int) -> None:
        self.tick(where)
        if found := self.memory(where).list():
            self.memory(where).confirm(found[pick % len(found)].id)

    @rule(where=SIDES, key=KEYS)
    def forget(self, where: str, key: str) -> None:
        self.tick(where)
        versions = [m for m in self.everything(where) if m.key == key]
        with suppress(NotFound):
            self.memory(where).forget(key)
        self.let_go(versions)

    @rule(where=SIDES, pick=st.integers(0, 9))
    def forget_one(self, where: str, pick: int) -> None:
        self.tick(where)
        if found := self.memory(where).list():
            root = found[pick % len(found)].root
            versions = [m for m in self.everything(where) if m.root == root]
            self.memory(where).forget(found[pick % len(found)].id)
            self.let_go(versions)

    @rule(where=SIDES, key=KEYS, yes=st.booleans())
    def consent(self, where: str, key: str, yes: bool) -> None:
        self.tick(where)
        privacy = self.memory(where).privacy
        verb = privacy.allow if yes else privacy.refuse
        verb(key=key)

    @precondition(lambda self: len(self.said) > 6)
    @rule(where=SIDES)
    def erase(self, where: str) -> None:
        self.tick(where)
        self.let_go(self.everything(where))
        self.was_erased = True
        erase(self.memory(where))

    @rule(where=SIDES, hours=st.integers(0, 100))
    def wait(self, where: str, hours: int) -> None:
        self.clocks[where].advance(seconds=hours * 3600)

    # -- what becomes of it ---------------------------------------------------------------

    @rule(where=st.sampled_from(REPLICAS))
    def sync(self, where: str) -> None:
        self.tick(where)
        self.open[where].sync()

    @rule(
        where=st.sampled_from(REPLICAS),
        far=st.booleans(),
        nth=st.integers(1, 4),
        before=st.booleans(),
    )
    def sync_killed(self, where: str, far: bool, nth: int, before: bool) -> None:
        self.tick(where)
        self.killed_at(where, far=far, nth=nth, before=before)
        with suppress(Killed):
            self.open[where].sync()
        self.leave(where)
        self.start(where)

    def killed_at(self, where: str, *, far: bool, nth: int, before: bool) -> None:
        """Have the process end at one of the commits of an exchange."""
        runtime = self.open[where].runtime
        if far:
            replica = runtime.part(Replica)
            reach = replica._reach
            replica._reach = lambda: broken(reach(), nth, before)  # type: ignore[method-assign]
        else:
            break_at(runtime.store, nth, before)

    @rule(where=st.sampled_from(REPLICAS))
    def remote_away(self, where: str) -> None:
        replica = self.open[where].runtime.part(Replica)
        reach = replica._reach

        def away() -> Any:
            raise StoreUnavailable("remote", "away")

        replica._reach = away  # type: ignore[method-assign]
        with_it = replica._there is not None
        try:
            self.open[where].sync()
            assert with_it  # it was still open
        except StoreUnavailable:
            pass
        replica._reach = reach  # type: ignore[method-assign]

    @rule()
    def meet(self) -> None:
        """Exchange until nothing is left to say; then all three say the same."""
        for _ in range(8):
            done = [self.open[name].sync() for name in REPLICAS]
            if not any(one.did_anything for report in done for one in report.owners):
                break
        else:
            pytest.fail("they never come to an end")
        self.check()

    def teardown(self) -> None:
        try:
            if len(self.open) == len(self.clocks):
                self.meet()
        finally:
            for name in [*self.open]:
                self.leave(name)
            self.folder.cleanup()

    # -- what must hold -------------------------------------------------------------------

    def check(self) -> None:
        latest = max(clock.now_us() for clock in self.clocks.values())
        for clock in self.clocks.values():
            clock.advance(us=latest - clock.now_us())
        told = {name: self.told(name) for name in self.clocks}
        for name in REPLICAS:
            mine, theirs = told[name], told["remote"]
            differs = {
                what: (mine.get(what), theirs.get(what))
                for what in mine | theirs
                if mine.get(what) != theirs.get(what)
            }
            assert not differs, f"{name} is not as the remote: {differs}"
        for name in self.clocks:
            self.check_one(name)

    def told(self, name: str) -> dict[str, Any]:
        memory = self.memory(name)
        # What was refused when it would have come is not taken over, and hidden where it is.
        refused = {c.name for c in memory.privacy.list() if not c.allowed}
        versions = [m for m in self.everything(name) if m.key not in refused]
        return {
            "recalled": {
                asked: [(h.record.id, h.record.content, h.score) for h in memory.recall(asked)]
                for asked in ("which drink?", "which city?", "seen beside cats")
            },
            "digest": memory.digest("drink city").text,
            **{f"version {m.id}": seen(m) for m in versions},
            "consents": [(c.about, c.name, c.allowed) for c in memory.privacy.list()],
        }

    def check_one(self, name: str) -> None:
        versions = self.everything(name)
        live = [m for m in versions if m.status.is_live]
        keys = [m.key for m in live if m.key is not None]
        assert len(keys) == len(set(keys)), "two stand under one key"
        texts = [m.content_hash for m in live if m.key is None]
        assert len(texts) == len(set(texts)), "one text stands twice"
        for root in {m.root for m in versions}:
            chain = sorted(m.version for m in versions if m.root == root)
            assert len(chain) == len(set(chain)), "two have one place in a chain"
            if not self.barred:  # else one may have gone from the middle
                assert chain == list(range(1, len(chain) + 1)), "a chain has a gap"
            standing = [m for m in live if m.root == root]
            assert len(standing) <= 1, "two of a chain stand"
            assert all(m.versions == chain[-1] for m in standing), "a chain tells another length"
        there = {m.id for m in versions}
        assert there.isdisjoint(self.gone), "what was forgotten came back"
        if not self.was_erased:
            refused = {c.name for c in self.memory(name).privacy.list() if not c.allowed}
            lost = {
                id
                for id, memory in self.said.items()
                if not self.is_barred(memory) and memory.key not in refused
            }
            assert lost <= there, "what was acknowledged is lost"
        assert self.open[name].admin(actor="root").check_audit().ok

    def is_barred(self, memory: Record) -> bool:
        """Whether its key, its chain, or a text of its chain was forgotten anywhere, ever."""
        texts = {each.content for each in self.said.values() if each.root == memory.root}
        named = {memory.content, *texts, f"key:{memory.key}", f"chain:{memory.root}"}
        return not named.isdisjoint(self.barred)

    # -- by what it is done ---------------------------------------------------------------

    def everything(self, name: str) -> list[Record]:
        store = self.open[name]
        rows = store._driver.run(store.runtime.store.rows(ALICE))
        return [decode(row) for row in rows]

    def heard(self, outcome: Any) -> None:
        if outcome.kind in ("created", "superseded", "touched", "coexists", "review"):
            self.said[outcome.record.id] = outcome.record

    def let_go(self, versions: list[Record]) -> None:
        self.gone |= {m.id for m in versions}
        self.barred |= {m.content for m in versions} | {f"chain:{m.root}" for m in versions}
        self.barred |= {f"key:{m.key}" for m in versions if m.key is not None}

    def tick(self, name: str) -> None:
        self.clocks[name].advance(seconds=1)

    def leave(self, name: str) -> None:
        self.open.pop(name).close()


def seen(memory: Record) -> tuple[object, ...]:
    """Return what of a memory is the same in every store; the number of a version is not."""
    said = (memory.content, memory.key, memory.status.value, memory.confidence, memory.source.value)
    times = (str(memory.updated_at), str(memory.verified_at), str(memory.valid_to))
    return (*said, *times, memory.superseded_by, memory.supersedes, memory.root)


def broken(reached: Any, nth: int, before: bool) -> Any:
    break_at(reached.runtime.store, nth, before)
    return reached


def break_at(store: Any, nth: int, before: bool) -> None:
    """Let a store end the process at its nth commit: before it, or when it is done."""
    commit: Callable[..., Any] = store.commit
    calls = 0

    async def breaking(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and before:
            raise Killed
        done = await commit(*arguments, **named)
        if calls == nth:
            raise Killed
        return done

    store.commit = breaking


def play(machine: type[Syncing], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=timedelta(seconds=60),
            derandomize="SYNC_SEARCH" not in os.environ,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate,) if "SYNC_FAST" in os.environ else tuple(Phase),
        ),
    )


def test_replicas_that_have_met_say_the_same() -> None:
    play(Syncing, EXAMPLES)
