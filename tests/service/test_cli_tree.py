"""The tree of commands is the tree of the Python API."""

import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from conftest import Run
from simonides.api import sync
from simonides.cli.app import SPECIAL, app
from simonides.cli.options import GLOBALS
from simonides.cli.tree import GROUPS, MEMORY, NEEDS_YES, WITHOUT_STORE, Face

NOT_THERE_YET: set[str] = set()
"""Exempt methods that some builds of the API lack."""


def methods_of(name: str, without: type | None = None) -> set[str]:
    """Return the public methods of a class that another one does not have."""
    type_of = getattr(sync, name)
    return {
        method
        for method, value in inspect.getmembers(type_of, callable)
        if not method.startswith("_") and (without is None or not is_of(without, method, value))
    }


def is_of(type_of: type, method: str, value: Any) -> bool:
    """Whether a class has a method of this name and does not leave it to a subclass."""
    return getattr(type_of, method, None) is value


@pytest.mark.parametrize("face", [MEMORY, *GROUPS.values()], ids=lambda face: face.type)
def test_each_public_method_is_a_command_or_is_exempt_with_a_reason(face: Face) -> None:
    inherited = sync.Memory if face.type == "Session" else None
    known = set(face.verbs) | set(face.exempt)

    assert methods_of(face.type, inherited) - known == set()
    assert known - methods_of(face.type) - NOT_THERE_YET == set()
    assert all(face.exempt.values())
    assert not set(face.verbs) & set(face.exempt)


def test_each_group_of_a_memory_is_a_group_of_commands() -> None:
    groups = {
        name
        for name, value in inspect.getmembers(sync.Memory)
        if isinstance(value, property) and not name.startswith("_")
    }

    assert groups == GROUPS.keys() - {"session", "task", "admin"}


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return every command by its words."""
    for name, command in group.commands.items():
        words = f"{path} {name}".strip()
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words, command


def test_each_command_takes_the_globals_and_explains_each_option() -> None:
    found = dict(commands(typer.main.get_command(app)))

    assert len(found) > 80
    assert found.keys() >= WITHOUT_STORE | NEEDS_YES
    for words, command in found.items():
        params = command.get_params(typer.Context(command))
        assert {each.name for each in params} >= GLOBALS, words
        options = [each for each in params if each.param_type_name == "option"]
        assert [each.name for each in options if not each.help] == [], words
        assert command.help, words


def test_special_commands_have_names_of_their_own() -> None:
    for group, made in SPECIAL.items():
        face = MEMORY if not group else GROUPS.get(group)
        if face is not None:
            assert not {name.replace("-", "_") for name in made} & set(face.verbs)


def test_globals_stand_before_or_after_the_verb_or_in_the_environment(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("remember", "I like tea", user="ana")

    before = cli("--user", "ana", "--json", "list", user=None)
    after = cli("list", "--user", "ana", "--json", user=None)
    of_group = cli("pending", "--user", "ana", "list", user=None)
    monkeypatch.setenv("SIMONIDES_USER", "ana")
    by_variable = cli("list", "--json", user=None)
    overridden = cli("list", "--user", "ben", user=None)

    assert before.returncode == 0
    assert "I like tea" in before.stdout
    assert before.stdout == after.stdout == by_variable.stdout
    assert of_group.returncode == 0
    assert overridden.stdout == "nothing found\n"


def test_an_unknown_variable_is_an_error_with_the_nearest_name(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMONIDES_USR", "ana")

    done = cli("list")

    assert done.returncode == 2
    assert "SIMONIDES_USER" in done.stderr


def test_errors_are_json_with_code_and_hint_if_asked(cli: Run) -> None:
    done = cli("forget", "nothing", "--json")

    assert done.returncode == 1
    error = json.loads(done.stderr[done.stderr.index("{") :])
    assert error["error"]["code"] == "not_found"
    assert error["error"]["hint"]


def test_a_session_outlives_the_process_of_a_command(cli: Run) -> None:
    cli("session", "add", "I live in Lisbon", "--session", "t7")

    assert cli("sessions").stdout.startswith("t7 ")
    assert "Lisbon" in cli("session", "messages", "--session", "t7").stdout


def test_a_task_goes_on_from_one_command_to_the_next(cli: Run) -> None:
    begun = cli("task", "prompt", "up-1", "--goal", "Upgrade the service", "--plan", "Back up")
    cli("task", "note", "up-1", "The disk is small")
    later = cli("task", "prompt", "up-1")

    assert "Upgrade the service" in begun.stdout
    assert "Upgrade the service" in later.stdout
    assert "The disk is small" in later.stdout
    assert cli("task", "complete", "up-1", "Check the disk first").returncode == 0
    assert cli("task", "step-done", "unknown").returncode == 2
