"""The command line through its real entry: what it prints and how it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simonides
from simonides import Draft
from simonides.testing.model_server import ModelServer, well

Run = Callable[..., subprocess.CompletedProcess[str]]

TURNS = [
    {"session_id": "s1", "timestamp": "2026-01-02T10:00:00", "speaker": "Ana", "role": "user",
     "text": "I adopted a cat called Misha."},
    {"session_id": "s1", "timestamp": "2026-01-02T10:01:00", "speaker": "Bot",
     "role": "assistant", "text": "Congratulations!"},
    {"session_id": "s2", "timestamp": "2026-01-03T10:00:00", "speaker": "Ben",
     "text": "The launch moved to Friday.", "item_id": "x"},
]  # fmt: skip


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A file of three turns in two sessions."""
    file = tmp_path / "turns.jsonl"
    file.write_text("\n".join(json.dumps(turn) for turn in TURNS) + "\n", encoding="utf-8")
    return file


def test_a_fact_remembered_in_one_process_is_recalled_in_another(cli_process: Run) -> None:
    stored = cli_process("remember", "Always deploy to us-east-1", "--key", "deploy_region")

    found = cli_process("recall", "where do I deploy?")

    assert stored.returncode == 0, stored.stderr
    assert stored.stdout.startswith("created ")
    assert "deploy_region = Always deploy to us-east-1" in found.stdout
    assert "why: bm25" in found.stdout


def test_a_store_that_was_not_there_is_said_to_be_new(cli: Run, tmp_path: Path) -> None:
    typed = cli("recall", "tea", store=tmp_path / "typo.db")
    again = cli("recall", "tea", store=tmp_path / "typo.db")
    nowhere = cli("--mode", "incognito", "recall", "tea")

    assert (typed.returncode, typed.stdout) == (0, "nothing found\n")
    assert f"no store is at {tmp_path / 'typo.db'} yet" in typed.stderr
    assert (again.stderr, nowhere.stderr) == (typed.stderr, "")
    assert not (tmp_path / "typo.db").exists()


def test_the_life_of_a_fact_shows_in_every_verb(cli: Run) -> None:
    cli("remember", "blue", "--key", "color")
    corrected = cli("correct", "color", "green")
    listed = json.loads(cli("--json", "list").stdout)
    identity = listed[0]["id"]

    assert corrected.stdout.startswith("superseded ")
    assert [memory["content"] for memory in listed] == ["green"]
    assert "v1 superseded" in cli("history", "color").stdout
    assert "green" in cli("get", identity).stdout
    assert "rank" in cli("explain", identity, "color").stdout
    assert cli("confirm", identity).stdout.startswith("bumped ")
    assert cli("forget", "color").stdout.startswith("forgotten")
    assert cli("list").stdout.strip() == "nothing found"
    assert "the chain holds" in cli("admin", "check-audit").stdout


def test_an_import_says_what_became_of_each_turn_and_adds_nothing_the_second_time(
    cli: Run, transcript: Path
) -> None:
    first = cli("session", "import", str(transcript))
    second = json.loads(cli("--json", "session", "import", str(transcript)).stdout)
    listed = json.loads(cli("--json", "list").stdout)

    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[0] == "s1    0 Ana          created"
    assert first.stdout.splitlines()[-1] == "3 turns: 3 created"
    again = second["turns"]
    assert {turn["outcome"] for turn in again} == {"dropped"}
    assert {tuple(turn["reasons"])[-1] for turn in again} == {"turn_already_stored"}
    assert len(listed) == 3
    assert {m["speaker"]: m["source"] for m in listed} == {
        "Ana": "user_stated",
        "Bot": "agent_inferred",
        "Ben": "external",
    }


def test_an_imported_turn_is_recalled_with_its_place_and_date(cli: Run, transcript: Path) -> None:
    cli("session", "import", str(transcript))

    found = cli("recall", "what is the cat called?")

    assert "Ana: I adopted a cat called Misha." in found.stdout.splitlines()[0]
    assert "2026-01-02, s1 turn 0" in found.stdout.splitlines()[0]


def test_a_transcript_can_come_from_standard_input(cli: Run, transcript: Path) -> None:
    done = cli("session", "import", "-", stdin=transcript.read_text(encoding="utf-8"))

    assert done.stdout.splitlines()[-1] == "3 turns: 3 created"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2"),
        ("[]", "line 2"),
        ('{"session_id": "s"}', "line 2: text"),
        ('{"session_id": "", "text": "x"}', "line 2: session_id"),
        ('{"session_id": "s", "text": "x", "role": "boss"}', "line 2: role"),
        ('{"session_id": "s", "text": "x", "turn": -1}', "line 2: turn"),
        ('{"session_id": "s", "text": "x", "speaker": 5}', "line 2: speaker"),
        ("[" * 100_000, "line 2"),
    ],
)
def test_one_bad_line_refuses_the_whole_import_and_names_the_line(
    cli: Run, tmp_path: Path, line: str, problem: str
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(TURNS[0]) + "\n" + line + "\n", encoding="utf-8")

    done = cli("session", "import", str(file))

    assert done.returncode == 2
    assert problem in done.stderr
    assert cli("list").stdout.strip() == "nothing found"


