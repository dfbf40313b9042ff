"""The command line, run in the process of the tests."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simonides import __version__
from simonides.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SIMONIDES_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line as it is, without a store or a user."""

    def call(*args: object) -> Result:
        code = main([str(arg) for arg in args])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def ana(run: Run, tmp_path: Path) -> Run:
    """Run a command as the user ana on a store of her own."""
    return lambda *args: run("--store", tmp_path / "m.db", "--user", "ana", *args)


def test_a_memory_is_stored_recalled_corrected_and_forgotten(ana: Run) -> None:
    told = ana("remember", "I prefer aisle seats", "--key", "seat", "--category", "preference")
    assert told.code == 0
    assert "seat = I prefer aisle seats  [user_stated, 20" in told.out
    recalled = ana("recall", "which seat should I book?", "--min-relevance", "0.1")
    assert recalled.code == 0
    assert "relevance" in recalled.out
    assert "    met: seat ~ seats (0.96)\n    words matched here and in the turns" in recalled.out
    explained = ana("explain", "seat", "which SEATS?").out
    assert "rank 1" in explained
    assert "met: SEATS = seats\nwords matched here and in the turns beside it +" in explained
    assert "meaning as a whole +" in explained
    assert ana("correct", "seat", "I prefer window seats", "--quote", "window, please").code == 0
    assert ana("correct", "seat", "--pinned", "--importance", "high").code == 0
    assert ana("confirm", "seat").code == 0
    assert "I prefer window seats" in ana("get", "seat").out
    assert "aisle seats  [user_stated" in ana("history", "seat").out.splitlines()[0]
    assert "memories     1" in ana("status").out
    assert ana("forget", "seat").out == "Forgotten.\n"
    assert ana("get", "seat") == Result(1, "nothing found\n", "")
    assert ana("recall", "which seat?") == Result(0, "nothing found\n", "")


def test_every_option_of_remember_reaches_the_record(ana: Run) -> None:
    options = ["--key", "tea", "--category", "task_learning", "--importance", "high", "--pinned"]
    options += ["--ttl-days", "3", "--tag", "drink", "--tag", "hot", "--metadata", '{"a": 1}']
    options += ["--at", "2026-01-02", "--source", "tool_verified", "--kind", "procedural"]
    record = ana("remember", "Brew it long", *options, "--json").json["record"]
    assert record["tags"] == ["drink", "hot"]
    assert record["metadata"] == {"a": 1}
    assert (record["importance"], record["pinned"], record["kind"]) == ("high", True, "procedural")
    assert (record["source"], record["category"]) == ("tool_verified", "task_learning")


def test_an_idempotency_key_writes_once(ana: Run) -> None:
    first = ana("remember", "I own a boat", "--idempotency-key", "n1", "--json").json
    again = ana("remember", "I own a boat", "--idempotency-key", "n1", "--json").json
    assert again["record"]["id"] == first["record"]["id"]
    assert len(ana("list", "--json").json["items"]) == 1


def test_lists_go_on_at_their_cursor(ana: Run) -> None:
    for text in ("I own a boat", "I live in Rome", "I speak Greek"):
        ana("remember", text)
    page = ana("list", "--limit", 2, "--json").json
    rest = ana("list", "--cursor", page["next_cursor"], "--json").json
    assert [each["content"] for each in rest["items"]] == ["I own a boat"]
    assert f"more: --cursor {page['next_cursor']}" in ana("list", "--limit", 2).out
    found = ana("list", "--filter", '{"content": {"$contains": "Rome"}}', "--json").json
    assert [each["content"] for each in found["items"]] == ["I live in Rome"]


def test_the_audit_trail_is_listed_and_verified(ana: Run, run: Run, tmp_path: Path) -> None:
    ana("remember", "I own a boat", "--key", "boat", "--actor", "crm")
    ana("correct", "boat", "I sold my boat")
    assert "crm" in ana("audit", "list", "--type", "created").out
    events = ana("audit", "list", "--actor", "crm", "--json").json["items"]
    assert [event["type"] for event in events] == ["created"]
    assert ana("audit", "verify").out.startswith("the chain holds (owners: 1")
    every = run("audit", "verify", "--all", "--store", tmp_path / "m.db", "--json")
    assert (every.code, every.json["ok"]) == (0, True)


