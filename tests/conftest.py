"""Fixtures: a world with a clock, ids and a store of its own, over each store; a server; the
command line.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from typer.testing import CliRunner

from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.cli.app import app
from simonides.engine.sessions.idle import ProcessSessions
from simonides.settings import Settings
from simonides.storage.encryption.key_ring import new_key
from simonides.storage.sqlite.file.schema import IN_MEMORY
from simonides.testing import CountingIds, ManualClock

# The same examples on every run: what a commit did is told from what luck did. Another search is
# ``pytest --hypothesis-profile=search``.
# None fails for want of time: how busy the machine is says nothing of the product.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
hypothesis_settings.register_profile("fixed", derandomize=True, **_UNTIMED)
hypothesis_settings.register_profile("search", max_examples=500, print_blob=True, **_UNTIMED)
hypothesis_settings.load_profile("fixed")

SHARED_MEMORY = Path("/dev/shm")
NEEDED_B = 2 * 1024**3


def _has_room_for_tests(folder: Path) -> bool:
    """Whether the files of a run fit there, and a PostgreSQL server may be run from there."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= NEEDED_B and not found.f_flag & os.ST_NOEXEC


# Most tests write a store, and a disk makes each of them wait. What is killed here is a process,
# never the machine, so files in memory show the same. A set TMPDIR wins.
if "TMPDIR" not in os.environ and _has_room_for_tests(SHARED_MEMORY):
    os.environ["TMPDIR"] = str(SHARED_MEMORY)
    tempfile.tempdir = None

NO_SKIPS = "NO_SKIPS"
"""Set where every test must run; a skip for want of a server is then a failure."""

ON_POSTGRES = frozenset(
    {
        "test_closed",
        "test_coherence",
        "test_collected_everywhere",
        "test_consent",
        "test_erased_meanwhile",
        "test_forgetting",
        "test_hostile_ids",
        "test_knowledge",
        "test_leaks",
        "test_promotion_delivery",
        "test_read_journal",
        "test_recall_switch",
        "test_rights",
        "test_safety_records",
        "test_same_answers",
        "test_sessions",
        "test_task_names",
        "test_world_time",
    }
)
"""Stories about what a store shows, to whom, and in what order. The others are about what is done
before and after it; a database for each would cost minutes."""

ENCRYPTED = frozenset(
    {
        "test_forgetting",
        "test_promotion_delivery",
        "test_read_journal",
        "test_safety_records",
        "test_sessions",
    }
)
"""Stories that are told once more over a file that is encrypted, and so under a key ring: they
change, remove and bring back what is coded, over several owners, or keep what is sealed."""


class World:
    """One store with time and ids under the test's control.

    Attributes:
        target: ``:memory:``, a path, or a URL.
        clock: Stands still until it is moved.
        opened_store: The open simonides.
    """

    def __init__(self, target: str, settings: Settings) -> None:
        self.target = target
        self.clock = ManualClock()
        self._ids = CountingIds()
        self._settings = settings
        self.store = self._open()

    @property
    def location(self) -> str:
        """What the store says of where it is."""
        return self.store.runtime.store.location

    @property
    def is_durable(self) -> bool:
        return self.target != IN_MEMORY

    def reopen(self) -> Store:
        """Close and open again, with cold indexes; a store in memory stays open."""
        if self.is_durable:
            self.store.close()
            self.store = self._open()
        return self.store

    def _open(self) -> Store:
        made = assemble(
            self.target,
            settings=self._settings,
            inline=True,
            clock=self.clock,
            ids=self._ids,
            alarm=self.clock,
        )
        # Tests that reopen a store ask what it keeps of sessions that go on.
        made.runtime.part(ProcessSessions).end_on_close = False
        return Store(made)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on the environment, nor can it reach a real model by accident."""
    for name in list(os.environ):
        if name.startswith(("SIMONIDES_", "OPENAI_", "ANTHROPIC_", "GEMINI_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL server for the whole session, started when the first test wants it."""
    try:
        from postgres_server import NoServer, Server
    except ImportError as error:
        _skip(f"no PostgreSQL driver ({error}): pip install 'psycopg[binary,pool]'")
    try:
        server = Server()
        server.start()
    except NoServer as error:
        _skip(str(error))
    yield server
    server.stop()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Where nothing may be skipped, no module is either: it would be for want of a package."""
    report = yield
    if report.skipped and NO_SKIPS in os.environ:
        report.outcome = "failed"
        report.longrepr = f"{NO_SKIPS} is set and this would be skipped: {report.longrepr[2]}"
    return report


@pytest.fixture(scope="session")
def skip() -> Callable[[str], NoReturn]:
    """What skips a test for want of something, or fails it where nothing may be skipped."""
    return _skip


def _skip(reason: str) -> NoReturn:
    """Skip a test for want of a server; where nothing may be skipped, fail it."""
    if NO_SKIPS in os.environ:
        pytest.fail(f"{NO_SKIPS} is set and this would be skipped: {reason}")
    pytest.skip(reason)


@pytest.fixture
def database(postgres: Any) -> Iterator[str]:
    """The name of a prepared database of the test's own."""
    name = postgres.new_database()
    yield name
    postgres.give_back(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell each story over memory and SQLite; over PostgreSQL those where the store may matter."""
    if "new_world" in metafunc.fixturenames:
        also = ["postgres"] if metafunc.module.__name__ in ON_POSTGRES else []
        also += ["encrypted"] if metafunc.module.__name__ in ENCRYPTED else []
        metafunc.parametrize("new_world", ["memory", "sqlite", *also], indirect=True)


@pytest.fixture
def new_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., World]]:
    """A maker of empty worlds over one kind of store; ``settings`` may be given by name."""
    made: list[World] = []
    databases: list[str] = []

    def target() -> str:
        if request.param == "memory":
            return IN_MEMORY
        if request.param in ("sqlite", "encrypted"):
            return str(tmp_path / f"world-{len(made)}.db")
        server = request.getfixturevalue("postgres")
        databases.append(server.new_database())
        return str(server.url("simonides_app", databases[-1]))

    def make(**settings: object) -> World:
        is_sealed = request.param == "encrypted"
        keys = {"keys": new_key("one"), "encrypt": True} if is_sealed else {}
        made.append(World(target(), Settings(**keys, **settings)))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for world in made:
        world.store.close()
    for name in databases:
        request.getfixturevalue("postgres").give_back(name)


@pytest.fixture
def world(new_world: Callable[..., World]) -> World:
    """An empty world."""
    return new_world()


Run = Callable[..., subprocess.CompletedProcess[str]]


def _words(store: Path, user: str | None, words: tuple[str, ...]) -> list[str]:
    return ["--store", str(store), *([] if user is None else ["--user", user]), *words]


def _is_ours(variable: str) -> bool:
    return variable.startswith(("OPENAI", "ANTHROPIC", "GEMINI", "SIMONIDES"))


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
            [sys.executable, "-m", "simonides", *_words(tmp_path / "m.db", user, words)],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            input=stdin,
            env={name: value for name, value in os.environ.items() if not _is_ours(name)},
        )

    return run
