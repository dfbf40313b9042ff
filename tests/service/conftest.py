"""The command line over one store, for every test of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memstrata.cli.app import app

Run = Callable[..., subprocess.CompletedProcess[str]]


def _words(store: Path, user: str | None, words: tuple[str, ...]) -> list[str]:
    return ["--store", str(store), *([] if user is None else ["--user", user]), *words]


def _is_ours(variable: str) -> bool:
    return variable.startswith(("OPENAI", "MEMSTRATA"))


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line over one store, as user ana unless told otherwise.

    It runs in the process of the test, which spares a second of imports for each call; that its
    entry works in one of its own is what :func:`cli_process` is for.
    """
    for name in filter(_is_ours, list(os.environ)):
        monkeypatch.delenv(name)

    def run(
        *words: str, user: str | None = "ana", stdin: str = "", store: Path | None = None
    ) -> Any:
        given = _words(store or tmp_path / "m.db", user, words)
        done = CliRunner().invoke(app, given, input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(given, done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def cli_process(tmp_path: Path) -> Run:
    """The same, each call in a process of its own, as a shell runs it."""

    def run(*words: str, user: str | None = "ana", stdin: str = "") -> Any:
        return subprocess.run(
            [sys.executable, "-m", "memstrata", *_words(tmp_path / "m.db", user, words)],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            input=stdin,
            env={name: value for name, value in os.environ.items() if not _is_ours(name)},
        )

    return run
