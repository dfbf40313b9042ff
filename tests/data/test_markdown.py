"""Memories as Markdown: a person can read and edit them, and an import gets them back."""

import tracemalloc
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from simonides import Draft
from simonides.capture.messages import Message
from simonides.core.scope import in_session, principal_of
from simonides.data.formats.items import Entry
from simonides.data.formats.markdown import file_of, is_memory, memory
from simonides.sessions.imported import keep_turns
from simonides.testing import ManualClock


@pytest.fixture
def fresh():
    """Return a function that opens an empty store; all are closed at the end."""
    opened, clock = [], ManualClock()

    def fresh():
        opened.append(simonides.open(":memory:", embedder="none", clock=clock))
        return opened[-1]

    yield fresh
    for store in opened:
        store.close()


def live(store):
    ana = store.memory(user="ana")
    ana.remember("The dog is called Rex", key="dog", tags=["pets"])
    ana.remember("The dog is called Max\n\n---\nkey: cat\n---\n", key="dog")
    inferred = Draft("Ana may like tea", source="agent_inferred", ttl_days=30, pinned=True)
    ana.remember(inferred)
    moved = Draft(
        "Ana moved to Oslo", source="external", at="2025-01-01T10:00+02:00", metadata={"a": [1]}
    )
    ana.remember(moved)
    ana.session("monday").add("I live in Bergen.")
    store.memory(user="ana", task="paint").remember("Blue is best for the walls")
    ana.remember(Draft("The code word is Lindworm", audience=["planner"], sensitivity="sensitive"))
    return ana


def files(folder):
    """Return the files by name; ids and ends of names are left out, as each store has its own."""
    found = {}
    for file in folder.iterdir():
        lines = file.read_bytes().decode().split("\n")
        found[file.name[:-12]] = [line for line in lines if not line.startswith("id: ")]
    return found


def only(folder):
    [file] = folder.iterdir()
    return file


def test_memories_come_back_and_go_out_alike(fresh, tmp_path):
    ana, other = live(fresh()), fresh().memory(user="ana")
    made = ana.data.export(tmp_path / "one", format="markdown")
    report = other.data.import_from(tmp_path / "one")
    assert (report.format, report.stored, report.refused) == ("markdown", 7, 0)
    other.data.export(tmp_path / "two", format="markdown")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert len(files(tmp_path / "one")) == made.rows["memories"] == 6
    assert [each.content for each in other.history("dog")] == [
        each.content for each in ana.history("dog")
    ]
    assert other.data.import_from(tmp_path / "one").known == 7
    names = {file.name for file in (tmp_path / "one").iterdir()}
    ana.data.export(tmp_path / "again", format="markdown")
    assert {file.name for file in (tmp_path / "again").iterdir()} == names


def test_a_folder_is_private_and_new(fresh, tmp_path):
    ana = live(fresh())
    ana.data.export(tmp_path / "notes", format="markdown")
    modes = {each.stat().st_mode & 0o777 for each in (tmp_path / "notes").iterdir()}
    assert (modes, (tmp_path / "notes").stat().st_mode & 0o777) == ({0o600}, 0o700)
    with pytest.raises(simonides.InvalidInput, match="exists already"):
        ana.data.export(tmp_path / "notes", format="markdown")
    with pytest.raises(simonides.InvalidInput, match="neither jsonl nor markdown"):
        ana.data.export(tmp_path / "other", format="html")
    assert [each.name for each in tmp_path.iterdir()] == ["notes"]


def test_a_folder_that_cannot_be_written_whole_is_not_there(fresh, tmp_path):
    ana = live(fresh())

    def fail(count):
        raise RuntimeError(count)

    with pytest.raises(RuntimeError):
        ana.data.export(tmp_path / "notes", format="markdown", progress=fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        ("user_correction", "user_stated"),
        ("in_session_correction", "user_stated"),
        ("config_change", "external"),
        ("pattern", "pattern"),
        ("external", "external"),
    ],
)
def test_a_source_never_rises_above_what_the_user_stated(fresh, tmp_path, source, becomes):
    store, other = fresh(), fresh().memory(user="ana")
    store.memory(user="ana").remember(Draft("The office is in Oslo", source=source))
    store.memory(user="ana").data.export(tmp_path / "notes", format="markdown")
    other.data.import_from(tmp_path / "notes")
    assert other.list()[0].source == becomes


def test_what_was_derived_from_outside_stays_external(fresh, tmp_path):
    ana, other = fresh().memory(user="ana"), fresh().memory(user="ana")
    page = ana.remember(Draft("The page says the office is in Oslo", source="external")).record
    ana.remember(Draft("Ana works in Oslo", parents=[page.id]))
    ana.data.export(tmp_path / "notes", format="markdown")
    other.data.import_from(tmp_path / "notes")
    assert {each.trust for each in other.list()} == {"external"}


def test_an_edited_file_is_imported_as_it_says(fresh, tmp_path):
    ana = fresh().memory(user="ana")
    ana.remember("The dog is called Rex", key="dog", tags=["pets"])
    ana.data.export(tmp_path / "notes", format="markdown")
    file = only(tmp_path / "notes")
    edited = file.read_text("utf-8").replace("- pets", "- pets\n- home").replace("Rex", "Max\n- 1")
    file.write_bytes(b"\xef\xbb\xbf" + edited.replace("\n", "\r\n").encode())
    ana.data.import_from(tmp_path / "notes")
    dog = ana.get("dog")
    assert (dog.content, dog.tags, dog.version) == (
        "The dog is called Max\n- 1",
        ("home", "pets"),
        2,
    )


