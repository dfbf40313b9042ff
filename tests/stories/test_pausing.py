"""A user pauses recall: nothing of the memory reaches a prompt, and nothing is lost."""

import openai
import pytest

import simonides
from simonides import Draft
from simonides.testing.model_server import ModelServer, saying


@pytest.fixture
def known(ana, store):
    ana.add("I am allergic to nuts. Never book a middle seat. Please answer in German.")
    ana.remember("The user likes green tea", pinned=True)
    ana.remember("blue", key="code")
    chat = ana.session("before")
    for n in range(6):
        chat.add(f"On day {n} of the journey we crossed the mountains and slept in a small hut.")
    chat.end()
    store.admin(actor="root").memory(org="acme").remember(
        Draft("Always offer a refund", category="rule", kind="procedural")
    )
    return ana


def prompts(memory):
    """Return all that the program would put into prompts."""
    chat = memory.session("now")
    return [
        str(chat.digest("Which tea do I like?")), str(memory.digest()), str(memory.profile()),
        " ".join(hit.content for hit in memory.recall("tea nuts seat code refund")),
        memory.tools("search").call("search_memory", {"query": "tea"}).text,
    ]  # fmt: skip


WORDS = ("tea", "nuts", "middle seat", "German", "blue", "refund", "mountains")


def test_nothing_of_the_memory_reaches_a_prompt(known):
    assert any(word in text for text in prompts(known) for word in WORDS)
    assert known.privacy.pause_recall()
    assert not known.privacy.pause_recall()
    shown = prompts(known)
    assert not [word for text in shown for word in WORDS if word in text]
    assert known.recall("tea").degraded == ("paused",)
    assert known.status()["recall_paused"]


def test_a_task_keeps_its_own_constraints_alone(known):
    task = known.task("Plan tea", name="tea", constraints=["Never use the gas stove"])
    known.privacy.pause_recall()
    prompt = task.prompt()
    assert "gas stove" in prompt
    assert "middle seat" not in prompt + task.before_model()
    assert "nuts" not in prompt
    assert not task.before_tool("kettle", "green tea for the user").items


def test_what_is_said_is_kept_and_comes_back(known):
    before = prompts(known)
    known.privacy.pause_recall()
    known.add("I also like cherry cake.")
    assert "I also like cherry cake." in {record.content for record in known.list()}
    assert known.get("code").content == "blue"
    assert known.audit.record_safety("self_harm").kind == "self_harm"
    assert known.privacy.list() == []
    assert known.privacy.resume_recall()
    assert not known.privacy.resume_recall()
    assert "cherry" in str(known.digest("Which cake do I like?"))
    assert [bool(text) for text in prompts(known)] == [bool(text) for text in before]
    assert known.audit.verify()


def test_another_user_is_not_paused_and_another_process_is(known, open_store, ben):
    ben.remember("The user likes black tea")
    known.privacy.pause_recall()
    assert "black tea" in str(ben.digest("Which tea do I like?"))
    other = open_store().memory(user="ana", org="acme")
    assert str(other.digest("Which tea do I like?")) == ""


def test_the_wrapped_client_sends_no_memory(known):
    with ModelServer(answers=lambda _: saying("An aisle seat.")) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)
        wrapped = simonides.wrap(client, known.session("now"))
        messages = [{"role": "user", "content": "Which tea do I like?"}]
        wrapped.chat.completions.create(model="m", messages=messages)
        known.privacy.pause_recall()
        wrapped.chat.completions.create(model="m", messages=messages)
        before, after = (each.raw.decode() for each in server.received)
    assert "green tea" in before
    assert not [word for word in ("green tea", "nuts", "German") if word in after]