def test_a_changed_row_fails_the_audit(ana: Run, tmp_path: Path) -> None:
    import apsw

    ana("remember", "I own a boat")
    connection = apsw.Connection(str(tmp_path / "m.db"))
    connection.execute("UPDATE memories SET content = 'I own a yacht'")
    connection.close()
    assert ana("audit", "verify").code == 1
    assert "the chain is broken" in ana("audit", "verify").out


def test_an_administrator_grants_writes_globally_and_backs_up(ana: Run, tmp_path: Path) -> None:
    assert ana("admin", "grant", "ana", "org_write", "--org", "acme").code == 0
    assert "ana  org_write" in ana("admin", "grants", "--org", "acme").out
    assert ana("admin", "revoke", "ana", "org_write", "--org", "acme").code == 0
    assert ana("admin", "revoke", "ana", "org_write", "--org", "acme").code == 1
    assert ana("admin", "grants").code == 2
    ana("admin", "remember", "Be polite", "--scope", "global", "--key", "manners")
    assert "Be polite" in ana("get", "manners").out
    assert ana("admin", "backup", tmp_path / "copy.db").code == 0
    assert ana("admin", "backup", tmp_path / "copy.db").code == 2
    assert "Be polite" in ana("get", "manners", "--store", tmp_path / "copy.db").out


def test_a_policy_file_is_checked_and_tried(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("version: mine\norgs: {acme: {denied_keys: [x]}}\n")
    tried = run("policy", "check", file, "I like tea", "My password is hunter2hunter2", "--json")
    assert tried.code == 0
    refusal = "Refused: policy forbids this content (secret:password)."
    assert [each["explanation"] for each in tried.json["tried"]] == ["Stored.", refusal]
    assert tried.json["orgs"] == ["acme"]
    file.write_text("version: mine\nquota: {}\n")
    broken = run("policy", "check", file)
    assert broken.code == 2
    assert "did you mean 'quotas'?" in broken.err


def test_globals_stand_on_both_sides_and_in_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "m.db"
    run("--store", store, "remember", "I own a boat", "--user=ana", "--key", "boat")
    monkeypatch.setenv("SIMONIDES_STORE", str(store))
    monkeypatch.setenv("SIMONIDES_USER", "ana")
    monkeypatch.setenv("SIMONIDES_JSON", "1")
    assert run("get", "boat").json["content"] == "I own a boat"
    assert run("get", "boat", "--user", "bob") == Result(1, "null\n", "")


def test_words_after_two_dashes_are_text(ana: Run) -> None:
    assert "--user is an option" in ana("remember", "--", "--user is an option").out


def test_a_refused_write_exits_with_1_and_its_reason(ana: Run) -> None:
    refused = ana("remember", "My password is hunter2hunter2")
    assert refused == Result(1, "Refused: policy forbids this content (secret:password).\n", "")


def test_control_characters_do_not_reach_the_terminal(ana: Run) -> None:
    assert "\x1b" not in ana("remember", "I like \x1b[31mred\nand blue").out


def test_a_dash_reads_standard_input(ana: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(said: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said)))

    piped("I prefer café seats\n".encode())
    assert ana("remember", "-", "--json").json["record"]["content"] == "I prefer café seats"
    piped(b"Never book a middle seat.")
    assert "Never book a middle seat" in ana("add", "-").out
    piped(b"which seats?")
    assert "café" in ana("recall", "-").out
    piped(b"\xff")
    broken = ana("remember", "-")
    assert (broken.code, "standard input is not UTF-8" in broken.err) == (2, True)
    assert ana("remember", "--", "-x").code == 0


EMPTY = ["list", "recall x", "sessions", "pending list", "privacy list", "receipts list",
         "audit list", "session messages --session s", "session buffer --session s",
         "admin grants --org acme"]  # fmt: skip


@pytest.mark.parametrize("command", EMPTY)
def test_an_empty_list_is_no_failure(ana: Run, command: str) -> None:
    assert ana(*command.split()).code == 0


