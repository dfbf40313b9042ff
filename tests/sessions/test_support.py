"""What is implied or doubted waits, until the user says it again, in this talk or in another."""

import pytest

from simonides.testing import ScriptedModel

GUITAR = "I play the classical guitar at weekends"
WEEK = [
    "The week was long and full of meetings with people from three different departments.",
    "On Sunday we went to the lake with the whole family and stayed until it was dark.",
    "My sister showed us the new boat that she had painted blue and white in the spring.",
]


def core(memory):
    items = memory.digest("hello").items
    return [item.line.split("] ", 1)[1] for item in items if item.part == "core"]


def held(memory):
    return [(entry.said, entry.reasons) for entry in memory.pending.list() if entry.kind == "held"]


@pytest.mark.parametrize(
    "said",
    [
        "Could you keep it shorter?",
        "Shorter, please.",
        "That was too long. Shorter please.",
        "Kürzer bitte.",
        "Too long, shorter please.",
    ],
)
def test_a_wish_about_one_answer_is_for_now_when_said_once(store, ana, said):
    chat = ana.session("t")
    [line] = chat.add(said).lines
    assert [outcome.kind for outcome in line.learned] == ["held"]
    assert core(ana) == []
    report = chat.end()
    assert (report.promoted, report.dropped) == ((), 1)
    assert held(ana) == []


@pytest.mark.parametrize("said", ["too long, shorter please", "Could you keep it shorter?"])
def test_a_wish_about_one_answer_is_for_all_when_said_again(store, ana, said):
    chat = ana.session("t")
    for answer in ("The boats leave at nine.", "The trains leave at ten.", "The buses leave."):
        chat.add([{"role": "assistant", "content": answer}, {"role": "user", "content": said}])
    assert len(held(ana)) == 1
    [outcome] = chat.end().promoted
    assert (outcome.record.key, outcome.record.category) == ("response_style", "manner")
    assert [line for line in core(ana) if "short" in line]
    assert held(ana) == []


@pytest.mark.parametrize(
    "said",
    [
        "In French, a dog is a chien.",
        "Is the short version in German?",
        "The short film was funny.",
        "That was too long.",
        "For now, shorter please.",
    ],
)
def test_what_only_names_a_manner_wishes_nothing(store, ana, said):
    chat = ana.session("t")
    for _ in range(3):
        chat.add([said, {"role": "assistant", "content": "I see."}])
    assert chat.end().promoted == ()
    assert core(ana) == []


def test_once_now_and_once_in_an_earlier_talk_is_enough(store, ana):
    first = ana.session("first")
    first.add("Shorter, please.")
    assert first.end().promoted == ()
    second = ana.session("second")
    second.add("That was long. Could you keep it shorter?")
    [outcome] = second.end().promoted
    assert outcome.record.key == "response_style"


def test_another_user_supports_nothing(store, ana, ben):
    other = ben.session("first")
    other.add("Shorter, please.")
    other.end()
    chat = ana.session("second")
    chat.add("Shorter, please.")
    assert chat.end().promoted == ()


def test_a_lasting_wish_is_learned_at_once(store, ana):
    assert ana.add("Could you always keep it short?").lines[0].learned[0]
    assert ana.add("Please keep your answers short from now on.").lines[0].learned[0]
    assert held(ana) == []


def hold(turn, decision="hold"):
    item = {
        "turn": turn, "quote": GUITAR, "value": "The user plays the classical guitar",
        "kind": "preference", "decision": decision, "confidence": 0.7,
    }  # fmt: skip
    return {"items": [item]}


def test_a_doubted_statement_is_borne_out_by_one_turn_and_the_summary(open_store):
    summary = "Ana talked about the classical guitar and her week."
    answers = [hold(0), {"items": [], "summary": summary}]
    store = open_store(model=ScriptedModel(*answers))
    ana = store.memory(user="ana", org="acme")
    chat = ana.session("t")
    chat.add(GUITAR, wait=True)
    assert len(held(ana)) == 1
    chat.add(WEEK)
    report = chat.end()
    assert "guitar" in report.summary.record.content
    assert [outcome.record.content for outcome in report.promoted]


def test_what_must_be_repeated_needs_a_second_turn(open_store):
    summary = "Ana talked about the classical guitar and her week."
    answers = [hold(0, "repeat"), {"items": [], "summary": summary}]
    store = open_store(model=ScriptedModel(*answers))
    chat = store.memory(user="ana", org="acme").session("t")
    chat.add(GUITAR, wait=True)
    chat.add(WEEK)
    report = chat.end()
    assert "guitar" in report.summary.record.content
    assert (report.promoted, report.dropped) == ((), 1)


def test_a_doubted_statement_is_borne_out_by_an_earlier_talk(open_store):
    answers = [{"items": []}, hold(0, "repeat"), {"items": []}]
    store = open_store(model=ScriptedModel(*answers))
    ana = store.memory(user="ana", org="acme")
    before = ana.session("before")
    before.add("My old classical guitar still hangs on the wall", wait=True)
    chat = ana.session("t")
    chat.add(GUITAR, wait=True)
    assert [outcome.kind for outcome in chat.end().promoted] == ["created"]


def test_a_note_with_a_category_becomes_a_memory_at_the_end(store, ana):
    chat = ana.session("t")
    chat.note("The user chose the blue theme", category="decision")
    chat.note("log_level changed to debug", key="log_level", category="configuration")
    chat.note("The draft was too formal", category="feedback")
    chat.note("The user seems tired", category="session_note")
    chat.note("Looked at three themes")
    kinds = {outcome.record.category for outcome in chat.end().promoted}
    assert kinds == {"decision", "configuration", "feedback"}
    assert ana.get("log_level").content == "log_level changed to debug"


def test_what_is_of_one_conversation_goes_with_it(store, ana):
    chat = ana.session("t")
    chat.remember("The user is in a hurry", category="session_note")
    chat.remember("The desk is oak")
    assert "hurry" in " ".join(record.content for record in ana.list())
    chat.add("Good morning, please plan the week for me")
    assert chat.end().removed == 1
    assert "hurry" not in " ".join(record.content for record in ana.list())
    assert "oak" in " ".join(record.content for record in ana.list())
