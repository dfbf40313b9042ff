"""What a session acknowledged is there after SIGKILL, in order, whoever else was appending."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import simonides
from principals import principal_of
from simonides.testing.store_contract import drive

TALK = """
import sys
import simonides

who, place = sys.argv[1:]
with simonides.open(place) as opened_store:
    session = opened_store.memory(user="ana").session("s")
    for turn in range(10_000):
        (entry,) = session.add(f"{who} says {turn}").kept
        print(entry.number, flush=True)
"""

SERVICE = """
import signal
import sys
import simonides

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with simonides.open(sys.argv[1]) as opened_store:
    ana = opened_store.memory(user="ana")
    ana.session("leaving").add({"role": "user", "content": "I live in Lisbon."})
    ana.session("other").add({"role": "user", "content": "My favorite color is green."})
    print("ready", flush=True)
    signal.pause()
"""


def talker(who: str, store: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", TALK, who, str(store)], stdout=subprocess.PIPE, text=True
    )


def heard(process: subprocess.Popen[str], count: int) -> list[int]:
    assert process.stdout
    return [int(process.stdout.readline()) for _ in range(count)]


def rest_of(process: subprocess.Popen[str]) -> list[int]:
    """Kill a process and return what it had told by then."""
    process.kill()
    process.wait()
    assert process.stdout
    with process.stdout:
        return [int(line) for line in process.stdout if line.endswith("\n")]


@pytest.mark.slow
def test_what_was_acknowledged_outlives_a_kill_and_others_go_on(tmp_path: Path) -> None:
    store = tmp_path / "m.db"
    talkers = {who: talker(who, store) for who in ("one", "two")}
    told = {who: heard(process, 40) for who, process in talkers.items()}
    told["one"] += rest_of(talkers["one"])
    told["two"] += heard(talkers["two"], 40) + rest_of(talkers["two"])

    with simonides.open(store) as opened:
        session = opened.memory(user="ana").session("s")
        entries = session.messages()
        gone_on = session.add({"role": "user", "content": "And I go on."}).kept[0]

    assert [entry.number for entry in entries] == list(range(len(entries)))
    assert gone_on.number == len(entries)
    assert not set(told["one"]) & set(told["two"])
    said = [entry.text for entry in entries]
    for who, numbers in told.items():
        assert [said[number] for number in numbers] == [
            f"{who} says {n}" for n in range(len(numbers))
        ]
        # At most the one that was under way when it was killed is there beyond.
        assert sum(text.startswith(who) for text in said) - len(numbers) in (0, 1)


def test_a_signal_that_is_turned_into_an_exit_ends_what_is_to_end_with_the_process(
    tmp_path: Path,
) -> None:
    store = tmp_path / "m.db"
    command = [sys.executable, "-c", SERVICE, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout
        assert service.stdout.readline() == "ready\n"
        service.terminate()
    assert service.returncode == 0

    with simonides.open(store) as opened:
        ana = opened.memory(user="ana")
        links = drive(
            opened.runtime.store, opened.runtime.store.links(principal_of(ana).home.owner)
        )
        left = [open_session.name for open_session in ana.sessions()]
        kept = [memory.content for memory in ana.list(filter={"key": "location"})]

    told = [json.loads(link.payload) for link in links if link.payload is not None]
    assert [e["reasons"] for e in told if e["type"] == "session_ended"] == [["shutdown"]] * 2
    assert left == []
    assert kept == ["Lisbon"]
