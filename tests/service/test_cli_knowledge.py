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


def test_a_folder_is_listed_with_what_cannot_be_read(cli: Run, docs: Path) -> None:
    done = cli("knowledge", "list", "--folder", str(docs))

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("docs  /global/  100 documents, ")
    assert lines[1] == "  skipped latin.txt: encoding (save it as UTF-8)"


def test_a_folder_is_searched_and_each_passage_says_where_it_stands(cli: Run, docs: Path) -> None:
    words = ("knowledge", "search", "in which garage are cars left in City07?", "-k", "2")

    done = cli(*words, "--folder", str(docs))
    as_json = json.loads(cli("--json", *words, "--folder", str(docs)).stdout)

    assert done.returncode == 0
    first, text, careful = done.stdout.splitlines()[:3]
    assert "docs: offices/office-07.md, line 7  (Office 7 > Parking)" in first
    assert "G007" in text
    assert "careful: unverified" in careful
    assert len(as_json["hits"]) == 2
    assert as_json["hits"][0]["memory"]["trust"] == "external"


def test_folders_of_the_environment_are_searched_as_a_model_would(
    cli: Run, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("knowledge", "list").stdout.strip().startswith("no source of documents")
    # As the command line reads its environment; its fixture takes this away from tests.
    monkeypatch.setenv("SIMONIDES_KNOWLEDGE", str(docs))
    monkeypatch.setenv("SIMONIDES_KNOWLEDGE_TIMEOUT_SECONDS", "30")

    done = cli("search", "penalty clause of contract 4", "--layer", "documents", "--top-k", "1")

    assert '"docs: contracts/contract-4.pdf, page 2"' in done.stdout


def test_what_is_no_folder_is_refused(cli: Run, tmp_path: Path) -> None:
    done = cli("knowledge", "list", "--folder", str(tmp_path / "nowhere"))

    assert done.returncode == 2
    assert "no folder of documents found there" in done.stderr


def test_documents_are_somebodys_to_read(cli: Run, docs: Path) -> None:
    assert cli("knowledge", "search", "x", "--folder", str(docs), user=None).returncode == 2
