"""Models cost no more than policy allows: of one operation, an owner's day, an org's."""

import ast
import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.open.store import IN_MEMORY
from simonides.api.sync import Store
from simonides.domain.errors import CeilingReached, ModelTimeout
from simonides.domain.memory import Status
from simonides.domain.policy.ceilings import Ceilings, Limits
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import Usage
from simonides.engine.core.counters import Counters
from simonides.engine.core.model_budget import ModelBudget
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.model_server import ModelServer, well
from simonides.testing.models import ScriptedModel
from simonides.testing.store_contract import drive

NOTHING = {"items": []}
SAID = "I live in Porto."


class Home:
    """An open store over a model and a policy, with a clock that stands still."""

    def __init__(self, policy: Path | None, model: Any, target: str | Path, **given: Any) -> None:
        self.clock = ManualClock()
        self.store = Store(
            assemble(
                target,
                settings=Settings(policy=policy),
                inline=True,
                model=model,
                clock=self.clock,
                ids=CountingIds(),
                alarm=self.clock,
                **given,
            )
        )
        self.ana = self.store.memory(user="ana")


@pytest.fixture
def at_home(tmp_path: Path) -> Iterator[Callable[..., Home]]:
    made: list[Home] = []

    def make(rules: str, model: Any, target: str | Path = IN_MEMORY, **given: Any) -> Home:
        path = tmp_path / f"{len(made)}.yaml"
        path.write_text(f"ceilings: {{{rules}}}\n", encoding="utf-8")
        made.append(Home(path, model, target, **given))
        return made[-1]

    yield make
    for home in made:
        assert home.store.admin(actor="root").check_audit().ok
        home.store.close()


class Endless(ScriptedModel):
    """Answers every question alike."""

    def __init__(self, answer: Any, **given: Any) -> None:
        super().__init__(**given)
        self._always = answer

    async def complete_json(self, **question: Any) -> Any:
        self.then(self._always)
        return await super().complete_json(**question)


def test_past_the_owners_day_the_rules_take_over_and_it_is_said(at_home: Any) -> None:
    model = Endless(NOTHING)
    home = at_home("owner_day: {calls: 2}", model)

    reports = [home.ana.add(SAID), *(home.ana.add("I prefer tea.") for _ in range(3))]

    assert [len(r.diagnostics) for r in reports] == [0, 0, 1, 1]
    assert reports[-1].diagnostics == ("ceiling:calls_per_owner_day",)
    assert reports[-1].usage == Usage()
    assert len(model.asked) == 2
    assert reports[2].outcomes
    assert reports[2].outcomes[0].stored


def test_another_day_has_room_again(at_home: Any) -> None:
    model = Endless(NOTHING)
    home = at_home("owner_day: {calls: 1}", model)
    home.ana.add(SAID)
    assert home.ana.add(SAID).diagnostics

    home.clock.advance(days=1)

    assert not home.ana.add(SAID).diagnostics
    days = home.ana.maintenance.usage().days
    assert [day.calls for day in days] == [1, 1]
    assert days[0].day > days[1].day


def test_one_users_day_is_not_anothers_but_an_orgs_is_everybodys(at_home: Any) -> None:
    model = Endless(NOTHING)
    home = at_home("owner_day: {calls: 2}, org_day: {calls: 3}", model)
    bob, eve = (home.store.memory(user=name) for name in ("bob", "eve"))
    other = home.store.memory(user="ana", org="other")

    for _ in range(2):
        assert not home.ana.add(SAID).diagnostics
    assert not bob.add(SAID).diagnostics

    assert eve.add(SAID).diagnostics == ("ceiling:calls_per_org_day",)
    assert eve.maintenance.usage().today.calls == 0
    assert not other.add(SAID).diagnostics


def test_what_a_question_may_cost_is_reserved_and_what_it_cost_is_booked(at_home: Any) -> None:
    seen: list[int] = []
    home: Home

    def answer(_: Any) -> Any:
        seen.append(home.ana.maintenance.usage().today.tokens)
        return NOTHING

    home = at_home("", ScriptedModel(answer, usage=Usage(1, 300, 20)))

    home.ana.add(SAID)

    assert seen[0] > 2_000
    today = home.ana.maintenance.usage().today
    assert (today.calls, today.tokens) == (1, 320)


def test_tokens_that_no_provider_counts_are_estimated(at_home: Any) -> None:
    home = at_home("", Endless(NOTHING))

    home.ana.add(SAID)

    assert 200 < home.ana.maintenance.usage().today.tokens < 800


