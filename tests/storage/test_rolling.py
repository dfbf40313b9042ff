"""Servers are upgraded one by one: an older and a newer program work on one database."""

import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

import simonides
from simonides.storage import migrate, postgres

NEXT = "0002_mood.sql"
MIGRATION = (
    "ALTER TABLE memories ADD COLUMN mood {text};\nALTER TABLE sessions ADD COLUMN mood {text};\n"
)
ROW = "    key: Annotated[Name | None, Indexed]"
FIELD = f"    mood: Annotated[Name | None, Indexed] = None\n{ROW}"
NEWER = """
import sys
import simonides
from simonides.storage.postgres import init

init(sys.argv[1], "app_role")
store = simonides.open(sys.argv[2], embedder="none", audit_key="kept elsewhere")
ana = store.memory(user="ana")
print("ready", flush=True)
for line in sys.stdin:
    eval(line)
    assert store.admin("root").verify_audit()
    print("done", flush=True)
"""


@pytest.fixture
def newer(tmp_path):
    """Return a copy of the program that knows one more migration and field."""
    source, copy = Path(simonides.__file__).parent, tmp_path / "new" / "simonides"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "*.onnx", "*.bin"))
    record = copy / "core/record.py"
    assert record.read_text().count(ROW) == 1
    record.write_text(record.read_text().replace(ROW, FIELD))
    (copy / "storage/migrations" / NEXT).write_text(MIGRATION)
    return copy.parent


@pytest.fixture
def database(server):
    """Return the addresses of a database for its owner and for the application; it is dropped."""
    server.execute("CREATE DATABASE rolling OWNER owner_role TEMPLATE template")
    yield server.url("owner_role", "rolling"), server.url("app_role", "rolling")
    server.execute("DROP DATABASE rolling WITH (FORCE)")


def test_an_older_and_a_newer_program_share_a_database(newer, database):
    def opened():
        return simonides.open(database[1], embedder="none", audit_key="kept elsewhere")

    with opened() as store:
        ana = store.memory(user="ana")
        ana.remember("The office is in Oslo", key="office")
        talk = ana.session("talk")
        talk.add("The train leaves at nine.")
        process = subprocess.Popen(
            [sys.executable, "-c", NEWER, *database],
            env={"PYTHONPATH": str(newer)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

        def there(call):
            process.stdin.write(f"{call}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n", process.communicate(timeout=60)[1]

        assert process.stdout.readline() == "ready\n", process.communicate(timeout=60)[1]
        there("ana.correct('office', 'The office is in Bergen')")
        there("ana.session('talk').add('It arrives at ten.')")
        assert ana.correct("office", "The office is in Turku").record.version == 3
        talk.add("It was late.")
        talk.end()
        there("ana.session('talk').messages()")
        there("ana.correct('office', 'The office is in Paris')")
        assert ana.get("office").content == "The office is in Paris"
        there("ana.forget('office')")
        assert ana.get("office") is None
        assert store.admin("root").verify_audit()
        with opened() as restarted:  # a server of the older version that fails meanwhile comes back
            assert restarted.memory(user="ana").remember("The lake is deep")
        there("ana.recall('lake')")
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_a_schema_that_is_two_versions_ahead_is_refused(server, database, monkeypatch):
    known = migrate.migrations()
    with psycopg.connect(server.url("postgres", "rolling")) as connection:
        for number in (2, 3):
            connection.execute(
                "INSERT INTO simonides.meta VALUES (%s, %s)", (f"migration 000{number}", "text")
            )
    assert set(known) == {"migration 0001"}
    with pytest.raises(simonides.StoreCorrupt, match="another version"):
        postgres.Postgres(database[1])
