"""Documents cannot lie: their Python runs, their commands exist, their links lead somewhere."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from simonides.cli.app import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
)


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def blocks(file: Path, language: str) -> list[str]:
    fenced = rf"^```{language}\n(.*?)^```"
    return re.findall(fenced, file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


PYTHON = [(file, code) for file in DOCUMENTS for code in blocks(file, "python")]
CONSOLE = [
    (file, line.removeprefix("$ ").split("  #")[0].strip())
    for file in DOCUMENTS
    for block in blocks(file, "console")
    for line in block.splitlines()
    if line.startswith("$ ")
]


@pytest.mark.parametrize(("file", "code"), PYTHON, ids=[name_of(file) for file, _ in PYTHON])
def test_python_in_documents_runs(
    file: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    exec(compile(code, name_of(file), "exec"), {"__name__": "__main__"})


def test_the_library_example_does_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    (promised,) = blocks(ROOT / "README.md", "text")

    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})

    assert capsys.readouterr().out == promised


def test_the_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [line for file, line in CONSOLE if file.name == "README.md"]
    ours = [shlex.split(line)[1:] for line in commands if line.startswith("simonides ")]
    monkeypatch.chdir(tmp_path)

    for words in ours:
        assert not {"|", "&&", ">", "<", ";"} & {*words}, "a shell would be needed for this"
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{words}: {done.output}{done.exception}"

    assert len(ours) >= 3


def test_the_make_targets_of_the_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        word for file in DOCUMENTS for word in re.findall(r"`make ([a-z]+)`", file.read_text())
    }
    named |= {line.split()[1] for _, line in CONSOLE if line.startswith("make ")}

    assert {"demo", "test", "check"} <= named <= targets


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (file.parent / target).exists(), target
    for path in re.findall(r"`((?:tests|docs|src|benchmarks)/[\w/.-]+)`", text):
        assert (ROOT / path).exists(), path


def commands(group: Any, *above: str) -> Iterator[str]:
    """Give every command of a tree, with the groups above it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *above, name)
        else:
            yield " ".join([*above, name])


def test_every_verb_of_the_command_line_is_documented() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    root = typer.main.get_command(app)

    (line,) = re.findall(r"^The verbs: (.*)$", page, re.MULTILINE)

    assert sorted(re.findall(r"`([^`]+)`", line)) == sorted(commands(root))
