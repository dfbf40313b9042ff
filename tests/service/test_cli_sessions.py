"""Sessions from the command line."""

import json
import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_session_is_added_to_shown_and_searched_by_one_command_after_the_other(cli: Run) -> None:
    cli("--session", "t7", "session", "add", "The boat is called Albatross.")
    added = cli(
        "--session", "t7", "session", "add", "A fine name.", "--role", "user", "--name", "Bo"
    )

    assert added.stdout == "kept as message 1\n"
    listed = cli("sessions").stdout
    assert listed.startswith("t7 ")
    assert "2 entries" in listed
    shown = cli("session", "messages", "--session", "t7").stdout.splitlines()
    assert shown[0].endswith("The boat is called Albatross.")
    assert "Bo" in shown[1]
    assert cli("--session", "t7", "session", "messages").stdout.splitlines() == shown
    assert "Albatross" in cli("--session", "t7", "recall", "boat", "--layer", "session").stdout


def test_what_was_said_holds_in_its_session_on_the_command_line_too(cli: Run) -> None:
    cli("remember", "Berlin", "--key", "location")
    cli("--session", "t7", "session", "add", "Actually, I live in Lisbon now.")

    within = json.loads(cli("--session", "t7", "--json", "recall", "location").stdout)
    without = json.loads(cli("--json", "recall", "location").stdout)

    assert [hit["record"]["content"] for hit in within["hits"]] == ["Lisbon"]
    assert [hit["record"]["content"] for hit in without["hits"]] == ["Berlin"]


def test_a_secret_is_told_of_and_not_printed(cli: Run) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"

    added = cli("--session", "s", "session", "add", f"My key is {secret}.")

    assert "note: hygiene_blocked:secret" in added.stdout
    assert secret not in added.stdout + cli("session", "messages", "--session", "s").stdout


def test_no_session_is_shown_without_its_name(cli: Run) -> None:
    assert cli("session", "messages").returncode == 2
    assert cli("session", "add", "Hello.").returncode == 2
    assert cli("sessions").stdout == "nothing found\n"
    assert cli("recall", "x", "--layer", "session").returncode == 2
    assert cli("sessions", user=None).returncode == 2


def test_a_session_is_ended_by_its_name(cli: Run) -> None:
    cli("--session", "t7", "session", "add", "I live in Lisbon.")

    done = cli("session", "end", "--session", "t7")
    again = cli("session", "end", "--session", "t7")

    assert done.stdout == "t7 ended: 1 entries, 1 stored, no summary, promoted: nothing\n"
    assert again.stdout == "t7 had ended before\n"
    assert cli("list").stdout.count("Lisbon") == 1


def test_a_name_that_slipped_ends_nothing_and_says_so(cli: Run) -> None:
    done = cli("--session", "t8", "session", "end")

    assert (done.returncode, done.stdout) == (1, "no session called t8 is open\n")
