"""An outside judge asks every route with generated requests; ``make judges`` asks much more."""

import os
import subprocess
import sys
from pathlib import Path

import simonides

EXAMPLES = os.environ.get("JUDGES", "1")
"""Generated requests a route and kind."""


def test_every_route_keeps_what_its_description_says(served, tmp_path):
    store = simonides.open(":memory:")
    url = served(store)
    token = store.admin("root").new_token(
        "judge", rights=["read", "write", "review", "admin"]
    ).secret  # fmt: skip
    run = subprocess.run(
        [
            Path(sys.executable).with_name("st"), "run", f"{url}/openapi.json",
            "--header", f"Authorization: Bearer {token}", "--header", "Simonides-User: ana",
            # What the schema allows may still be no key, no time, or a name that nothing has.
            "--exclude-checks", "positive_data_acceptance",
            "--max-examples", EXAMPLES, "--seed", "1", "--workers", "1", "--no-color",
            *(("--phases", "fuzzing") if EXAMPLES == "1" else ()),
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-6000:]
    assert "Tested: 7" in run.stdout or "Tested: 8" in run.stdout, run.stdout[-2000:]
    store.close()
