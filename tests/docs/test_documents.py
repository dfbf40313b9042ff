"""Documents say what is so: their Python runs, their commands and links exist."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import simonides
from simonides.cli import main
from simonides.core.policy import Claims, IdentityProvider, Policy
from simonides.core.policy_file import parse
from simonides.core.settings import Settings
from simonides.server.app import application
from simonides.server.callers import Callers

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += [ROOT / "benchmarks" / "README.md", ROOT / "examples" / "README.md"]


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


def test_the_example_of_the_documents_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [program] = blocks(ROOT / "docs" / "documents.md", "python")
    exec(compile(program, "documents.md", "exec"), {})


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
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8"))
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
    commands = [
        line[2:]
        for page in PAGES
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
