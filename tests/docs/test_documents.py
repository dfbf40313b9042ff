"""Documents cannot lie: their Python runs, their commands exist, their links lead somewhere."""

import re
import shlex
from pathlib import Path

import pytest
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

    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})

    printed = capsys.readouterr().out.splitlines()
    assert "Always deploy to us-east-1" in printed[0]
    assert printed[-1] == "['Always deploy to us-east-1', 'eu-west-1']"


def test_the_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = [line for file, line in CONSOLE if file.name == "README.md"]
    ours = [shlex.split(line)[1:] for line in commands if line.startswith("simonides ")]
    (tmp_path / "turns.jsonl").write_text('{"session_id": "s", "text": "Hello."}\n')
    monkeypatch.chdir(tmp_path)

    # The example forgets what the library example above it has stored.
    for words in [shlex.split("--store m.db --user ana remember x --key deploy_region"), *ours]:
        assert not {"|", "&&", ">", "<", ";"} & {*words}, "a shell would be needed for this"
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{words}: {done.output}{done.exception}"

    assert len(ours) >= 6


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


def test_every_verb_of_the_command_line_is_documented() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    verbs = {str(command.name or command.callback.__name__) for command in app.registered_commands}
    for group in app.registered_groups:
        if group.typer_instance.info.invoke_without_command is True:
            verbs.add(str(group.name))
        for command in group.typer_instance.registered_commands:
            verbs.add(f"{group.name} {command.name or command.callback.__name__}")

    listed = re.findall(r"`([^`]+)`", readme.split("The verbs: ")[1].split("`--json`")[0])

    assert verbs
    assert sorted(listed) == sorted(verbs), "the README lists each verb once"