def test_a_failure_is_booked_at_what_it_cost_and_at_the_most_where_nobody_counted(
    at_home: Any,
) -> None:
    model = ScriptedModel(ModelTimeout("late", usage=Usage(3, 30, 0)), ModelTimeout("late"))
    home = at_home("", model)

    home.ana.add(SAID)
    counted = home.ana.maintenance.usage().today
    home.ana.add(SAID)
    uncounted = home.ana.maintenance.usage().today

    assert (counted.calls, counted.tokens) == (3, 30)
    assert uncounted.calls == 4
    assert uncounted.tokens > 3_000


def test_one_operation_has_a_ceiling_of_its_own(at_home: Any) -> None:
    model = Endless(NOTHING)
    home = at_home("write: {tokens: 100}", model)

    report = home.ana.add(SAID)

    assert report.diagnostics == ("ceiling:tokens_per_write",)
    assert not model.asked
    assert home.ana.maintenance.usage().days == ()


def test_no_limit_is_none_however_often_one_operation_asks(at_home: Any) -> None:
    model = Endless(NOTHING)
    free = "{calls: null, tokens: null, embedded: null}"
    home = at_home(f"write: {free}, owner_day: {free}, org_day: {free}", model)

    run = home.store.agent(home.ana).run(SAID, "Where do I live?")

    assert not [note for note in run.history if note.action.startswith("ceiling")]
    assert len(model.asked) > 1


def test_questions_asked_side_by_side_count_each_other(at_home: Any) -> None:
    async def both() -> list[Any]:
        meter = ModelBudget(
            Endless(NOTHING), home.store.runtime.store, home.clock, tokens, Counters(home.clock)
        )
        account = meter.account(Scope.of_user("default", "ana"), Ceilings(write=Limits(calls=1)))
        question = {"system": "", "user": "", "schema": {}, "name": "", "deadline_s": 1.0}
        asked = (account.complete_json(**question) for _ in range(3))
        return await asyncio.gather(*asked, return_exceptions=True)

    home = at_home("", None)
    tokens = home.store.runtime.models.tokens

    given = asyncio.run(both())

    assert sum(isinstance(each, CeilingReached) for each in given) == 2


def test_a_question_that_may_be_retried_is_not_asked_where_its_retries_have_no_room(
    at_home: Any,
) -> None:
    model = Endless(NOTHING)
    model.most_requests = 5  # type: ignore[attr-defined]
    home = at_home("owner_day: {calls: 6}", model)

    reports = [home.ana.add(SAID) for _ in range(4)]

    assert [bool(report.diagnostics) for report in reports] == [False, False, True, True]
    assert home.ana.maintenance.usage().today.calls == 2


def test_an_agents_run_goes_on_by_rules(at_home: Any) -> None:
    home = at_home("owner_day: {calls: 0}", Endless(NOTHING))

    kept = home.store.agent(home.ana).capture("Always write to me in English.")
    answered = home.store.agent(home.ana).answer("Draft an update.")

    assert kept.status == answered.status == "ok"
    notes = [note.action for note in (*kept.history, *answered.history)]
    assert notes.count("ceiling:calls_per_owner_day") == 3


def test_an_agent_that_needs_a_model_stops(at_home: Any) -> None:
    home = at_home("owner_day: {calls: 0}", Endless(NOTHING))

    run = home.store.agent(home.ana, needs_model=True).capture(SAID)

    assert (run.status, run.stop_reason) == ("stopped", "llm_unavailable")


class Charged:
    """An embedder whose texts cost something."""

    model_id = "charged"
    dimensions = 2
    scripts = frozenset({"Latin"})
    capabilities = frozenset({simonides.ports.Capability.CHARGED})
    unrelated = MappingProxyType[str, float]({})

    def __init__(self) -> None:
        self.texts = 0

    def encode(self, texts: Any) -> Any:
        import numpy as np

        self.texts += len(texts)
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))


def test_texts_for_a_charged_embedder_are_counted_and_past_the_ceiling_stored_without_a_vector(
    at_home: Any,
) -> None:
    embedder = Charged()
    home = at_home("owner_day: {embedded: 2}", None, embedder=embedder)

    outcomes = [home.ana.remember(text) for text in ("I like tea", "I own a boat", "Bob is tall")]

    assert all(outcome.stored for outcome in outcomes)
    assert [outcome.usage.embedded_texts for outcome in outcomes] == [1, 1, 0]
    assert "ceiling:embedded_per_owner_day" in outcomes[2].reasons
    assert home.ana.maintenance.usage().today.embedded == embedder.texts == 2
    found = home.ana.recall("Bob")
    assert "Bob is tall" in [hit.record.content for hit in found]
    # The query itself is embedded and not counted.
    assert home.ana.maintenance.usage().today.embedded == 2
    assert embedder.texts == 3
    assert {memory.status for memory in home.ana.list()} == {Status.ACTIVE}


