"""Commands run by a resident: a real process that has the store open."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from test_cli import EMPTY, SPOKEN, WRONG

import simonides
from simonides.api.verbs import VERBS
from simonides.cli import client, main
from simonides.cli.client import HERE, ask, greeting, receive, send, socket_path
from simonides.core import settings

SOURCES = str(Path(simonides.__file__).parents[1])
PATIENCE_S = 30

pytestmark = pytest.mark.real_encoder  # as in the processes
KINDS = (["mcp"], ["serve", "--port", "0"])


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("SIMONIDES_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    monkeypatch.setenv("SIMONIDES_USER", "ana")


@pytest.fixture
def start():
    """Start a program that has a store open; it ends with the test."""
    begun = []

    def started(store, *command, is_awaited=True, **options):
        process = subprocess.Popen(
            [sys.executable, "-m", "simonides", "--store", str(store), *(command or KINDS[0])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip
        begun.append(process)
        if is_awaited:
            wait_until(lambda: is_answered(store), process)
        return process

    yield started
    for process in begun:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def wait_until(is_true, process=None):
    latest = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < latest
        assert process is None or process.poll() is None, process.stderr.read()
        time.sleep(0.01)


def path_of(store):
    return Path(socket_path(str(store), os.environ))


def is_answered(store):
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path_of(store)))
        except OSError:
            return False
        with probe.makefile("rwb") as stream:
            return b"version" in stream.readline()


def run(store, *args, said=b"", **environment):
    """Run a command in a process; return its code, and what it printed."""
    command = [sys.executable, "-m", "simonides", "--store", str(store), *args]
    done = subprocess.run(
        command, input=said, capture_output=True, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def by_resident(capsys):
    def answered(store, *args):
        code = ask(["--store", str(store), *args], os.environ)
        return None if code is None else (code, *capsys.readouterr())

    return answered


@pytest.fixture
def by_itself(capsys):
    def done(store, *args):
        return (main(["--store", str(store), *args]), *capsys.readouterr())

    return done


STORY = """
remember "I prefer aisle seats" --key seat --category preference
remember "My password is hunter2hunter2"
remember "I own a boat" --json
add "Please always answer in English. I live in Rome." --session s1
session note "We chose Oslo" --session s1
digest "which seat?"
digest "which seat?" --json
status
profile
history seat
explain seat "which seat?"
correct seat "I prefer window seats" --quote "window, please"
confirm seat
promote seat
sessions
session messages --session s1
session buffer --session s1
session checkpoint --session s1
session end --session s1
session note "We chose Oslo" --session s1 --json
privacy refuse --about money
privacy list
privacy allow FIRST
privacy pause-recall
recall "which seat?"
privacy resume-recall
recall "which seat?"
privacy forget boat
remember "The staging server is in Oslo"
remember "The staging server is in Bergen" --source tool_verified
pending list
pending resolve FIRST --keep new
pending approve 0bad0bad
pending reject 0bad0bad
maintenance gc --dry-run
maintenance hygiene
maintenance consolidate
maintenance consolidations
maintenance undo-consolidation 0bad0bad
maintenance metrics
receipts list
receipts verify FIRST "Window seats."
receipts list
receipts replay FIRST
audit list
audit verify
audit record-safety crisis
audit record-feedback good
task begin up-1 "Upgrade it" --step Install --constraint "No restart"
task observe up-1 probe healthy --importance high --verified
task note up-1 "nearly done"
task prompt up-1
task before-model up-1
task before-tool up-1 restart
task step-done up-1
task turn-end up-1
task status up-1
task complete up-1
task reset up-1
task abandon up-1
token list --actor root
token revoke 0bad0bad --actor root
forget seat
undo FIRST
get seat
list
list --json
""".strip().splitlines()  # fmt: skip

STAMPS = re.compile(
    r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:[+]00:00|Z)?|(?<![\d:])\d\d:\d\d(?![\d:])"  # or a minute
)
IDS = re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4,}){0,4}\b")


def story(runner, store):
    """Run the story; return the answers without what differs between any two runs."""
    answers, first, numbers = [], "", {}
    for line in STORY:
        answer = runner(store, *(first if word == "FIRST" else word for word in shlex.split(line)))
        assert answer is not None, line
        first = next(iter(answer[1].split()), "none")
        text = STAMPS.sub("T", "\n".join(map(str, answer)).replace(str(store), "STORE"))
        text = IDS.sub(lambda found: f"#{numbers.setdefault(found[0][-8:], len(numbers))}", text)
        answers.append((line, text))
    return answers


def test_a_story_of_all_commands_is_the_same_with_a_resident(
    start, tmp_path, by_resident, by_itself
):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    start(tmp_path / "a" / "m.db")
    with_one, without = (
        story(by_resident, tmp_path / "a" / "m.db"), story(by_itself, tmp_path / "b" / "m.db")
    )  # fmt: skip
    assert [(a, b) for a, b in zip(with_one, without, strict=True) if a != b] == []
    told = {tuple(each.split()[:2]) for each in STORY} | {(each.split()[0],) for each in STORY}
    verbs = [v for v in VERBS if v.is_command and v.group not in HERE]
    named = [tuple(filter(None, (v.group, v.name.replace("_", "-")))) for v in verbs]
    assert [each for each in named if each not in told] == [("token", "new")]


LINES = [
    *EMPTY, *(line for line, _ in SPOKEN), *(shlex.join(args) for _, _, args in WRONG),
    "list --json", "recall seat --json", "digest tea", "get seat --json", "audit", "history seat",
    "session messages --session=s1 --json", "--json recal x", "list -- --user", "get ü --json",
]  # fmt: skip


def test_each_answer_is_the_same_to_the_byte(start, tmp_path, by_resident, by_itself):
    store = tmp_path / "m.db"
    by_itself(store, "remember", "I prefer aisle seats in café ☕", "--key", "seat")
    start(store)
    for line in (shlex.split(each) for each in LINES):
        answer = by_resident(store, *line)
        if line[0] in HERE or line[-1] == "--user":  # its value may be missing
            assert answer is None
        else:
            without = by_itself(store, *line)
            if line[0] == "recall":  # says when it was asked
                answer, without = (STAMPS.sub("T", f"{each}") for each in (answer, without))
            assert answer == without


def test_a_process_prints_the_same_in_any_encoding(start, tmp_path):
    store = tmp_path / "m.db"
    run(store, "remember", "I prefer café seats", "--key", "seat")
    commands = [["get", "seat"], ["get", "nothing"], ["recall", "x", "--limit", "0"]]
    environments = [{}, {"PYTHONIOENCODING": "ascii"}, {"SIMONIDES_JSON": "1"}]
    before = [run(store, *each, **more) for each in commands for more in environments]
    start(store)
    after = [run(store, *each, **more) for each in commands for more in environments]
    assert before == after
    assert [code for code, *_ in after] == [0] * 3 + [1] * 3 + [2] * 3


def test_the_thin_path_loads_no_engine(start, tmp_path):
    start(tmp_path / "m.db")
    program = (
        "import sys; from simonides.cli import main; status = main();"
        "heavy = 'typer pydantic numpy apsw hashlib pathlib asyncio simonides.core.settings';"
        "print(status, *(each for each in heavy.split() if each in sys.modules))"
    )
    args = ["--store", str(tmp_path / "m.db"), "list"]
    done = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


def test_standard_input_is_read_only_when_it_is_wanted(start, tmp_path):
    store = tmp_path / "m.db"
    start(store)
    code, out, _ = run(store, "remember", "-", "--json", said="I prefer café seats\n".encode())
    assert (code, json.loads(out)["record"]["content"]) == (0, "I prefer café seats")
    code, _, err = run(store, "remember", "-", said=b"\xff")
    assert (code, b"standard input is not UTF-8" in err) == (2, True)
    with subprocess.Popen(
        [sys.executable, "-m", "simonides", "--store", str(store), "get", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:  # its input stays open
        assert process.stdout.read() == b"nothing found\n"


def test_the_caller_is_the_clients_own(start, tmp_path, monkeypatch, by_resident):
    store = tmp_path / "m.db"
    start(store)
    by_resident(store, "remember", "I own a boat", "--key", "boat")
    monkeypatch.setenv("SIMONIDES_USER", "bob")
    assert by_resident(store, "get", "boat") == (1, "nothing found\n", "")
    assert "boat" in by_resident(store, "get", "boat", "--user", "ana")[1]
    monkeypatch.delenv("SIMONIDES_USER")  # the resident's own is ana
    assert "name a user" in by_resident(store, "list")[2]


def test_writes_are_seen_at_once_on_both_sides(start, tmp_path, by_resident, by_itself):
    store = tmp_path / "m.db"
    start(store)
    for number in range(3):
        by_resident(store, "remember", f"I own boat {number}", "--key", f"boat{number}")
        assert f"boat {number}" in by_itself(store, "recall", f"boat {number}")[1]
        by_itself(store, "remember", f"I own car {number}", "--key", f"car{number}")
        assert f"car {number}" in by_resident(store, "recall", f"car {number}")[1]


def test_several_commands_run_at_once(start, tmp_path):
    store, answers = tmp_path / "m.db", []
    start(store)

    def remember(number):
        answers.append(run(store, "remember", f"I own boat {number}", "--user", f"u{number}"))

    threads = [threading.Thread(target=remember, args=[number]) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [code for code, *_ in answers] == [0] * 6
    for number in range(6):
        assert f"boat {number}".encode() in run(store, "list", "--user", f"u{number}")[1]


def test_other_settings_go_another_way(start, tmp_path, monkeypatch, by_resident):
    store = tmp_path / "m.db"
    start(store, env={**os.environ, "SIMONIDES_KEY": "a good key"})
    assert by_resident(store, "list") is None
    monkeypatch.setenv("SIMONIDES_KEY", "a good key")
    assert by_resident(store, "remember", "I own a boat")[0] == 0
    assert run(store, "list", SIMONIDES_KEY="another key")[0] == 2
    for name, value in {"SIMONIDES_FUSION": "rrf", "TZ": "Asia/Tokyo"}.items():
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert by_resident(store, "list") is None


@pytest.mark.parametrize("args", [
    ["serve"], ["mcp", "install", "cursor"], ["admin", "backup", "x.db"], ["--version"], [],
    ["recall", "--help"], ["list", "--user"], ["--store", "postgresql://a@b/c", "list"],
    ["--store", "https://memory.example", "list"], ["--store", ":memory:", "list"],
    ["--store=", "list"],
])  # fmt: skip
def test_some_commands_are_not_for_a_resident(start, tmp_path, by_resident, args):
    store = tmp_path / "m.db"
    start(store)
    assert by_resident(store, *args) is None


def test_a_path_relative_to_another_folder_is_another_store(start, tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    start(tmp_path / "m.db")
    monkeypatch.chdir(tmp_path)
    assert ask(["list", "--store", "m.db"], os.environ) == 0
    assert ask(["list", "--store=x/../m.db"], os.environ) == 0
    monkeypatch.chdir(tmp_path / "x")
    assert ask(["list", "--store", "m.db"], os.environ) is None


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("folder", ["", "/data"])
def test_the_default_store_is_that_of_the_settings(monkeypatch, platform, folder):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("XDG_DATA_HOME", folder)
    assert client.default_store(os.environ) == str(settings.default_store())


def test_a_long_path_has_its_socket_elsewhere(start, tmp_path, monkeypatch, by_resident):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir="/tmp") as runtime:
        for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
            monkeypatch.setenv(name, runtime)
        process = start(folder / "m.db")
        assert [path.suffix for path in Path(runtime).iterdir()] == [".sock"]
        assert by_resident(folder / "m.db", "list")[0] == 0
        process.stdin.close()
        process.wait(PATIENCE_S)
        assert list(Path(runtime).iterdir()) == []


@pytest.mark.parametrize("command", KINDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_is_left_after_a_signal(start, tmp_path, command, number):
    process = start(tmp_path / "m.db", *command)
    assert stat.S_IMODE(path_of(tmp_path / "m.db").stat().st_mode) == 0o600
    process.send_signal(number)
    if number == signal.SIGINT and command == ["mcp"]:
        process.stdin.close()  # a client interrupts by closing
    process.wait(PATIENCE_S)
    assert not path_of(tmp_path / "m.db").exists()


def test_a_resident_ends_with_its_client(start, tmp_path):
    program = (
        "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE);"
        "print(p.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-m", "simonides", "--store", str(tmp_path / "m.db"), "mcp"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as parent:  # fmt: skip
        wait_until(lambda: is_answered(tmp_path / "m.db"), parent)
        parent.kill()
    wait_until(lambda: not path_of(tmp_path / "m.db").exists())


def test_the_socket_of_a_killed_resident_is_replaced(start, tmp_path, by_resident):
    store = tmp_path / "m.db"
    process = start(store)
    process.kill()
    process.wait()
    assert path_of(store).exists()
    assert by_resident(store, "list") is None
    assert run(store, "list")[0] == 0
    start(store)
    assert by_resident(store, "list")[0] == 0


def test_a_second_resident_does_without(start, tmp_path, by_resident):
    store = tmp_path / "m.db"
    first = start(store)
    found = path_of(store).stat().st_ino
    second = start(store, "serve", "--port", "0", is_awaited=False)
    assert second.stdout.readline().startswith(b"The API")
    second.send_signal(signal.SIGTERM)
    second.wait(PATIENCE_S)
    assert path_of(store).stat().st_ino == found
    assert first.poll() is None
    assert by_resident(store, "list")[0] == 0


def test_a_file_in_the_way_is_left_alone(start, tmp_path):
    store = tmp_path / "m.db"
    path_of(store).write_text("mine")
    process = start(store, "serve", "--port", "0", is_awaited=False)
    assert process.stdout.readline().startswith(b"The API")
    assert run(store, "list")[0] == 0
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_S)
    assert path_of(store).read_text() == "mine"


def test_a_socket_that_others_may_use_is_refused(start, tmp_path, by_resident):
    store = tmp_path / "m.db"
    start(store)
    path_of(store).chmod(0o660)
    assert by_resident(store, "list") is None
    path_of(store).chmod(0o600)
    assert by_resident(store, "list")[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")
def test_a_socket_of_another_user_is_refused(start, tmp_path, by_resident, monkeypatch):
    store = tmp_path / "m.db"
    start(store)
    os.chown(path_of(store), 65534, 65534)
    assert by_resident(store, "list") is None
    os.chown(path_of(store), 0, 0)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    os.chown(path_of(store), 65534, 65534)
    assert by_resident(store, "list") is None  # the peer is root's, whatever the file says


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as another user")
def test_a_resident_greets_no_other_user(start, request):
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder.chmod(0o755)
    store = folder / "m.db"
    start(store)
    path_of(store).chmod(0o666)
    program = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX);"
        "s.connect(sys.argv[1]); print(s.recv(9))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path_of(store))], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("b''\n", "")


def test_a_replaced_file_is_opened_by_the_command_itself(start, tmp_path, by_resident, by_itself):
    store, other = tmp_path / "m.db", tmp_path / "other.db"
    by_itself(store, "remember", "I own a boat")
    by_itself(other, "remember", "I own a car")
    start(store)
    assert "boat" in by_resident(store, "list")[1]
    other.replace(store)
    assert by_resident(store, "list") is None
    assert b"car" in run(store, "list")[1]


class Imitation:
    """A socket beside a store whose answers the test gives."""

    def __init__(self, store, *answers):
        self.listener, self.got = socket.socket(socket.AF_UNIX), []
        self.listener.bind(str(path_of(store)))
        path_of(store).chmod(0o600)
        self.listener.listen()
        self.thread = threading.Thread(target=self._answer, args=[answers])
        self.thread.start()

    def _answer(self, answers):
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rwb") as stream:
            for each in answers:
                send(stream, each)
                try:
                    self.got.append(receive(stream))
                except ValueError:
                    break

    def close(self):
        self.thread.join()
        self.listener.close()


def test_a_resident_that_dies_after_the_command_leaves_it_open(tmp_path, by_resident):
    fake = Imitation(tmp_path / "m.db", greeting(str(tmp_path / "m.db"), os.environ))
    code, out, err = by_resident(tmp_path / "m.db", "remember", "I own a boat", "--json")
    fake.close()
    assert (code, out) == (3, "")
    assert fake.got[0]["args"][-3:] == ["remember", "I own a boat", "--json"]
    assert json.loads(err)["error"]["code"] == "outcome_unknown"
    assert not (tmp_path / "m.db").exists()


@pytest.mark.parametrize("first", [{"version": "0", "settings": ""}, "nonsense", None])
def test_a_resident_that_differs_gets_nothing(tmp_path, by_resident, first):
    fake = Imitation(tmp_path / "m.db", *([] if first is None else [first]))
    assert by_resident(tmp_path / "m.db", "list") is None
    fake.close()
    assert fake.got == []


def test_a_resident_that_stops_has_refused_the_command(tmp_path, by_resident):
    fake = Imitation(
        tmp_path / "m.db", greeting(str(tmp_path / "m.db"), os.environ), {"refused": True}
    )
    assert by_resident(tmp_path / "m.db", "list") is None
    fake.close()


def test_a_resident_that_hangs_is_left(start, tmp_path, by_resident, monkeypatch):
    store = tmp_path / "m.db"
    process = start(store)
    monkeypatch.setattr(client, "GREETING_S", 0.05)
    process.send_signal(signal.SIGSTOP)
    try:
        assert by_resident(store, "list") is None
    finally:
        process.send_signal(signal.SIGCONT)


def test_a_command_that_waits_for_input_is_lost_with_the_resident(start, tmp_path):
    store = tmp_path / "m.db"
    resident = start(store)
    with subprocess.Popen(
        [sys.executable, "-m", "simonides", "--store", str(store), "remember", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        process.stdin.write(b"I own a boat." * 10_000)  # no pipe holds it: some was asked for
        resident.kill()
        resident.wait()
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3
    assert b"it is not known whether the command was carried out" in err
    assert run(store, "list")[1] == b"nothing found\n"
