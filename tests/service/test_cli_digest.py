"""The digest on the command line: for a prompt, checked, and shown again."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cli(tmp_path: Path) -> Run:
    """The command line over one store, as user ana."""

    def run(*words: str) -> Any:
        store = str(tmp_path / "m.db")
        return subprocess.run(
            [sys.executable, "-m", "memstrata", "--store", store, "--user", "ana", *words],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return run


def test_a_digest_is_checked_and_shown_again_in_other_processes(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Always deploy to us-east-1", "--key", "deploy_region")
    shown = cli("digest", "where do I deploy?")
    kept = tmp_path / "digest.json"
    kept.write_text(cli("--json", "digest", "where do I deploy?").stdout, encoding="utf-8")
    (item,) = json.loads(kept.read_text(encoding="utf-8"))["items"]
    cli("correct", "deploy_region", "eu-west-1")

    again = cli("replay", str(kept))
    honest = cli("verify", str(kept), f"To us-east-1 ({item['memory']['id']}).")
    lying = cli("verify", str(kept), "To us-east-1 (01a20124-7cc0-7a14-aeec-827020b593cb).")

    assert shown.stdout.startswith("Memory digest:\n")
    assert again.stdout == json.loads(kept.read_text(encoding="utf-8"))["text"] + "\n"
    assert again.stderr == "memstrata: ranked\n"
    assert (honest.returncode, lying.returncode) == (0, 1)
    assert "superseded since" in honest.stdout
    assert "01a20124-7cc0-7a14-aeec-827020b593cb: not shown" in lying.stdout


def test_filters_are_json_and_errors_say_where(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Sure thing", "--confidence", "1.0")
    cli("remember", "Doubtful thing", "--confidence", "0.6", "--category", "fact")
    weak = '{"confidence": {"$lt": 0.7}}'

    for verb in (["list"], ["list", "--category", "fact"], ["recall", "thing"]):
        found = cli(*verb, "--filter", weak)
        assert "Doubtful" in found.stdout
        assert "Sure" not in found.stdout
    assert cli("list", "--filter", "{").returncode == 2
    wrong = cli("list", "--filter", '{"confidence": {"$gtt": 1}}')
    assert (wrong.returncode, "filter.confidence.$gtt" in wrong.stderr) == (2, True)
    assert cli("replay", str(tmp_path / "none.json")).returncode == 2
    assert cli("forget", "--filter", weak).returncode == 0
    assert "Doubtful" not in cli("list").stdout
