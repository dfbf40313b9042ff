"""A backup takes the place of a store: whole, or not at all, and what was forgotten stays so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import simonides
from simonides import Draft

KEY = "correct horse battery staple"
PROBE = """
import os, signal, sys
import simonides
store = simonides.open({path!r}, key={key!r}, embedder="none")
ana = store.memory(user="ana")
offices = [f"The {{number}}th office is in Bergen" for number in range({count})]
ana.remember_many([simonides.Draft(each, key=each.split()[1]) for each in offices])
print("ready", flush=True)
if {kills}:
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.readline()
"""


@pytest.fixture(params=[None, KEY], ids=["file", "encrypted"])
def key(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory.db"


@pytest.fixture
def opened(path, key):
    """Return a function that opens the store; what is open is closed at the end."""
    stores = []

    def opened(where=path):
        stores.append(simonides.open(where, key=key, embedder="none"))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def backup(opened, tmp_path):
    """Return a backup of a store that was closed: two facts, a refusal and a right."""
    with opened() as store:
        ana, admin = store.memory(user="ana"), store.admin(actor="root")
        ana.remember("The office is in Oslo")
        ana.remember("The dog is called Rex the Retriever")
        ana.privacy.refuse(about="health")
        admin.grant("ben", "org_write", org="default")
        return admin.backup(tmp_path / "backup.db")


def run(path, key, count=1, *, kills=False):
    """Write in a process of its own, which is killed or goes on running."""
    code = PROBE.format(path=str(path), key=key, count=count, kills=kills)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    if kills:
        process.communicate(timeout=60)
    return process


def texts(store, user="ana"):
    return sorted(record.content for record in store.memory(user=user).list(limit=1000))


def test_a_restored_store_is_as_it_was(opened, backup, path):
    with opened() as store:
        store.memory(user="ana").remember("The office has a garden")
        report = store.admin(actor="root").restore(backup)
    assert (report.path, report.owners) == (path, 3)
    assert (report.forgotten_again, report.decided_again) == (0, 0)
    assert report.events_lost == 1
    store = opened()
    assert texts(store) == ["The dog is called Rex the Retriever", "The office is in Oslo"]
    assert store.admin(actor="root").verify_audit()
    assert "The office has a garden" in texts(opened(report.moved_to))
    [event] = store.admin(actor="root").memory().audit.list(type="restored")
    assert (event.actor, event.data["events_lost"]) == ("root", 1)


def test_what_was_decided_since_the_backup_holds(opened, backup, path):
    with opened() as store:
        ana, admin = store.memory(user="ana"), store.admin(actor="root")
        ana.forget(ana.recall("dog")[0])
        ana.privacy.allow(ana.privacy.list()[0].id)
        ana.privacy.refuse(about="religion")
        admin.revoke("ben", "org_write", org="default")
        admin.new_token("laptop", user="ana")
        report = admin.restore(backup)
    assert (report.forgotten_again, report.decided_again) == (1, 5)
    assert b"Retriever" not in path.read_bytes()
    store = opened()
    ana, admin = store.memory(user="ana"), store.admin(actor="root")
    assert texts(store) == ["The office is in Oslo"]
    assert [each.value for each in ana.privacy.list()] == ["religion"]
    assert admin.grants(org="default") == []
    assert [token.name for token in admin.tokens()] == ["laptop"]
    again = ana.remember(Draft("The dog is called Rex the Retriever", source="agent_inferred"))
    assert again.reasons == ("tombstoned",)
    assert admin.verify_audit()


def test_what_was_forgotten_and_told_again_may_be_told_again(opened, backup):
    with opened() as store:
        ana = store.memory(user="ana")
        ana.forget(ana.recall("dog")[0])
        ana.remember("The dog is called Rex the Retriever")
        report = store.admin(actor="root").restore(backup)
    assert (report.forgotten_again, report.decided_again) == (1, 0)
    store = opened()
    assert texts(store) == ["The office is in Oslo"]
    assert store.memory(user="ana").remember("The dog is called Rex the Retriever")


def test_a_turn_that_was_redacted_is_not_back(opened, tmp_path, path):
    with opened() as store:
        ana = store.memory(user="ana")
        ana.add("My locker has a periwinkle door. The train leaves at nine.")
        made = store.admin(actor="root").backup(tmp_path / "turns.db")
        ana.privacy.forget("locker")
        store.admin(actor="root").restore(made)
    store = opened()
    assert not any("periwinkle" in text for text in texts(store))
    assert b"periwinkle" not in path.read_bytes()


def test_a_store_that_is_in_use_is_left_alone(opened, backup, path, key):
    process = run(path, key)
    try:
        store = opened()
        with pytest.raises(simonides.StoreUnavailable, match="others have it open"):
            store.admin(actor="root").restore(backup)
    finally:
        process.communicate("\n", timeout=60)
    assert "The 0th office is in Bergen" in texts(opened())
    assert sorted(each.name for each in path.parent.glob("*.before*")) == []


@pytest.mark.parametrize("count", [1, 80])
def test_a_log_of_another_file_is_refused_and_restored_from(opened, backup, path, key, count):
    run(path, key, count, kills=True)
    shutil.copyfile(backup, path)
    with pytest.raises(simonides.StoreCorrupt, match="simonides restore"):
        opened().memory(user="ana").list()
    with pytest.raises(simonides.StoreCorrupt, match="accept_loss"):
        simonides.restore(backup, path, key=key)
    report = simonides.restore(backup, path, key=key, accept_loss=True)
    store = opened()
    assert texts(store) == ["The dog is called Rex the Retriever", "The office is in Oslo"]
    assert store.admin(actor="root").verify_audit()
    assert Path(f"{report.moved_to}-wal.other").stat().st_size > 0


@pytest.mark.parametrize("count", [1, 80])
def test_a_store_that_was_killed_is_restored(opened, backup, path, key, count):
    run(path, key, count, kills=True)
    report = simonides.restore(backup, path, key=key)
    assert report.events_lost == count
    assert texts(opened()) == ["The dog is called Rex the Retriever", "The office is in Oslo"]
    assert len(texts(opened(report.moved_to))) == count + 2


def test_a_file_that_is_overwritten_while_it_is_open_is_noticed(opened, backup, path, key):
    store = opened()
    ana = store.memory(user="ana")
    ana.remember("The office has a garden")
    shutil.copyfile(backup, path)
    for call in (lambda: ana.remember("The office has a cat"), lambda: ana.list()):
        with pytest.raises(simonides.StoreUnavailable, match="overwritten"):
            call()
    store.close()
    with pytest.raises(simonides.StoreCorrupt):
        opened().memory(user="ana").list()
    simonides.restore(backup, path, key=key, accept_loss=True)
    assert texts(opened()) == ["The dog is called Rex the Retriever", "The office is in Oslo"]


def test_a_backup_put_by_hand_where_no_log_is_opens(opened, backup, path):
    shutil.copyfile(backup, path)
    store = opened()
    assert texts(store) == ["The dog is called Rex the Retriever", "The office is in Oslo"]
    assert store.memory(user="ana").remember("The office has a garden")


def test_a_backup_of_another_store_needs_a_path_of_its_own(opened, backup, tmp_path, key):
    other = tmp_path / "other.db"
    with opened(other) as store:
        store.memory(user="ana").remember("The train leaves at nine")
    with pytest.raises(simonides.InvalidInput, match="another store"):
        simonides.restore(backup, other, key=key)
    assert texts(opened(other)) == ["The train leaves at nine"]
    report = simonides.restore(backup, tmp_path / "new.db", key=key)
    assert report.moved_to is None
    assert len(texts(opened(tmp_path / "new.db"))) == 2


@pytest.mark.parametrize("wrong", ["missing", "torn", "flipped", "text", "store", "key"])
def test_a_backup_that_is_not_whole_changes_nothing(opened, backup, path, key, wrong, tmp_path):
    given, used = tmp_path / "given.db", key
    content = bytearray(backup.read_bytes())
    if wrong == "torn":
        given.write_bytes(content[: len(content) // 2])
    elif wrong == "flipped":
        with opened(tmp_path / "copy.db") as store:
            store.memory(user="ana").remember("The train leaves at nine")
        content = bytearray((tmp_path / "copy.db").read_bytes())
        place = len(content) // 2 if key else content.index(b"The train leaves at nine")
        content[place] ^= 1
        given.write_bytes(content)
    elif wrong == "text":
        given.write_text("The office is in Oslo" * 500)
    elif wrong == "store":
        given = path
    elif wrong == "key":
        given, used = backup, f"not {key}"
    expected = simonides.InvalidInput if wrong in ("missing", "store") else simonides.StoreError
    if wrong == "key" or (key and wrong == "text"):
        expected = simonides.KeyUnavailable if key or wrong == "key" else expected
    before = path.read_bytes()
    with pytest.raises((expected, simonides.KeyUnavailable)):
        simonides.restore(given, path, key=used)
    assert path.read_bytes()[100:] == before[100:]
    names = {each.name for each in path.parent.iterdir()}
    assert not {name for name in names if ".before" in name or ".restored" in name}
    assert len(texts(opened())) == 2


def test_a_store_under_another_key_keeps_its_log(backup, path, key):
    with simonides.open(path, key=key, embedder="none") as store:
        assert len(texts(store)) == 2
    for beside in path.parent.glob("memory.db*"):
        beside.unlink()
    run(path, "another key", kills=True)
    with pytest.raises(simonides.StoreCorrupt, match="accept_loss"):
        simonides.restore(backup, path, key=key)
    with simonides.open(path, key="another key", embedder="none") as store:
        assert texts(store) == ["The 0th office is in Bergen"]
        assert store.admin(actor="root").verify_audit()


def test_a_backup_of_a_newer_version_is_refused(opened, backup, path, key, monkeypatch):
    from simonides.storage import migrate

    known = migrate.migrations()
    monkeypatch.setattr(migrate, "migrations", dict)
    with pytest.raises(simonides.StoreCorrupt, match="newer simonides"):
        simonides.restore(backup, path, key=key)
    monkeypatch.setattr(migrate, "migrations", lambda: known)
    assert len(texts(opened())) == 2


def test_a_backup_cut_short_is_none(opened, tmp_path, monkeypatch):
    from simonides.storage import files

    def full(path):
        raise OSError(28, "No space left on device")

    store = opened()
    store.memory(user="ana").remember("The office is in Oslo")
    monkeypatch.setattr(files, "_sync", full)
    with pytest.raises(simonides.StoreFull):
        store.admin(actor="root").backup(tmp_path / "backup.db")
    assert not list(tmp_path.glob("backup.db*"))


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import simonides
from simonides.storage import files
place, key, left = Path(sys.argv[1]), sys.argv[2] or None, 1000

def counted(function):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call

for owner, names in ((files, "_sync _remove"), (Path, "replace rename unlink"), (os, "link")):
    for name in names.split():
        setattr(owner, name, counted(getattr(owner, name)))
shutil.copyfile(place / "memory.db", place / "warm.db")
simonides.restore(place / "backup.db", place / "warm.db", key=key)  # loads what it needs, once
for step in range(100):
    case = place / f"case{step}"
    left = 1000
    case.mkdir()
    shutil.copyfile(place / "memory.db", case / "memory.db")
    if not (child := os.fork()):
        left = step
        simonides.restore(place / "backup.db", case / "memory.db", key=key)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print("ended", flush=True)
        break
"""


