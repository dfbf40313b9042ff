"""Documents say what is so: their Python runs, their commands and links exist."""

import ast
import contextlib
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import psycopg
import pytest
import yaml

import simonides
from simonides.cli import main
from simonides.core.policy import Claims, IdentityProvider, Policy
from simonides.core.settings import Settings
from simonides.govern.policy_file import parse
from simonides.server.app import application
from simonides.server.callers import Callers

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [ROOT / "benchmarks" / "README.md", ROOT / "examples" / "README.md"]
LESSONS = [ROOT / "docs" / "quickstart.md", *sorted((ROOT / "docs" / "howto").glob("*.md"))]
"""Pages that run from the first block to the last, as a reader follows them."""
PAGES += LESSONS[1:]
EXTRAS = set(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVES = re.compile(r"(?:simonides(?: --\w+ \S+)* serve|uvicorn)\b.*")
PORTS = {"simonides": "8811", "uvicorn": "8000"}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_ten_lines_of_the_readme_print_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [program] = blocks(ROOT / "README.md", "python")
    [output] = blocks(ROOT / "README.md", "text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue() == output


@pytest.mark.parametrize("page", ["documents.md", "import.md"])
def test_the_example_of_a_page_runs(tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    [program] = blocks(ROOT / "docs" / page, "python")
    exec(compile(program, page, "exec"), {})


def test_the_client_of_the_server_page_reads_what_it_wrote(tmp_path, monkeypatch, web):
    monkeypatch.chdir(tmp_path)
    [program] = blocks(ROOT / "docs" / "server.md", "python")
    store, printed = simonides.open("memory.db"), io.StringIO()
    secret = store.admin(actor="ops").new_token("laptop", user="ana", org="acme").secret
    web.app = application(store, Callers(store._engine))
    program = program.replace("http://127.0.0.1:8811", web.url).replace("sim_…", secret)
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "server.md", "exec"), {})
    assert printed.getvalue() == "I prefer aisle seats\n"
    store.close()


def test_the_server_page_names_the_options_and_fields_that_there_are(capsys):
    page = (ROOT / "docs" / "server.md").read_text("utf-8")
    main(["serve", "--help"])
    shown = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    named = {each for block in blocks(ROOT / "docs" / "server.md", "sh")
             for each in re.findall(r" (--[a-z-]+)", block)}  # fmt: skip
    assert named - {"--store"} <= shown
    assert [option for option in shown - {"--port"} if option not in page] == []
    [example] = blocks(ROOT / "docs" / "server.md", "yaml")
    assert parse("policy.yaml", example.encode())[None, None].oidc.rights_prefix == "memory:"
    fields = [*IdentityProvider.model_fields, *(f"claims.{each}" for each in Claims.model_fields)]
    assert [name for name in fields if name != "claims" and f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    prose = FENCE.sub("", page.read_text("utf-8"))
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_in_code_style_exist(page):
    named = re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)*\.(?:py|toml|sql|md))`", page.read_text("utf-8"))
    roots = [ROOT, ROOT / "src" / "simonides", page.parent, *(ROOT / "src/simonides").iterdir()]
    missing = [name for name in named if not any((root / name).exists() for root in roots)]
    assert not missing


def test_commands_of_the_documents_run(tmp_path):
    (tmp_path / "policy.yaml").write_text("version: mine\n")
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "leave.md").write_text("Everyone has 30 days of vacation.\n")
    said = {"id": "1", "role": "user", "session": "s", "content": "I live in Bergen."}
    (tmp_path / "conversations.json").write_text(json.dumps([said]))
    commands = [
        line[2:]
        for page in PAGES
        if page not in LESSONS
        for block in blocks(page, "console")
        for line in block.splitlines()
        if line.startswith("$ simonides") and "postgresql" not in line
    ]
    assert len(commands) >= 5
    for command in commands:
        arguments = re.findall(r'"[^"]*"|\S+', command)[1:]
        arguments = [argument.strip('"') for argument in arguments]
        done = subprocess.run(
            [sys.executable, "-m", "simonides", *arguments],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr)


def test_targets_that_the_documents_name_are_in_the_makefile():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = [page.read_text("utf-8") for page in PAGES]
    named = {t for text in texts for t in re.findall(r"(?:`|\$ )make ([a-z]+)\b", text)}
    assert {"demo", "test", "check"} <= named <= targets


