"""An outside judge asks every route with generated requests; ``make judges`` asks much more."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simonides

EXAMPLES = os.environ.get("JUDGES", "1")
"""Generated requests a route and kind."""

REVOKES = "admin/tokens/"
"""With it the judge revokes its own token, so it comes by itself."""


@pytest.mark.parametrize(("chosen", "routes"), [("exclude", 80), ("include", 1)])
def test_every_route_keeps_what_its_description_says(served, tmp_path, monkeypatch, chosen, routes):
    monkeypatch.chdir(tmp_path)  # a backup with a generated name lands here
    store = simonides.open(":memory:")
    url = served(store, per_minute=1_000_000)
    token = store.admin("root").new_token(
        "judge", rights=["read", "write", "review", "admin"]
    ).secret  # fmt: skip
    run = subprocess.run(
        [
            Path(sys.executable).with_name("st"), "run", f"{url}/openapi.json",
            "--header", f"Authorization: Bearer {token}", "--header", "Simonides-User: ana",
            # What the schema allows may still be no key, no time, or a name that nothing has.
            "--exclude-checks", "positive_data_acceptance",
            f"--{chosen}-path-regex", REVOKES,
            "--max-examples", EXAMPLES, "--seed", "1", "--workers", "1", "--no-color",
            *(("--phases", "fuzzing") if EXAMPLES == "1" else ()),
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-6000:]
    assert f"Tested: {routes}" in run.stdout, run.stdout[-2000:]
    assert chosen == "include" or not re.search(r"\b429\b", run.stdout), run.stdout[-6000:]
    store.close()
