"""Words are planted in everything that a user can write; after an erasure no file holds one."""

import os
from contextlib import closing

import numpy
import psycopg
import pytest

from simonides.storage.files import count_in, key_pragma, raw_connection
from simonides.storage.postgres import vacuum
from simonides.testing.leak_doors import Library
from simonides.testing.leak_plant import Planted, plant

SETS = 40 if os.environ.get("JUDGES") else 3
"""How many of each kind are planted; 40 make more than 1,000 words."""


class Files:
    """Where the bytes of a store are."""

    def __init__(self, place, store, tmp_path, server):
        self.place, self.store, self.folder, self.server = place, store, tmp_path, server

    def words_left(self, words):
        """Return how many of some words are in the data files."""
        if self.place.backend == "postgres":
            return in_files(self.database().glob("*"), words)
        self.store._engine.db.checkpoint()
        content = in_files(self.folder.glob("memory.db*"), words)
        return content + self.under_cipher(self.folder / "memory.db", words)

    def under_cipher(self, path, words):
        if self.place.key is None:
            return 0
        with closing(raw_connection(path, key_pragma(self.place.key))) as raw:
            return count_in(raw, {8: bytearray(b"".join(word.encode()[:8] for word in words))})

    def later_backup(self, words):
        """Return how many of some words are in a backup that is made now."""
        if self.place.backend == "postgres":
            return 0
        backup = self.store.admin("root").backup(self.folder / "later.db")
        return in_files([backup], words) + self.under_cipher(backup, words)

    def database(self):
        name = self.place.target.partition("@/")[2].partition("?")[0]
        with psycopg.connect(self.server.url("postgres", name), autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            oid = "SELECT oid FROM pg_database WHERE datname = current_database()"
            [[number]] = connection.execute(oid).fetchall()
        return self.server.directory / "data" / "base" / str(number)


def in_files(paths, words):
    content = b"".join(path.read_bytes() for path in paths if path.is_file())
    return sum(word.encode() in content for word in words)


@pytest.mark.every_store
def test_no_planted_word_is_left(open_store, store, tmp_path, server, caplog):
    if open_store.backend in ("memory", "remote"):
        return  # the one has no files, and the store of the other is one of those
    caplog.set_level("DEBUG")
    files = Files(open_store, store, tmp_path, server)
    ana = store.memory(user="ana", org="acme")
    planted = Planted(Library(store, user="ana", org="acme"), numpy.random.default_rng(5))
    plant(planted, others=SETS)
    store.flush()
    words = planted.words
    assert len(words) > 25 * SETS
    assert files.words_left(words) >= 0.8 * len(words)
    receipt = ana.data.erase(confirm="ana")
    if open_store.backend == "postgres":
        assert receipt.status == "pending"
        open_store.clock.advance(minutes=1)
        vacuum(open_store.target.replace("app_role", "postgres"), open_store.clock.now_ms())
    told = [caplog.text, receipt.model_dump_json(), str(store.admin("root").heads())]
    assert ana.data.erasure().status == "done"
    assert files.words_left(words) == 0
    assert files.later_backup(words) == 0
    assert not [word for word in words if any(word in text for text in told)]