def test_an_import_refuses_what_any_write_refuses(fresh, tmp_path):
    ana, other = fresh().memory(user="ana"), fresh().memory(user="ana")
    ana.remember("The cat is called Tom", key="cat")
    ana.remember("My salary is 50,000", key="salary")
    ana.data.export(tmp_path / "notes", format="markdown")
    secret = only_named(tmp_path / "notes", "the-cat")
    secret.write_text(secret.read_text() + "My password is hunter2-Xk29Qpz!")
    other.privacy.refuse(about="my salary")
    report = other.data.import_from(tmp_path / "notes")
    assert (report.stored, report.refused) == (0, 2)


def only_named(folder, words):
    [file] = folder.glob(f"{words}*")
    return file


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (("kind: semantic", "kind: wrong"), "refused"),
        (("confidence: 1.0", "confidence: many"), "refused"),
        (("category: fact", "category: of another policy"), "stored"),
        (("category: fact", "metadata: &a [*a]"), "unreadable"),
        (("category: fact", "metadata: [[["), "unreadable"),
        (("category: fact", "before: 1"), "unreadable"),
        (("category: fact", "expires: 2020-01-01"), "left"),
        (("category: fact", "before:\n- text: The office was in Rome"), "left"),
    ],
)
def test_a_file_with_mistakes_says_so(fresh, tmp_path, change, outcome):
    ana, other = fresh().memory(user="ana"), fresh().memory(user="ana")
    ana.remember("The office is in Oslo")
    ana.data.export(tmp_path / "notes", format="markdown")
    file = only(tmp_path / "notes")
    file.write_text(file.read_text().replace(*change))
    report = other.data.import_from(tmp_path / "notes")
    assert getattr(report, outcome) == 1


def test_an_expiry_stays_that_moment(fresh, tmp_path):
    store, other = fresh(), fresh()
    store.memory(user="ana").remember("The badge holds for a month", ttl_days=30)
    store.memory(user="ana").data.export(tmp_path / "notes", format="markdown")
    store._engine.clock.advance(days=10)
    other.memory(user="ana").data.import_from(tmp_path / "notes")
    [badge] = other.memory(user="ana").list()
    left = badge.hard_expires_at - badge.created_at
    assert abs(left - timedelta(days=20)) < timedelta(seconds=1)


def test_two_memories_of_the_same_words_have_files_of_their_own(fresh, tmp_path):
    store = fresh()
    store.memory(user="ana").remember("Blue is best")
    store.memory(user="ana", task="paint").remember("Blue is best")
    made = store.memory(user="ana").data.export(tmp_path / "notes", format="markdown")
    assert len(list(made.path.iterdir())) == 2


TEXTS = st.text(
    st.one_of(
        st.sampled_from("-\n\r: #`'\"\\|>&*\t\x85\u2028\ufeff"), st.characters(codec="utf-8")
    ),
    min_size=1,
).filter(lambda text: "\0" not in text and text.strip())


@pytest.fixture(scope="module")
def record():
    with simonides.open(":memory:", embedder="none") as store:
        yield store.memory(user="ana").remember("The dog is called Rex", key="dog").record


@given(text=TEXTS, before=TEXTS, quote=TEXTS, name=TEXTS)
def test_every_text_comes_back(record, text, before, quote, name):
    said = record.model_copy(
        update={"content": text, "quote": quote, "tags": (name,), "metadata": {name: quote}}
    )
    file = {"markdown": file_of(said, [record.model_copy(update={"content": before})])}
    assert is_memory(file)
    old, new = memory(Entry(file, "line 1", "a.md"), {})
    assert (old.content, new.content) == (before, text)
    assert new.draft["quote"] == quote
    assert new.draft["metadata"] == {name: quote}


@pytest.mark.parametrize("format", ["jsonl", "markdown"])
def test_progress_is_told(fresh, tmp_path, format):
    told, ana = [], live(fresh())
    made = ana.data.export(tmp_path / "out", format=format, progress=told.append)
    assert told[-1] == sum(made.rows.values())
    if format == "jsonl":
        fresh().memory(user="ana").data.restore(tmp_path / "out", progress=told.append)
        assert told == [told[0]] * 2


def test_memory_does_not_grow_with_the_rows(tmp_path):
    peaks, who = {}, principal_of(user="ana")
    with (
        simonides.open(tmp_path / "one.db", embedder="none") as store,
        simonides.open(tmp_path / "two.db", embedder="none") as other,
    ):
        for first in range(0, 2_000, 500):
            talk = in_session(who, f"talk {first}")
            said = [
                Message("user", f"{first + n} " + "ha" * 2_000, id=str(first + n))
                for n in range(500)
            ]
            keep_turns(store._engine, {talk: said})
        ana, moved = store.memory(user="ana").data, other.memory(user="ana")
        steps = {
            "export": lambda: ana.export(tmp_path / "out"),
            "restore": lambda: moved.data.restore(tmp_path / "out"),
            "verify": moved.audit.verify,
            "erase": lambda: moved.data.erase(confirm="ana"),
        }
        for name, step in steps.items():
            tracemalloc.start()
            assert step()
            peaks[name] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert (tmp_path / "out").stat().st_size > 8_000_000
    assert max(peaks.values()) < 6_000_000, peaks
