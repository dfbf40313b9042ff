"""Keys on the command line: a ring is made, a store adopted, edited, accepted, given a new key."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from typer.testing import CliRunner

from simonides.cli.app import app


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(*words: str, ring: str | None = None) -> Any:
        if ring is not None:
            monkeypatch.setenv("SIMONIDES_KEYS", ring)
        else:
            monkeypatch.delenv("SIMONIDES_KEYS", raising=False)
        return CliRunner().invoke(app, ["--store", str(tmp_path / "m.db"), "--user", "ana", *words])

    return run


def test_a_store_comes_under_a_ring_and_is_kept_there(cli: Any, tmp_path: Path) -> None:
    assert cli("remember", "Seats by the aisle", "--key", "seat").exit_code == 0
    ring = cli("admin", "new-key", "one").stdout
    refused = cli("recall", "which seat?", ring=ring)
    assert refused.exit_code == 1
    assert "rekey --adopt" in refused.stderr

    adopted = cli("admin", "rekey", "--adopt", ring=ring)
    assert (adopted.exit_code, adopted.stdout.split()) == (
        0, ["key", "one", "owners", "1", "coded", "1"],
    )  # fmt: skip
    assert "Seats by the aisle" in cli("recall", "which seat?", ring=ring).stdout
    assert cli("admin", "check-audit", ring=ring).exit_code == 0
    without = cli("recall", "which seat?")
    assert without.exit_code == 2
    assert "key ring" in without.stderr

    newer = cli("admin", "new-key", "two", ring=ring).stdout + ring
    rotated = cli("--json", "admin", "rekey", ring=newer)
    assert '"coded": 1' in rotated.stdout
    assert '"coded": 0' in cli("--json", "admin", "rekey", ring=newer).stdout
    only = newer.splitlines()[0]
    assert "Seats by the aisle" in cli("recall", "which seat?", ring=only).stdout

    connection = apsw.Connection(str(tmp_path / "m.db"))
    wrong = "CAST(replace(CAST(body AS TEXT), 'aisle', 'engine') AS BLOB)"
    connection.execute(f"UPDATE memories SET body = {wrong}").fetchall()
    connection.close()
    assert cli("recall", "which seat?", ring=only).exit_code == 1
    verified = cli("admin", "check-audit", ring=only)
    assert verified.exit_code == 1
    assert "content" in verified.stdout
    assert cli("admin", "rekey", ring=only).exit_code == 0  # nothing to do: not looked at
    assert cli("admin", "rekey", "--adopt", "--accept", ring=only).exit_code == 2
    scope = "/org/default/user/ana/"
    accepted = cli("admin", "rekey", "--adopt", "--accept", "--scope", scope, ring=only)
    assert accepted.exit_code == 0, accepted.stderr
    assert "Seats by the engine" in cli("recall", "which seat?", ring=only).stdout
    assert cli("admin", "check-audit", ring=only).exit_code == 0


def test_a_key_of_a_wrong_name_is_refused(cli: Any) -> None:
    refused = cli("admin", "new-key", "two words")

    assert refused.exit_code == 2
    assert "letters, digits" in refused.stderr


def test_without_a_ring_nothing_is_adopted(cli: Any) -> None:
    refused = cli("admin", "rekey", "--adopt")

    assert refused.exit_code == 2
    assert "no key ring is set" in refused.stderr
