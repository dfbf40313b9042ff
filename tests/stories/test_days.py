"""A day is the user's day, and what was said has the day on which it was said."""

import time
from datetime import UTC, datetime

import pytest

import simonides.testing
from simonides.core.clock import SystemClock


@pytest.fixture
def chat(store):
    return store.memory(user="ana", session="thread-7")


@pytest.fixture
def in_manila(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Manila")  # 8 hours ahead, all year
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_the_day_of_a_line_is_the_day_where_it_was_said(chat):
    [line] = chat.add("Today I started the keto diet.", at="2026-03-01T00:30:00+08:00").lines
    record = line.kept[0].record
    assert record.valid_from.isoformat() == "2026-03-01T00:30:00+08:00"
    assert record.valid_from == datetime(2026, 2, 28, 16, 30, tzinfo=UTC)
    assert chat.get(record.id).to_dict()["valid_from"] == "2026-03-01T00:30:00+08:00"
    assert "2026-03-01] User: Today I started" in chat.digest("When did I start the diet?").text


def test_the_day_of_a_fact_and_of_a_memory_is_the_caller_s(chat):
    [line] = chat.add("I moved to Porto.", at="2026-03-01T00:30:00+08:00").lines
    assert f"{line.learned[0].record.valid_from:%Y-%m-%d}" == "2026-03-01"
    kept = chat.remember("The lease began.", at="2026-03-01T23:30:00-08:00").record
    assert kept.valid_from.isoformat() == "2026-03-01T23:30:00-08:00"
    assert chat.history(kept)[0].valid_from.isoformat() == "2026-03-01T23:30:00-08:00"


def test_a_question_about_a_day_finds_what_was_said_on_the_user_s_day(chat):
    chat.add("I baked bread.", at="2026-02-22T23:30:00-08:00")  # 23 February in UTC
    chat.add("I baked rolls.", at="2026-02-24T23:30:00-08:00")
    hits = chat.recall("What did I bake on 21 February 2026?")
    assert {hit.content: hit.why.get("date", 0) > 0 for hit in hits} == {
        "I baked bread.": True,
        "I baked rolls.": False,
    }


def test_a_time_without_a_zone_is_the_machine_s(chat, in_manila):
    [line] = chat.add("I baked bread.", at="2026-03-01T00:30:00").lines
    assert line.kept[0].record.valid_from.isoformat() == "2026-03-01T00:30:00+08:00"
    [line] = chat.add("I baked rolls.", at="2026-03-01T00:30:00Z").lines
    assert line.kept[0].record.valid_from.isoformat() == "2026-03-01T00:30:00+00:00"


def test_a_turn_without_a_time_has_the_machine_s_day(in_manila):
    with simonides.testing.open(clock=SystemClock()) as store:
        [line] = store.memory(user="ana", session="s").add("I baked bread.").lines
        assert line.kept[0].record.created_at.utcoffset().total_seconds() == 8 * 3600


@pytest.mark.parametrize(
    "time_of_it",
    [
        {"created_at": 1_764_158_400},
        {"createdAt": "2025-11-26T12:00:00Z"},
        {"timestamp": 1_764_158_400_000},
        {"create_time": 1_764_158_400.0},
        {"date": "2025-11-26T12:00:00Z"},
        {"at": "2025-11-26T12:00:00Z", "created_at": 5},
    ],
)
def test_a_message_s_own_time_is_known_under_the_names_of_the_sdks(chat, time_of_it):
    [line] = chat.add([{"role": "user", "content": "I baked bread.", **time_of_it}]).lines
    assert line.kept[0].record.valid_from == datetime(2025, 11, 26, 12, tzinfo=UTC)


def test_turns_share_a_line_only_if_they_were_said_soon_after_each_other(chat, clock):
    chat.add("I started to run.")
    clock.advance(minutes=5)
    chat.add("Running makes me happy.")
    clock.advance(days=60)
    chat.add("I broke my leg while I was running.")
    lines = [line for line in chat.digest("How is the running?").text.splitlines() if "run" in line]
    assert len(lines) == 2
    assert sum("User: I started to run. / User: Running makes" in line for line in lines) == 1


# -- conversations of the past ---------------------------------------------------------------------


MORNING = "2025-03-01T09:00:00+08:00"
LONG = (
    "I planned the trip to Kyoto for three weeks and looked for a good hotel near the river. " * 2
)


def imported(store, moments):
    chat = store.memory(user="ana", session="old").session("old")
    for number, moment in enumerate(moments):
        chat.add({"role": "user", "content": f"{LONG} Plan {number}.", "at": moment})
    return chat


def test_a_session_has_the_times_of_its_turns(store, clock):
    imported(store, [MORNING, "2025-03-01T09:10:00+08:00"])
    [talk] = store.memory(user="ana").sessions()
    assert talk.begun.isoformat() == "2025-03-01T09:00:00+08:00"
    assert talk.last.isoformat() == "2025-03-01T09:10:00+08:00"
    assert (talk.parts, talk.turns, talk.is_open) == (1, 2, True)


def test_a_talk_of_the_past_has_parts_by_its_own_quiet_times(store):
    days = [f"2025-03-0{day}T{hour}:00Z" for day in (1, 2, 3) for hour in ("09:00", "09:20")]
    imported(store, days)
    [talk] = store.memory(user="ana").sessions()
    assert (talk.parts, talk.turns) == (3, 6)


def test_one_call_with_the_talks_of_several_days_has_a_part_for_each(store):
    chat = store.memory(user="ana", session="old")
    said = [
        {"role": "user", "content": f"{LONG} Plan {day}.", "at": f"2025-03-0{day}T09:00Z"}
        for day in (1, 2, 3)
    ]
    assert chat.add(said).kept == 3
    assert chat.sessions()[0].parts == 3


def test_a_talk_of_the_past_ends_only_after_a_quiet_time_of_the_clock(store, clock):
    imported(store, [MORNING, "2025-03-01T09:10:00+08:00"])
    store._engine.worker.flush()
    assert store.memory(user="ana").sessions()[0].is_open
    clock.advance(minutes=store._engine.settings.idle_minutes + 1)
    store._engine.worker.flush()
    assert not store.memory(user="ana").sessions()[0].is_open


def test_a_summary_is_of_the_day_of_its_turns(store):
    chat = imported(store, [MORNING, "2025-03-01T09:10:00+08:00"])
    summary = chat.end().summary.record
    assert summary.valid_from.isoformat() == "2025-03-01T09:10:00+08:00"
    assert summary.content.startswith("Conversation of 2025-03-01 ")
