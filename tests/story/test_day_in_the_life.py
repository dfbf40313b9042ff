"""Days of an agent, told over the public interface alone: tasks, sessions, documents and modes that
have one memory between them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import simonides
from principals import Ending, history_of
from simonides import FolderSource, Memory, Settings, Store
from simonides.integrations.wrap import memory_of
from simonides.prompting import Prompting
from simonides.testing.model_server import ModelServer, saying

STEPS = [f"Migrate shard {n:02}" for n in range(1, 13)]
FIRST = "Never drop the table users before shard 12 is verified"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def opened(place: Path, **how: Any) -> Store:
    """Open a store whose sessions are read when a story says so, not in the background."""
    return simonides.open(place, settings=Settings(session_extraction="manual"), **how)


@pytest.fixture
def opened_store(place: Path) -> Iterator[Store]:
    with opened(place) as opened_store:
        yield opened_store


@pytest.fixture
def ana(opened_store: Store) -> Memory:
    return opened_store.memory(user="ana")


def contents(memory: Memory, **only: Any) -> list[str]:
    """Return what is stored, of these attributes."""
    every = memory.list(limit=100)
    return [m.content for m in every if all(getattr(m, k) == v for k, v in only.items())]


def value(memory: Memory, key: str) -> list[str]:
    """Return what a recall says of a key."""
    found = memory.recall(key.replace("_", " "), limit=50)
    return [hit.record.content for hit in found if hit.record.key == key]


# -- a long migration beside a talk -----------------------------------------------------------


def test_the_first_constraint_of_a_migration_is_there_at_its_twelfth_step(
    ana: Memory,
) -> None:
    ana.remember("Answer in short sentences", key="response_style", category="preference")
    talk = ana.session("standup")
    looked = 0

    with ana.task("Migrate the users database", plan=STEPS, constraints=[FIRST]) as task:
        for place, step in enumerate(STEPS):
            for _ in range(17):
                looked += 1
                task.before_tool("psql", {"step": step, "look": looked})
                task.observe("psql", f"{step}: {looked * 1_000} rows copied " + "of many " * 40)
                task.note(f"{step}: nothing unusual at look {looked}")
            talk.add(
                {
                    "role": "user",
                    "content": f"How far is the migration? I asked {place} times before.",
                }
            )
            talk.add({"role": "assistant", "content": f"At {step}."})
            shown = task.before_model()
            assert f"[CONSTRAINTS]\n- {FIRST}\n" in shown
            assert f"[CURRENT_STEP] ({place}/12)\n{step}\n" in shown
            assert "Answer in short sentences" in shown
            task.step_done("all rows are there")
            task.turn_end()
        report = task.complete("Copying a shard of 16,000 rows takes nine minutes")

    assert looked > 200
    assert report.completed
    assert [entry.role for entry in talk.messages()] == ["user", "assistant"] * 12
    assert "Copying a shard" in ana.recall("how long does copying a shard take?")[0].record.content
    talk.end()
    assert not any("rows copied" in content for content in contents(ana))


def test_a_task_within_a_session_hears_what_the_user_says_there(opened_store: Store) -> None:
    ana = opened_store.memory(user="ana").session("monday")
    ana.remember("english", key="language", category="preference")
    session = ana

    with ana.task("Plan the move", plan=["Find a van", "Pack"], constraints=["No Sundays"]) as task:
        assert "english" in task.before_model()
        task.add(
            {"role": "user", "content": "Please answer in French from now on. I live in Porto now."}
        )
        shown = task.before_model()
        assert ("french" in shown, "english" in shown) == (True, False)
        task.complete("Vans are cheapest on Tuesdays")
    session.end()

    assert contents(ana, key="language") == ["french"]
    assert contents(ana, key="location") == ["Porto"]
    assert "Vans are cheapest on Tuesdays" in contents(ana)
    assert opened_store.memory(user="ana").sessions() == ()


def test_what_the_user_says_while_a_task_speaks_for_him_is_his_and_outlives_it(
    opened_store: Store,
) -> None:
    mover = opened_store.memory(user="ana").task(name="move").memory.session("monday")
    talk = mover
    talk.add(
        {"role": "user", "content": "My name is Ana and I live in Lisbon. My employer is Siemens."}
    )
    assert value(mover, "location") == ["Lisbon"]
    mover.remember("Porto", key="location", category="entity_fact")
    assert value(mover, "location") == ["Porto"]
    assert value(opened_store.memory(user="ana").session("monday"), "location") == ["Lisbon"]

    talk.end()

    ana = opened_store.memory(user="ana")
    assert contents(ana, key="location") == ["Lisbon"]
    assert contents(ana, key="employer") == ["Siemens"]


# -- a process that dies ------------------------------------------------------------------------

TALK = (
    "My name is Ana and I live in Lisbon with my two dogs, Rex and Luna.",
    "I am planning a trip to the Dolomites in June and want to avoid crowded huts.",
    "Please always answer in short sentences from now on, I read on my phone.",
    "I'm allergic to peanuts, so huts must serve food without them.",
)


A_PROCESS = """
import sys, simonides

