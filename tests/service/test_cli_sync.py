"""The command line of a replica: once, status, and what it says of a remote that is away."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "remote.db"
    monkeypatch.setenv("SIMONIDES_REMOTE", str(path))
    return path


def test_one_exchange_brings_it_there_and_another_machine_gets_it(
    cli: Any, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("remember", "Prefers tea", "--key", "drink")

    def named(*words: str, store: Path | None = None) -> Any:
        return cli("--remote", str(remote), *words, store=store)

    assert "1 came to the remote" in named("admin", "sync").stdout
    assert "1 came from it" in named("admin", "sync", store=tmp_path / "other.db").stdout
    assert "the same on both sides" in named("admin", "sync").stdout
    assert "Prefers tea" in cli("recall", "drink", store=tmp_path / "other.db").stdout


def test_the_status_says_what_the_remote_has_not_seen(cli: Any, remote: Path) -> None:
    cli("remember", "Prefers tea")
    before = cli("--json", "--remote", str(remote), "admin", "sync-status")
    cli("--remote", str(remote), "admin", "sync")
    after = cli("--remote", str(remote), "admin", "sync-status")

    (unseen,) = json.loads(before.stdout)["owners"].values()
    assert unseen > 0
    assert "all seen there" in after.stdout


def test_without_a_remote_it_says_what_to_do(cli: Any) -> None:
    done = cli("admin", "sync")

    assert done.returncode == 2
    assert "SIMONIDES_REMOTE" in done.stderr


def test_a_remote_that_is_away_fails_the_exchange_and_nothing_else(
    cli: Any, tmp_path: Path
) -> None:
    away = f"{tmp_path}/not-there/deep/remote.db"
    (tmp_path / "not-there").write_text("a file where a directory should be")
    synced = ("--mode", "synced", "--remote", away)

    assert cli(*synced, "remember", "Prefers tea").returncode == 0
    assert "Prefers tea" in cli(*synced, "recall", "tea").stdout
    assert cli(*synced, "admin", "sync").returncode == 1


def test_a_mode_that_is_none_is_refused(cli: Any) -> None:
    done = cli("--mode", "hidden", "status")

    assert done.returncode == 2
    assert "local, incognito (or guest) or synced" in done.stderr


def test_incognito_leaves_nothing_for_the_next_command(cli: Any, tmp_path: Path) -> None:
    assert cli("--mode", "incognito", "remember", "Prefers tea").returncode == 0

    assert list(tmp_path.iterdir()) == []
