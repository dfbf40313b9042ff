"""Collecting from the command line: for one user or all, dry or in earnest, as a table or JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

import memstrata
from memstrata.cli.app import app
from memstrata.settings import Settings


def run(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memstrata", "--store", str(store), *words],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "MEMSTRATA"))},
    )


def test_gc_says_what_it_would_do_and_then_does_it(tmp_path: Path) -> None:
    store = tmp_path / "m.db"
    with memstrata.open(store, settings=Settings(embedder="none")) as strata:
        strata.manager(user="ana").remember("The build is green", ttl_days=1e-7)

    dry = run(store, "gc", "--dry-run")
    done = run(store, "--json", "--user", "ana", "gc")

    assert dry.returncode == 0, dry.stderr
    assert "What would be done (nothing was)" in dry.stdout
    assert "hard_expired" in dry.stdout
    assert "1 of 1 owners, 1 memories looked at" in dry.stdout
    assert "collecting" in dry.stderr
    told = json.loads(done.stdout)
    assert (told["counts"], told["dry_run"], told["owners"]) == ({"hard_expired": 1}, False, 1)


def test_gc_wants_a_user_or_scopes_but_not_both() -> None:
    asked = CliRunner().invoke(app, ["--user", "ana", "gc", "--scope", "/user/ben"])

    assert asked.exit_code == 2
    assert "not both" in asked.output
