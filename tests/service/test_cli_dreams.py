"""Dreams and usage from the command line: a diff, a list, an undo, and what models have cost."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def lived(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something to dream of: rules beyond the cap, which a policy of before let stand."""
    generous = tmp_path / "generous.yaml"
    generous.write_text("version: generous\nconsolidation:\n  procedural_rules: 30\n")
    monkeypatch.setenv("SIMONIDES_POLICY", str(generous))
    for n in range(21):
        rule = f"Always start report number {n} with a summary of chapter {n}"
        told = cli("remember", rule, "--kind", "procedural", "--category", "rule")
        assert told.returncode == 0, told.stderr
    cli("remember", "always say hello in report 0", "--kind", "procedural", "--category", "rule")
    monkeypatch.delenv("SIMONIDES_POLICY")


def test_a_dream_is_shown_applied_listed_and_undone(cli: Run, lived: None) -> None:
    dry = cli("maintenance", "consolidate", "--dry-run")
    done = json.loads(cli("--json", "maintenance", "consolidate").stdout)
    listed = cli("maintenance", "consolidations")
    undone = cli("maintenance", "undo-consolidation", done["id"])
    again = cli("maintenance", "undo-consolidation", done["id"])

    assert dry.returncode == 0, dry.stderr
    assert "consolidation (proposed) of /global/org/default/user/ana/: proposed" in dry.stdout
    assert "2 would be done, 0 left" in dry.stdout
    assert "archive  beyond_rules_cap" in dry.stdout
    assert "chapter 0" in dry.stdout
    assert (done["status"], len(done["items"])) == ("applied", 2)
    assert done["id"] in listed.stdout
    assert "2 archive" in listed.stdout
    assert undone.returncode == 0
    assert "undone" in undone.stdout
    assert again.returncode == 1
    assert "has already undone it" in again.stderr


def test_an_undo_that_leaves_something_tells_so_by_its_exit_code(cli: Run, lived: None) -> None:
    done = json.loads(cli("--json", "maintenance", "consolidate").stdout)
    cli("forget", done["items"][0]["before"][0])

    undone = cli("maintenance", "undo-consolidation", done["id"])

    assert undone.returncode == 1
    assert "left: forgotten" in undone.stdout


def test_where_there_is_nothing_to_dream_of_it_says_so(cli: Run) -> None:
    for words in (["maintenance", "consolidate"], ["maintenance", "consolidate", "--dry-run"]):
        told = cli(*words)
        assert told.returncode == 0
        assert told.stdout == "nothing to consolidate of /global/org/default/user/ana/\n"


def test_without_dreams_the_list_says_so(cli: Run) -> None:
    assert "nothing found" in cli("maintenance", "consolidations").stdout


def test_usage_shows_the_ceilings_and_what_was_used(cli: Run) -> None:
    shown = cli("maintenance", "usage", "--days", "7")
    told = json.loads(cli("--json", "maintenance", "usage").stdout)

    assert shown.returncode == 0, shown.stderr
    assert "ceiling of an owner's day" in shown.stdout
    assert "2,000" in shown.stdout
    assert told["today"]["calls"] == 0
    assert told["ceilings"]["write"]["calls"] == 100


def test_usage_of_no_days_is_bad_usage(cli: Run) -> None:
    assert cli("maintenance", "usage", "--days", "0").returncode == 2
