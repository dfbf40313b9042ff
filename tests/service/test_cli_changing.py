"""Undo, promote and reviews on the command line."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import simonides

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_correction_is_undone_once(cli: Run) -> None:
    cli("remember", "blue", "--key", "color")
    corrected = json.loads(cli("--json", "correct", "color", "green").stdout)
    event = corrected["events"][0]["id"]

    undone, again = cli("undo", event), cli("undo", event)

    assert (undone.returncode, undone.stdout[:7]) == (0, "undone ")
    assert [memory["content"] for memory in json.loads(cli("--json", "list").stdout)] == ["blue"]
    assert again.returncode == 1
    assert "already_undone" in again.stderr


def test_a_conflict_is_listed_and_decided(cli: Run, tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        ana = store.memory(user="ana")
        for where, source in (("Oslo", "user_stated"), ("Rome", "tool_verified")):
            fact: dict[str, Any] = {"source": source, "triple": ("Ana", "lives_in", where)}
            ana.remember_many([simonides.Draft(f"Ana lives in {where}", **fact)])

    listed = cli("pending", "list").stdout
    review = json.loads(cli("--json", "pending", "list").stdout)[0]
    unknown = cli("pending", "resolve", "no-such-review", "old")
    wrong = cli("pending", "resolve", review["id"], "c")
    decided = cli("pending", "resolve", review["id"], "new", "--reason", "moved")

    assert "old: " in listed
    assert "Ana lives in Rome" in listed
    assert (unknown.returncode, wrong.returncode, decided.returncode) == (1, 2, 0)
    assert decided.stdout.startswith("superseded ")
    assert cli("pending", "list").stdout.strip() == "nothing found"
    assert "kept new" in cli("pending", "list", "--status", "decided").stdout


def test_a_memory_is_promoted_to_the_org_by_who_may(cli: Run, tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        ana = store.memory(user="ana", org="acme")
        ana.remember("The build needs node 20", key="node")

    promoted = cli("--org", "acme", "promote", "node", "org")

    assert promoted.returncode == 1
    assert "org_write" in promoted.stdout + promoted.stderr
    cli("--org", "acme", "admin", "grant", "ana", "org_write", user=None)
    assert cli("--org", "acme", "promote", "node", "org").stdout.startswith("created ")
    assert "node 20" in cli("--org", "acme", "list", user="ben").stdout


def test_what_is_stored_is_looked_through(cli: Run, tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        store.memory(user="ana").remember("I live in Oslo")

    shown = cli("maintenance", "hygiene", "--dry-run")
    counted = json.loads(cli("--json", "maintenance", "hygiene").stdout)

    assert "nothing was" in shown.stdout
    assert "1  memories looked at" in shown.stdout
    assert (counted["memories"], counted["updates"], counted["dry_run"]) == (1, 0, False)


def test_an_agent_is_refused_a_decision_about_its_own(cli: Run, tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        helper = store.memory(user="ana", agent="helper")
        for text in ("The staging gate is enabled", "The staging gate is disabled"):
            helper.remember(text)
    review = json.loads(cli("--json", "pending", "list").stdout)[0]

    own = cli("--agent", "helper", "pending", "resolve", review["id"], "new")
    other = cli("pending", "resolve", review["id"], "neither")

    assert (own.returncode, "own_proposal" in own.stdout) == (1, True)
    assert other.returncode == 0


def test_what_a_write_displaced_is_shown_with_the_way_back(cli: Run) -> None:
    cli("remember", "blue", "--key", "color")
    for words in (("remember", "red", "--key", "color"), ("correct", "color", "green")):
        said = cli(*words).stdout.splitlines()

        assert said[0].startswith("superseded ")
        assert said[1].startswith("  displaced ")
        assert said[1].endswith((": blue", ": red"))
        back = said[2].removeprefix("  to take it back: simonides ").split()
        assert cli(*back).returncode == 0
        cli("remember", "red", "--key", "color")


def test_a_decision_shows_what_gave_way_and_neither_displaces_nothing(
    cli: Run, tmp_path: Path
) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        ana = store.memory(user="ana")
        for where, source in (("Oslo", "user_stated"), ("Rome", "tool_verified")):
            fact: dict[str, Any] = {"source": source, "triple": ("Ana", "lives_in", where)}
            ana.remember_many([simonides.Draft(f"Ana lives in {where}", **fact)])
    review = json.loads(cli("--json", "pending", "list").stdout)[0]["id"]

    decided = cli("pending", "resolve", review, "new").stdout

    assert ": Ana lives in Oslo" in decided
    (event,) = [line.split()[-1] for line in decided.splitlines() if "take it back" in line]
    cli("undo", event)
    assert "displaced" not in cli("pending", "resolve", review, "neither").stdout


def test_a_dry_run_of_a_forgetting_says_what_would_go(cli: Run) -> None:
    cli("remember", "blue", "--key", "color")
    cli("remember", "green", "--key", "color")

    wanted = "--filter", '{"key": "color"}'
    dry = cli("forget-many", *wanted, "--dry-run")
    done = cli("forget", "color")
    again = cli("forget", "color")

    assert (dry.returncode, done.returncode, again.returncode) == (0, 0, 1)
    assert dry.stdout.startswith("would be forgotten: 2 memories, all versions counted")
    assert dry.stdout.endswith("nothing was changed\n")
    assert done.stdout == "forgotten: 2 memories, all versions counted\n"
    assert "nothing is remembered under 'color'" in again.stderr
