"""A life of random writes, changes and readings agrees with a dictionary."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import simonides
from simonides import Draft, NotFound
from simonides.testing import ManualClock

KEYS = st.sampled_from(["home", "job", "tea", "dog"])
VALUES = st.sampled_from("Rome Oslo Bonn Bari Lyon Kyiv Cork Graz".split())


class Life(RuleBasedStateMachine):
    """The model maps each key to its text, number of versions, hard expiry and lifetime."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="life"))
        self.clock, self.model, self.buried = ManualClock(), {}, set()
        self.open()

    def open(self):
        self.store = simonides.open(
            self.folder / "m.db",
            clock=self.clock,
            embedder="none",
            settings=simonides.Settings(synchronous="normal"),
        )
        self.memory = self.store.memory(user="ana")
        self.ben = self.store.memory(user="ben")

    def teardown(self):
        self.store.close()
        shutil.rmtree(self.folder)

    @initialize()
    def other_user(self):
        self.ben.remember("the home of Ben is Nice", key="home")

    def text(self, key, value):
        return f"the {key} of Ana is {value}"

    def current(self):
        now = self.clock.now_ms()
        return {key: text for key, (text, _, ends, _) in self.model.items() if ends > now}

    def versions(self, key):
        return self.model.get(key, ("", 0))[1]

    def keep(self, key, text, ends, days=None, *, again=False):
        """Note a version; an expired memory is none any more, so its key begins anew."""
        count = self.versions(key) if key in self.current() else 0
        self.model[key] = (text, count if again else count + 1, ends, days)

    def later(self, days):
        return 2**62 if days is None else self.clock.now_ms() + days * 86_400_000

    @rule(key=KEYS, value=VALUES, days=st.sampled_from([None, 2, 5]))
    def remember(self, key, value, days):
        text = self.text(key, value)
        standing = self.model[key] if key in self.current() else (None, 0, 0, None)
        inferred = standing[0] is not None and self.inferred(key)
        outcome = self.memory.remember(text, key=key, ttl_days=days)
        assert outcome
        assert outcome.record.content == text
        # A repeat renews the end that there is; another end makes a version.
        again = standing[0] == text and days in (None, standing[3]) and not inferred
        days = standing[3] if again else days
        self.keep(key, text, self.later(days), days, again=again)
        self.buried -= {key, text}

    @rule(key=KEYS, value=VALUES)
    def infer(self, key, value):
        text = self.text(key, value)
        was_inferred = key in self.current() and self.inferred(key)
        outcome = self.memory.remember(Draft(text, key=key, source="agent_inferred"))
        if {key, text} & self.buried:
            assert outcome.reasons == ("tombstoned",)
        elif key not in self.current():
            assert outcome
            self.keep(key, text, self.later(365))
        elif self.current()[key] != text:
            weaker = outcome.kind == "touched"
            old, count, ends, days = self.model[key]
            assert weaker is not was_inferred
            if weaker:
                self.model[key] = (old, count + 1, ends, days)
            else:
                self.keep(key, text, self.later(365))
        else:
            days = self.model[key][3]
            ends = self.later(365) if was_inferred else self.later(days)
            self.keep(key, text, ends, days, again=True)

    def inferred(self, key):
        return self.memory.get(key).source == "agent_inferred"

    @precondition(lambda self: self.current())
    @rule(key=KEYS, value=VALUES)
    def correct(self, key, value):
        if key not in self.current():
            with pytest.raises(NotFound):
                self.memory.correct(key, "x")
            return
        inferred = self.inferred(key)
        assert self.memory.correct(key, self.text(key, value))
        _, count, ends, days = self.model[key]
        # An end that a caller gave stays; that of an inference's category goes.
        ends = 2**62 if inferred else ends
        self.model[key] = (self.text(key, value), count + 1, ends, days)

    @rule(key=KEYS)
    def confirm(self, key):
        if key in self.current():
            inferred = self.inferred(key)
            assert self.memory.confirm(key).record.verified_at == self.clock.now
            text, _, _, days = self.model[key]
            ends = self.later(365) if inferred else self.later(days)
            self.keep(key, text, ends, days, again=True)
        else:
            with pytest.raises(NotFound):
                self.memory.confirm(key)

    @rule(key=KEYS)
    def forget(self, key):
        if key not in self.current():
            with pytest.raises(NotFound):
                self.memory.forget(key)
            return
        self.buried |= {key, *(record.content for record in self.memory.history(key))}
        assert self.memory.forget(key).kind == "forgotten"
        del self.model[key]

    @rule(days=st.integers(1, 4))
    def advance(self, days):
        self.clock.advance(days=days)

    @rule()
    def reopen(self):
        self.store.close()
        self.open()

    @rule(key=KEYS)
    def look_up(self, key):
        hits = self.memory.recall(f"what is the {key} of Ana", limit=50)
        assert {hit.key: hit.content for hit in hits} == self.current()
        assert not hits or key not in self.current() or hits[0].key == key

    @invariant()
    def agrees(self):
        listed = list(self.memory.list())
        assert {record.key: record.content for record in listed} == self.current()
        assert self.memory.status()["memories"] == len(self.current())
        for record in listed:
            versions = [each.version for each in self.memory.history(record)]
            # Versions whose own end has passed are not shown.
            assert versions == sorted({record.version, *versions})
            assert versions[-1] <= self.versions(record.key)

    @invariant()
    def is_proved(self):
        assert self.store.admin("root").verify_audit()
        assert {record.content for record in self.ben.list()} <= {"the home of Ben is Nice"}


TestLife = Life.TestCase