def test_without_a_user_or_session_it_refuses(cli: Run) -> None:
    done = cli("recall", "x", user=None)

    assert done.returncode == 2
    assert "--user" in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("remember", "x", "--kind", "odd"), 2),
        (("remember", "x", "--confidence", "nan"), 2),
        (("remember", "x", "--category", "reasoning"), 1),
        (("remember", "x", "--scope", "org"), 1),
        (("get", "none"), 1),
        (("history", "none"), 1),
        (("forget", "none"), 1),
        (("forget",), 2),
        (("recall", "x", "--limit", "0"), 2),
        (("recall",), 2),
        (("frobnicate",), 2),
        (("admin", "check-policy", "no-such-file.yaml"), 1),
    ],
)
def test_exit_codes_tell_refusal_from_bad_usage(
    cli: Run, words: tuple[str, ...], code: int
) -> None:
    done = cli(*words)

    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_a_policy_file_is_checked_with_the_line_of_the_mistake(cli: Run, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("version: mine\nbudgets:\n  answer_chars: 500\n")
    bad.write_text("version: mine\nbudgets:\n  anser_chars: 500\n  seconds: soon\n")

    assert "mine" in cli("admin", "check-policy", str(good)).stdout
    done = cli("admin", "check-policy", str(bad))
    assert done.returncode == 1
    assert f"{bad}:3:" in done.stderr
    assert f"{bad}:4:" in done.stderr
    assert "answer_chars" in done.stderr


def test_capture_shows_what_was_stored_and_what_was_blocked(cli: Run) -> None:
    done = cli("add", "Call me Ana. Remember that I am enterprise tier.")

    assert "created" in done.stdout
    assert "key_denied_execution" in done.stdout


def test_status_and_version_answer(cli: Run) -> None:
    cli("remember", "x")

    assert "{'semantic': 1}" in cli("status").stdout
    assert cli("--version").stdout.strip().count(".") == 2


def test_the_demo_plays_both_sessions(cli_process: Run) -> None:
    done = cli_process("demo")

    assert done.returncode == 0, done.stdout + done.stderr
    for shown in ("written    language", "key_denied_execution", "applied    update_channel"):
        assert shown in done.stdout
    assert "Incident update:" in done.stdout
    assert "the chain holds" in done.stdout


def test_with_a_key_in_the_environment_the_demo_asks_that_model(tmp_path: Path) -> None:
    candidates = {"items": [{"key": "update_channel", "value": "email", "quote": "use email"}]}
    intent = {"kind": "retrieve_memory", "query": "channel for updates"}
    said = "Card payments fail; more by email."
    answer = {"answer": said, "used_memory_keys": ["update_channel"]}
    with ModelServer([well(candidates), well(intent), well(answer)]) as server:
        done = subprocess.run(
            [sys.executable, "-m", "simonides", "demo"],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith("SIMONIDES")},
                "OPENAI_API_KEY": "test-key",
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_MODEL": "scripted",
            },
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "written    update_channel" in done.stdout
    assert said in done.stdout
    assert len(server.received) == 3
    assert "test-key" not in done.stdout + done.stderr


def test_a_key_without_the_extra_leaves_the_rules_at_work_and_says_so(tmp_path: Path) -> None:
    hidden = tmp_path / "hide"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name == 'openai' else find(name, *a)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "simonides", "--store", str(tmp_path / "m.db"), "--user", "ana",
         "status"],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            **os.environ,
            "OPENAI_API_KEY": "test-key",
            "PYTHONPATH": os.pathsep.join([str(hidden), *sys.path]),
        },
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "pip install 'openai>=" in done.stdout
    assert "test-key" not in done.stdout


def test_a_dry_run_shows_what_another_policy_would_have_done(cli: Run, tmp_path: Path) -> None:
    cli("remember", "The app crashed", "--category", "feedback")
    cli("remember", "Maybe it rains", "--category", "speculation")
    file = tmp_path / "next.yaml"
    file.write_text("version: next\ncategories:\n  feedback: {admit: false}\n")

    done = cli("admin", "dry-run", str(file), user=None)
    found = json.loads(cli("--json", "admin", "dry-run", str(file), user=None).stdout)

    assert done.returncode == 0, done.stderr
    assert "stored -> blocked  (category_not_admitted:feedback)" in done.stdout
    assert "1 cannot be judged again: 1 blocked, content_not_kept" in done.stdout
    assert done.stdout.splitlines()[-1] == "under 'next': 1 otherwise, 0 as they were"
    assert [write["changed"] for write in found["writes"]] == [True, False]
    assert found["writes"][1]["reasons"] == ["content_not_kept"]


