"""Erasing on the command line: it takes the name, and its receipt can be checked."""

import json

import pytest
from typer.testing import CliRunner

from simonides.cli.app import app


@pytest.fixture
def cli(tmp_path):
    """The command line over one store, as user ana."""

    def run(*words, stdin="", user=("--user", "ana"), store=("--store", str(tmp_path / "m.db"))):
        return CliRunner().invoke(app, [*store, *user, *words], input=stdin)

    return run


def test_erasing_takes_the_name_and_leaves_a_receipt_that_can_be_checked(cli, tmp_path):
    file = tmp_path / "receipt.json"
    cli("remember", "The door code is 4711", "--key", "door")

    unnamed, refused = cli("data", "erase"), cli("data", "erase", "--confirm", "anna")
    kept = cli("list")
    erased = cli("data", "erase", "--confirm", "ana", "--json")
    status = cli("data", "erasure")

    assert (unnamed.exit_code, "--confirm" in unnamed.output) == (2, True)
    assert (refused.exit_code, "confirm" in refused.output) == (2, True)
    assert "4711" in kept.output
    assert (erased.exit_code, json.loads(erased.stdout)["state"]) == (0, "complete")
    assert (status.exit_code, "emptied" in status.output) == (0, True)
    assert "4711" not in cli("list").output
    assert json.loads(erased.stdout)["removed"]["memories"] == 1
    file.write_text(erased.stdout)
    beside = cli("admin", "check-erasure", str(file), user=())
    assert (beside.exit_code, "checked: receipt, seal, chain, rows" in beside.output) == (0, True)
    store = ("--store", str(tmp_path / "n.db"))
    other = cli("admin", "check-erasure", str(file), user=(), store=store)
    assert (other.exit_code, "problem: unknown_subject" in other.output) == (1, True)

    file.write_text(file.read_text().replace('"memories": 1', '"memories": 2'))
    changed = cli("admin", "check-erasure", str(file), user=())
    assert (changed.exit_code, "problem: payload" in changed.output) == (1, True)


def test_an_administrator_erases_by_name_and_nobody_is_erased_by_default(cli):
    cli("remember", "The door code is 4711")

    nobody = cli("data", "erase", "--confirm", "ana", user=())
    other = cli("admin", "erase", "ana", "--confirm", "bob", "--actor", "root", user=())
    by_root = cli("--json", "admin", "erase", "ana", "--confirm", "ana", "--actor", "root", user=())

    assert (nobody.exit_code, other.exit_code) == (2, 2)
    assert '"actor":"admin:root"' in json.loads(by_root.stdout)["link"]["payload"]
    assert cli("data", "erasure", user=("--user", "bob")).exit_code == 1
    assert cli("admin", "check-erasure", "missing.json", user=()).exit_code == 2