def test_what_is_not_there_is_a_failure(ana: Run) -> None:
    assert ana("get", "seat").code == 1
    assert ana("privacy", "allow", "0bad0bad", "--json") == Result(1, '{"allowed": false}\n', "")


def test_a_digest_keeps_no_receipt_if_told_so(ana: Run) -> None:
    ana("remember", "The staging server is in Oslo")
    ana("digest", "Where is the staging server?", "--no-receipt")
    assert ana("receipts", "list").out == "nothing found\n"


def test_remember_takes_every_field_of_a_draft(ana: Run) -> None:
    said = ana("remember", "Ana lives in Oslo", "--triple", "Ana", "--triple", "lives in",
               "--triple", "Oslo", "--confidence", "0.5", "--valid-from", "2026-01-02",
               "--audience", "planner", "--depends-on", "a.txt", "--speaker", "Ana", "--timeless",
               "--agent", "planner", "--json")  # fmt: skip
    record = said.json["record"]
    assert (record["confidence"], record["timeless"], record["speaker"]) == (0.5, True, "Ana")
    assert (record["audience"], record["depends_on"]) == (["planner"], ["a.txt"])
    assert record["valid_from"].startswith("2026-01-02")


SPOKEN = [
    ("recall x --known-at soon", "--known-at: 'soon' is not an ISO 8601 time"),
    ("list --scope nowhere", "--scope: "),
    ("remember x --valid-from 2026-01-02 --valid-to 2026-01-01",
     "--valid-to: must be later than --valid-from"),
    ("list --user a/b", "--user: "),
    ("session end", "--session: name the conversation"),
    ("admin grants", "--org: name the organisation"),
    ("confirm seat", "; `simonides list` shows what there is"),
    ("pending approve 0bad0bad", "; `simonides pending list` shows what there is"),
    ("remember x --scope org", "an administrator can give it: `simonides admin grant`"),
    ("task begin a/b goal", "NAME: "),
    ("admin grant ana nonsense --org acme", "error: right: 'nonsense' is not one of"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "message"), SPOKEN)
def test_an_error_speaks_of_options_and_commands(ana: Run, command: str, message: str) -> None:
    told = ana(*command.split()).err
    assert message in told
    assert "…" not in told


def test_an_error_names_options_for_who_is_missing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMONIDES_STORE", str(tmp_path / "m.db"))
    assert "name a user (--user) or a session (--session)\n" in run("list").err
    monkeypatch.setenv("SIMONIDES_REQUIRE_ORG", "1")
    assert "name the organisation too (--org)" in run("list", "--user", "ana").err


WRONG: list[tuple[int, str, list[str]]] = [
    (2, "No such option: --limt", ["recall", "x", "--limt", "3"]),
    (2, "No such command 'recal'. Did you mean 'recall'?", ["recal", "x"]),
    (2, "Missing command", ["audit"]),
    (2, "Option '--user' requires an argument", ["list", "--user"]),
    (2, "--filter: is not valid JSON", ["recall", "x", "--filter", "{broken"]),
    (2, "--limit: must be a whole number", ["list", "--limit", "0"]),
    (
        2,
        "--importance: 'hihg' is not one of normal, high",
        ["remember", "x", "--importance", "hihg"],
    ),
    (2, "denied", ["list", "--scope", "/user/bob/"]),
    (1, "did you mean 'seat'?", ["history", "seatt"]),
    (3, "connection failed", ["db", "init", "postgresql://a@127.0.0.1:1/x", "--role", "app"]),
    (3, 'URI: "postgresql://a@[x"', ["db", "init", "postgresql://a:word@[x", "--role", "app"]),
]


@pytest.mark.parametrize(("code", "message", "args"), WRONG)
def test_an_error_is_one_line_and_a_hint(
    ana: Run, code: int, message: str, args: list[str]
) -> None:
    ana("remember", "I prefer aisle seats", "--key", "seat")
    told = ana(*args)
    error, hint = told.err.splitlines()
    assert (told.code, told.out) == (code, "")
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith("hint: ")
    as_json = json.loads(ana("--json", *args).err)["error"]
    assert message in as_json["message"]
    assert set(as_json) == {"code", "message", "hint", "retryable"}


