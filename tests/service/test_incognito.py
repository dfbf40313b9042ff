"""Incognito, proved on a process of its own: no disk, no socket, and nothing left."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import simonides
from simonides.api.open.assemble import assemble, new_key
from simonides.api.sync import Store
from simonides.cli.app import app
from simonides.settings import Settings
from simonides.storage.process_caches import DroppingAlarm
from simonides.testing import ManualClock

DAY = Path(__file__).with_name("incognito_day.py")
FIVE_MEGABYTES = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
    "SELECT randomblob(1000) AS a FROM n"
)


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """Return every file and directory with its size and when it was last changed."""
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in root.rglob("*")}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A day in a home of its own, with everything set that would lead to disk or network."""
    home = tmp_path_factory.mktemp("home")
    places = {name: home / name for name in ("data", "config", "cache", "tmp", "cwd", "out")}
    for place in places.values():
        place.mkdir()
    keys = home / "ring"
    keys.write_text(new_key("k1") + "\n")
    keys.chmod(0o600)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SIMONIDES_")},
        "HOME": str(home),
        "PYTHONPATH": str(DAY.parents[1]),
        "XDG_DATA_HOME": str(places["data"]),
        "XDG_CONFIG_HOME": str(places["config"]),
        "XDG_CACHE_HOME": str(places["cache"]),
        "TMPDIR": str(places["tmp"]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENAI_API_KEY": "sk-not-a-key",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "SIMONIDES_STORE": str(home / "store.db"),
        "SIMONIDES_BACKUP_DIR": str(home / "backups"),
        "SIMONIDES_BACKUP_EVERY_MINUTES": "0.0001",
        "SIMONIDES_ANCHOR": str(home / "anchor"),
        "SIMONIDES_KEYS_FILE": str(keys),
        "SIMONIDES_KEY_VAULT": str(home / "vault"),
        "SIMONIDES_EMBEDDER": "openai",
        "SIMONIDES_RERANK_BASE_URL": "http://127.0.0.1:9",
        "SIMONIDES_REMOTE": "postgresql://nobody@127.0.0.1:9/none",
    }
    exported = places["out"] / "mine.jsonl"
    before = tree(home)
    ran = subprocess.run(
        [sys.executable, str(DAY), str(exported)],
        env=environment,
        cwd=places["cwd"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    out = {str(places["out"]), str(exported)}
    after = tree(home)
    found["files"] = sorted(
        path for path in {*before, *after} - out if before.get(path) != after.get(path)
    )
    return found


def test_no_file_is_written_and_no_socket_opened(lived: dict[str, Any]) -> None:
    assert lived["recalled"] == [True]
    assert lived["broken"] == []


@pytest.mark.parametrize(
    "statements",
    [
        ("ATTACH 'x.db' AS x", "CREATE TABLE x.t (a)"),
        ("PRAGMA temp_store = file", f"CREATE TEMP TABLE t AS {FIVE_MEGABYTES}"),
    ],
    ids=["a database", "a temporary file"],
)
def test_the_guard_sees_what_sqlite_opens(tmp_path: Path, statements: tuple[str, ...]) -> None:
    run = "\n".join(
        [
            "import apsw, incognito_day",
            "guard = incognito_day.guard_sqlite()",
            "connection = apsw.Connection(':memory:')",
            "print(len(incognito_day.broken))",
            *(f'connection.execute("{statement}")' for statement in statements),
            "print(len(incognito_day.broken) > 0)",
        ]
    )
    ran = subprocess.run(
        [sys.executable, "-c", run],
        env={**os.environ, "PYTHONPATH": f"{DAY.parent}{os.pathsep}{DAY.parents[1]}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.split() == ["0", "True"]


def test_no_file_is_there_afterwards_but_the_one_that_was_asked_for(lived: dict[str, Any]) -> None:
    assert lived["files"] == []
    assert lived["exported"] > 0
    assert [path for path in lived["opened"] if not path.endswith("table.npy")] == []


def test_only_the_embedded_embedder_works_and_all_else_is_in_memory(lived: dict[str, Any]) -> None:
    assert lived["status"]["embedder"].startswith("static-")
    assert lived["status"] | {"embedder": ""} == {
        "mode": "incognito",
        "backend": ":memory:",
        "embedder": "",
        "model": None,
    }
    assert lived["audit"] is True
    assert lived["backup"] == "file"  # nobody has named a place


def test_nothing_of_what_was_said_is_left_in_the_process(lived: dict[str, Any]) -> None:
    assert lived["erased"] == "complete"
    assert lived["left"] == []
    assert lived["remains"] == []


def test_a_backup_directory_of_the_settings_is_not_written_to(tmp_path: Path) -> None:
    clock = ManualClock()
    settings = Settings(backup_dir=tmp_path / "backups", backup_every_minutes=1)
    hidden = assemble(mode="guest", settings=settings, inline=True, clock=clock, alarm=clock)
    with Store(hidden) as store:
        store.memory(user="alice").remember("Prefers teal")
        clock.advance(days=1)

    assert list(tmp_path.iterdir()) == []


def test_an_alarm_that_is_let_go_of_calls_nobody() -> None:
    clock, called = ManualClock(), list[str]()
    alarm = DroppingAlarm(clock)
    alarm.after(1, lambda: called.append("before"))
    clock.advance(seconds=2)
    alarm.after(1, lambda: called.append("after"))

    alarm.drop()
    clock.advance(seconds=2)

    assert called == ["before"]


def test_the_mode_is_a_setting_and_whoever_names_one_goes_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "m.db"
    monkeypatch.setenv("SIMONIDES_MODE", "incognito")
    with simonides.open() as opened:
        assert opened.memory(user="ana").status()["mode"] == "incognito"
    with simonides.open(store, mode="local") as opened:
        assert opened.memory(user="ana").status()["mode"] == "local"
        opened.memory(user="ana").remember("Ana likes coffee")
    assert store.exists()

    monkeypatch.setenv("SIMONIDES_MODE", "synced")
    monkeypatch.setenv("SIMONIDES_REMOTE", str(tmp_path / "remote.db"))
    with simonides.open(store) as replica:
        replica.memory(user="ana").remember("Ana likes tea")
        # The remote is a store like any other, and no replica of itself.
        assert replica.sync().owners[0].pushed
    with simonides.open(tmp_path / "remote.db", mode="local") as remote:
        assert remote.memory(user="ana").list()

    monkeypatch.setenv("SIMONIDES_MODE", "secret")
    with pytest.raises(simonides.ConfigurationError, match="mode"):
        simonides.open(store)


async def entered(target: Path) -> None:
    async with simonides.aopen(target):
        pass


@pytest.mark.parametrize("name", ["incognito", "guest"])
def test_who_names_a_store_is_told_that_the_setting_would_leave_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = tmp_path / "m.db"
    monkeypatch.setenv("SIMONIDES_MODE", name)

    with pytest.raises(simonides.ConfigurationError, match=rf"SIMONIDES_MODE\) is {name}.*local"):
        simonides.open(store)
    with pytest.raises(simonides.ConfigurationError, match="a store is named"):
        asyncio.run(entered(store))
    with pytest.raises(simonides.ConfigurationError, match="a store is named"):
        simonides.open(store, settings=Settings(mode="incognito"))
    # What is said of these is true: they are in memory, or whoever opened it said so.
    for target, mode in ((":memory:", None), ("sqlite:///:memory:", None), (store, "incognito")):
        with simonides.open(target, mode=mode) as opened:
            assert opened.memory(user="ana").status()["mode"] == "incognito"
    assert not store.exists()


def test_the_command_line_goes_by_the_setting_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, store = CliRunner(), tmp_path / "m.db"
    monkeypatch.setenv("SIMONIDES_MODE", "incognito")
    monkeypatch.setenv("SIMONIDES_STORE", str(store))

    def run(*words: str) -> str:
        return runner.invoke(app, ["--user", "ana", *words]).output

    assert "incognito" in run("status")
    run("maintenance", "sources")
    assert not store.exists()
    assert "local" in run("--mode", "local", "status")
    assert not store.exists()
    run("--mode", "local", "remember", "Ana likes tea")
    assert store.exists()
