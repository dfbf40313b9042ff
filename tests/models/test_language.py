"""Questions to a language model over HTTP: budgets of time, failures, threads and event loops."""

import asyncio
import threading
import time

import pytest
from pydantic import BaseModel

import simonides
from simonides import Settings
from simonides.models.language import LanguageModels, ModelFailed
from simonides.testing import ManualClock
from simonides.testing.model_server import ModelServer, Reply, failing, hanging, saying

GOOD = '{"items": ["tea"]}'
GARBAGE = saying('I would rather talk about the weather {"')
HUGE = saying('{"filler": "' + "x" * (5 << 20) + '"}')


class Found(BaseModel):
    items: list[str]


@pytest.fixture
def asking(monkeypatch):
    """Return a function that opens a model on a server with some replies."""
    opened = []

    def on(*replies, seconds=5.0, answers=None):
        server = ModelServer(*replies, answers=answers)
        server.__enter__()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        settings = Settings(model_timeout_s=seconds)
        models = LanguageModels("openai:gpt-4.1-mini", settings, ManualClock())
        opened.append((models, server))
        return models, server

    yield on
    for models, server in opened:
        models.close()
        server.__exit__(None, None, None)


@pytest.mark.parametrize(
    "reply", [saying(GOOD), saying(f"```json\n{GOOD}\n```"), Reply(GOOD, delay_s=0.2)]
)
def test_an_answer_is_read_whatever_its_form(asking, reply):
    models, server = asking(reply)
    assert models.ask("Say what is liked", "I like tea", Found).output == Found(items=["tea"])
    [received] = server.received
    assert received.path.endswith("/chat/completions")  # few servers know more than chat
    assert received.body["temperature"] == 0


def test_a_model_that_takes_no_temperature_gets_none(asking):
    _, server = asking()
    models = LanguageModels("openai:gpt-5-mini", Settings(model_timeout_s=2), ManualClock())
    with pytest.raises(ModelFailed):
        models.ask("Say", "tea")
    models.close()
    assert "temperature" not in server.received[0].body


def test_a_wrong_answer_is_asked_for_once_more(asking):
    models, server = asking(GARBAGE, saying(GOOD))
    assert models.ask("Say", "tea", Found).usage.requests == 2
    assert len(server.received) == 2
    assert models.usage.calls == 2
    assert models.usage.tokens > 0
    assert 0 < models.usage.usd < 0.01


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ([GARBAGE, GARBAGE], "invalid"),
        ([GARBAGE, HUGE], "invalid"),
        ([failing(401)], "unauthorised"),
        ([failing(404)], "unauthorised"),
        ([failing(400)], "refused"),
        ([failing(500)] * 4, "unreachable"),
        ([failing(429)] * 4, "busy"),
        ([hanging()], "timeout"),
    ],
)
def test_a_failure_has_its_reason(asking, replies, reason):
    models, _ = asking(*replies, seconds=2.0)
    with pytest.raises(ModelFailed) as failed:
        models.ask("Say", "tea", Found)
    assert failed.value.reason == reason
    assert failed.value.hint


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again_within_the_budget(asking, status):
    models, server = asking(failing(status), saying(GOOD))
    assert models.ask("Say", "tea", Found).output.items == ["tea"]
    assert len(server.received) == 2


@pytest.mark.parametrize("reply", [hanging(), Reply(GOOD, delay_s=4.0)])
def test_the_budget_of_time_holds(asking, reply):
    models, _ = asking(reply, seconds=60.0)
    begun = time.monotonic()
    with pytest.raises(ModelFailed, match="timeout"):
        models.ask("Say", "tea", Found, seconds=1.0)
    assert time.monotonic() - begun < 3.0  # before the late answer would come


def test_an_unreachable_server_is_said_to_be(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    models = LanguageModels("openai:gpt-4.1-mini", Settings(model_timeout_s=5), ManualClock())
    with pytest.raises(ModelFailed) as failed:
        models.ask("Say", "tea", Found)
    models.close()
    assert failed.value.reason == "unreachable"


def test_after_failures_in_a_row_the_model_is_left_alone_for_a_while(asking):
    models, server = asking(*[failing(401)] * 3, saying(GOOD))
    for _ in range(3):
        with pytest.raises(ModelFailed):
            models.ask("Say", "tea")
    assert models.status()["model_paused"]
    with pytest.raises(ModelFailed, match="left alone"):
        models.ask("Say", "tea")
    assert len(server.received) == 3
    models._clock.advance(seconds=61)
    assert models.ask("Say", "tea", Found).output.items == ["tea"]


def test_thirty_threads_ask_at_once(asking):
    models, _ = asking(answers=lambda received: saying(GOOD))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(models.ask("Say", "tea", Found)))
        for _ in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.output.items for each in found] == [["tea"]] * 30


def test_a_running_event_loop_may_ask(asking):
    models, _ = asking(saying(GOOD))

    async def ask():
        return models.ask("Say", "tea", Found)

    assert asyncio.run(ask()).output.items == ["tea"]


def test_a_store_reads_through_the_chosen_model_and_sends_nothing_before(asking, tmp_path):
    _, server = asking(saying('{"items": []}'))
    with simonides.open(tmp_path / "m.db", model="openai:gpt-4.1-mini") as store:
        ana = store.memory(user="ana")
        ana.remember("Oslo", key="location")
        ana.digest("Where do I live?")
        assert not server.received
        assert ana.add("I like tea.", wait=True).reasons == ()
        assert "I like tea." in str(server.received[0].body)
        ana.privacy.refuse(about="my wife")


def test_a_key_alone_chooses_no_model(asking, tmp_path):
    _, server = asking()
    with simonides.open(tmp_path / "m.db") as store:
        session = store.memory(user="ana").session("monday")
        session.add(["We talk about many things here. " * 10, "And about others."], wait=True)
        session.end()
    assert not server.received


def test_a_program_that_ends_leaves_questions_no_more_time_than_it_has(asking):
    models, _ = asking(saying(GOOD))
    models.hurry(time.monotonic() - 1.0)
    with pytest.raises(ModelFailed, match="timeout"):
        models.ask("Say", "tea", Found)
    models.hurry(time.monotonic() + 60.0)
    assert models.ask("Say", "tea", Found).output.items
