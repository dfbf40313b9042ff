"""The worker backs the store up by a schedule: whole copies, the newest ones kept."""

import pytest

import simonides
from simonides import Settings
from simonides.testing import ManualClock

KEY = "correct horse battery staple"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "backups"
    made.mkdir()
    return made


@pytest.fixture
def opened(tmp_path, folder):
    """Return a function that opens the store with a schedule; what is open is closed at the end."""
    clock, stores = ManualClock(), []

    def opened(**given):
        settings = Settings(**{"backup_to": folder, "backup_keep": 3, "key": KEY} | given)
        stores.append(simonides.open(tmp_path / "memory.db", settings=settings, clock=clock))
        return stores[-1], clock

    yield opened
    for store in stores:
        store.close()


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_backup_is_made_each_hour_and_opens_with_the_key(opened, folder):
    store, clock = opened()
    store.flush()
    assert names(folder) == []  # nothing was written yet
    ana = store.memory(user="ana")
    ana.remember("The office is in Oslo")
    store.flush()
    clock.advance(minutes=59)
    ana.remember("The dog is called Rex")
    store.flush()
    assert names(folder) == ["memory-20260101T000000Z.db"]
    clock.advance(minutes=1)
    store.flush()
    assert names(folder)[1:] == ["memory-20260101T010000Z.db"]
    with simonides.open(folder / names(folder)[1], key=KEY, create=False) as copy:
        assert len(copy.memory(user="ana").list()) == 2


def test_the_newest_backups_stay_and_no_other_file_is_touched(opened, folder):
    store, clock = opened()
    store.memory(user="ana").remember("The office is in Oslo")
    others = [
        "memory-before-the-move.db",
        "other-20250101T000000Z.db",
        "memory-20250101T000000Z.txt",
    ]
    for name in (*others, "memory-20250101T000000Z.db.partial"):
        (folder / name).write_text("not ours")
    for _ in range(5):
        store.flush()
        clock.advance(hours=1)
    made = [f"memory-20260101T0{hour}0000Z.db" for hour in (2, 3, 4)]
    assert names(folder) == sorted([*made, *others])


def test_a_failed_backup_is_logged_and_made_when_it_can_be(opened, folder, caplog):
    folder.rmdir()
    store, clock = opened()
    store.memory(user="ana").remember("The office is in Oslo")
    assert store._engine.worker.flush() == {"failed": 1}
    assert "is no folder; make it, or change backup_to" in caplog.text
    folder.mkdir()
    assert store._engine.worker.flush() == {}
    clock.advance(seconds=15)
    assert store._engine.worker.flush() == {"done": 1}
    assert len(names(folder)) == 1


def test_a_copy_that_breaks_off_leaves_no_file(opened, folder, monkeypatch):
    store, clock = opened()
    store.memory(user="ana").remember("The office is in Oslo")

    def full(path):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("simonides.storage.files._sync", full)
        assert store._engine.worker.flush() == {"failed": 1}
    assert names(folder) == []
    clock.advance(seconds=15)
    store.flush()
    assert len(names(folder)) == 1


def test_a_shorter_time_holds_at_once(opened, folder):
    store, clock = opened(backup_hours=24)
    store.memory(user="ana").remember("The office is in Oslo")
    store.flush()
    store.close()
    store, clock = opened(backup_hours=1)
    store.flush()
    clock.advance(hours=1)
    store.flush()
    assert len(names(folder)) == 2


def test_two_workers_make_one_backup(opened, folder):
    first, clock = opened()
    second, _ = opened()
    first.memory(user="ana").remember("The office is in Oslo")
    first.flush()
    second.flush()
    clock.advance(hours=1)
    second.flush()
    first.flush()
    assert len(names(folder)) == 2


def test_without_the_setting_no_backup_is_due(opened, folder):
    store, _ = opened(backup_to=None)
    store.memory(user="ana").remember("The office is in Oslo")
    store.flush()
    assert names(folder) == []


def test_postgresql_is_warned_of_once(postgres_place, folder, caplog):
    store = postgres_place(settings=Settings(backup_to=folder))
    store.memory(user="ana").remember("The office is in Oslo")
    store.flush()
    store.flush()
    [warning] = [each for each in caplog.records if "not backed up" in each.getMessage()]
    assert "owner_url" in warning.getMessage()
    assert names(folder) == []
