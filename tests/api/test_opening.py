"""What `open` takes and refuses, and what it leaves behind."""

import socket
from pathlib import Path

import pytest

import simonides
from simonides import ConfigurationError, KeyUnavailable, Settings, StoreError

KEY = "0123456789abcdef" * 4


def test_a_read_makes_no_file_and_the_first_write_does(tmp_path):
    path = tmp_path / "deep" / "memory.db"
    with simonides.open(path) as store:
        memory = store.memory(user="ana")
        assert (list(memory.recall("tea")), list(memory.list()), memory.get("tea")) == (
            [],
            [],
            None,
        )
        assert memory.status()["memories"] == 0
        assert not path.parent.exists()
        memory.remember("Ana drinks tea")
        assert path.exists()


def test_a_missing_store_is_an_error_where_it_must_exist(tmp_path):
    with pytest.raises(simonides.StoreUnavailable, match="there is no store here"):
        simonides.open(tmp_path / "memory.db", create=False)


@pytest.mark.parametrize("text", ["hello", "SQLite format 3\x00" + "x" * 4000, "x" * 5000])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(StoreError), simonides.open(path) as store:
        store.memory(user="ana").remember("tea")
    assert path.read_text() == text


def test_a_database_of_another_program_is_refused(tmp_path):
    import sqlite3

    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE things (id)")
    with pytest.raises(simonides.StoreCorrupt, match="another program"):
        simonides.open(path)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="folder"):
        simonides.open(tmp_path)


@pytest.mark.parametrize("key", [KEY, "correct horse battery"])
def test_an_encrypted_file_opens_with_its_key_only(tmp_path, key):
    path = tmp_path / "memory.db"
    with simonides.open(path, key=key) as store:
        store.memory(user="ana").remember("Ana drinks jasmine tea")
    with simonides.open(path, key=key) as store:
        assert store.memory(user="ana").recall("tea")[0].content == "Ana drinks jasmine tea"
    with pytest.raises(KeyUnavailable):
        simonides.open(path, key="another")
    with pytest.raises(simonides.StoreCorrupt, match="key"):
        simonides.open(path)
    assert b"jasmine" not in path.read_bytes()


def test_a_plain_file_is_not_opened_with_a_key(tmp_path):
    with simonides.open(tmp_path / "memory.db") as store:
        store.memory(user="ana").remember("Ana drinks jasmine tea")
    with pytest.raises(KeyUnavailable):
        simonides.open(tmp_path / "memory.db", key=KEY)


@pytest.mark.parametrize("mode", ["incognito", "guest"])
def test_incognito_writes_no_byte_and_opens_no_socket(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    def no_socket(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    with simonides.open(mode=mode) as store:
        memory = store.memory(user="ana")
        memory.remember("Ana drinks tea", key="drink")
        memory.correct("drink", "Ana drinks coffee")
        assert memory.recall("drinks")[0].content == "Ana drinks coffee"
        memory.forget("drink")
        store.flush()
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"target": "mysql://host/db"}, "mysql"),
        ({"target": 5}, "path or URL"),
        ({"target": ""}, "empty"),
        ({"target": "memory.db", "mode": "incognito"}, "keeps nothing"),
        ({"mode": "offline"}, "mode"),
        ({"embedder": "minilm"}, "embedder"),
        ({"embedder": object()}, "embedder"),
        ({"settings": {"pool_size": 3}}, "Settings"),
        ({"key": b"bytes"}, "key"),
    ],
)
def test_wrong_arguments_are_named(arguments, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=problem):
        simonides.open(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_url_names_a_file(tmp_path):
    with simonides.open(f"sqlite:///{tmp_path}/memory.db") as store:
        store.memory(user="ana").remember("tea")
    assert (tmp_path / "memory.db").exists()


def test_a_closed_store_says_so(tmp_path):
    store = simonides.open(tmp_path / "memory.db")
    memory = store.memory(user="ana")
    memory.remember("tea")
    store.close()
    store.close()
    for call in (lambda: memory.remember("coffee"), lambda: memory.recall("tea")):
        with pytest.raises(simonides.StoreUnavailable, match="closed"):
            call()


def test_an_organisation_can_be_required(tmp_path):
    with simonides.open(tmp_path / "m.db", settings=Settings(require_org=True)) as store:
        assert store.memory(user="ana", org="acme").remember("tea")
        with pytest.raises(simonides.OwnerRequired, match="organisation"):
            store.memory(user="ana")


def test_opening_with_verify_finds_an_edit(tmp_path):
    path = tmp_path / "m.db"
    with simonides.open(path, audit_key="secret") as store:
        store.memory(user="ana").remember("tea", key="drink")
    store = simonides.open(path, audit_key="secret", verify=True)
    with store, store._engine.db.write("/org/default/user/ana") as connection:
        connection.run("UPDATE memories SET content = 'evil'", {})
    with pytest.raises(simonides.StoreCorrupt, match="was changed"):
        simonides.open(path, audit_key="secret", verify=True)


def test_a_backup_is_a_store_of_the_same_memories(tmp_path):
    with simonides.open(tmp_path / "m.db", key=KEY) as store:
        made = store.memory(user="ana").remember("Ana drinks jasmine tea").record
        copy = store.admin(actor="root").backup(tmp_path / "copy.db")
        with pytest.raises(simonides.InvalidInput, match="exists"):
            store.admin(actor="root").backup(copy)
    assert b"jasmine" not in Path(copy).read_bytes()
    with simonides.open(copy, key=KEY, verify=True) as store:
        assert store.memory(user="ana").get(made.id) == made