@pytest.mark.parametrize("key", [None], indirect=True, ids=["file"])
def test_a_kill_leaves_the_old_store_or_the_restored_one(opened, backup, path, key):
    with opened() as store:
        store.memory(user="ana").remember("The office has a garden")
    call = [sys.executable, "-c", KILLED, str(path.parent), key or ""]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == "ended\n", ended.stderr
    cases = sorted(path.parent.glob("case*"), key=lambda case: int(case.name[4:]))
    restored = []
    for case in cases:
        with opened(case / "memory.db") as store:
            assert store.admin(actor="root").verify_audit()
            assert store.memory(user="ana").remember("Still writable", key="probe")
            restored.append("The office has a garden" not in texts(store))
    assert len(cases) > 10
    assert (restored[0], restored[-1]) == (False, True)
    assert restored == sorted(restored)


def test_the_command_restores_what_does_not_open(opened, backup, path, key):
    run(path, key, kills=True)
    shutil.copyfile(backup, path)
    call = [sys.executable, "-m", "simonides", "--json", "--store", str(path), "restore"]
    environment = {**os.environ, "SIMONIDES_KEY": key or ""}

    def command(*more):
        return subprocess.run(
            [*call, str(backup), *more],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    refused = command()
    assert refused.returncode != 0
    assert "accept" in refused.stderr
    assert command("--accept-loss").returncode == 0
    assert len(texts(opened())) == 2
