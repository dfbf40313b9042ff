"""The digest on the command line: for a prompt, checked, and shown again."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_digest_is_checked_and_shown_again_in_other_processes(
    cli: Run, cli_process: Run, tmp_path: Path
) -> None:
    cli("remember", "Always deploy to us-east-1", "--key", "deploy_region")
    shown = cli("digest", "where do I deploy?")
    kept = tmp_path / "digest.json"
    kept.write_text(cli("--json", "digest", "where do I deploy?").stdout, encoding="utf-8")
    (item,) = json.loads(kept.read_text(encoding="utf-8"))["items"]
    cli("correct", "deploy_region", "eu-west-1")

    again = cli_process("receipts", "replay", str(kept))
    honest = cli_process("receipts", "verify", f"To us-east-1 ({item['record']['id']}).", str(kept))
    lying = cli(
        "receipts", "verify", "To us-east-1 (01a20124-7cc0-7a14-aeec-827020b593cb).", str(kept)
    )

    assert shown.stdout.startswith("Memory digest:\n")
    assert again.stdout == json.loads(kept.read_text(encoding="utf-8"))["text"] + "\n"
    assert again.stderr == "simonides: ranked\n"
    assert (honest.returncode, lying.returncode) == (0, 1)
    assert "superseded since" in honest.stdout
    assert "01a20124-7cc0-7a14-aeec-827020b593cb: not shown" in lying.stdout


def test_filters_are_json_and_errors_say_where(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Sure thing", "--confidence", "1.0")
    cli("remember", "Doubtful thing", "--confidence", "0.6", "--category", "fact")
    weak = '{"confidence": {"$lt": 0.7}}'

    for verb in (["list"], ["recall", "thing"]):
        found = cli(*verb, "--filter", weak)
        assert "Doubtful" in found.stdout
        assert "Sure" not in found.stdout
    assert cli("list", "--filter", "{").returncode == 2
    wrong = cli("list", "--filter", '{"confidence": {"$gtt": 1}}')
    assert (wrong.returncode, "filter.confidence.$gtt" in wrong.stderr) == (2, True)
    assert cli("receipts", "replay", str(tmp_path / "none.json")).returncode == 2
    assert cli("forget-many", "--filter", weak).returncode == 0
    assert "Doubtful" not in cli("list").stdout


def test_what_was_put_before_a_model_is_listed_and_shown_again(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Always deploy to us-east-1", "--key", "region", "--category", "preference")
    pushed = cli("digest")
    found = cli("digest", "where do I deploy?", "--max-items", "1")
    cli("correct", "region", "eu-west-1")

    listed = cli("receipts", "list").stdout.splitlines()
    receipts = json.loads(cli("--json", "receipts", "list").stdout)

    assert "us-east-1" in pushed.stdout
    assert "us-east-1" in found.stdout
    assert [line.split()[2] for line in listed] == ["push", "asked"]
    assert [receipt["cue"]["query"] for receipt in receipts] == [
        "", "where do I deploy?",
    ]  # fmt: skip
    for receipt, shown in zip(receipts, (pushed, found), strict=True):
        kept = tmp_path / "receipt.json"
        kept.write_text(json.dumps(receipt), encoding="utf-8")
        assert cli("receipts", "replay", str(kept)).stdout == shown.stdout


def test_a_recall_is_shown_again_and_old_doubts_are_said(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Ana moved to Porto", "--confidence", "0.6")
    kept = tmp_path / "recall.json"
    kept.write_text(cli("--json", "recall", "Porto").stdout, encoding="utf-8")
    shown = cli("recall", "Porto")

    assert "careful: unverified" in shown.stdout
    assert json.loads(kept.read_text(encoding="utf-8"))["hits"][0]["warnings"] == ["unverified"]
    again = cli("receipts", "replay", str(kept))
    assert again.stderr == "simonides: ranked\n"
    assert "careful: unverified" in again.stdout


def test_verify_says_what_shows_and_status_the_floors(cli: Run, tmp_path: Path) -> None:
    cli("remember", "email", "--key", "update_channel", "--category", "preference")
    kept = tmp_path / "digest.json"
    kept.write_text(cli("--json", "digest", "x", "--preference-bias").stdout, encoding="utf-8")
    (item,) = json.loads(kept.read_text(encoding="utf-8"))["items"]

    good = cli("receipts", "verify", f"By email ({item['record']['id']}).", str(kept))
    bad = cli("receipts", "verify", f"Soon ({item['record']['id']}).", str(kept))

    assert (good.returncode, bad.returncode) == (0, 1)
    assert "shows in the answer" in good.stdout
    assert "NOTHING CITED WAS APPLIED" in bad.stdout
    floors = json.loads(cli("--json", "status").stdout)["floors"]
    # One read, however often it was verified.
    assert floors == {
        "digest": 0.75, "push": 0.8, "hit_rate": None, "false_positives": None, "reads": 1,
    }  # fmt: skip