session = simonides.open(sys.argv[1]).memory(user="ana").session("thread-7")
for said in sys.argv[2:]:
    session.add({"role": "user", "content": said})
    session.add({"role": "assistant", "content": "Noted."})
print("said", flush=True)
sys.stdin.read()
"""


def test_a_session_whose_process_is_killed_is_finalised_once_by_the_next(place: Path) -> None:
    environment = os.environ | {"SIMONIDES_SESSION_EXTRACTION": "manual"}
    command = [sys.executable, "-c", A_PROCESS, str(place), *TALK]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as talking:
        assert talking.stdout is not None
        assert talking.stdout.readline() == b"said\n"
        talking.kill()
    assert talking.returncode == -signal.SIGKILL

    with opened(place) as opened_store:
        ana = opened_store.memory(user="ana")
        assert [(each.name, each.entries) for each in ana.sessions()] == [("thread-7", 8)]
        first, again = ana.session("thread-7").end(), ana.session("thread-7").end()
        assert (first.already, first.entries, again.already) == (False, 8, True)
        left = contents(ana)

    with opened(place) as opened_store:
        ana = opened_store.memory(user="ana")
        ana.session("thread-7").end()
        assert contents(ana) == left
        assert len(left) == len(set(left))
        assert contents(ana, key="location") == ["Lisbon"]
        assert len(contents(ana, category="session_summary")) == 1
        assert ana.sessions() == ()
        assert opened_store.admin(actor="root").check_audit().ok


# -- a preference that changes in the middle ---------------------------------------------------


def test_a_changed_preference_wins_here_at_once_there_later_and_at_the_end_everywhere(
    ana: Memory,
) -> None:
    ana.remember("english", key="language", category="preference")
    here, there = ana.session("here"), ana.session("there")
    there.add({"role": "user", "content": "Good morning!"})
    with here.task("Write the report", plan=["Outline", "Text"]) as task:
        assert "english" in task.before_model()

        here.add({"role": "user", "content": "From now on, please answer in French."})

        assert value(here, "language") == ["french"]
        digest, prompt = here.digest("which language?").text, task.before_model()
        assert ("french" in digest, "english" in digest) == (True, False)
        assert ("french" in prompt, "english" in prompt) == (True, False)
        assert value(there, "language") == ["english"]
        assert "english" in there.digest("which language?").text
        assert contents(ana, key="language") == ["english"]
        task.complete()

    here.end()

    assert contents(ana, key="language") == ["french"]
    assert value(there, "language") == ["french"]
    assert [each.content for each in history_of(ana, "language")] == ["english", "french"]


# -- two threads, one memory -----------------------------------------------------------------


def test_two_threads_have_a_log_each_and_one_memory(ana: Memory) -> None:
    boats, planes = ana.session("boats"), ana.session("planes")
    boats.add({"role": "user", "content": "The boat is called Albatross."})
    planes.add({"role": "user", "content": "The plane is called Heron."})
    boats.remember("Always use metric units", key="units", category="preference")

    assert (
        "Albatross"
        in boats.recall("what is it called?", limit=1, layer="session")[0].record.content
    )
    assert (
        "Heron" in planes.recall("what is it called?", limit=1, layer="session")[0].record.content
    )
    assert [entry.text for entry in planes.messages()] == ["The plane is called Heron."]
    assert "metric units" in Prompting(planes).push("How long is the wing?").text


def test_the_next_talk_begins_with_what_the_last_was_about(opened_store: Store) -> None:
    with Ending(opened_store.memory(user="ana").session("monday")) as monday:
        for said in TALK:
            monday.add({"role": "user", "content": said})

    tuesday = opened_store.memory(user="ana").session("tuesday")

    (summary,) = [m for m in tuesday.list() if m.category == "session_summary"]
    pushed = Prompting(tuesday).push("Good morning, how do I boil an egg?")
    assert summary.id in [item.record.id for item in pushed.items]
    assert "Dolomites" in pushed.text
    bob = opened_store.memory(user="bob").session("tuesday")
    assert Prompting(bob).push("Good morning!").items == ()


# -- what is read is not what is known -------------------------------------------------------


def test_a_document_that_is_read_in_a_task_never_becomes_memory(
    opened_store: Store, tmp_path: Path
) -> None:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "parking.md").write_text(
        "# Parking\n\nCars of visitors are left in garage G7. Always tell the guard a name.\n"
    )
    opened_store.add_source(FolderSource(tmp_path / "handbook"), scope="/org/acme/")
    ana = opened_store.memory(user="ana", org="acme").session("monday")

    with ana.task("Receive the visitors", plan=["Find them a place for the car"]) as task:
        found = Prompting(ana).search("where do visitors leave their cars?", "all")
        assert "garage G7" in found.text
        task.before_tool("handbook", {"query": "cars of visitors"})
        task.observe("handbook", found.text)
        task.add({"role": "assistant", "content": "Visitors leave their cars in garage G7."})
        assert ana.receipts.verify(f"In G7 ({found.items[0].record.id}).", found.receipt).ok
        task.complete()
    ana.end()

    assert [content for content in contents(ana) if "G7" in content] == []
    assert "G7" not in Prompting(ana).push("Where do visitors leave their cars?").text


# -- days that leave nothing, and memory switched off -----------------------------------------


def test_a_day_in_incognito_leaves_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "memory.db"
    with opened(kept) as opened_store:
        opened_store.memory(user="ana").remember("Berlin", key="location")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}

    with simonides.open(kept, mode="incognito") as opened_store:
        ana = opened_store.memory(user="ana")
        assert contents(ana) == []
        with Ending(ana.session("gift")) as session:
            for said in TALK:
                session.add({"role": "user", "content": said})
            session.add({"role": "user", "content": "From now on, please answer in French."})
            with session.task("Find a present", plan=["Look around"]) as task:
                task.observe("shop", "A kite costs nine euros")
                assert "french" in task.before_model()
                task.complete("Bob likes kites")
        assert "Lisbon" in contents(ana)

    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    with opened(kept) as opened_store:
        ana = opened_store.memory(user="ana")
        assert (contents(ana), ana.sessions()) == (["Berlin"], ())


def test_recall_is_switched_off_in_the_middle_of_a_day_and_on_again(ana: Memory) -> None:
    ana.remember("Answer in short sentences", key="response_style", category="preference")
    session = ana.session("monday")
    with session.task("Write the report", plan=["Outline", "Text"]) as task:
        session.add(
            {"role": "user", "content": "From now on, please answer in French. I live in Lisbon."}
        )
        shown = task.before_model()
        assert ("short sentences" in shown, "french" in shown) == (True, True)

        ana.privacy.pause_recall()
        bare = task.before_model()
        assert ("short sentences" in bare, "french" in bare) == (False, False)
        assert "Write the report" in bare
        assert session.recall("where do I live?").hits == ()
        session.add({"role": "user", "content": "Use metric units."})

        ana.privacy.resume_recall()
        again = task.before_model()
        assert all(word in again for word in ("short sentences", "french", "metric"))
        task.complete()
    session.end()

    assert contents(ana, key="location") == ["Lisbon"]
    assert contents(ana, key="units") == ["metric"]


# -- a wrapped client and a session of the same user -------------------------------------------


def test_what_a_session_left_is_before_a_wrapped_client_and_what_that_heard_before_the_next_talk(
    opened_store: Store,
) -> None:
    with Ending(opened_store.memory(user="ana").session("monday")) as monday:
        monday.add({"role": "user", "content": "From now on, please answer in French."})

    with ModelServer([saying("Bonjour !")]) as server:
        bare = openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=0, timeout=20)
        client = simonides.wrap(bare, user="ana", store=opened_store)
        said = [{"role": "user", "content": "Good morning! I live in Lisbon."}]
        client.chat.completions.create(model="any", messages=said)  # type: ignore[arg-type]
        assert memory_of(client).flush(10)
        (received,) = server.received

    assert "french" in str(received.body)
    tuesday = opened_store.memory(user="ana").session("tuesday")
    assert value(tuesday, "location") == ["Lisbon"]
