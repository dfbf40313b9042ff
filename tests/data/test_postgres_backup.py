"""A dump takes the place of a PostgreSQL store: whole, or not at all; the forgotten stays so."""

import itertools
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import psycopg
import pytest

import simonides
from simonides import Draft, Settings
from simonides.api import admin as api_admin
from simonides.cli import main
from simonides.storage import postgres_backup
from simonides.storage.postgres import init, without_password

ROLE, APP = "dump_role", "app_role"
NUMBERS = itertools.count(1)
KILLED = """
import os, signal, sys
import simonides
from simonides.api import admin
from simonides.storage import postgres_backup as steps
url, owner_url, backup = sys.argv[1:]

def killed_at(module, name):
    real = getattr(module, name)
    def step(*args):
        setattr(module, name, real)
        real(*args)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(module, name, step)

settings = simonides.Settings(owner_url=owner_url)
for place in ((steps, "_fill"), (admin, "note_restored"), (steps, "_let_go")):
    if not (child := os.fork()):
        killed_at(*place)
        simonides.restore(backup, url, settings=settings)
    print(place[1], os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture(scope="module")
def templates(server):
    """Return the names of empty stores by how they are split, whose owner may dump them."""
    server.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB BYPASSRLS")
    names = {None: "dumps", "partitions": "dumps_split"}
    for distributed, name in names.items():
        server.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
        init(server.url(ROLE, name), APP, distributed=distributed)
    return names


class Place:
    """A database with a store, which can be opened by its application, and by its owner."""

    def __init__(self, server, template, folder):
        self.server, self.name, self.opened = server, f"dumped{next(NUMBERS)}", []
        self.owner_url, self.url = (server.url(role, self.name) for role in (ROLE, APP))
        self.settings, self.folder = Settings(owner_url=self.owner_url), folder
        server.execute(f"CREATE DATABASE {self.name} OWNER {ROLE} TEMPLATE {template}")

    def __call__(self, name=None, **settings):
        target = self.server.url(APP, name or self.name)
        given = Settings(owner_url=self.owner_url, **settings) if settings else self.settings
        self.opened.append(simonides.open(target, settings=given, embedder="none"))
        return self.opened[-1]

    def databases(self):
        with psycopg.connect(self.server.url("postgres", "postgres")) as connection:
            found = connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()
        return [name for (name,) in found if name.startswith(f"{self.name}_") or name == self.name]

    def backup(self):
        """Return a dump of a store that was closed: two facts, a refusal, a right, and ben."""
        with self() as store:
            ana, admin = store.memory(user="ana"), store.admin(actor="root")
            ana.remember("The office is in Oslo")
            ana.remember("The dog is called Rex")
            ana.privacy.refuse(about="health")
            store.memory(user="ben").remember("The boat is called Argo")
            admin.grant("ben", "org_write", org="default")
            return admin.backup(self.folder / "backup.dump")

    def restore(self, backup, **given):
        return simonides.restore(backup, self.url, settings=self.settings, **given)

    def close(self):
        for store in self.opened:
            store.close()
        for name in self.databases():
            self.server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(autouse=True)
def programs(server, monkeypatch):
    """Let the programs of the server's own version come first."""
    monkeypatch.setenv("PATH", f"{server.programs}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def place(server, templates, tmp_path, request):
    made = Place(server, templates[getattr(request, "param", None)], tmp_path)
    yield made
    made.close()


def texts(store, user="ana"):
    return sorted(record.content for record in store.memory(user=user).list())


@pytest.mark.parametrize("place", [None, "partitions"], indirect=True, ids=["whole", "split"])
def test_what_was_decided_since_the_dump_holds(place):
    backup = place.backup()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with place() as store:
        ana, admin = store.memory(user="ana"), store.admin(actor="root")
        ana.remember("The office has a garden")
        ana.forget(ana.recall("dog")[0])
        ana.privacy.allow(ana.privacy.list()[0].id)
        ana.privacy.refuse(about="religion")
        admin.revoke("ben", "org_write", org="default")
        store.memory(user="ben").data.erase(confirm="ben")
        report = admin.restore(backup)
    assert (report.path, report.moved_to) == (place.url, f"{place.name}_before_1")
    assert (report.forgotten_again, report.erased_again) == (1, 1)
    assert place.databases() == [place.name, f"{place.name}_before_1"]
    store = place()
    ana, admin = store.memory(user="ana"), store.admin(actor="root")
    found = {each.name: each for each in admin.doctor().findings}
    assert found["old databases"].remedy.startswith(f"run DROP DATABASE {place.name}_before_1 ")
    assert texts(store) == ["The office is in Oslo"]
    assert texts(store, "ben") == []
    assert [each.value for each in ana.privacy.list()] == ["religion"]
    assert admin.grants(org="default") == []
    again = ana.remember(Draft("The dog is called Rex", source="agent_inferred"))
    assert again.reasons == ("tombstoned",)
    assert admin.verify_audit()
    assert "The office has a garden" in texts(place(report.moved_to))


@pytest.mark.parametrize("was", ["not there", "empty"])
def test_a_dump_makes_a_database_that_has_no_store(place, was):
    backup = place.backup()
    place.server.execute(f"DROP DATABASE {place.name}")
    if was == "empty":
        place.server.execute(f"CREATE DATABASE {place.name} OWNER {ROLE}")
    moved_to = place.restore(backup).moved_to
    assert moved_to == (None if was == "not there" else f"{place.name}_before_1")
    store = place()
    assert len(texts(store)) == 2
    assert store.memory(user="ana").remember("The office has a garden")


def test_a_store_of_another_version_is_replaced_only_if_its_loss_is_accepted(place):
    backup = place.backup()
    with psycopg.connect(place.owner_url) as owner:
        owner.execute("UPDATE simonides.meta SET value = '00' WHERE name LIKE 'migration%'")
    with pytest.raises(simonides.StoreCorrupt, match="accept_loss"):
        place.restore(backup)
    assert place.databases() == [place.name]
    place.restore(backup, accept_loss=True)
    assert len(texts(place())) == 2


def test_who_may_connect_stays_so(place):
    backup = place.backup()
    place.server.execute(f"REVOKE ALL ON DATABASE {place.name} FROM PUBLIC")
    place.server.execute(f"GRANT CONNECT ON DATABASE {place.name} TO {APP}")
    place.restore(backup)
    assert len(texts(place())) == 2
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(place.server.url("owner_role", place.name))


def test_a_store_that_others_have_open_is_left_alone(place, monkeypatch):
    backup = place.backup()
    monkeypatch.setattr(postgres_backup, "LEAVING_S", 0.2)
    with place() as store:
        store.memory(user="ana").remember("The office has a garden")
        with pytest.raises(simonides.StoreUnavailable, match="others have it open"):
            place.restore(backup)
    assert place.databases() == [place.name]
    assert len(texts(place())) == 3


def test_a_program_that_comes_meanwhile_writes_nothing_that_is_lost(place, monkeypatch):
    backup, real = place.backup(), api_admin.note_restored

    def come(*args):
        real(*args)
        monkeypatch.setattr(postgres_backup, "LEAVING_S", 0.5)
        other = place(busy_timeout_s=0.2)
        with pytest.raises(simonides.StoreUnavailable):
            other.memory(user="ana").remember("The office has a garden")

    monkeypatch.setattr(api_admin, "note_restored", come)
    with pytest.raises(simonides.StoreUnavailable, match="others have it open"):
        place.restore(backup)
    assert place.databases() == [place.name]
    other = place.opened[-1].memory(user="ana")
    assert other.remember("The office has a garden")
    assert len(other.list()) == 3


def test_writers_are_kept_out_until_the_old_database_is_locked(place, monkeypatch):
    backup, real, asked = place.backup(), postgres_backup._let_go, Event()
    locked = "SELECT mode FROM pg_locks WHERE classid = 'pg_database'::regclass AND granted"
    modes = []

    class Late(ThreadPoolExecutor):
        """Renames only after somebody has looked for its lock."""

        def submit(self, call, *args):
            return super().submit(lambda: asked.wait(60) and call(*args))

    def let_go(keeper, chief, renaming):
        ask, close = keeper.execute, keeper.close

        def look(*args):
            found = ask(*args)
            asked.set()
            return found

        def leave():
            modes.extend(ask(locked).fetchall())
            asked.set()
            close()

        keeper.execute, keeper.close = look, leave
        real(keeper, chief, renaming)
        keeper.execute, keeper.close = ask, close

    monkeypatch.setattr(postgres_backup, "ThreadPoolExecutor", Late)
    monkeypatch.setattr(postgres_backup, "_let_go", let_go)
    place.restore(backup)
    assert ("AccessExclusiveLock",) in modes


def test_nobody_enters_while_the_names_change(place, monkeypatch):
    backup, real = place.backup(), postgres_backup._let_go
    waiting = "SELECT FROM pg_locks WHERE classid = 'pg_database'::regclass AND NOT granted"

    def let_go(keeper, chief, renaming):
        real(keeper, chief, renaming)
        renaming.result()
        entered.append(thread.submit(psycopg.connect, place.url))
        while not chief.execute(waiting).fetchall():
            assert not entered[0].done()

    monkeypatch.setattr(postgres_backup, "_let_go", let_go)
    with ThreadPoolExecutor(1) as thread:
        entered = []
        place.restore(backup)
        with pytest.raises(psycopg.OperationalError, match="just been dropped or renamed"):
            entered[0].result()


@pytest.mark.parametrize("wrong", ["cut", "text", "other store", "other tables"])
def test_a_dump_that_does_not_fit_changes_nothing(place, wrong):
    backup, expected = place.backup(), simonides.StoreCorrupt
    content = backup.read_bytes()
    if wrong == "cut":
        backup.write_bytes(content[: len(content) * 3 // 4])
    elif wrong == "text":
        backup.write_text("The office is in Oslo")
    elif wrong == "other store":
        expected = simonides.InvalidInput
        with psycopg.connect(place.owner_url) as owner:
            owner.execute("UPDATE simonides.meta SET value = '00' WHERE name = 'secret'")
    else:
        expected = simonides.StoreError
        with psycopg.connect(place.owner_url) as owner:
            owner.execute("CREATE SCHEMA shop CREATE TABLE orders (id INT)")
    with pytest.raises(expected, match=r"damaged|another store|shop\.orders"):
        place.restore(backup)
    assert place.databases() == [place.name]
    assert len(texts(place())) == 2


def test_a_kill_leaves_the_old_store_or_the_restored_one(place):
    backup = place.backup()
    with place() as store:
        store.memory(user="ana").remember("The office has a garden")
    call = [sys.executable, "-c", KILLED, place.url, place.owner_url, str(backup)]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    steps = ["_fill", "note_restored", "_let_go"]
    assert ended.stdout.splitlines() == [f"{step} 9" for step in steps], ended.stderr
    with place() as store:
        assert len(texts(store)) == 3
        assert store.memory(user="ana").remember("Still writable", key="probe")
    assert place.restore(backup).events_lost == 2
    assert place.databases() == [place.name, f"{place.name}_before_1"]


def test_a_database_of_another_program_is_not_dropped(place):
    backup = place.backup()
    place.server.execute(f"CREATE DATABASE {place.name}_restored OWNER {ROLE}")
    with pytest.raises(simonides.StoreError, match="rename or drop it first"):
        place.restore(backup)
    assert place.databases() == [place.name, f"{place.name}_restored"]


def test_programs_and_roles_that_do_not_fit_are_named(place, tmp_path, monkeypatch):
    store = place()
    old = tmp_path / "old" / "pg_dump"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 9.6.24'\n")
    old.chmod(0o755)

    def refused(store, problem):
        with pytest.raises(simonides.ConfigurationError, match=problem):
            store.admin(actor="root").backup(tmp_path / "backup.dump")
        assert not list(tmp_path.glob("backup.dump*"))

    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(old.parent))
        refused(store, "is of version 9, the server of 18")
        old.unlink()
        refused(store, "pg_dump is not in PATH")
    app_url = place.server.url(APP, place.name)
    other_url = place.server.url(ROLE, "dumps")
    with psycopg.connect(place.server.url("postgres", "dumps"), autocommit=True) as other:
        other.execute("UPDATE simonides.meta SET value = '00' WHERE name = 'secret'")
    for owner_url, problem in (
        (None, "SIMONIDES_OWNER_URL"),
        (app_url, "ALTER ROLE app_role BYPASSRLS"),
        (other_url, "another database"),
        ("nonsense", "no postgresql"),
    ):
        settings = Settings(owner_url=owner_url)
        refused(simonides.open(place.url, settings=settings, embedder="none"), problem)


def test_a_password_is_in_no_argument_and_in_no_error(tmp_path):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "${#PGPASSWORD} $*" >&2\nexit 1\n')
    program.chmod(0o755)
    url = "postgresql://owner:opensesame@db.example.com/memories"
    said = postgres_backup._run(str(program), url, "--format=custom")
    assert said.startswith("10 --no-password --dbname=")
    assert "opensesame" not in said
    for address in (url, "postgresql://db.example.com/memories?user=owner&password=opensesame"):
        assert "opensesame" not in without_password(postgres_backup._at(address, "other"))
        assert "opensesame" not in without_password(address)
        assert "opensesame" not in repr(Settings(owner_url=address))


def test_the_worker_makes_dumps_and_the_doctor_reads_them(place, tmp_path):
    store = place(backup_to=tmp_path, backup_keep=1)
    store.memory(user="ana").remember("The office is in Oslo")
    assert store._engine.worker.flush()["done"] == 1
    [made] = tmp_path.glob(f"{place.name}-*Z.db")

    def finding(name):
        found = store.admin(actor="root").doctor().findings
        return next(each for each in found if each.name == name)

    assert finding("backup").ok
    assert "whole" in finding("backup content").found
    made.write_bytes(made.read_bytes()[:-100])
    assert "damaged" in finding("backup content").found


def test_the_commands_are_the_same(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SIMONIDES_STORE", place.url)
    monkeypatch.setenv("SIMONIDES_OWNER_URL", place.owner_url)
    copy = str(tmp_path / "copy.dump")
    for call in (
        ["--user", "ana", "remember", "The office is in Oslo"],
        ["admin", "backup", copy],
        ["--user", "ana", "remember", "The dog is called Rex"],
        ["restore", copy],
    ):
        assert main(call) == 0, capsys.readouterr()
    assert f"{place.name}_before_1" in capsys.readouterr().out
    assert texts(place()) == ["The office is in Oslo"]