def test_the_policy_of_the_documentation_is_valid():
    [example] = blocks(ROOT / "docs" / "policy.md", "yaml")
    assert parse("policy.yaml", example.encode())["acme", None].quotas.memories == 50_000
    assert yaml.safe_load(example)["version"] == "2026-11"


def test_every_section_and_setting_is_documented():
    policy = (ROOT / "docs" / "policy.md").read_text("utf-8")
    operations = (ROOT / "docs" / "operations.md").read_text("utf-8")
    assert [name for name in Policy.model_fields if f"`{name}`" not in policy] == []
    assert [name for name in Settings.model_fields if f"`{name}`" not in operations] == []


def test_the_readme_has_at_most_120_lines_and_the_architecture_1200_words():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 90
    assert len((ROOT / "docs" / "architecture.md").read_text("utf-8").split()) <= 1_200


def test_exported_names_are_there_and_nothing_else_is_shown():
    assert dir(simonides) == sorted(simonides.__all__)
    named = [name for name in simonides.__all__ if not name.startswith("__")]
    assert [name for name in named if not getattr(simonides, name).__doc__] == []


# -- pages that run as a whole ---------------------------------------------------------------------


class Reader:
    """Follows a page: one folder, one Python session, one shell.

    It runs every block, or fails. A Python block that begins with ``# name.py`` is saved under this
    name. A ``text`` block is what the block before has printed, with ``…`` for anything in a line.
    Servers run on a free port; their addresses in later blocks are replaced.
    """

    def __init__(self, folder, monkeypatch, database=None):
        self.folder, self.patch, self.database = folder, monkeypatch, database
        self.names, self.printed, self.servers, self.real = {"__name__": "__main__"}, None, [], {}
        programs = folder / ".programs"
        programs.mkdir()
        script = programs / "simonides"
        here = f'PYTHONPATH="{ROOT / "src"}" exec "{sys.executable}"'
        script.write_text(f'#!/bin/sh\n{here} -m simonides "$@"\n')
        script.chmod(0o755)
        for name in [name for name in os.environ if name.startswith(("SIMONIDES_", "OPENAI_"))]:
            monkeypatch.delenv(name)
        path = os.pathsep.join(
            [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        )
        sources = os.pathsep.join([str(ROOT / "src"), str(folder)])
        for name, value in {"PATH": path, "PYTHONPATH": sources, "HOME": str(folder)}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        if database is not None:
            self.real["@db.example.com/"] = "@/", f"?host={database.directory}"

    def follow(self, page):
        found = FENCE.findall(page)
        is_indented = re.search(r"\n\n(?: {4}|\t)", FENCE.sub("", page))
        is_whole = page.count("```") == 2 * len(found)
        if not is_whole or is_indented:
            pytest.fail("a block cannot be followed")
        try:
            for language, block in found:
                getattr(self, f"run_{language}", self.run_unknown)(self.here(block))
        finally:
            endings = self.close()
        assert endings <= {0, -signal.SIGTERM}, endings
        return len(found)

    def here(self, block):
        for shown, real in self.real.items():
            if isinstance(real, str):
                block = block.replace(shown, real)
            else:
                block = re.sub(re.escape(shown) + r"(\w+)", rf"{real[0]}\1{real[1]}", block)
        return block

    def run_unknown(self, block):
        pytest.fail(f"no reader can follow this block:\n{block}")

    def run_python(self, block):
        if saved := re.match(r"# (\w+\.py)\n", block):
            ast.parse(block)
            (self.folder / saved[1]).write_text(block)
            return
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block, "page", "exec"), self.names)
        self.printed = out.getvalue()

    def run_console(self, block):
        self.printed = ""
        for line in block.replace("\\\n", "").splitlines():
            assert line.startswith("$ "), f"not a command: {line}"
            command = self.here(line[2:])  # a server of a line before may have begun
            if command.startswith("pip install "):
                named = re.findall(r"\[([\w,]+)\]", command)
                assert {each for part in named for each in part.split(",")} <= EXTRAS, command
            elif command.startswith("export "):
                name, _, value = command.removeprefix("export ").partition("=")
                self.patch.setenv(name, self.shell(f"printf %s {value}"))
            elif SERVES.fullmatch(command):
                self.serve(command)
            else:
                self.printed += self.shell(command)

    def shell(self, command):
        done = subprocess.run(
            command, shell=True, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def serve(self, command):
        port = PORTS[command.split()[0]]
        if named := re.search(r" --port (\d+)", command):
            port, command = named[1], command.replace(named[0], "")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            mine = free.getsockname()[1]
        log = self.folder / f".server-{mine}"
        with log.open("w") as out:
            server = subprocess.Popen(
                f"exec {command} --port {mine}", shell=True, cwd=self.folder, stdout=out, stderr=out
            )
        self.servers.append(server)
        deadline = time.monotonic() + 60
        while True:
            assert server.poll() is None, (command, log.read_text())
            assert time.monotonic() < deadline, (command, log.read_text())
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", mine), 1):
                break
            time.sleep(0.05)
        self.real[f"127.0.0.1:{port}"] = f"127.0.0.1:{mine}"

    def run_text(self, block):
        assert self.printed is not None, f"nothing has printed this:\n{block}"
        pattern = re.escape(block).replace("…", "[^\n]*")
        if not re.fullmatch(pattern, self.printed):
            pytest.fail(f"shown:\n{block}\nprinted:\n{self.printed}")
        self.printed = None

    def run_sql(self, block):
        for statement in filter(str.strip, block.split(";")):
            self.database.execute(statement)

    def run_json(self, block):
        json.loads(block)

    def run_toml(self, block):
        tomllib.loads(block)

    def close(self):
        for value in list(self.names.values()):
            if isinstance(value, simonides.Store):
                value.close()
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
        return {server.wait(30) for server in self.servers}


@pytest.fixture
def database(server):
    """Return the PostgreSQL of the tests, and remove what a page has made there."""
    query = "SELECT {} FROM {} WHERE {} LIKE 'memor%'"
    yield server
    with psycopg.connect(server.url("postgres", "postgres")) as connection:
        made = connection.execute(query.format("datname", "pg_database", "datname")).fetchall()
        roles = connection.execute(query.format("rolname", "pg_roles", "rolname")).fetchall()
    for (name,) in made:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    for (name,) in roles:
        server.execute(f"DROP ROLE {name}")


@pytest.mark.real_encoder
@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_a_page_runs_from_the_first_block_to_the_last(page, tmp_path, monkeypatch, request):
    text = page.read_text("utf-8")
    database = request.getfixturevalue("database") if "```sql" in text else None
    assert Reader(tmp_path, monkeypatch, database).follow(text) >= 3


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "printed:\n1"),
        ("```text\n2\n```\n", "nothing has printed this"),
        ('```python\nassert 1 == 2, "wrong"\n```\n', "wrong"),
        ("```console\n$ simonides --store m.db get nothing\n```\n", "get nothing"),
        ("```console\nm.db\n```\n", "not a command"),
        ("```console\n$ pip install '.[magic]'\n```\n", "magic"),
        ("```console\n$ simonides serve --speed 3\n```\n", "--speed"),
        ("```ruby\nputs 1\n```\n", "no reader can follow"),
        ("- item\n  ```python\n  1\n  ```\n", "cannot be followed"),
        ("Run:\n\n    simonides demo\n", "cannot be followed"),
    ],
)
def test_a_page_that_says_what_is_not_so_fails(tmp_path, monkeypatch, page, problem):
    with pytest.raises((AssertionError, pytest.fail.Exception), match=re.escape(problem)):
        Reader(tmp_path, monkeypatch).follow(page)


def test_the_reader_saves_files_keeps_names_and_reads_variables(tmp_path, monkeypatch):
    page = """
```python
# said.py
import os
print(os.environ["WORD"], "there")
```
```console
$ export WORD="$(echo hello)"
$ python said.py
```
```text
hello …
```
```python
word = 1
```
```python
print(word)
```
```text
1
```
"""
    assert Reader(tmp_path, monkeypatch).follow(page) == 6