def test_a_user_or_session_is_required(run: Run, tmp_path: Path) -> None:
    told = run("list", "--store", tmp_path / "m.db")
    assert told.code == 2
    assert "name a user" in told.err
    assert run("status", "--store", tmp_path / "m.db", "--session", "s1").code == 0


def test_an_unknown_variable_names_the_nearest(ana: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMONIDES_SOTRE", "m.db")
    told = ana("list")
    assert told.code == 2
    assert "did you mean 'SIMONIDES_STORE'?" in told.err


def test_a_folder_or_foreign_file_is_no_store(ana: Run, tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("not a database " * 100)
    for path in (tmp_path, foreign):
        told = ana("list", "--store", path)
        assert told.code == 3
        assert told.err.startswith(f"error: {path}: is ")


def test_help_and_version_do_not_load_the_engine(run: Run) -> None:
    assert run("--version") == Result(0, f"{__version__}\n", "")
    assert "forget" in run().out
    program = (
        "import sys, simonides.cli as c; c.main(['recall', '--help']);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'apsw', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def test_help_stands_under_headings(run: Run) -> None:
    lines = run("--help").out.splitlines()
    places = [lines.index(f"{heading}:") for heading in ("Options", "Memory", "Groups", "Store")]
    assert places == sorted(places)
    assert lines[places[1] + 1].split()[0] == "remember"
    store = {line.split()[0] for line in lines[places[3] + 1 :] if line.strip()}
    assert {"mcp", "policy", "db", "serve", "leak-test", "worker"} <= store
    assert "Begin a task" in run("task", "--help").out
    assert "--depends-on <list[str]>" in run("remember", "--help").out
    assert "Only this kind; repeatable." in run("recall", "--help").out


@pytest.mark.parametrize(
    ("words", "completed"),
    [("simonides rem", "remember"), ("simonides task be", "begin\nbefore-model\nbefore-tool"),
     ("simonides recall x --kn", "--known-at"), ("simonides add - --wa", "--wait")],
)  # fmt: skip
def test_a_shell_completes_commands_and_options(words: str, completed: str) -> None:
    asked = {"_SIMONIDES_COMPLETE": "complete_bash", "COMP_WORDS": words}
    done = subprocess.run(
        [sys.executable, "-m", "simonides"], capture_output=True, text=True,
        env={**os.environ, **asked, "COMP_CWORD": str(len(words.split()) - 1)},
    )  # fmt: skip
    assert (done.stdout.strip(), done.returncode) == (completed, 0)


def test_the_completion_script_is_shown() -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "simonides", "--show-completion", "bash"],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert "_SIMONIDES_COMPLETE=complete_bash" in done.stdout


def test_the_demonstration_shows_what_it_promises() -> None:
    command = [sys.executable, "-m", "simonides", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "blocked: declared_tier  (key_denied_execution)" in done.stdout
    assert "policy forbids this content (secret:password)" in done.stdout
    assert "made by: rules" in done.stdout
    assert "agent: Incident update: " in done.stdout
    assert "the audit chain holds" in done.stdout


def test_what_waits_is_listed_and_decided(ana: Run) -> None:
    ana("remember", "The staging server is in Oslo")
    ana("remember", "The staging server is in Bergen", "--source", "tool_verified")
    listed = ana("pending", "list")
    assert "contradiction" in listed.out
    assert "Bergen" in listed.out
    id = listed.out.split()[0]
    assert ana("pending", "resolve", id, "--keep", "new", "--reason", "seen").code == 0
    assert ana("pending", "list").out.strip() == "nothing found"
    assert ana("pending", "approve", id).code == 1
    assert "Bergen" in ana("list").out
    assert "Oslo" not in ana("list").out


def test_a_digest_is_replayed_and_an_answer_verified(ana: Run) -> None:
    ana("remember", "The staging server is in Oslo")
    shown = ana("digest", "Where is the staging server?").out
    id = ana("receipts", "list").out.split()[0]
    assert ana("receipts", "replay", id).out == shown
    cited = ana("list").out.split()[0]
    told = ana("receipts", "verify", id, f"In Oslo [{cited}].")
    assert (told.code, f"cited        {cited}" in told.out) == (0, True)
    assert ana("receipts", "verify", id, "In Oslo [0bad0bad].").code == 1
    assert ana("receipts", "replay", "0bad0bad").code == 1


def test_a_task_is_worked_on_by_name(ana: Run) -> None:
    begun = ana(
        "task", "begin", "up-1", "Upgrade it", "--step", "Install", "--constraint", "No restart"
    )
    assert begun.code == 0
    assert (
        ana(
            "task", "observe", "up-1", "probe", "healthy", "--importance", "high", "--verified"
        ).code
        == 0
    )
    assert ana("task", "note", "up-1", "nearly done").code == 0
    assert ana("task", "step-done", "up-1").code == 0
    assert ana("task", "turn-end", "up-1").code == 0
    prompt = ana("task", "prompt", "up-1").out
    assert prompt.startswith("[TASK_GOAL]\nUpgrade it\n[CURRENT_STEP] (1/1)")
    assert "No restart" in prompt
    assert ana("task", "before-tool", "up-1", "restart").code == 1
    assert ana("task", "status", "up-1").code == 0
    done = ana("task", "complete", "up-1", "--learning", "It starts without a restart")
    assert (done.code, "removed: " in done.out) == (0, True)
    assert ana("task", "prompt", "up-1").code == 1
    assert ana("task", "begin", "up-2", "Another").code == 0
    assert ana("task", "abandon", "up-2").code == 0
    listed = ana("list").out
    assert "healthy" in listed
    assert "starts without" in listed


def test_a_refusal_is_said_listed_and_taken_back(ana: Run) -> None:
    refused = ana("privacy", "refuse", "--session", "thread-9")
    assert (refused.code, "session  thread-9" in refused.out) == (0, True)
    assert ana("privacy", "refuse", "--about", "my wife").code == 0
    listed = ana("privacy", "list").out.splitlines()
    assert [line.split()[1] for line in listed] == ["session", "topic"]
    id = ana("--json", "privacy", "list").json["items"][0]["id"]
    assert ana("privacy", "allow", id).code == 0
    assert len(ana("privacy", "list").out.splitlines()) == 1
    ana("add", "My boss is called Wilma.")
    assert "1" in ana("privacy", "forget", "my boss").out


def test_an_export_is_inspected_and_imported(ana: Run, tmp_path: Path) -> None:
    rows = [{"content": "Likes tea", "key": "drink"}, {"content": "PIN: 4711, my card's pin"}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    page = tmp_path / "page.html"
    assert "secrets" in ana("inspect", tmp_path / "rows.jsonl", "--html", page).out
    assert page.read_text().startswith("<!doctype html>")
    tried = ana("import", tmp_path / "rows.jsonl", "--dry-run", "--json").json
    assert (tried["stored"], tried["refused"], tried["dry_run"]) == (1, 1, True)
    assert ana("import", tmp_path / "rows.jsonl", "--format", "plain").code == 0
    again = ana("import", tmp_path / "rows.jsonl", "--json")
    assert (again.code, again.json["stored"], again.json["known"]) == (0, 0, 1)
    assert again.json["problems"] == [["line 2", "secret:pin"]]
    assert "Likes tea" in ana("get", "drink").out
    assert "chatgpt" in ana("import", tmp_path / "rows.jsonl", "--format", "x").err


def test_a_session_is_noted_shown_and_ended(ana: Run) -> None:
    of_monday = ("--session", "monday")
    ana("add", "We agreed to paint the hall on 4 June. Never use the red paint.", *of_monday)
    ana("add", "Lena lends us the ladder and the buckets for the hall, and she wants all of it back"
        " at her place by Tuesday evening.",
        *of_monday)  # fmt: skip
    noted = ana("session", "note", "Paint code is RAL 1013", "--key", "paint",
                "--importance", "high", *of_monday)  # fmt: skip
    assert noted.code == 0
    assert "user: We agreed" in ana("session", "buffer", *of_monday).out
    assert "RAL 1013" in ana("session", "messages", *of_monday).out
    ended = ana("session", "end", *of_monday)
    assert ended.code == 0
    assert "3 turns" in ended.out
    assert "Lena lends us the ladder" in ended.out
    assert ana("session", "end", *of_monday).code == 1
    assert "monday  3 turns  ended" in ana("sessions").out
    assert "RAL 1013" in ana("get", "paint").out
    assert "Last conversation" in ana("digest", "hello", "--session", "tuesday").out


def test_every_signal_has_a_name_for_people():
    from simonides.cli.show import PARTS
    from simonides.recall.rank import CLOSER, FIRST, PLAIN

    signals = {name for stage in (FIRST, CLOSER, PLAIN) for form in stage.values() for name in form}
    assert signals | {"confidence", "newest"} <= PARTS.keys()


def test_options_with_the_name_of_a_global_one_are_known():
    import importlib
    import inspect

    from simonides.api.verbs import VERBS
    from simonides.cli.client import GLOBALS, SAME_NAMES

    own = set()
    for verb in (each for each in VERBS if each.is_command):
        module, _, name = verb.function.partition(":")
        face, _, method = name.partition(".")
        found = getattr(getattr(importlib.import_module(f"simonides.api.{module}"), face), method)
        for each in inspect.signature(found).parameters.values():
            is_option = each.kind is each.KEYWORD_ONLY and each.name != "org"
            if is_option and f"--{each.name}" in GLOBALS:
                own.add((f"--{each.name}", *filter(None, (verb.group, verb.name))))
    assert own == {(option, *command) for option, command in SAME_NAMES}


def test_a_collection_prints_its_counts(ana: Run) -> None:
    ana("remember", "The desk is oak")
    shown = dict(
        line.split() for line in ana("maintenance", "gc", "--dry-run").out.splitlines()[:5]
    )
    assert shown["hard_expired"] == "0"
    assert shown["dry_run"] == "True"


def test_documents_are_added_looked_up_listed_and_removed(ana: Run, tmp_path: Path) -> None:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text("Everyone has 30 days of vacation.")
    (tmp_path / "handbook" / ".env").write_text("hidden")
    added = ana("source", "add", tmp_path / "handbook")
    assert added.code == 0
    assert added.out.splitlines() == [
        "handbook: 1 added, 0 changed, 0 removed, 0 unchanged; 1 passages",
        "not read: .env: is hidden",
    ]
    found = ana("recall", "days of vacation", "--layer", "documents")
    assert "30 days of vacation" in found.out
    assert str(tmp_path / "handbook" / "leave.md") in found.out
    assert "30 days" not in ana("recall", "days of vacation").out
    assert "30 days" not in ana("--org", "acme", "recall", "days of vacation", "--layer", "l3").out
    assert "1 documents, 1 passages" in ana("source", "list").out
    assert ana("source", "list", "--json").json["items"][0]["name"] == "handbook"
    assert ana("source", "add", "http://127.0.0.1:9/").code == 2
    assert ana("source", "remove", "handbook").code == 0
    assert ana("source", "remove", "handbook").code == 1


def test_metrics_and_alerts_are_printed(ana: Run) -> None:
    for _ in range(21):
        assert ana("remember", "The office is in Oslo", "--key", "office").code == 0
    counted = ana("maintenance", "metrics").out
    assert "writes       21\n" in counted
    assert "dedup        key 20\n" in counted
    assert (
        "alerts       dedup_rate 0.95: the same statements are written again" in ana("status").out
    )
    [alert] = ana("status", "--json").json["alerts"]
    assert (alert["name"], alert["threshold"]) == ("dedup_rate", 0.7)


def test_metrics_of_the_process_are_printed_for_prometheus(ana: Run) -> None:
    assert "queue        worker 0, due 0\n" in ana("admin", "metrics").out
    text = ana("admin", "metrics", "--prometheus").out
    assert text.startswith("# HELP simonides_writes_total ")
    assert text.endswith("\n")
    assert ana("admin", "metrics", "--json").json["reads"] == 0
