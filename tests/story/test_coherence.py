"""The same fact never says two things in one prompt: what was said in a session lies over what is
stored, for who reads within it, until it is stored.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import simonides
from principals import capture, history_of, principal_of
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.conversation.session import Observation, SessionRules
from simonides.domain.errors import NotFound
from simonides.engine.recall.warm_sessions import WarmSessions
from simonides.prompting import Prompting
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock


@pytest.fixture
def world(new_world: Any) -> Any:
    """A world in which nothing that was said is stored before a test says so."""
    return new_world(session_extraction="manual")


@pytest.fixture
def ana(world: Any) -> Memory:
    memory = world.store.memory(user="ana")
    memory.remember("Berlin", key="location")
    memory.remember("english", key="language", category="preference")
    world.clock.advance(seconds=60)
    return memory  # type: ignore[no-any-return]


def values(memory: Any, key: str) -> list[str]:
    """Return what a recall of everything says of a key."""
    return [
        h.record.content for h in memory.recall(f"{key} Berlin", limit=50) if h.record.key == key
    ]


def test_a_correction_wins_at_once_within_its_session_alone(ana: Memory) -> None:
    session, elsewhere = ana.session("one"), ana.session("two")

    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})

    assert values(session, "location") == ["Lisbon"]
    assert values(elsewhere, "location") == ["Berlin"]
    assert values(ana, "location") == ["Berlin"]
    (hit,) = [h for h in session.recall("Lisbon") if h.record.key == "location"]
    assert (hit.record.source, hit.record.confidence) == ("in_session_correction", 1.0)
    assert hit.record.metadata["in_session"] is True
    assert (hit.record.origin.session, hit.record.origin.turn) == ("one", 0)


@pytest.mark.parametrize("verb", ["digest", "push", "search"])
def test_no_prompt_says_both(ana: Memory, verb: str) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})
    options = {"min_relevance": 0.0} if verb == "digest" else {}

    prompting = session if verb == "digest" else Prompting(session)
    text = getattr(prompting, verb)("Where does Ana live, Berlin or Lisbon?", **options).text

    assert ("Lisbon" in text, "Berlin" in text) == (True, False)
    assert "in_session_correction" in text


def test_a_second_process_in_the_session_sees_it_too(world: Any, ana: Memory) -> None:
    ana.session("s").add({"role": "user", "content": "Actually, I live in Lisbon now."})

    again = world.reopen().memory(user="ana").session("s")

    assert values(again, "location") == ["Lisbon"]


def test_the_last_word_of_a_session_counts(ana: Memory) -> None:
    session = ana.session("s")
    for said in ("I live in Lisbon now.", "No, it's Porto."):
        session.add({"role": "user", "content": said})

    assert values(session, "location") == ["Porto"]


def test_what_nothing_is_stored_of_counts_as_well(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I work as a nurse."})

    assert values(session, "occupation") == ["nurse"]
    assert values(ana, "occupation") == []


def test_what_the_agent_or_a_tool_says_corrects_nothing(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "assistant", "content": "I live in Lisbon now."})
    session.add({"role": "other", "content": "I live in Lisbon now."})
    session.add({"role": "tool", "name": "page", "content": "I live in Lisbon now."})

    assert values(session, "location") == ["Berlin"]


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ("For this session answer in French.", "french"),
        ("Please answer in French in this conversation.", "french"),
        ("Answer in French for now.", "french"),
        ("Just this once, answer in French.", "english"),
        ("Answer in French for this reply.", "english"),
    ],
)
def test_what_is_meant_for_the_session_holds_in_it(ana: Memory, said: str, language: str) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": said})

    assert values(session, "language") == [language]
    assert values(ana, "language") == ["english"]


def test_what_is_to_be_forgotten_is_not_shown_from_then_on(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I live in Lisbon now."})
    session.add({"role": "user", "content": "Forget where I live."})

    assert values(session, "location") == []
    assert values(ana, "location") == ["Berlin"]
    session.add({"role": "user", "content": "I live in Porto now."})
    assert values(session, "location") == ["Porto"]


def test_once_stored_it_stands_for_itself(world: Any, ana: Memory) -> None:
    session = ana.session("s")
    said = session.add({"role": "user", "content": "Actually, I live in Lisbon now."}).kept[0]
    world.clock.advance(seconds=1)

    capture(session, said.text, turn=said.number, at=said.at)

    for memory in (session, ana):
        (hit,) = [h for h in memory.recall("Lisbon") if h.record.key == "location"]
        assert (hit.record.content, hit.record.version > 0) == ("Lisbon", True)


def test_what_was_recorded_later_is_newer(world: Any, ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})
    world.clock.advance(seconds=1)

    ana.correct("location", "Madrid")

    assert values(session, "location") == ["Madrid"]


def test_what_was_said_long_ago_corrects_nothing_newer(ana: Memory) -> None:
    session = ana.session("imported")
    session.add({"role": "user", "content": "I live in Lisbon."}, at="2020-01-01")

    assert values(session, "location") == ["Berlin"]


def test_what_was_forgotten_by_a_verb_does_not_come_back(world: Any, ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})
    assert values(session, "location") == ["Lisbon"]
    world.clock.advance(seconds=1)

    ana.forget("location")

    assert values(session, "location") == []


def test_what_was_refused_is_not_shown(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I work as a nurse."})
    ana.privacy.refuse(key="occupation")

    assert values(session, "occupation") == []


def test_what_policy_would_not_store_overrides_nothing(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Remember that I am enterprise tier."})

    assert values(session, "declared_tier") == []


def test_what_waits_for_the_session_s_end_holds_in_it(ana: Memory) -> None:
    session = ana.session("s")
    (held,) = capture(session, "Be brief.").outcomes

    assert held.kind == "held"
    assert values(session, "response_style") == ["concise"]
    assert values(ana, "response_style") == []


def test_what_everybody_shares_gives_way_to_the_user_s_own_word(world: Any, ana: Memory) -> None:
    general = simonides.Draft("UTC", key="timezone", category="fact")
    world.store.admin(actor="root").remember(general)
    session = ana.session("s")
    assert values(session, "timezone") == ["UTC"]
    world.clock.advance(seconds=1)

    session.add({"role": "user", "content": "My timezone is UTC+1."})

    assert values(session, "timezone") not in ([], ["UTC"])
    assert len(values(session, "timezone")) == 1


def test_other_scopes_read_within_the_session_are_as_they_are(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})

    assert not session.recall("Lisbon", scopes=["org"])


def test_the_past_is_as_it_was(world: Any, ana: Memory) -> None:
    before = world.clock.now_us()
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})

    found = session.recall("location", known_at=simonides.domain.value.from_us(before), limit=50)
    assert [h.record.content for h in found if h.record.key == "location"] == ["Berlin"]


def test_a_receipt_says_what_gave_way_and_can_be_replayed_while_the_session_is_open(
    world: Any, ana: Memory
) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})
    shown = session.digest("Where do I live?", min_relevance=0.0)
    (berlin,) = history_of(ana, "location")

    assert (berlin.id, "in_session") in [(d.id, d.reason) for d in shown.receipt.dropped]
    world.clock.advance(seconds=1)
    session.add({"role": "user", "content": "No, it's Porto."})
    again = session.receipts.replay(shown.receipt)
    assert again.text == shown.text
    cited = shown.items[0].record.id
    assert session.receipts.verify(f"See {cited}.", shown.receipt).ok

    world.store.runtime.part(WarmSessions).clear()
    owner = principal_of(ana).home.owner
    drop = world.store.runtime.sessions.drop(owner, "s")
    world.store._driver.run(drop)
    with pytest.raises(simonides.NotReplayable) as gone:
        session.receipts.replay(shown.receipt)
    assert gone.value.ids


def test_explain_says_why_the_stored_one_is_not_shown(ana: Memory) -> None:
    (berlin,) = history_of(ana, "location")
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})

    assert session.explain(berlin.id, "Berlin").excluded == ("in_session",)
    assert ana.explain(berlin.id, "Berlin").recalled


@pytest.mark.parametrize("kept_in_memory", [0, 100])
def test_another_session_of_the_same_name_begins_with_nothing_said(
    new_world: Any, kept_in_memory: int
) -> None:
    world = new_world(session_extraction="manual", session_hot_entries=kept_in_memory)
    ana = world.store.memory(user="ana")
    session, driver = ana.session("s"), world.store._driver
    for said in ("Hello.", "I live in Lisbon now."):
        session.add({"role": "user", "content": said})
    assert values(session, "location") == ["Lisbon"]
    assert session.recall("Lisbon", layer="session")[0].record.origin.turn == 1

    # As another process ends it and begins the next.
    world.clock.advance(seconds=1)
    sessions, owner = world.store.runtime.sessions, principal_of(ana).home.owner
    kept = driver.run(sessions.entries(owner, "s"))
    driver.run(sessions.drop(owner, "s"))
    again = [Observation(world.clock.now_us(), kept[0].body)] * 3
    driver.run(sessions.append(owner, "s", again, now=world.clock.now_us()))

    assert values(session, "location") == []
    assert {hit.record.content for hit in session.recall("Lisbon", layer="session")} <= {"Hello."}


def test_what_a_digest_cites_can_be_looked_up_within_the_session(ana: Memory) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})
    (hit,) = [h for h in session.recall("Lisbon") if h.record.key == "location"]

    assert session.get(hit.record.id) == hit.record
    assert session.explain(hit.record.id, "Lisbon").recalled
    assert ana.get(hit.record.id) is None
    with pytest.raises(NotFound):
        ana.explain(hit.record.id, "Lisbon")


def test_a_prompt_that_shows_it_does_not_make_it_an_echo(world: Any, ana: Memory) -> None:
    session = ana.session("s")
    said = session.add({"role": "user", "content": "I live in Lisbon now."}).kept[0]
    world.clock.advance(seconds=1)
    assert "Lisbon" in session.digest("Lisbon", min_relevance=0.0).text
    world.clock.advance(seconds=10)

    report = capture(session, said.text, turn=said.number)

    assert [o.kind for o in report.outcomes] == ["superseded"]


def test_a_push_looks_again_once_something_was_said(world: Any, ana: Memory) -> None:
    session = ana.session("s")
    triggers = Prompting(session).triggers("Where does Ana live?")
    first = triggers.before_model()
    assert first is not None
    assert "english" in first.text
    assert triggers.before_model() is first

    session.add({"role": "user", "content": "Please answer in French."})

    second = triggers.before_model()
    assert second is not None
    assert ("french" in second.text, "english" in second.text) == (True, False)
    assert triggers.before_model() is second


def test_where_the_session_cannot_be_read_the_answer_says_so(
    world: Any, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "Actually, I live in Lisbon now."})

    async def fail(*_: object, **__: object) -> object:
        raise simonides.StoreUnavailable("m.db", "gone")

    monkeypatch.setattr(world.store.runtime.sessions, "entries", fail)
    found = session.recall("location", limit=50)

    assert "session" in found.degraded
    assert "Berlin" in [hit.record.content for hit in found]


CITIES = ("Berlin", "Lisbon", "Porto", "Madrid")
KEYS = ("location", "language")


class Coherence(RuleBasedStateMachine):
    """A user says things in two sessions and by verbs; each reader sees one value of each key."""

    @initialize()
    def open(self) -> None:
        self.clock = ManualClock()
        made = assemble(
            ":memory:",
            settings=Settings(session_extraction="manual"),
            inline=True,
            clock=self.clock,
            ids=CountingIds(),
            alarm=self.clock,
        )
        self.store = Store(made)
        self.memory = self.store.memory(user="ana")
        self.sessions = [self.memory.session(name) for name in ("one", "two")]
        self.stored: str | None = None
        self.said: list[str | None] = [None, None]
        self.is_said = [False, False]
        self.entries: list[list[Any]] = [[], []]

    def _pass(self) -> None:
        self.clock.advance(seconds=1)

    @rule(which=st.integers(0, 1), city=st.sampled_from(CITIES))
    def say(self, which: int, city: str) -> None:
        self._pass()
        said = self.sessions[which].add({"role": "user", "content": f"I live in {city}."}).kept[0]
        self.entries[which].append(said)
        self.said[which], self.is_said[which] = city, True

    @rule(which=st.integers(0, 1))
    def say_forget(self, which: int) -> None:
        self._pass()
        self.sessions[which].add({"role": "user", "content": "Forget where I live."})
        self.entries[which].clear()
        self.said[which], self.is_said[which] = None, True

    @rule(city=st.sampled_from(CITIES))
    def correct(self, city: str) -> None:
        self._pass()
        if self.memory.get("location") is None:
            with pytest.raises(NotFound):
                self.memory.correct("location", city)
            return
        self.memory.correct("location", city)
        self.stored, self.is_said = city, [False, False]
        self.entries = [[], []]

    @rule(which=st.integers(0, 1))
    def store_what_was_said(self, which: int) -> None:
        """As extraction does, some time later: the last statement, which is then the newest."""
        if not self.entries[which]:
            return
        self._pass()
        said = self.entries[which].pop()
        self.entries[which].clear()
        capture(self.sessions[which], said.text, turn=said.number, at=said.at)
        city = said.text.removeprefix("I live in ").rstrip(".")
        found = {h.record.content for h in self.memory.recall("location", limit=50)}
        # Whether an older word wins over a newer one is the gates' to say.
        self.stored = city if city in found else self.stored
        if city in found:
            self.is_said[1 - which] = False
            self.entries[1 - which].clear()
        self.is_said[which] = False

    @invariant()
    def each_reader_sees_one_value(self) -> None:
        if not hasattr(self, "memory"):
            return
        readers = [self.memory, *(session for session in self.sessions)]
        for place, reader in enumerate(readers):
            found = _of_key(reader.recall("location city", limit=50))
            assert len(found) <= 1
            shown = reader.digest("location city", min_relevance=0.0, preference_bias=True).items
            assert len([item for item in shown if item.record.key == "location"]) <= 1
            if place and self.is_said[place - 1]:
                said = self.said[place - 1]
                assert found == ([] if said is None else [said])
            elif self.stored is not None:
                assert found == [self.stored]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


def _of_key(hits: Sequence[Any]) -> list[str]:
    return [hit.record.content for hit in hits if hit.record.key == "location"]


TestCoherence = Coherence.TestCase
TestCoherence.settings = settings(
    max_examples=30,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("kind", ["task", "session"])
def test_what_a_prompt_costs_does_not_grow_with_the_session(
    ana: Memory, world: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with ana.task("Migrate", plan=["one", "two"]) as task:
        within = ana.session(task.session)
        for n in range(2 * world.store.runtime.part(SessionRules).hot_entries):
            task.observe("psql", f"{n} rows")
        prompt = task.prompt if kind == "task" else lambda: within.recall("location")
        prompt()
        log, read = world.store.runtime.sessions, list[int]()
        entries = log.entries

        async def counted(*given: Any, **named: Any) -> Any:
            found = await entries(*given, **named)
            read.append(len(found))
            return found

        monkeypatch.setattr(log, "entries", counted)
        task.observe("psql", "one more row")
        prompt()

        assert 1 <= sum(read) <= 10
