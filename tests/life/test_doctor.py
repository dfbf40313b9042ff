"""The doctor finds each planted mistake of a set-up and what mends it, and is quiet otherwise."""

import json
import os
import shutil
from types import SimpleNamespace

import apsw
import pytest

import simonides
from simonides import Settings
from simonides.cli import main
from simonides.core.policy import BUILT_IN
from simonides.life import doctor
from simonides.server.app import application
from simonides.server.callers import Callers
from simonides.testing import ManualClock, SmallEmbedder

KEY, AUDIT_KEY = "correct horse battery staple", "kept elsewhere"
GOOD = {"key": KEY, "audit_key": AUDIT_KEY, "require_org": True}


class Setup(SimpleNamespace):
    """A good set-up, in use: a store whose worker ran, with a backup; a test spoils it."""

    def open(self, **given):
        settings = Settings(**{"backup_to": self.folder / "backups"} | GOOD | self.settings)
        options = {"clock": self.clock, "embedder": SmallEmbedder()} | given
        self.store = simonides.open(self.path, settings=settings, **options)
        self.opened.append(self.store)
        self.ana = self.store.memory(user="ana", org="acme")

    def use(self):
        self.ana.session("monday").add("I live in Oslo, and my dog is called Rex.")
        self.ana.remember("The office is in Bergen")
        self.store.admin("ops").new_token("web", user="ana", org="acme", expires="2030-01-01")
        assert self.ana.session("monday").digest("Where is the office?").items
        self.store.flush()

    def again(self, **settings):
        self.store.close()
        self.settings |= settings
        self.open()

    def policy(self, text):
        file = self.folder / "policy.yaml"
        file.write_text(text)
        self.again(policy=file)

    def wrong(self, **given):
        found = self.store.admin("ops").doctor(**given)
        assert all(bool(each.remedy) is not each.ok for each in found.findings)
        return {each.name: each for each in found.findings if not each.ok}


@pytest.fixture
def setup(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    (folder / "backups").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    made = Setup(
        folder=folder,
        patch=monkeypatch,
        path=folder / "memory.db",
        clock=ManualClock(),
        settings={},
        opened=[],
    )
    made.open()
    made.use()
    yield made
    for each in made.opened:
        each.close()


def test_a_good_set_up_is_quiet(setup):
    assert setup.wrong() == {}
    assert setup.store.admin("ops").doctor(full=True)
    setup.clock.advance(hours=1)
    setup.store.flush()
    assert setup.wrong() == {}


def test_nothing_is_changed_by_looking(setup):
    before = sorted(each.name for each in setup.folder.rglob("*"))
    events = setup.store.admin("ops").verify_audit().events
    setup.wrong(full=True)
    assert sorted(each.name for each in setup.folder.rglob("*")) == before
    assert setup.store.admin("ops").verify_audit().events == events


def run_raw(setup, statement):
    setup.store.close()
    raw = apsw.Connection(str(setup.path))
    raw.execute(f"PRAGMA key = '{KEY}'")
    raw.execute(statement)
    raw.close()
    setup.open()


def encrypt_nothing(setup):
    setup.store.close()
    setup.settings |= {"key": None}
    setup.path = setup.folder / "plain.db"
    setup.open()
    setup.use()


def damage_backup(setup):
    [backup] = (setup.folder / "backups").iterdir()
    with backup.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 4096)


def lengthen_log(setup):
    setup.ana.remember("The garden has a pond")
    os.truncate(f"{setup.path}-wal", 100 * doctor.MIB)


def fail_backups(setup):
    shutil.rmtree(setup.folder / "backups")
    for _ in range(4):
        setup.clock.advance(hours=1)
        setup.store.flush()


def repeat(setup):
    for _ in range(30):
        setup.ana.remember("The office is in Bergen")


def write_without_vectors(setup):
    setup.store.close()
    setup.open(embedder="none")
    setup.ana.remember("The garden has a pond")
    setup.store.close()
    setup.open()


def show_nothing(setup):
    for _ in range(24 * 8):
        setup.clock.advance(hours=1)
        setup.store.flush()


