"""What a session acknowledged is there after SIGKILL, in order, whoever else was appending."""

import subprocess
import sys
from pathlib import Path

import pytest

import memstrata

TALK = """
import sys
import memstrata

who, place = sys.argv[1:]
with memstrata.open(place) as strata:
    session = strata.manager(user="ana").session("s")
    for turn in range(10_000):
        print(session.add("user", f"{who} says {turn}").number, flush=True)
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

    with memstrata.open(store) as strata:
        session = strata.manager(user="ana").session("s")
        entries = session.entries()
        gone_on = session.add("user", "And I go on.")

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
