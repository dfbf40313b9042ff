"""Erasing on the command line: it asks, tells, and checks what it told."""

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


def test_erasing_asks_for_the_name_and_leaves_a_receipt_that_can_be_checked(cli, tmp_path):
    file = tmp_path / "receipt.json"
    cli("remember", "The door code is 4711", "--key", "door")

    refused = cli("erase", stdin="anna\n")
    kept = cli("list")
    erased = cli("erase", "--receipt", str(file), stdin="ana\n")
    status = cli("erase", "status")

    assert (refused.exit_code, "nothing was erased" in refused.output) == (1, True)
    assert "4711" in kept.output
    assert (erased.exit_code, "complete" in erased.output) == (0, True)
    assert (status.exit_code, "emptied" in status.output) == (0, True)
    assert "4711" not in cli("list").output
    assert json.loads(file.read_text())["removed"]["memories"] == 1
    alone = cli("erase", "verify", str(file), user=(), store=())
    assert (alone.exit_code, "checked: receipt\n" in alone.output) == (0, True)
    beside = cli("erase", "verify", str(file), user=())
    assert (beside.exit_code, "checked: receipt, seal, chain, rows" in beside.output) == (0, True)
    other = cli("erase", "verify", str(file), "--store", str(tmp_path / "n.db"), user=(), store=())
    assert (other.exit_code, "problem: unknown_subject" in other.output) == (1, True)

    file.write_text(file.read_text().replace('"memories": 1', '"memories": 2'))
    changed = cli("erase", "verify", str(file), user=(), store=())
    assert (changed.exit_code, "problem: payload" in changed.output) == (1, True)


def test_an_administrator_erases_by_name_and_nobody_is_erased_by_default(cli):
    cli("remember", "The door code is 4711")

    nobody = cli("erase", "--yes", user=())
    by_root = cli("--json", "erase", "--yes", "--by", "root")

    assert nobody.exit_code == 2
    assert cli("erase", "--yes", "--by", "root", user=("--session", "ana")).exit_code == 2
    assert '"actor":"admin:root"' in json.loads(by_root.output)["link"]["payload"]
    assert cli("erase", "status", user=("--user", "bob")).exit_code == 1
    assert cli("erase", "verify", "missing.json", user=()).exit_code == 2
