"""Memory tests as files: what is met passes, what is not is named with its line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simonides
from simonides.cli import main
from simonides.server.app import application
from simonides.server.callers import Callers
from simonides.testing.memory_tests import Expectation, load, run_against, run_here

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "docs" / "memory-tests"

TALK = """
- name: A week
  steps:
    - user: My dog is called Rex.
    - user: Please answer in German from now on.
    - remember: {content: My password is hunter2-Kestrel-99}
    - remember: {content: The office is open on Sundays, confidence: 0.8}
    - remember: {content: The office is not open on Sundays, source: agent_inferred, confidence: .8}
    - remember: {content: The seat is 12A, key: seat}
  expect:
    question: What is my dog called?
"""

MET = {
    "recalled": "rex", "not_recalled": "Bergen", "in_digest": "~rex\\.", "not_in_digest": "Bergen",
    "always": "German", "not_always": "Rex", "remembered": "seat", "not_remembered": "Kestrel",
    "learned": "12A", "not_learned": "hunter", "pending": "contradiction", "not_pending": "Rex",
    "refused": "secret", "not_refused": "Rex",
}  # fmt: skip


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file of tests."""

    def written(text):
        path = tmp_path / "week.memory.yaml"
        path.write_text(text)
        return path

    return written


def test_what_is_met_passes(written):
    fields = "".join(f"    {name}: {json.dumps(text)}\n" for name, text in MET.items())
    [test] = load(written(TALK + fields))
    assert run_here(test) == ([], "")


def test_every_field_is_tried_here():
    others = {"question", "asked_by", "session", "max_chars", "erased"}
    assert set(MET) == set(Expectation.model_fields) - others


@pytest.mark.parametrize("name", MET)
def test_what_is_not_met_is_named_with_its_line(written, name):
    opposite = name.removeprefix("not_") if name.startswith("not_") else f"not_{name}"
    path = written(f"{TALK}    {opposite}: [{json.dumps(MET[name])}]\n")
    [test] = load(path)
    [failure] = run_here(test).failures
    assert failure.startswith(f"{path}:12: {opposite.replace('_', ' ')}: ")


def test_the_digest_has_the_budget_that_is_named(written):
    text = f"{TALK}    in_digest: Rex\n    max_chars: "
    results = [run_here(load(written(f"{text}{chars}\n"))[0]) for chars in (500, 5)]
    assert [bool(each.failures) for each in results] == [False, True]


def test_a_step_that_fails_is_named(written):
    path = written(TALK.replace("user: My dog is called Rex.", "forget: shoe_size"))
    [test] = load(path)
    [failure] = run_here(test).failures
    assert failure.startswith(f"{path}:4: the step failed: nothing is remembered under 'shoe_size'")


def test_time_passes_and_ends_what_has_an_end(written):
    steps = (
        "- name: x\n  clock: 2026-03-02T09:00:00Z\n  steps:\n"
        "    - remember: {content: The room is 412, ttl_days: 2}\n    - advance: {days: %s}\n"
        "  expect: {question: Which room, recalled: '412'}\n"
    )
    results = [run_here(load(written(steps % days))[0]) for days in (1, 3)]
    assert [bool(each.failures) for each in results] == [False, True]


HEAD = "- name: x\n  steps:\n    - user: Hi\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps: []", "1: must be a list of tests"),
        (HEAD.replace("user", "usr"), "3: .*usr: is not a field; did you mean 'user'"),
        (f"{HEAD}      note: Ho\n", "3: .*a step is one of user"),
        (f"{HEAD}  expect:\n    recald: Hi", "5: .*did you mean 'recalled'"),
        (f"{HEAD}  expect:\n    - recald: Hi", "5: .*did you mean 'recalled'"),
        (f"{HEAD}  expect:\n    recalled: Hi", "4: .*recalled needs a question"),
        (f"{HEAD}  expect:\n    learned: '~('", "5: .*regular expression"),
        (HEAD.replace("user: Hi", "advance: {dys: 3}"), "3: .*advance takes days"),
        (HEAD.replace("Hi", "[Hi"), "4: expected"),
        (f"{HEAD}  expect: {{}}\n- steps: []", "5: name: is missing"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(written, text, problem):
    path = written(text)
    with pytest.raises(simonides.InvalidInput) as caught:
        load(path)
    assert re.match(f"{re.escape(str(path))}:{problem}", str(caught.value)), str(caught.value)


def test_the_command_tells_which_test_failed(written, capsys):
    path = written(f"{TALK}    recalled: Bergen\n")
    assert main(["test", str(path)]) == 1
    assert f"FAIL A week\n     {path}:12: recalled: 'Bergen'; there is: " in capsys.readouterr().out
    assert main(["test", str(path.parent), "--json"]) == 1
    [item] = json.loads(capsys.readouterr().out)["items"]
    assert (item["name"], len(item["failures"]), item["skipped"]) == ("A week", 1, "")
    assert main(["test", str(written(TALK))]) == 0


def test_a_server_is_tested_as_users_of_their_own_and_left_as_it_was(written, web, tmp_path):
    with simonides.open(tmp_path / "memory.db") as store:
        web.app = application(store, Callers(store._engine))
        admin = store.admin("ops")
        token = admin.new_token("tests", any_user=True, org="acme").secret
        timed = "- name: Late\n  steps: [{advance: {days: 1}}]\n  expect: {learned: Rex}\n"
        fields = "".join(f"    {name}: {json.dumps(text)}\n" for name, text in MET.items())
        with simonides.open(web.url, token=token) as remote:
            met, late = (run_against(each, remote) for each in load(written(TALK + fields + timed)))
        owners = [each for each in store._engine.db.owners() if "/user/ana-" in each]
        user = owners[0].rpartition("/")[2]
        left = store.memory(user=user, org="acme").list()
    assert (met, late.failures) == (([], ""), [])
    assert late.skipped == "it sets the clock, which a server does not let"
    assert (len(owners), left) == (1, [])


def collected(*more):
    plugin = ["-p", "no:simonides", "-p", "simonides.testing.plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *map(str, more)],
        capture_output=True, text=True, cwd=ROOT, timeout=170,
    )  # fmt: skip


def test_the_shipped_tests_pass_with_pytest():
    done = collected(SHIPPED)
    assert "20 passed" in done.stdout, done.stdout


def test_pytest_shows_lines_and_no_traceback(written, tmp_path):
    path = written(f"{TALK}    recalled: Bergen\n{TALK}    erased: Rex\n")
    (tmp_path / "broken.memory.yaml").write_text("- nme: x\n")
    done = collected(
        path, tmp_path / "broken.memory.yaml", "--continue-on-collection-errors", "-rs"
    )
    assert f"{path}:12: recalled: 'Bergen'; there is: " in done.stdout
    assert "broken.memory.yaml:1: " in done.stdout
    assert "1 failed, 1 skipped, 1 error" in done.stdout
    assert "Traceback" not in done.stdout