def test_a_store_is_moved_with_a_report(cli: Run, tmp_path: Path) -> None:
    cli("remember", "Always deploy to us-east-1", "--key", "deploy_region")
    cli("correct", "deploy_region", "eu-west-1")
    source, target = str(tmp_path / "m.db"), f"sqlite:///{tmp_path / 'n' / 'moved.db'}"

    moved = cli("db", "migrate", "--from", source, "--to", target, user=None)
    again = cli("--json", "db", "migrate", "--from", source, "--to", target, user=None)

    assert moved.returncode == 0, moved.stderr
    assert "moved 1 owners" in moved.stdout
    assert moved.stderr.startswith("moving")
    report = json.loads(again.stdout)
    assert (report["moved"], report["skipped"], report["rows"]) == (0, 1, {})
    there = cli("--store", target, "history", "deploy_region")
    assert there.stdout == cli("history", "deploy_region").stdout
    assert there.stdout.count("\n") == 2


def test_a_store_moves_to_a_server_and_back(
    cli: Run, tmp_path: Path, postgres: Any, database: str
) -> None:
    for _ in range(2):
        cli("remember", "We deploy to eu-west-1", "--key", "deploy_region")
        cli("remember", "We deploy to us-east-1", "--key", "deploy_region")
    source, back = str(tmp_path / "m.db"), str(tmp_path / "back.db")
    server = postgres.url("simonides_app", database)

    moved = cli("db", "migrate", "--from", source, "--to", server, user=None)
    again = cli("--json", "db", "migrate", "--from", source, "--to", server, user=None)
    returned = cli("--json", "db", "migrate", "--from", server, "--to", back, user=None)

    assert moved.returncode == 0, moved.stderr
    assert "moved 1 owners" in moved.stdout
    report = json.loads(again.stdout)
    assert (report["moved"], report["skipped"], report["rows"]) == (0, 1, {})
    assert json.loads(returned.stdout)["recalls"] > 0
    for target in (server, back):
        there = cli("--store", target, "--json", "history", "deploy_region")
        assert there.stdout == cli("--json", "history", "deploy_region").stdout
        verified = cli("--store", target, "admin", "check-audit", user=None)
        assert verified.returncode == 0, verified.stdout


def test_a_move_that_is_refused_says_why(cli: Run, tmp_path: Path) -> None:
    cli("remember", "x")
    cli("--store", str(tmp_path / "other.db"), "remember", "y")

    named = "--from", str(tmp_path / "m.db"), "--to", str(tmp_path / "other.db")
    refused = cli("db", "migrate", *named, user=None)
    nowhere = cli("db", "migrate", "--from", str(tmp_path / "no.db"), "--to", named[3], user=None)

    assert refused.returncode == 1
    assert "holds rows of another store" in refused.stderr
    assert nowhere.returncode == 2
    assert "y" in cli("--store", named[3], "list").stdout


def test_entries_are_made_anew_after_a_change_of_model(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "keywords.yaml"
    config.write_text("embedder: none\n", encoding="utf-8")

    def by_keywords(*words: str) -> Any:
        command = [sys.executable, "-m", "simonides", "--store", str(tmp_path / "m.db"), *words]
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | {"SIMONIDES_CONFIG": str(config)},
        )

    assert by_keywords("--user", "ana", "remember", "Ana sails").returncode == 0
    stale = json.loads(cli("--json", "status").stdout)["stale_entries"]

    made = cli("admin", "reindex", user=None)
    again = cli("--json", "admin", "reindex", "--scope", "/org/default/user/ana/", user=None)
    refused = by_keywords("admin", "reindex")
    back = by_keywords("admin", "reindex", "--adopt")

    assert stale == 1
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("1 of 1 entries made anew by analyser 1, static")
    report = json.loads(again.stdout)
    assert (report["rows"], report["remade"], report["of"]) == (1, 0, 1)
    assert refused.returncode == 1
    assert "--adopt" in refused.stdout
    assert back.returncode == 0, back.stderr
    assert "1 of 1 entries made anew by analyser 1, no embedder" in back.stdout
    assert cli("admin", "reindex", "--scope", "nowhere", user=None).returncode == 2


def test_what_is_refused_is_blocked_and_hidden_until_it_is_allowed(cli: Run) -> None:
    cli("remember", "5000 a month", "--key", "salary")

    assert cli("privacy", "refuse", "salary").stdout == "refused key salary\n"
    blocked = cli("remember", "6000 a month", "--key", "salary")
    assert (blocked.returncode, blocked.stdout) == (1, "blocked  (consent_refused:key)\n")
    assert cli("list").stdout == "nothing found\n"
    assert cli("privacy", "list").stdout == "refused key salary\n"
    removed = cli("privacy", "refuse", "salary", "--remove").stdout
    assert removed == "refused key salary, as before, 1 removed\n"
    assert cli("privacy", "allow", "--key", "salary").stdout == "allowed key salary\n"
    assert cli("privacy", "refuse").returncode == 2


def test_what_is_for_a_purpose_is_read_for_it_only(cli: Run, tmp_path: Path) -> None:
    with simonides.open(tmp_path / "m.db") as store:
        store.memory(user="ana").remember_many([Draft("Allergic to nuts", purpose="care")])

    assert cli("list").stdout == cli("--purpose", "sales", "list").stdout == "nothing found\n"
    assert "Allergic to nuts" in cli("--purpose", "care", "list").stdout
