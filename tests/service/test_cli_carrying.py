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
    taken = cli("--json", "admin", "backup", "--to", f"{tmp_path}/backups/", "--keep", "2", user=None)
    assert taken.returncode == 0, taken.stderr
    path = json.loads(taken.stdout)["path"]
    cli("correct", "color", "green")

    asked = cli("data", "restore", path, user=None, stdin="yes\n")
    assert asked.returncode == 1
    assert "nothing was restored" in asked.stderr
    assert cli("data", "restore", path, user=None).returncode == 1
    assert "green" in cli("list").stdout

    back = cli("data", "restore", path, user=None, stdin="restore\n")

    assert back.returncode == 0, back.stderr
    assert "blue" in cli("list").stdout
    assert "green" not in cli("list").stdout
    assert "the chain holds" in cli("admin", "check-audit").stdout
    cli("correct", "color", "red")
    assert cli("data", "restore", path, "--yes", user=None).returncode == 0
    assert "blue" in cli("list").stdout
    fresh = cli("data", "restore", path, user=None, store=tmp_path / "fresh.db")
    assert fresh.returncode == 0, fresh.stderr
    assert "blue" in cli("list", store=tmp_path / "fresh.db").stdout


def test_the_two_kinds_of_restore_are_told_apart(cli, tmp_path: Path):
    cli("remember", "blue", "--key", "color")
    cli("data", "export", str(tmp_path / "ana.jsonl"))
    cli("admin", "backup", "--to", str(tmp_path / "b.db"), user=None)

    of_store = cli("data", "restore", str(tmp_path / "b.db"))
    of_user = cli("data", "restore", str(tmp_path / "ana.jsonl"), user=None)
    missing = cli("data", "restore", str(tmp_path / "missing"))
    damaged = tmp_path / "cut.jsonl"
    damaged.write_bytes((tmp_path / "ana.jsonl").read_bytes()[:-30])
    cut = cli("data", "restore", str(damaged), store=tmp_path / "other.db")

    assert (of_store.returncode, of_user.returncode, missing.returncode) == (2, 2, 2)
    assert "whole store" in of_store.stderr
    assert "--user" in of_user.stderr
    assert cut.returncode == 1
    assert "cut.jsonl:" in cut.stderr
