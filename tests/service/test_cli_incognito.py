"""No command reports success about a store that incognito has left alone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import simonides
from simonides.cli.app import app
from simonides.cli.options import BAD_USAGE, DONE
from simonides.cli.tree import WITHOUT_STORE

OF_THEIR_OWN = {"admin bench", "admin check-policy", "admin new-key", "db init", "demo"}
"""Those that open no store, or one that they name themselves, whatever the mode is."""

GO_ON = WITHOUT_STORE
"""Those of the others that are of use in memory alone."""

NEEDED = {
    "admin dry-run": ["{tmp}/policy.yaml"],
    "admin check-erasure": ["{tmp}/given.json"],
    "admin restore-backup": ["{tmp}/given.jsonl", "--yes"],
    "admin purge-safety": ["--yes"],
    "admin purge-feedback": ["--yes"],
    "data export": ["{tmp}/export.jsonl"],
    "data import-from": ["{tmp}/turns.jsonl"],
    "data restore": ["{tmp}/given.jsonl"],
    "db migrate": ["--from", "{store}", "--to", "{tmp}/other.db"],
    "receipts replay": ["{tmp}/given.json"],
    "receipts verify": ["An answer", "{tmp}/given.json"],
    "session import": ["{tmp}/turns.jsonl"],
    "task prompt": ["t1", "--goal", "Write"],
    "maintenance scan": ["Prefers tea"],
}
"""What a command needs to come as far as its store, where any words would not do."""


def commands() -> Iterator[tuple[str, Any]]:
    """Return every command by its words."""
    groups: list[tuple[str, Any]] = [("", typer.main.get_command(app))]
    while groups:
        name, group = groups.pop()
        for word, command in group.commands.items():
            below = f"{name} {word}".strip()
            if hasattr(command, "commands"):
                groups.append((below, command))
            else:
                yield below, command


COMMANDS = dict(commands())


def words_of(verb: str, **places: Path) -> list[str]:
    """Return a command line that would be done on an open store."""
    given = NEEDED.get(verb)
    if given is None:
        given = []
        command = COMMANDS[verb]
        for parameter in command.get_params(typer.Context(command)):
            if parameter.required:
                option = parameter.opts if parameter.param_type_name == "option" else []
                given += [*option[:1], "x"]
    return [*verb.split(), *(word.format(**places) for word in given)]


Invoke = Callable[..., Any]


@pytest.fixture
def on_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """A store with a memory in it, and what files a command may want; runs a command over it."""
    store = tmp_path / "m.db"
    with simonides.open(store, mode="local") as opened:
        memory = opened.memory(user="ana")
        memory.remember("Prefers tea", key="drink")
        memory.data.export(tmp_path / "given.jsonl")
        receipt = memory.digest("tea").receipt
    (tmp_path / "given.json").write_text(json.dumps(receipt.to_dict()))
    (tmp_path / "turns.jsonl").write_text('{"speaker": "Ana", "text": "Hello", "session_id": "s"}')
    (tmp_path / "policy.yaml").write_text("{}")
    monkeypatch.setenv("SIMONIDES_REMOTE", str(tmp_path / "remote.db"))

    def invoke(verb: str, *before: str) -> Any:
        stood = {path: path.read_bytes() for path in tmp_path.iterdir()}
        words = words_of(verb, tmp=tmp_path, store=store)
        named = ["--user", "ana", "--session", "s"] if verb != "db migrate" else []
        done = CliRunner().invoke(app, [*before, *named, *words])
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == stood
        return done

    return invoke


@pytest.mark.parametrize("verb", sorted(COMMANDS.keys() - OF_THEIR_OWN))
def test_no_command_succeeds_for_a_store_that_is_left_alone(
    on_store: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    store = str(tmp_path / "m.db")
    asked = on_store(verb, "--mode", "guest", "--store", store)
    monkeypatch.setenv("SIMONIDES_MODE", "incognito")
    named = on_store(verb, "--store", store)
    monkeypatch.setenv("SIMONIDES_STORE", store)
    by_settings = on_store(verb)

    # Whoever names a store where incognito is only set has that store in mind: nothing goes on.
    assert named.exit_code == BAD_USAGE, named.output
    assert "SIMONIDES_MODE" in named.stderr
    assert "--mode local" in named.stderr
    # Who asked for incognito, or named no store, has what is of use in memory alone.
    for done in (asked, by_settings):
        assert (done.exit_code == DONE) == (verb in GO_ON), done.output
        assert ("about what is stored" in done.stderr) == (verb not in GO_ON)
        assert (done.exit_code == BAD_USAGE) == (verb not in GO_ON)


def test_a_text_is_scanned_without_a_store() -> None:
    words = ["--mode", "incognito", "--user", "ana", "maintenance", "scan", "Prefers tea"]
    done = CliRunner().invoke(app, words)

    assert (done.exit_code, done.stdout) == (DONE, "nothing found\n")


@pytest.mark.parametrize("mode", ["incognito", "synced"])
def test_the_demo_plays_over_a_file_of_its_own_in_every_mode(
    monkeypatch: pytest.MonkeyPatch, mode: str, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMONIDES_MODE", mode)

    done = CliRunner().invoke(app, ["demo"])

    assert done.exit_code == DONE, done.output
    assert "update_channel = email" in done.output
    assert "nothing found" not in done.output
