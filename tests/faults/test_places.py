"""Files that go away, disks that fill, folders that cannot be written, processes that fork."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest
from harness import PATIENCE_S, check

import simonides

SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo zu".split()


def long_text(seed, words=600):
    """Return words that no other text has, about six letters each."""
    rng = random.Random(str(seed))
    return " ".join("".join(rng.choices(SYLLABLES, k=3)) for _ in range(words))


@pytest.mark.parametrize("change", ["deleted", "renamed", "replaced"])
def test_another_file_in_its_place_is_neither_read_nor_written(file_place, tmp_path, change):
    store = file_place(embedder="none")
    ana = store.memory(user="ana")
    ana.remember("the first file", key="file")
    path = file_place.target
    if change == "replaced":
        with file_place.__class__("file", tmp_path / "other.db")(embedder="none") as other:
            other.memory(user="ana").remember("the other file", key="file")
        (tmp_path / "other.db").replace(path)
    elif change == "renamed":
        path.rename(tmp_path / "elsewhere.db")
    else:
        path.unlink()
    for call in (
        lambda: ana.remember("more"),
        lambda: ana.recall("file"),
        lambda: ana.get("file"),
        lambda: ana.forget("file"),
    ):
        with pytest.raises(simonides.StoreUnavailable, match="open it again"):
            call()


def in_fork(work):
    """Run a function in a forked child, and return what it printed."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, (work() or "ok").encode())
        except BaseException as error:  # noqa: BLE001  the parent sees it
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    timer = threading.Timer(PATIENCE_S, os.kill, [pid, signal.SIGABRT])  # it prints its stacks
    timer.start()
    with os.fdopen(reader) as out:
        text = out.read()
    os.waitpid(pid, 0)
    timer.cancel()
    return text


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_reads_and_writes_and_the_parent_goes_on(place):
    store = place(embedder="none")
    ana = store.memory(user="ana")
    ana.remember("said by the parent", key="parent")
    ana.recall("parent")
    stop = threading.Event()

    def work():
        while not stop.is_set():
            store.memory(user="ben").remember("beside", key="beside")
            store.memory(user="ben").recall("beside")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for n in range(3):  # as a server that loads the application before it forks its workers

            def child(n=n):
                assert ana.get("parent").content == "said by the parent"
                assert ana.remember(f"said by worker {n}", key=f"worker{n}")
                assert ana.recall("worker")

            assert in_fork(child) == "ok"
        assert ana.remember("said by the parent again", key="parent")
        assert {record.key for record in ana.list()} == {"parent", "worker0", "worker1", "worker2"}
    finally:
        stop.set()
        thread.join(30)
    store.close()
    check(place, [])


def test_a_store_in_memory_refuses_a_forked_child():
    with simonides.open(":memory:", embedder="none") as store:
        ana = store.memory(user="ana")
        ana.remember("said by the parent")
        assert "StoreUnavailable" in in_fork(lambda: str(ana.remember("by the child")))
        assert ana.remember("said by the parent again")


def test_a_full_database_refuses_and_goes_on_when_there_is_room(file_place):
    store = file_place(embedder="none")
    ana = store.memory(user="ana")
    kept = ana.remember(f"the first fact: {long_text(0, 4_800)}").record
    raw = store._engine.db._writer.raw
    raw.pragma("max_page_count", raw.pragma("page_count") + 20)
    written, refused = fill(store)
    assert written
    assert refused
    assert ana.forget(kept.id)
    raw.pragma("max_page_count", 1_000_000)
    check_filled(file_place, store, written, refused)


def test_the_file_of_another_program_is_not_touched(tmp_path):
    path = tmp_path / "theirs.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE theirs (name)")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(simonides.StoreCorrupt, match="another program"):
        simonides.open(path)
    assert path.read_bytes() == before


def test_only_its_owner_may_read_a_store(file_place):
    file_place(embedder="none").memory(user="ana").remember("the first fact")
    files = list(file_place.target.parent.glob("memory.db*"))
    assert len(files) >= 3
    assert [file.stat().st_mode & 0o077 for file in files] == [0] * len(files)


def fill(store):
    """Write from several threads until there is no room; return what was stored and what not."""
    written, refused = [], []

    def work(n):
        for m in range(40):
            text = f"thread {n} note {m}: {long_text((n, m))}"
            try:
                outcome = store.memory(user=f"user{n}").remember(text)
            except simonides.StoreFull:
                refused.append((f"user{n}", text))
            else:
                written.append((f"user{n}", outcome.record.id))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(written) + len(refused) == 240
    return written, refused


def check_filled(place, store, written, refused):
    assert store.memory(user="ana").remember("there is room again")
    for user in {user for user, _ in refused}:
        found = {record.content for record in store.memory(user=user).list(limit=1000)}
        assert found.isdisjoint(text for each, text in refused if each == user)
    check(place, written)


@contextlib.contextmanager
def mounted(path, *options):
    """Mount a file system for the block; skip the test where that is not allowed."""
    path.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *options, str(path)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs the right to mount"
)


@needs_root
def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path, new_place):
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs") as disk:
        place = new_place("file", disk / "memory.db")
        place.clock = None
        ballast = disk / "ballast"
        with place(embedder="none") as store:
            store.memory(user="ana").remember("the first fact", key="first")
            ballast.write_bytes(bytes(1_200_000))
            written, refused = fill(store)
            assert refused
            assert store.memory(user="ana").forget("first")
            ballast.unlink()
            check_filled(place, store, written, refused)
        place.close()


@needs_root
def test_a_read_only_disk_is_named(tmp_path, new_place):
    folder = tmp_path / "folder"
    folder.mkdir()
    place = new_place("file", folder / "memory.db")
    with place(embedder="none") as store:
        store.memory(user="ana").remember("the first fact")
    with mounted(folder, "--bind", str(folder)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)
        with pytest.raises(simonides.StoreReadOnly), place(embedder="none") as store:
            store.memory(user="ana").remember("the second fact")


def test_a_damaged_page_is_reported(file_place):
    with file_place(embedder="none") as store:
        for n in range(60):
            store.memory(user="ana").remember(f"note {n}: {long_text(n)}")
    size = file_place.target.stat().st_size
    with file_place.target.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(os.urandom(4096) + os.urandom(4096))
        for at in range(8 * 4096, size, 4096):
            file.seek(at)
            file.write(os.urandom(64))
    with pytest.raises(simonides.StoreCorrupt), file_place(embedder="none") as store:  # noqa: PT012
        for _ in range(2):
            store.memory(user="ana").list(limit=1000)
            store.memory(user="ana").remember("more")