def age_package(setup):
    real = doctor.metadata.version
    setup.patch.setattr(doctor.metadata, "version", lambda n: "1.0" if n == "numpy" else real(n))


def leave_to_nobody(setup):
    setup.clock.advance(days=2, hours=1)
    setup.ana.session("later").digest("Where is the office?")


def make_without_audit_key(setup):
    setup.path = setup.path.with_name("unkeyed.db")
    setup.again(audit_key=None)
    setup.use()


PLANTED = {
    "no audit key": (make_without_audit_key, "audit key"),
    "no key": (encrypt_nothing, "encryption"),
    "no organisation is asked for": (lambda s: s.again(require_org=False), "isolation"),
    "an old package": (age_package, "packages"),
    "no schedule of backups": (lambda s: s.again(backup_to=None), "backup"),
    "an old backup": (lambda s: s.clock.advance(hours=1, minutes=6), "backup"),
    "a damaged backup": (damage_backup, "backup content"),
    "a file that others read": (lambda s: s.path.chmod(0o644), "file rights"),
    "a folder that others write": (lambda s: s.folder.chmod(0o777), "folder rights"),
    "a full disk": (lambda s: s.patch.setattr(doctor, "LEAST_FREE", 2**62), "disk"),
    "a long log": (lengthen_log, "log"),
    "what a restore left": (
        lambda s: s.path.with_name("memory.db.before-1").write_text(""), "old files"),
    "an edited memory": (
        lambda s: run_raw(s, "UPDATE memories SET content = 'x' WHERE position IS NULL"), "audit"),
    "no end of turns": (
        lambda s: s.policy("categories: {turn: {hard_ttl_days: null}}"), "lifetimes"),
    "gates off for one organisation": (
        lambda s: s.policy("orgs: {acme: {gates: {near_meaning: 1.0}}}"), "repeats"),
    "passwords kept": (lambda s: s.policy("hygiene: {secrets: allow}"), "secrets"),
    "personal data unmarked": (lambda s: s.policy("hygiene: {personal: allow}"), "personal data"),
    "commands kept": (lambda s: s.policy("hygiene: {injection: allow}"), "injection"),
    "no worker": (leave_to_nobody, "backup, collection, worker"),
    "a job that fails": (fail_backups, "backup, jobs"),
    "an agent that is shown nothing": (show_nothing, "agent loop"),
    "a loop of writes": (repeat, "alerts"),
    "a clock behind": (lambda s: s.clock.advance(minutes=-6), "clock"),
    "memories without vectors": (write_without_vectors, "vectors"),
    "a token for ever": (
        lambda s: s.store.admin("ops").new_token("old", user="ana", org="acme"), "tokens"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(setup, name):
    plant, found = PLANTED[name]
    plant(setup)
    assert ", ".join(sorted(setup.wrong())) == found


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def command(setup, monkeypatch, capsys):
    """Return a function that runs the command for a good store, and returns code and output."""
    setup.store.close()
    setup.path, setup.clock = setup.folder / "now.db", None
    setup.open()
    setup.use()
    setup.store.close()
    variables = GOOD | {"store": setup.path, "backup_to": setup.folder / "backups"}
    for name, value in variables.items():
        monkeypatch.setenv(f"SIMONIDES_{name.upper()}", str(value))

    def command(*more):
        code = main(["doctor", *more])
        return code, capsys.readouterr().out

    return command


def test_the_command_says_that_all_is_well(command):
    code, out = command()
    assert (code, "WRONG" in out) == (0, False), out
    assert "ok    backup content now-" in out


def test_the_command_names_what_mends_it(command, setup):
    setup.path.chmod(0o640)
    code, out = command()
    assert code == 1
    assert "WRONG file rights    now.db 640" in out
    assert f"-> run: chmod 600 {setup.path}" in out
    code, out = command("--json")
    [wrong] = [each for each in json.loads(out)["findings"] if not each["ok"]]
    assert (code, wrong["name"]) == (1, "file rights")


def wrong_key(setup, patch):
    patch.setenv("SIMONIDES_KEY", "another")


def broken_policy(setup, patch):
    file = setup.folder / "policy.yaml"
    file.write_text("hygiene:\n  personl: flag\n")
    patch.setenv("SIMONIDES_POLICY", str(file))


def log_of_another_file(setup, patch):
    other = setup.folder / "other.db"
    with simonides.open(other, key=KEY) as store:
        store.memory(user="ben", org="acme").remember("The garden has a pond")
        shutil.copy(f"{other}-wal", f"{setup.path}-wal")
    setup.path.write_bytes(other.read_bytes())
    other.unlink()
    patch.setenv("SIMONIDES_KEY", KEY)


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (wrong_key, "the encryption key is wrong"),
        (broken_policy, "policy.yaml:2: "),
        (log_of_another_file, "run: simonides restore BACKUP"),
    ],
)
def test_a_store_that_does_not_open_is_told_why(command, setup, monkeypatch, plant, said):
    plant(setup, monkeypatch)
    code, out = command()
    assert code == 1
    assert "WRONG store          does not open: " in out
    assert said in out
    assert "ok    file rights" in out


