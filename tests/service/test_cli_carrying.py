"""Export, restore and backup on the command line: two kinds of restore that nobody confuses."""

import json
from pathlib import Path


def test_a_user_is_exported_and_restored_elsewhere(cli, tmp_path: Path):
    cli("remember", "Always deploy to us-east-1", "--key", "deploy_region")
    cli("correct", "deploy_region", "eu-west-1")
    exported = cli("data", "export", str(tmp_path / "ana.jsonl"))
    again = cli("data", "export", str(tmp_path / "ana.jsonl"))
    over = cli("--json", "data", "export", str(tmp_path / "ana.jsonl"), "--overwrite")

    assert exported.returncode == 0, exported.stderr
    assert "memory" in exported.stdout
    assert (again.returncode, "already" in again.stderr) == (1, True)
    assert json.loads(over.stdout)["counts"]["memory"] == 2

    restored = cli("data", "restore", str(tmp_path / "ana.jsonl"), store=tmp_path / "other.db")
    assert restored.returncode == 0, restored.stderr
    history = cli("history", "deploy_region", store=tmp_path / "other.db")
    assert "v1 superseded" in history.stdout
    assert "eu-west-1" in history.stdout


def test_a_whole_store_is_backed_up_and_goes_back(cli, tmp_path: Path):
    cli("remember", "blue", "--key", "color")
    taken = cli("--json", "admin", "backup", f"{tmp_path}/backups/", "--keep", "2", user=None)
    assert taken.returncode == 0, taken.stderr
    path = json.loads(taken.stdout)["path"]
    cli("correct", "color", "green")

    asked = cli("admin", "restore-backup", path, user=None)
    assert asked.returncode == 1
    assert "confirm it with --yes" in asked.stderr
    assert "green" in cli("list").stdout

    back = cli("admin", "restore-backup", path, "--yes", user=None)

    assert back.returncode == 0, back.stderr
    assert "blue" in cli("list").stdout
    assert "green" not in cli("list").stdout
    assert "the chain holds" in cli("admin", "check-audit").stdout
    fresh = cli("admin", "restore-backup", path, "--yes", user=None, store=tmp_path / "fresh.db")
    assert fresh.returncode == 0, fresh.stderr
    assert "blue" in cli("list", store=tmp_path / "fresh.db").stdout


def test_the_two_kinds_of_restore_are_told_apart(cli, tmp_path: Path):
    cli("remember", "blue", "--key", "color")
    cli("data", "export", str(tmp_path / "ana.jsonl"))
    cli("admin", "backup", str(tmp_path / "b.db"), user=None)

    of_store = cli("data", "restore", str(tmp_path / "b.db"), store=tmp_path / "other.db")
    of_user = cli("data", "restore", str(tmp_path / "ana.jsonl"), user=None)
    missing = cli("data", "restore", str(tmp_path / "missing"))
    damaged = tmp_path / "cut.jsonl"
    damaged.write_bytes((tmp_path / "ana.jsonl").read_bytes()[:-30])
    cut = cli("data", "restore", str(damaged), store=tmp_path / "other.db")

    assert (of_store.returncode, of_user.returncode, missing.returncode) == (1, 2, 1)
    assert "--user" in of_user.stderr
    assert cut.returncode == 1
    assert "cut.jsonl:" in cut.stderr
