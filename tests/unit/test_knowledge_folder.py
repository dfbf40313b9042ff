"""A folder is read once and then only what has changed; what cannot be read is told."""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from documents import LONG_AGO_NS, handbook, pdf_of, write
from simonides import FolderSource, SourceUnavailable
from simonides.domain.errors import ConfigurationError
from simonides.domain.reading.document import passage_id
from simonides.domain.scope import Scope
from simonides.providers.knowledge import documents
from simonides.providers.knowledge import folder as knowledge_folder
from simonides.types import Found, Passage

# A clock under which everything that a test writes has long come to rest.
LATER_NS = 4_000_000_000_000_000_000


def settled(folder: Path, **options: object) -> FolderSource:
    return FolderSource(folder, fresh_s=0, wall_ns=lambda: LATER_NS, **options)  # type: ignore[arg-type]


def look(source: FolderSource) -> Found:
    return source.look("", within_s=30)


def reasons(found: Found) -> dict[str, str]:
    return {skipped.location: skipped.reason for skipped in found.skipped}


def paths(found: Found) -> set[str]:
    return {passage.location for passage in found.passages}


def test_a_hundred_files_of_four_formats_are_read_and_none_is_left_out(tmp_path: Path) -> None:
    count = handbook(tmp_path)
    source = settled(tmp_path)

    found = look(source)

    assert count == 100
    assert len(paths(found)) == source.read == count
    assert found.skipped == ()
    assert {Path(path).suffix for path in paths(found)} == {".md", ".html", ".txt", ".pdf"}
    assert "中文/差旅.md" in paths(found)


def test_only_what_has_changed_is_read_again(tmp_path: Path) -> None:
    handbook(tmp_path)
    source = settled(tmp_path)
    first = look(source)
    began = source.read

    assert look(source) == first
    assert source.read == began

    write(tmp_path, "notes/week-00.txt", "The meeting was called off.\n", at_ns=LONG_AGO_NS + 1)
    write(tmp_path, "notes/new.txt", "A new note.\n")
    (tmp_path / "notes/week-01.txt").unlink()
    second = look(source)

    assert source.read == began + 2
    assert second.revision != first.revision
    assert paths(second) == (paths(first) | {"notes/new.txt"}) - {"notes/week-01.txt"}
    assert "called off" in next(p.text for p in second.passages if p.location.endswith("00.txt"))


def test_a_file_that_was_changed_and_set_back_to_its_time_and_size_is_noticed(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.txt", "The code is 1111.")
    source = settled(tmp_path)
    look(source)

    write(tmp_path, "a.txt", "The code is 2222.")

    assert look(source).passages[0].text == "The code is 2222."


def test_a_file_that_has_just_been_written_is_looked_at_again(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "The code is 1111.")
    source = FolderSource(tmp_path, fresh_s=0, wall_ns=lambda: path.stat().st_ctime_ns)
    first = look(source)

    assert look(source) == first
    assert source.read == 2  # it might have changed within a tick of the clock


def test_a_folder_counts_as_it_was_seen_for_a_moment(tmp_path: Path) -> None:
    now = [100.0]
    source = FolderSource(tmp_path, fresh_s=1.0, monotonic=lambda: now[0])
    assert look(source).passages == ()
    write(tmp_path, "a.txt", "something")

    assert look(source).passages == ()
    now[0] += 1.0

    assert len(look(source).passages) == 1


def test_a_passage_keeps_its_id_when_something_is_added_before_it(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# A\n\nfirst\n\n# B\n\nsecond\n")
    source = settled(tmp_path)
    before = {p.text: passage_id("s", Scope(), p) for p in look(source).passages}

    write(tmp_path, "a.md", "# New\n\nzeroth\n\n# A\n\nfirst\n\n# B\n\nother\n")
    after = {p.text: passage_id("s", Scope(), p) for p in look(source).passages}

    assert after["first"] == before["first"]
    assert before["second"] not in after.values()


def test_ids_differ_by_source_scope_place_and_text() -> None:
    one = Passage("a.md", "text", heading="h")
    others = [
        passage_id("s", Scope(), one),
        passage_id("t", Scope(), one),
        passage_id("s", Scope("acme"), one),
        passage_id("s", Scope(), Passage("b.md", "text", heading="h")),
        passage_id("s", Scope(), Passage("a.md", "texts", heading="h")),
        passage_id("s", Scope(), Passage("a.md", "text", heading="i")),
        passage_id("s", Scope(), Passage("a.mdt", "ext", heading="h")),
        passage_id("s", Scope(), one, 1),
    ]

    assert len(set(others)) == len(others)
    assert all(id[14] == "8" and id[19] in "89ab" for id in others)


# -- what cannot be read --------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with one good file, and others that are none."""
    folder = tmp_path / "docs"
    write(folder, "good.md", "# Good\n\nThis can be read.\n")
    write(folder, "binary.txt", b"\x00\x01\x02\xff" * 50)
    write(folder, "latin.txt", "Größe".encode("latin-1"))
    write(folder, "picture.png", b"\x89PNG")
    write(folder, "broken.pdf", b"%PDF-1.7\nnothing of the kind")
    write(folder, "cut.pdf", pdf_of(["text"] * 3)[:300])
    write(folder, "empty.md", "")
    write(folder, "blank.txt", " \n\n ")
    write(folder, "deep.html", "<div>" * 5_000 + "x")
    write(folder, ".hidden.md", "not for you")
    write(folder, ".git/config.md", "not for you")
    write(tmp_path, "outside/secret.md", "A secret outside the folder.")
    (folder / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling.md").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.md")
    return folder


def test_what_cannot_be_read_is_told_by_name_and_the_rest_is_there(mixed: Path) -> None:
    found = look(settled(mixed))

    assert paths(found) == {"good.md"}
    assert reasons(found) == {
        "binary.txt": "binary",
        "latin.txt": "encoding",
        "picture.png": "kind",
        "broken.pdf": "broken",
        "cut.pdf": "broken",
        "empty.md": "empty",
        "blank.txt": "empty",
        "deep.html": "too_deep",
        "link.md": "link",
        "linked": "link",
        "loop": "link",
        "dangling.md": "link",
        "pipe.md": "special",
    }
    assert "outside" not in str(found.passages)


def test_what_could_not_be_read_is_read_once_it_can_be(mixed: Path) -> None:
    source = settled(mixed)
    look(source)

    write(mixed, "latin.txt", "Größe")

    found = look(source)
    assert "latin.txt" in paths(found)
    assert "latin.txt" not in reasons(found)


def test_a_file_that_is_too_large_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 100)
    write(tmp_path, "large.txt", "x" * 101)
    write(tmp_path, "fits.txt", "x" * 100)
    source = settled(tmp_path)

    found = look(source)

    assert reasons(found) == {"large.txt": "too_large"}
    assert source.read == 1


def test_a_file_without_the_right_to_read_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "mine.md", "fine")
    path = write(tmp_path, "theirs.md", "not fine")
    opened = os.open

    def refusing(name: Path, flags: int) -> int:
        if name == path:
            raise PermissionError(13, "Permission denied")
        return opened(name, flags)

    monkeypatch.setattr(knowledge_folder.os, "open", refusing)

    found = look(settled(tmp_path))

    assert reasons(found) == {"theirs.md": "unreadable"}
    assert found.skipped[0].advice == "Permission denied"


