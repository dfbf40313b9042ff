"""What waits for a decision, on the command line."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_what_waits_is_listed_released_and_discarded(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("hygiene: {classes: {personal:email: hold}}", "utf-8")
    monkeypatch.setenv("SIMONIDES_POLICY", str(policy))
    for text in ("Write to ana@example.org", "Write to ben@example.org"):
        cli("remember", text)
    first, second = json.loads(cli("--json", "pending", "list").stdout)

    listed = cli("pending", "list").stdout
    unknown = cli("pending", "approve", "nothing")
    released = cli("pending", "approve", first["id"], "--reason", "mine")
    discarded = cli("pending", "reject", second["id"])
    counted = cli("maintenance", "hygiene", "--dry-run").stdout

    assert "(hygiene_held:personal:email)" in listed
    assert "user: Write to ana@example.org" in listed
    assert (unknown.returncode, released.returncode, discarded.returncode) == (1, 0, 0)
    assert released.stdout.startswith("created ")
    assert cli("pending", "list").stdout.strip() == "nothing found"
    assert "1    personal:email" in counted
