"""The reference agent: it learns from messages, and its answers apply what it retrieved."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAuthenticationError,
    ModelHTTPError,
    ModelTimeoutError,
)

import simonides
from simonides.core.settings import Settings
from simonides.testing import ManualClock, ScriptedModel

FIRST = (
    "For future incident updates, write in English, keep replies concise, use email as the primary"
    " channel, and remember that I am enterprise tier."
)
SECOND = "Draft an update on the payment incident"
CONTEXT = {"incident": "Card payments fail", "since": "09:40"}
KEYS = {"language", "response_style", "update_channel"}
LEARNED = {
    "items": [
        {"key": "language", "value": "english"},
        {"key": "response_style", "value": "concise"},
        {"key": "update_channel", "value": "email"},
        {"key": "declared_tier", "value": "enterprise"},
    ]
}
PLAN = {"kind": "retrieve_memory", "query": "incident update preferences", "top_k": 4}
ANSWER = {
    "answer": "Incident update: card payments fail. The next update follows by email.",
    "used_memory_keys": [" language", "update_channel", "language"],
}
BLOCKED = {"key": "declared_tier", "scope": "user", "reason": "key_denied_execution"}
STATED = {"language": "english", "response_style": "concise", "update_channel": "email"}


@pytest.fixture(autouse=True)
def no_model_of_the_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(clock):
    with simonides.testing.open(clock=clock) as opened:
        yield opened


@pytest.fixture
def ana(store):
    return store.memory(user="ana", session="s1")


def taught(memory):
    for key, value in STATED.items():
        memory.remember(value, key=key, category="preference")
    return memory


def test_rules_learn_in_one_process_and_answer_in_the_next(tmp_path):
    with simonides.open(tmp_path / "m.db") as store:
        first = store.agent(store.memory(user="ana", session="s1")).run(FIRST)
    with simonides.open(tmp_path / "m.db") as store:
        agent = store.agent(store.memory(user="ana", session="s2"))
        second = agent.run(request=SECOND, context=CONTEXT)
    assert (first.status, first.stop_reason, first.made_by) == ("ok", "success", "rules")
    assert set(first.history[0]["written_keys"]) == KEYS
    assert (first.trace[0]["written"], first.trace[0]["blocked"]) == (len(KEYS), 1)
    assert first.blocked == (BLOCKED,)
    assert (second.outcome, set(second.used_memory_keys)) == ("memory_applied", KEYS)
    assert second.answer.startswith("Incident update: ")
    assert "incident: Card payments fail, since: 09:40." in second.answer
    assert "by email" in second.answer


def test_rules_propose_no_more_than_may_be_stored(tmp_path):
    (tmp_path / "policy.yaml").write_text("agent: {capture_items: 2}\n")
    with simonides.testing.open(settings=Settings(policy=tmp_path / "policy.yaml")) as store:
        run = store.agent(store.memory(user="ana")).run(FIRST)
    assert (run.stop_reason, run.trace[0]["candidates"]) == ("success", 2)


def test_a_model_plays_the_whole_scenario(store, ana):
    model = ScriptedModel(f"```json\n{json.dumps(LEARNED)}\n```", PLAN, ANSWER)
    run = store.agent(ana, model=model).run(FIRST, SECOND, CONTEXT)
    assert (run.stop_reason, run.outcome) == ("success", "memory_applied")
    assert run.made_by.endswith("scripted")
    assert run.used_memory_keys == ("language", "update_channel")
    told = json.loads(model.asked[-1].prompt)
    assert json.loads(told["context"]) == CONTEXT
    assert all(each.keys() == {"key", "value", "scope", "confidence"} for each in told["memories"])


def test_a_report_is_plain_data_with_the_agreed_names(store, ana):
    run = store.agent(ana, model=ScriptedModel(LEARNED, PLAN, ANSWER)).run(FIRST, SECOND).to_dict()
    assert {"run_id", "status", "stop_reason", "outcome", "answer"} <= run.keys()
    capture, retrieve, apply = run["trace"]
    every = {"step", "phase", "ok"}
    assert capture.keys() == every | {"candidates", "written", "refreshed", "blocked"}
    searched = {"query", "requested_scopes", "include_preference_keys", "memory_hits"}
    assert retrieve.keys() == every | searched
    assert apply.keys() == every | {"used_memory_keys", "applied_memory_count"}
    assert [each["phase"] for each in run["trace"]] == ["capture_store", "retrieve", "apply"]
    every = {"step", "session", "action"}
    wrote, read, told = run["history"]
    assert wrote.keys() == every | {"message", "written_keys", "refreshed_keys", "blocked"}
    scopes = {"resolved_scopes", "include_preference_keys", "retrieved_keys"}
    assert read.keys() == every | {"message", "intent"} | scopes
    assert told.keys() == every | {"used_memory_keys", "answer"}
    assert (read["session"], read["resolved_scopes"]) == ("s1", ["user"])
    applied = {"key", "value", "scope", "confidence", "score"}
    assert all(each.keys() == applied for each in run["applied_memory"])
    state = {"key", "value", "scope", "source", "confidence", "ttl_left_days"}
    assert all(each.keys() == state for each in run["memory_state"])
    json.dumps(run)


def test_the_state_of_memory_is_newest_first_with_the_days_left(store, ana, clock):
    agent = store.agent(ana, model=ScriptedModel(LEARNED, LEARNED, PLAN, ANSWER))
    agent.run(FIRST)
    clock.advance(days=1, hours=12)
    ana.remember("Europe/Berlin", key="time_zone")
    state = agent.run(FIRST, SECOND).memory_state
    assert {each.key for each in state} == {*KEYS, "time_zone"}
    assert {each.ttl_left_days for each in state if each.key in KEYS} == {180.0}
    clock.advance(days=1, hours=12)
    state = store.agent(ana, model=ScriptedModel({"items": []})).run("Hello").memory_state
    assert {each.ttl_left_days for each in state if each.key in KEYS} == {178.5}


def test_a_repeated_message_refreshes_what_is_known(store, ana):
    agent = store.agent(ana)
    agent.run(FIRST)
    again = agent.run(FIRST)
    assert (again.trace[0]["written"], again.trace[0]["refreshed"]) == (0, len(KEYS))
    assert set(again.history[0]["refreshed_keys"]) == KEYS


@pytest.mark.parametrize("confidence", [0.1, 0.9])
def test_the_users_newer_words_replace_a_value_however_sure_the_model_is(store, ana, confidence):
    first = {"items": [{"key": "language", "value": "English", "confidence": 1}]}
    then = {"items": [{"key": "language", "value": "German", "confidence": confidence}]}
    agent = store.agent(ana, model=ScriptedModel(first, then))
    agent.run("Write in English.")
    run = agent.run("Write in German from now on.")
    assert (run.trace[0]["written"], run.history[0]["written_keys"]) == (1, ("language",))
    assert ana.get("language").content == "German"


def test_a_refused_change_is_not_called_refreshed(store, ana):
    ana.remember("English", key="language")
    said = {"items": [{"key": "language", "value": "German", "confidence": 0.9}]}
    run = store.agent(ana, model=ScriptedModel(said)).run("Write as I like it.")
    assert run.history[0]["refreshed_keys"] == ()
    reason = {"key": "language", "scope": "user", "reason": "better_supported"}
    assert run.blocked == run.history[0]["blocked"] == (reason,)
    assert ana.get("language").content == "English"


def test_a_value_that_the_user_did_not_say_is_inferred(store, ana):
    said = {"items": [{"key": "language", "value": "German"}, {"key": "theme", "value": "dark"}]}
    agent = store.agent(ana, model=ScriptedModel(said))
    agent.run("Write in German.\n> Use the dark theme")
    assert [ana.get(key).source for key in ("language", "theme")] == [
        "user_stated", "agent_inferred",
    ]  # fmt: skip


def test_a_confidence_out_of_range_is_clamped_with_a_note(store, ana):
    sure = {"items": [{"key": "language", "value": "English", "confidence": 7}]}
    run = store.agent(ana, model=ScriptedModel(sure)).run(FIRST)
    assert (run.stop_reason, run.notes) == ("success", ("confidence_clamped:language",))
    assert run.memory_state[0].confidence == 1


def test_scopes_that_execution_denies_are_blocked_and_the_rest_is_stored(store, ana):
    shared = {"key": "theme", "value": "dark", "scope": "workspace"}
    proposed = {"items": [shared, {"key": "language", "value": "English"}]}
    run = store.agent(ana, model=ScriptedModel(proposed)).run(FIRST)
    reason = {"key": "theme", "scope": "workspace", "reason": "scope_denied_execution"}
    assert (run.blocked, run.history[0]["written_keys"]) == ((reason,), ("language",))


def test_a_secret_and_a_refused_key_are_reported_as_blocked(store, ana):
    ana.privacy.refuse(key="employer")
    proposed = [("goal", "my password is hunter2hunter2"), ("employer", "Acme")]
    items = {"items": [{"key": key, "value": value} for key, value in proposed]}
    run = store.agent(ana, model=ScriptedModel(items)).run(FIRST)
    reasons = {each["key"]: each["reason"] for each in run.blocked}
    assert reasons == {"goal": "secret:password", "employer": "refused_by_user"}


def test_a_visitor_without_a_user_has_an_agent_too(store):
    agent = store.agent(store.visitor("walk-in"))
    assert set(agent.run(FIRST).history[0]["written_keys"]) == KEYS
    assert agent.run(request=SECOND).outcome == "memory_applied"


def item(**fields):
    return {"items": [{"key": "language", "value": "x", **fields}]}


def plan(**fields):
    return PLAN | fields


CANDIDATES, INTENT = "invalid_memory_candidates:", "invalid_retrieval_intent:"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("no JSON", CANDIDATES + "not_object"),
        ("[" * 100_000, CANDIDATES + "not_object"),
        ("null", CANDIDATES + "not_object"),
        ([], CANDIDATES + "not_object"),
        ({"items": {}}, CANDIDATES + "items"),
        ({"items": ["x"]}, CANDIDATES + "item"),
        ({"items": [{"key": "language"}]}, CANDIDATES + "missing_keys"),
        (item(key=1), CANDIDATES + "key"),
        (item(key="language\0"), CANDIDATES + "not_object"),
        (item(confidence=[[[]] * 2] * 2), CANDIDATES + "confidence"),
        (json.dumps(item(value="\ud800")), CANDIDATES + "not_object"),
        ('{"items": ' + "[" * 300 + "]" * 300 + "}", CANDIDATES + "not_object"),
        (item(value=1), CANDIDATES + "value"),
        (item(value=" "), CANDIDATES + "value"),
        (item(value="x" * 121), CANDIDATES + "value_too_long"),
        (item(scope=7), CANDIDATES + "scope"),
        (item(ttl_days="soon"), CANDIDATES + "ttl_days"),
        (item(ttl_days=0), CANDIDATES + "ttl_days"),
        (item(ttl_days=True), CANDIDATES + "ttl_days"),
        (item(confidence="sure"), CANDIDATES + "confidence"),
        (item(confidence=True), CANDIDATES + "confidence"),
        (item(confidence=float("nan")), CANDIDATES + "confidence"),
        ({"items": item()["items"] * 7}, CANDIDATES + "too_many_items"),
        (item(key="password"), "memory_key_not_allowed_policy:password"),
        (item(scope="galaxy"), "memory_scope_not_allowed_policy:galaxy"),
    ],
)
def test_a_bad_proposal_stops_the_run_and_stores_nothing(store, ana, raw, reason):
    run = store.agent(ana, model=ScriptedModel(raw)).run(FIRST)
    assert (run.status, run.stop_reason, run.phase) == ("stopped", reason, "capture")
    assert (run.trace[-1]["phase"], run.trace[-1]["ok"]) == ("capture_store", False)
    assert run.history[-1]["action"] == "stop"
    assert not ana.list()
    json.dumps(run.to_dict())


def test_more_items_than_the_run_may_store_stop_it(tmp_path):
    (tmp_path / "policy.yaml").write_text("agent: {capture_items: 2}\n")
    settings = Settings(policy=tmp_path / "policy.yaml")
    with simonides.testing.open(settings=settings) as store:
        run = store.agent(store.memory(user="ana"), model=ScriptedModel(LEARNED)).run(FIRST)
    assert (run.stop_reason, run.phase) == ("max_capture_items", "capture")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("find it", INTENT + "not_object"),
        (plan(kind="delete"), INTENT + "kind"),
        (plan(kind=["retrieve_memory"]), INTENT + "kind"),
        (plan(query=""), INTENT + "query"),
        (plan(query="x" * 241), INTENT + "query_too_long"),
        (plan(top_k=7), INTENT + "top_k"),
        (plan(top_k=True), INTENT + "top_k"),
        (plan(scopes="user"), INTENT + "scopes"),
        (plan(scopes=[1]), INTENT + "scope_item"),
        (plan(scopes=["galaxy"]), INTENT + "scope_not_allowed:galaxy"),
    ],
)
def test_a_bad_plan_stops_the_run(store, ana, raw, reason):
    run = store.agent(ana, model=ScriptedModel(raw)).run(request=SECOND)
    assert (run.stop_reason, run.phase, run.raw_intent) == (reason, "retrieve_plan", raw)


def test_a_planned_scope_that_execution_denies_stops_the_run(store, ana):
    model = ScriptedModel(plan(scopes=["workspace"]))
    run = store.agent(ana, model=model).run(request=SECOND)
    assert (run.stop_reason, run.phase) == ("scope_denied:workspace", "retrieve")
    assert run.intent.scopes == ("workspace",)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("no JSON", "llm_invalid_json"),
        ('{"answer": "\\ud800", "used_memory_keys": []}', "llm_invalid_json"),
        ([], "llm_invalid_schema"),
        ({"answer": "x"}, "llm_invalid_schema"),
        ({"answer": 1, "used_memory_keys": []}, "llm_invalid_schema"),
        ({"answer": "x", "used_memory_keys": [1]}, "llm_invalid_schema"),
        ({"answer": " ", "used_memory_keys": []}, "llm_empty"),
        ({"answer": "x" * 701, "used_memory_keys": []}, "invalid_answer:too_long"),
        (
            {"answer": "by email", "used_memory_keys": ["update_channel", "salary"]},
            "invalid_answer:memory_keys_out_of_context",
        ),
        (
            {"answer": "Hola.", "used_memory_keys": ["language", "update_channel"]},
            "invalid_answer:memory_declared_but_not_applied",
        ),
        (
            {"answer": "Now. " * 4, "used_memory_keys": ["response_style"]},
            "invalid_answer:memory_declared_but_not_applied",
        ),
    ],
)
def test_a_bad_answer_stops_the_run(store, ana, raw, reason):
    run = store.agent(taught(ana), model=ScriptedModel(PLAN, raw)).run(request=SECOND)
    assert (run.stop_reason, run.phase, run.answer) == (reason, "apply", None)
    assert set(run.retrieved_keys) == KEYS
    if reason.endswith("out_of_context"):
        assert run.invalid_used_memory_keys == ("salary",)
        assert run.used_memory_keys == ("update_channel",)
    if reason.endswith("not_applied"):
        assert [each.key for each in run.applied_memory] == raw["used_memory_keys"]


FAILURES = [
    (ModelTimeoutError("m", "late"), "llm_timeout"),
    (ModelHTTPError(503, "m"), "llm_timeout"),
    (ModelHTTPError(429, "m"), "llm_timeout"),
    (ModelAuthenticationError(401, "m"), "llm_unavailable"),
    (ContentFilterError("filtered"), "llm_empty"),
    ("", "llm_empty"),
]


@pytest.mark.parametrize("phase", ["capture", "retrieve_plan", "apply"])
@pytest.mark.parametrize(("failure", "reason"), FAILURES)
def test_a_failing_model_stops_the_run_with_a_reason(
    monkeypatch, ana, store, failure, reason, phase
):
    monkeypatch.setattr("simonides.models.language.FIRST_WAIT_S", 0)
    before = {"capture": [], "retrieve_plan": [LEARNED], "apply": [LEARNED, PLAN]}[phase]
    model = ScriptedModel(*before, *[failure] * 4)
    run = store.agent(ana, model=model).run(FIRST, SECOND)
    assert (run.stop_reason, run.phase, run.trace[-1]["ok"]) == (reason, phase, False)


@pytest.mark.parametrize("phase", ["retrieve_plan", "retrieve", "apply"])
def test_time_is_checked_before_each_phase(store, ana, clock, monkeypatch, phase):
    def late(value):
        return lambda _: (clock.advance(seconds=26), value)[1]

    script = {"retrieve_plan": [late(LEARNED)], "retrieve": [LEARNED, late(PLAN)]}
    model = ScriptedModel(*script.get(phase, [LEARNED, PLAN]))
    if phase == "apply":
        recall = simonides.agent.run.recall
        slow = lambda *a, **k: (clock.advance(seconds=26), recall(*a, **k))[1]  # noqa: E731
        monkeypatch.setattr("simonides.agent.run.recall", slow)
    run = store.agent(ana, model=model).run(FIRST, SECOND)
    assert (run.stop_reason, run.phase) == ("max_seconds", phase)


def test_an_answer_that_declares_no_memory_is_context_only(store, ana):
    silent = {"answer": "All is well.", "used_memory_keys": []}
    run = store.agent(taught(ana), model=ScriptedModel(PLAN, silent)).run(request=SECOND)
    assert (run.status, run.outcome, run.applied_memory) == ("ok", "context_only", ())


def test_a_memory_without_a_key_is_cited_by_its_id(store, ana):
    id = ana.remember("The gateway is run by Adyen").record.id
    used = {"answer": "Adyen fails.", "used_memory_keys": [id]}
    model = ScriptedModel(plan(query="gateway Adyen"), used)
    run = store.agent(ana, model=model).run(request="Who fails?")
    assert (run.stop_reason, run.applied_memory[0].key) == ("success", id)


def test_checks_for_more_keys_can_be_given(store, ana):
    ana.remember("Ana", key="name")
    answers = [
        {"answer": f"Hello {name}.", "used_memory_keys": ["name"]} for name in ("you", "Ana")
    ]
    ask = plan(query="What is my name?")
    model = ScriptedModel(ask, answers[0], ask, answers[1])
    agent = store.agent(ana, model=model, checks={"name": lambda value, text: value in text})
    reasons = [agent.run(request="Greet me").stop_reason for _ in answers]
    assert reasons == ["invalid_answer:memory_declared_but_not_applied", "success"]


def test_a_model_sees_prohibitions_and_nothing_sensitive(store, ana):
    ana.remember(simonides.Draft("The incident pin is 4711", sensitivity="sensitive", pinned=True))
    ana.remember("Never name customers", category="constraint")
    model = ScriptedModel(plan(query="incident pin"), {"answer": "Done.", "used_memory_keys": []})
    store.agent(ana, model=model).run(request=SECOND)
    assert "Never name customers" in json.loads(model.asked[-1].prompt)["must_hold"]
    assert not any("4711" in question.prompt for question in model.asked)


def test_a_run_needs_a_message_or_a_request(store, ana):
    with pytest.raises(simonides.InvalidInput, match="give a message, a request, or both"):
        store.agent(ana).run()
    with pytest.raises(simonides.InvalidInput, match="request"):
        store.agent(ana).run(FIRST, "\ud800")
    assert not ana.list()


def test_the_model_of_the_store_is_the_agents(tmp_path):
    model = ScriptedModel({"items": []})
    with simonides.open(tmp_path / "m.db", model=model) as store:
        run = store.agent(store.memory(user="ana")).run("Hello")
        assert run.made_by.endswith("scripted")


class Server(BaseHTTPRequestHandler):
    """Answers like an OpenAI-compatible server, with the next of a script."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": json.dumps(self.server.script.pop(0))}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        told = {"object": "chat.completion", "created": 1, "model": "tiny", "usage": usage}
        body = json.dumps({"id": "1", "choices": [choice], **told}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_the_model_that_the_environment_names_answers_over_http(tmp_path, monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.script = [LEARNED, PLAN, ANSWER]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_MODEL", "tiny")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    try:
        with simonides.open(tmp_path / "m.db") as store:
            run = store.agent(store.memory(user="ana")).run(FIRST, SECOND)
    finally:
        server.shutdown()
        server.server_close()
    assert (run.stop_reason, run.made_by) == ("success", "openai:tiny")


async def both(path):
    async with simonides.aopen(path) as store:
        return await store.agent(store.memory(user="ana")).run(FIRST, SECOND)


def test_an_asynchronous_store_has_the_agent_too(tmp_path):
    import asyncio

    assert asyncio.run(both(tmp_path / "m.db")).outcome == "memory_applied"
