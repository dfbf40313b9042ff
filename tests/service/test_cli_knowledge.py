"""Documents on the command line: listed, searched, and told where they stand."""

import json
from pathlib import Path

import pytest

from conftest import Run
from documents import handbook, write


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    handbook(folder)
    write(folder, "latin.txt", "Größe".encode("latin-1"))
    return folder


@pytest.fixture
def folder(docs: Path, monkeypatch: pytest.MonkeyPatch, cli: Run) -> Path:
    """The folder as the environment names it, after the command line's fixture cleared it."""
    monkeypatch.setenv("SIMONIDES_KNOWLEDGE", str(docs))
    return docs


def test_a_folder_is_listed_with_what_cannot_be_read(cli: Run, folder: Path) -> None:
    done = cli("maintenance", "sources", "--within-s", "60")

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("docs  /global/  100 documents, ")
    assert lines[1] == "  skipped latin.txt: encoding (save it as UTF-8)"


def test_a_folder_is_searched_and_each_passage_says_where_it_stands(cli: Run, folder: Path) -> None:
    query = "in which garage are cars left in City07?"
    words = ("recall", query, "--layer", "documents", "-k", "2")

    done = cli(*words)
    as_json = json.loads(cli("--json", *words).stdout)

    assert done.returncode == 0
    first, text, _, careful = done.stdout.splitlines()[:4]
    assert "docs: offices/office-07.md, line 7  (Office 7 > Parking)" in first
    assert "G007" in text
    assert "careful: unverified" in careful
    assert len(as_json["hits"]) == 2
    assert as_json["hits"][0]["record"]["trust"] == "external"


def test_folders_of_the_environment_are_searched_as_a_model_would(cli: Run, folder: Path) -> None:
    words = ("digest", "penalty clause of contract 4", "--layer", "documents", "--max-items", "1")

    assert '"docs: contracts/contract-4.pdf, page 2"' in cli(*words).stdout


def test_what_is_no_folder_is_refused(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMONIDES_KNOWLEDGE", str(tmp_path / "nowhere"))

    done = cli("maintenance", "sources")

    assert done.returncode == 2
    assert "no folder of documents found there" in done.stderr


def test_documents_are_somebodys_to_read(cli: Run, folder: Path) -> None:
    assert cli("recall", "x", "--layer", "documents", user=None).returncode == 2