def test_a_store_that_is_not_there_is_not_made(command, setup):
    missing = setup.folder / "missing.db"
    code, out = command("--store", str(missing))
    assert (code, missing.exists()) == (1, False)
    assert f"WRONG file           {missing} is not there" in out


def test_a_server_that_answers_is_well(command, setup, web, monkeypatch):
    setup.open()
    web.app = application(setup.store, Callers(setup.store._engine))
    token = setup.store.admin("ops").new_token("ops", rights=["admin"], expires="2100-01-01")
    monkeypatch.setenv("SIMONIDES_TOKEN", token.secret)
    code, out = command("--server", web.url)
    assert (code, "ok    server metrics" in out) == (0, True), out
    monkeypatch.setenv("SIMONIDES_TOKEN", "sim_wrong")
    code, out = command("--server", web.url)
    assert (code, "WRONG server metrics" in out) == (1, True)


def test_a_server_without_tls_is_found(command):
    code, out = command("--server", "http://192.0.2.1:9")
    assert (code, "WRONG tls            http://192.0.2.1:9 is not encrypted" in out) == (1, True)


# -- the size --------------------------------------------------------------------------------------


@pytest.mark.real_encoder
def test_the_estimate_is_within_half_of_what_a_small_store_takes(tmp_path):
    words = "boat train tea cello garden winter Bern Malta bicycle bread river piano market".split()
    size, path = {}, tmp_path / "memory.db"
    for count in (50, 150):
        with simonides.open(path) as store:
            texts = [
                " ".join([*(words[(n * k + count) % 13] for k in range(1, 15)), str(n)])
                for n in range(count)
            ]
            store.memory(user=f"u{count}").remember_many([simonides.Draft(t) for t in texts])
            store.flush()
            stored = store.memory(user=f"u{count}").status()["memories"]
        size[count] = path.stat().st_size, stored
    measured = (size[150][0] - size[50][0]) / size[150][1]
    chars = sum(map(len, texts)) // len(texts)
    told = doctor.estimate(BUILT_IN, users=1, per_day=10, days=100, chars=chars)
    per_text = told["bytes"] / (told["turns"] + told["memories"])
    assert (told["turns"], told["memories"]) == (1000, 100)
    assert 0.5 < measured / per_text < 2, (measured, per_text)


def test_turns_end_and_do_not_grow_the_store_for_ever():
    one, ten = (
        doctor.estimate(BUILT_IN, users=5, per_day=10, days=years * 365) for years in (1, 10)
    )
    assert one == ten


def test_the_command_tells_the_size(command, setup, capsys):
    store = ("--store", str(setup.path))
    assert main([*store, "estimate", "--users", "1000", "--per-day", "20", "--days", "30"]) == 0
    assert "600,000 turns and 60,000 memories of 1,000 users" in capsys.readouterr().out
    assert main([*store, "estimate", "--users", "1", "--per-day", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes_now"] == setup.path.stat().st_size
    assert told["turns"] == 365