def test_what_waits_for_its_vector_gets_it_on_another_day(at_home: Any) -> None:
    embedder = Charged()
    home = at_home("owner_day: {embedded: 2}", None, embedder=embedder)
    for text in ("I like tea", "I own a boat", "Bob is tall"):
        home.ana.remember(text)

    report = home.store.admin(actor="root").reindex()
    assert (report.remade, report.problem) == (0, "CeilingReached")
    home.clock.advance(days=1)
    home.store.admin(actor="root").reindex()

    assert embedder.texts == 3
    assert [day.embedded for day in home.ana.maintenance.usage().days] == [1, 2]


def test_an_embedder_of_the_process_costs_nothing(at_home: Any) -> None:
    home = at_home("owner_day: {embedded: 0}", None)

    outcome = home.ana.remember("I like tea")

    assert outcome.usage.embedded_texts == 1
    assert home.ana.maintenance.usage().days == ()


# -- several processes --------------------------------------------------------------------------

ASKING = """
import sys
from simonides.settings import Settings
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.providers.language_models.openai import OpenAIModel

target, policy, url = sys.argv[1:]
model = OpenAIModel(model="m", api_key="k", base_url=url, max_retries=0)
opened_store = Store(assemble(target, settings=Settings(policy=policy), inline=True, model=model))
ana = opened_store.memory(user="ana")
for _ in range(6):
    ana.add("I live in Porto.")
opened_store.close()
"""


def test_several_processes_together_stay_under_the_ceiling(tmp_path: Path) -> None:
    policy, target = tmp_path / "p.yaml", tmp_path / "m.db"
    policy.write_text("ceilings: {owner_day: {calls: 9}}\n", encoding="utf-8")
    with ModelServer([well(NOTHING)] * 40) as server:
        command = [sys.executable, "-c", ASKING, str(target), str(policy), server.base_url]
        started = [subprocess.Popen(command) for _ in range(3)]
        assert [each.wait(timeout=60) for each in started] == [0, 0, 0]
        received = len(server.received)

    with simonides.open(target) as store:
        booked = store.memory(user="ana").maintenance.usage().today.calls
    assert booked == received
    # With retries to be had and a repair, a question takes room for five.
    assert 5 <= received <= 9


# -- no way around ------------------------------------------------------------------------------


def test_nothing_but_an_account_asks_the_model_of_an_open_store() -> None:
    """The meter cannot be asked, and only the account that it opens is given the model."""
    assert not hasattr(ModelBudget, "complete_json")
    source = Path(simonides.__file__).parent
    asking, holding = set(), set()
    for file in source.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr == "complete_json":
                asking.add(file.relative_to(source).as_posix())
            if isinstance(node, ast.Name) and node.id in ("ModelBudget", "BudgetAccount"):
                holding.add(file.relative_to(source).as_posix())
    # The callers are handed a model by code that opens an account. The guard is the model that an
    # account asks.
    asking -= {"providers/classifiers.py", "providers/language_models/circuit_breaker.py"}
    assert {name.rsplit("/", 1)[0] for name in asking} <= {
        "api/agent",
        "capture",
        "capture/model",
        "engine/consolidation",
        "engine/core",
        "hygiene/contradiction",
    }
    assert {name for name in asking if name.startswith("engine/core")} == {
        "engine/core/model_budget.py"
    }
    assert holding <= {
        "engine/core/model_budget.py",
        "engine/core/runtime.py",
        "api/open/assemble.py",
    }


def test_every_question_of_every_verb_is_booked(at_home: Any) -> None:
    class Thorough(Endless):
        async def complete_json(self, **question: Any) -> Any:
            assert drive(store, store.spent(owner)), "asked before anything was reserved"
            return await super().complete_json(**question)

    model = Thorough(NOTHING)
    home = at_home("", model)
    store, owner = home.store.runtime.store, Scope.of_user("default", "ana")
    for text in (
        "The boat is moored in Porto harbour",
        "The boat sank in Porto harbour",
        "I walk to work every morning",
        "I take the bus to work every morning",
    ):
        home.ana.remember(text)
        home.clock.advance(seconds=5)

    home.ana.add(SAID)
    home.ana.maintenance.hygiene()
    home.store.agent(home.ana).run(SAID, "Where do I live?")

    assert len(model.asked) >= 4
    assert home.ana.maintenance.usage().today.calls == len(model.asked)
