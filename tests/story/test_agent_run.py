"""The agent run: the reference scenario, and every stop reason in the phases where it can arise."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from principals import capture
from simonides import Draft
from simonides.api.agent import AgentResult
from simonides.api.open.assemble import assemble
from simonides.api.sync import Agent, Store
from simonides.domain.errors import ModelGarbled, ModelTimeout, ModelUnavailable
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.models import ScriptedModel
from simonides.types import Usage

FIRST = (
    "For future incident updates, write in English, keep replies concise, use email as the "
    "primary channel, and remember that I am enterprise tier."
)
SECOND = "Draft an update on the payment incident: card payments fail for some customers"

CANDIDATES = {
    "items": [
        {"key": "language", "value": "english", "quote": "write in English"},
        {"key": "response_style", "value": "concise", "quote": "keep replies concise"},
        {"key": "update_channel", "value": "email", "quote": "use email as the primary channel"},
        {"key": "declared_tier", "value": "enterprise", "quote": "I am enterprise tier"},
    ]
}
INTENT = {"kind": "retrieve_memory", "query": "incident update preferences", "top_k": 4}
ANSWER = {
    "answer": "Incident update: card payments fail for some customers. Next update by email.",
    "used_memory_keys": ["language", "update_channel"],
}


class Run:
    """An agent over a scripted model, or over the rules."""

    def __init__(
        self,
        model: ScriptedModel | None,
        *,
        needs_model: bool = False,
        policy: Path | None = None,
    ) -> None:
        self.clock = ManualClock()
        core = assemble(
            ":memory:",
            settings=Settings(policy=policy),
            inline=True,
            model=model,
            clock=self.clock,
            ids=CountingIds(),
        )
        self.store = Store(core)
        self.own = self.store.memory(user="ana").session("s1")
        self.agent: Agent = self.store.agent(self.own, needs_model=needs_model)


def learned(run: Run) -> Run:
    """Store what the reference scenario stores, without the model."""
    run.own.remember("english", key="language", category="preference")
    run.own.remember("concise", key="response_style", category="preference")
    run.own.remember("email", key="update_channel", category="preference")
    return run


def test_rules_play_the_reference_scenario_over_two_openings_of_one_file(tmp_path: Path) -> None:
    def opened() -> Store:
        return Store(assemble(tmp_path / "m.db", settings=Settings(), inline=True))

    with opened() as store:
        first = store.agent(store.memory(user="ana").session("s1")).capture(FIRST)
    with opened() as store:
        second = store.agent(store.memory(user="ana").session("s2")).answer(SECOND)

    assert (first.status, first.stop_reason) == ("ok", "success")
    assert first.trace[0].written == ("language", "response_style", "update_channel")
    assert first.blocked == (
        {"key": "declared_tier", "scope": "user", "reason": "key_denied_execution"},
    )
    assert second.outcome == "memory_applied"
    assert set(second.used_memory_keys) == {"language", "response_style", "update_channel"}
    assert second.answer is not None
    assert second.answer.startswith("Incident update:")
    assert "email" in second.answer
    assert [state.key for state in second.memory_state] == [
        "language",
        "response_style",
        "update_channel",
    ]


def test_a_model_plays_the_reference_scenario_under_the_same_contract() -> None:
    run = Run(ScriptedModel(CANDIDATES, INTENT, ANSWER))

    result = run.agent.run(FIRST, SECOND)

    assert result.stop_reason == "success"
    assert result.used_memory_keys == ("language", "update_channel")
    assert {memory.value for memory in result.applied_memory} == {"english", "email"}
    assert result.blocked[0]["reason"] == "key_denied_execution"
    assert result.usage.model_calls == 3
    assert [step.phase for step in result.trace] == ["capture_store", "retrieve", "apply"]
    assert all(step.ok for step in result.trace)


def test_what_is_sensitive_reaches_no_model() -> None:
    model = ScriptedModel(INTENT, ANSWER)
    run = learned(Run(model))
    run.own.remember(Draft("Ana's incident pin is 4711", sensitivity="sensitive", pinned=True))

    result = run.agent.answer(SECOND)

    assert result.stop_reason == "success"
    assert "email" in model.asked[-1].user
    assert not any("4711" in question.user for question in model.asked)


def test_a_repeated_capture_refreshes_instead_of_writing_again() -> None:
    run = Run(None)
    run.agent.capture(FIRST)

    again = run.agent.capture(FIRST)

    assert again.trace[0].written == ()
    assert again.trace[0].refreshed == ("language", "response_style", "update_channel")


def test_the_report_of_a_run_is_plain_data_with_the_agreed_fields() -> None:
    result = learned(Run(None)).agent.answer(SECOND).to_dict()

    assert result["run_id"]
    assert result["applied_memory"][0].keys() == {"key", "value", "scope", "confidence", "score"}
    assert {"key", "value", "source", "ttl_left_days"} <= result["memory_state"][0].keys()
    assert {"step", "session", "intent", "resolved_scopes", "retrieved_keys", "action"} <= result[
        "history"
    ][0].keys()
    assert result["history"][0]["resolved_scopes"] == ["user"]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ([], "invalid_memory_candidates:not_object"),
        ({"items": {}}, "invalid_memory_candidates:items"),
        ({"items": ["x"]}, "invalid_memory_candidates:item"),
        ({"items": [{"key": "language"}]}, "invalid_memory_candidates:missing_keys"),
        ({"items": [{"key": 1, "value": "x"}]}, "invalid_memory_candidates:key"),
        ({"items": [{"key": "language", "value": 1}]}, "invalid_memory_candidates:value"),
        (
            {"items": [{"key": "language", "value": "x" * 121}]},
            "invalid_memory_candidates:value_too_long",
        ),
        (
            {"items": [{"key": "language", "value": "x", "scope": 7}]},
            "invalid_memory_candidates:scope",
        ),
        (
            {"items": [{"key": "language", "value": "x", "ttl_days": "soon"}]},
            "invalid_memory_candidates:ttl_days",
        ),
        (
            {"items": [{"key": "language", "value": "x", "confidence": 2}]},
            "invalid_memory_candidates:confidence",
        ),
        (
            {"items": [{"key": "language", "value": str(n)} for n in range(7)]},
            "invalid_memory_candidates:too_many_items",
        ),
        (
            {"items": [{"key": "password", "value": "x"}]},
            "memory_key_not_allowed_policy:password",
        ),
        (
            {"items": [{"key": "language", "value": "x", "scope": "galaxy"}]},
            "memory_scope_not_allowed_policy:galaxy",
        ),
    ],
)
def test_a_bad_proposal_stops_the_run_with_its_reason_and_stores_nothing(
    raw: Any, reason: str
) -> None:
    run = Run(ScriptedModel(raw))

    result = run.agent.capture(FIRST)

    assert (result.status, result.stop_reason, result.phase) == ("stopped", reason, "capture")
    assert result.raw_capture == raw
    assert run.own.list() == ()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("find it", "invalid_retrieval_intent:not_object"),
        ({"kind": "delete", "query": "x"}, "invalid_retrieval_intent:kind"),
        ({"kind": "retrieve_memory", "query": ""}, "invalid_retrieval_intent:query"),
        (
            {"kind": "retrieve_memory", "query": "x" * 241},
            "invalid_retrieval_intent:query_too_long",
        ),
        (
            {"kind": "retrieve_memory", "query": "x", "top_k": 7},
            "invalid_retrieval_intent:top_k",
        ),
        (
            {"kind": "retrieve_memory", "query": "x", "scopes": "user"},
            "invalid_retrieval_intent:scopes",
        ),
        (
            {"kind": "retrieve_memory", "query": "x", "scopes": [1]},
            "invalid_retrieval_intent:scope_item",
        ),
        (
            {"kind": "retrieve_memory", "query": "x", "scopes": ["galaxy"]},
            "invalid_retrieval_intent:scope_not_allowed:galaxy",
        ),
    ],
)
def test_a_bad_plan_stops_the_run_with_its_reason(raw: Any, reason: str) -> None:
    result = Run(ScriptedModel(raw)).agent.answer(SECOND)

    assert (result.stop_reason, result.phase) == (reason, "retrieve_plan")
    assert result.raw_intent == raw


def test_a_scope_that_execution_denies_stops_the_run_in_retrieval() -> None:
    asked = {"kind": "retrieve_memory", "query": "x", "scopes": ["workspace"]}

    result = Run(ScriptedModel(asked)).agent.answer(SECOND)

    assert (result.stop_reason, result.phase) == ("scope_denied:workspace", "retrieve")
    assert result.intent is not None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("text", "llm_invalid_schema"),
        ({"answer": 1, "used_memory_keys": []}, "llm_invalid_schema"),
        ({"answer": "x", "used_memory_keys": [1]}, "llm_invalid_schema"),
        ({"answer": "  ", "used_memory_keys": []}, "llm_empty"),
        ({"answer": "x" * 701, "used_memory_keys": []}, "invalid_answer:too_long"),
        (
            {"answer": "x", "used_memory_keys": ["salary"]},
            "invalid_answer:memory_keys_out_of_context",
        ),
        (
            {"answer": "Hola.", "used_memory_keys": ["language", "update_channel"]},
            "invalid_answer:memory_declared_but_not_applied",
        ),
    ],
)
def test_a_bad_answer_stops_the_run_with_its_reason(raw: Any, reason: str) -> None:
    result = learned(Run(ScriptedModel(INTENT, raw))).agent.answer(SECOND)

    assert (result.stop_reason, result.phase, result.answer) == (reason, "apply", None)
    assert set(result.retrieved_keys or ()) == {"language", "response_style", "update_channel"}
    if reason.endswith("out_of_context"):
        assert result.invalid_used_memory_keys == ("salary",)


COST = Usage(model_calls=2, input_tokens=30, output_tokens=4)


@pytest.mark.parametrize("before", [(), (CANDIDATES,), (CANDIDATES, INTENT)])
def test_what_a_failing_model_has_cost_counts(before: tuple[Any, ...]) -> None:
    run = Run(ScriptedModel(*before, ModelGarbled("empty", "nothing", usage=COST)))

    result = run.agent.run(FIRST, SECOND)

    assert result.status == "stopped"
    assert result.usage == Usage(model_calls=len(before)) + COST


def test_what_a_failing_model_has_cost_counts_in_the_report_of_capture_too() -> None:
    report = capture(Run(ScriptedModel(ModelTimeout("late", usage=COST))).own, FIRST)

    assert report.diagnostics[-1] == "llm_timeout"
    assert report.stored, "the rules' findings are not lost with the model"
    assert report.usage == COST


FAILURES: list[tuple[Exception, dict[str, str]]] = [
    (
        ModelTimeout("no answer"),
        {"capture": "llm_timeout", "retrieve_plan": "llm_timeout", "apply": "llm_timeout"},
    ),
    (
        ModelUnavailable("401"),
        {
            "capture": "llm_unavailable",
            "retrieve_plan": "llm_unavailable",
            "apply": "llm_unavailable",
        },
    ),
    (
        ModelGarbled("invalid_json", "not JSON"),
        {
            "capture": "invalid_memory_candidates:not_object",
            "retrieve_plan": "invalid_retrieval_intent:not_object",
            "apply": "llm_invalid_json",
        },
    ),
    (
        ModelGarbled("invalid_schema", "off"),
        {
            "capture": "invalid_memory_candidates:not_object",
            "retrieve_plan": "invalid_retrieval_intent:not_object",
            "apply": "llm_invalid_schema",
        },
    ),
    (
        ModelGarbled("empty", "nothing"),
        {"capture": "llm_empty", "retrieve_plan": "llm_empty", "apply": "llm_empty"},
    ),
]


@pytest.mark.parametrize("phase", ["capture", "retrieve_plan", "apply"])
@pytest.mark.parametrize(("failure", "reasons"), FAILURES)
def test_every_failure_of_a_model_ends_in_the_reason_of_its_phase(
    failure: Exception, reasons: dict[str, str], phase: str
) -> None:
    scripts: dict[str, tuple[Any, Callable[[Agent], AgentResult]]] = {
        "capture": ((failure,), lambda agent: agent.capture(FIRST)),
        "retrieve_plan": ((failure,), lambda agent: agent.answer(SECOND)),
        "apply": ((INTENT, failure), lambda agent: agent.answer(SECOND)),
    }
    script, act = scripts[phase]

    result = act(Run(ScriptedModel(*script)).agent)

    assert (result.stop_reason, result.phase) == (reasons[phase], phase)
    assert not result.trace[-1].ok


@pytest.mark.parametrize("phase", ["capture", "retrieve_plan", "apply"])
def test_a_run_that_needs_a_model_says_when_there_is_none(phase: str) -> None:
    agent = Run(None, needs_model=True).agent

    result = agent.capture(FIRST) if phase == "capture" else agent.answer(SECOND)

    assert result.stop_reason == "llm_unavailable"


@pytest.mark.parametrize("phase", ["capture", "retrieve_plan", "retrieve", "apply"])
def test_time_runs_out_before_each_phase(phase: str) -> None:
    model = ScriptedModel()
    run = learned(Run(model))
    late = lambda value: lambda _: (run.clock.advance(seconds=26), value)[1]  # noqa: E731
    scripts: dict[str, list[Any]] = {
        "retrieve_plan": [late(CANDIDATES)],
        "retrieve": [CANDIDATES, late(INTENT)],
    }
    model.then(*scripts.get(phase, [CANDIDATES, INTENT]))
    if phase == "capture":
        result = _out_of_time_at_once(run)
    elif phase == "apply":
        result = _slow_recall(run)
    else:
        result = run.agent.run(FIRST, SECOND)

    assert (result.stop_reason, result.phase) == ("max_seconds", phase)


def _out_of_time_at_once(run: Run) -> AgentResult:
    monotonic = run.clock.monotonic
    readings = iter([0.0])
    run.clock.monotonic = lambda: next(readings, 26.0)  # type: ignore[method-assign]
    try:
        return run.agent.capture(FIRST)
    finally:
        run.clock.monotonic = monotonic  # type: ignore[method-assign]


def _slow_recall(run: Run) -> AgentResult:
    memory = run.agent._agent._memory
    recall = memory.recall

    async def slow(*args: Any, **named: Any) -> Any:
        found = await recall(*args, **named)
        run.clock.advance(seconds=26)
        return found

    memory.recall = slow  # type: ignore[method-assign]
    return run.agent.run(FIRST, SECOND)


def test_more_candidates_than_the_budget_allows_stop_the_run(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("budgets:\n  capture_items: 2\n")

    result = Run(ScriptedModel(CANDIDATES), policy=policy).agent.capture(FIRST)

    assert (result.stop_reason, result.phase) == ("max_capture_items", "capture")


def test_an_answer_that_applies_no_memory_is_context_only() -> None:
    silent = {"answer": "All is well.", "used_memory_keys": []}

    result = learned(Run(ScriptedModel(INTENT, silent))).agent.answer(SECOND)

    assert (result.status, result.outcome, result.applied_memory) == ("ok", "context_only", ())


def test_a_model_is_shown_memories_as_data_and_within_the_time_that_is_left() -> None:
    model = ScriptedModel(INTENT, ANSWER)
    run = learned(Run(model))

    run.agent.answer(SECOND)

    plan, apply = model.asked
    assert 0 < plan.deadline_s <= 25
    assert '"value":"email"' in apply.user
    assert "not\ninstructions" in apply.system


def test_checks_for_more_keys_can_be_added() -> None:
    intent = {"kind": "retrieve_memory", "query": "What is my name?"}
    hidden = {"answer": "Hello there.", "used_memory_keys": ["name"]}
    shown = {"answer": "Hello Ana.", "used_memory_keys": ["name"]}
    run = Run(ScriptedModel(intent, hidden, intent, shown))
    run.own.remember("Ana", key="name", category="entity_fact")
    agent = run.store.agent(run.own, checks={"name": lambda value, text: value in text})

    first, second = agent.answer("Greet me"), agent.answer("Greet me")

    assert first.stop_reason == "invalid_answer:memory_declared_but_not_applied"
    assert second.stop_reason == "success"


def test_retrieval_reads_no_more_than_execution_allows() -> None:
    run = Run(None)
    run.store.admin(actor="root").remember(
        Draft("Updates go by fax", key="update_channel", category="preference"),
        scope="/org/default/",
    )
    alone = run.store.agent(run.store.visitor("s9"))

    result = alone.answer("Which channel do updates use?")

    assert result.history[0].resolved_scopes == ("user",)
    assert result.history[0].retrieved_keys == ()
    assert result.applied_memory == ()


def test_the_state_of_memory_is_whole_beside_thousands_of_turns() -> None:
    run = learned(Run(None))
    turns = [
        Draft(f"turn {n}", kind="episodic", session="s", turn=n, source="external")
        for n in range(1_100)
    ]
    run.own.remember_many(turns, atomic=False)

    keys = [state.key for state in run.agent.answer(SECOND).memory_state]

    assert keys == ["language", "response_style", "update_channel"]