def test_a_file_that_is_exchanged_for_a_link_while_it_is_read_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    path = write(folder, "a.md", "fine")
    secret = write(tmp_path, "secret.md", "A secret.")
    opened = os.open

    def exchanging(name: Path, flags: int) -> int:
        path.unlink()
        path.symlink_to(secret)
        return opened(name, flags)

    monkeypatch.setattr(knowledge_folder.os, "open", exchanging)

    found = look(settled(folder))

    assert found.passages == ()
    assert reasons(found) == {"a.md": "unreadable"}


def test_a_file_that_is_exchanged_for_another_while_it_is_read_is_read_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "a.md", "fine")
    opened = os.open

    def exchanging(name: Path, flags: int) -> int:
        path.unlink()
        write(tmp_path, "a.md", "another, and longer")
        return opened(name, flags)

    source = settled(tmp_path)
    monkeypatch.setattr(knowledge_folder.os, "open", exchanging)
    assert reasons(look(source)) == {"a.md": "changing"}
    monkeypatch.undo()

    assert look(source).passages[0].text == "another, and longer"


def test_there_is_an_end_to_files_and_passages(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path, f"{number}.md", f"# A\n\none {number}\n\n# B\n\ntwo\n")

    few = look(settled(tmp_path, max_files=3))
    short = look(settled(tmp_path, max_passages=3))

    assert (len(paths(few)), reasons(few)) == (3, {"3.md": "too_many"})
    assert (len(paths(short)), reasons(short)) == (2, {"2.md": "too_many"})


def test_names_of_what_cannot_be_read_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_folder, "MAX_SKIPPED", 5)
    for number in range(8):
        write(tmp_path, f"{number}.png", b"x")

    found = look(settled(tmp_path))

    assert len(found.skipped) == 6
    assert found.skipped[-1].advice == "and 3 more"


def test_what_is_no_folder_is_refused_at_once_and_one_that_goes_later_when_it_is_asked(
    tmp_path: Path,
) -> None:
    for wrong in ("", 5, None):
        with pytest.raises(ConfigurationError, match="must be a path"):
            FolderSource(cast("Any", wrong))
    with pytest.raises(ConfigurationError, match="no folder of documents"):
        FolderSource(tmp_path / "nowhere")
    folder = tmp_path / "docs"
    folder.mkdir()
    source = settled(folder)
    folder.rmdir()

    with pytest.raises(SourceUnavailable, match="docs: the folder cannot be read"):
        look(source)


def test_without_the_extra_pages_are_told_to_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.md", "fine")
    write(tmp_path, "b.html", "<p>x")
    write(tmp_path, "c.pdf", pdf_of(["x"]))
    found = documents.require.__globals__["importlib"].util.find_spec
    gone = ("pypdf", "selectolax")
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name in gone else found(name)
    )

    looked = look(settled(tmp_path))

    assert paths(looked) == {"a.md"}
    assert reasons(looked) == {"b.html": "extra_missing", "c.pdf": "extra_missing"}
    assert "pip install 'httpx2>=" in looked.skipped[0].advice
