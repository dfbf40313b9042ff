"""What real programs wrote comes in with exact counts; stores of LangGraph are read as they are."""

import json
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

import simonides
from simonides.server.app import application
from simonides.server.callers import Callers
from simonides.testing import ManualClock, SmallEmbedder

EXPORTS = Path(__file__).parent / "exports"
STORE = EXPORTS / "langgraph_store.sqlite"
MADE = datetime(2026, 11, 29, 23, 50, tzinfo=UTC)


@pytest.fixture
def ana():
    with simonides.open(":memory:", clock=ManualClock(MADE), embedder=SmallEmbedder()) as store:
        yield store.memory(user="ana")


def texts(memory):
    return {each.content for each in memory.list(limit=100)}


TEA = {
    "Tea: Steep for three minutes",
    "Tea: Ana drinks it without sugar (since March)",
    "Tea relates to Coffee",
}
GRAPH = {
    "Ana_Berg: Lives in Bergen",
    "Ana_Berg: Allergic to nuts",
    "Ana_Berg: Drinks tea: green, no sugar",
    "Ana_Berg is sister of Ana_Koch",
}
ITEMS = {
    "Lives in Bergen",
    "Drinks tea without sugar",
    "Parks at level 3 today",
    '{"colour": "green", "size": 7}',
}


@pytest.mark.parametrize(
    ("name", "format", "reasons", "stored"),
    [
        ("basic_memory", "basic-memory", {"left:prose": 3}, TEA),
        (
            "graphiti.json",
            "zep",
            {
                "left:ended": 1, "left:other_user": 2, "left:no_role": 1,
                "left:not_a_message": 2, "left:not_a_fact": 2,
            },
            {
                "I moved to Bergen.\nMy flat is small.", "Noted: Bergen.",
                "I drink tea without sugar.", "Ana lives in Bergen", "Ana owns a cat",
            },
        ),
        ("langgraph_store.sqlite", "langgraph", {"left:other_user": 2}, ITEMS),
        (
            "letta.af",
            "letta",
            {"left:harness": 2, "left:tool": 2, "held:instruction": 1},
            {
                "Name: Ana", "Lives in Bergen", "I moved to Bergen.",
                "Noted: Bergen.", "Anything else?", "I drink tea.",
            },
        ),
        ("mcp_memory.jsonl", "mcp-memory", {"left:empty": 1}, GRAPH),
        ("mcp_read_graph.json", "mcp-memory", {"left:empty": 1}, GRAPH),
        (
            "mem0.json",
            "mem0",
            {"left:other_user": 1},
            {"I live in Bergen", "Bergen is rainy", "Prefers green tea"},
        ),
    ],
)  # fmt: skip
def test_counts_and_losses_are_exact(ana, name, format, reasons, stored):
    report = ana.data.import_from(EXPORTS / name)
    assert texts(ana) == stored
    assert (report.format, report.reasons) == (format, reasons)
    left = sum(count for reason, count in reasons.items() if reason.startswith("left:"))
    assert (report.stored, report.left) == (len(stored), left)
    again = ana.data.import_from(EXPORTS / name)
    assert (again.stored, again.known) == (0, len(stored) + report.held)


def test_an_episode_of_graphiti_is_a_conversation_of_its_group(ana):
    ana.data.import_from(EXPORTS / "graphiti.json")
    said = ana.session("zep:ana").messages()
    assert [(each.role, each.speaker) for each in said] == [
        ("user", None), ("assistant", None), ("user", "Ana"),
    ]  # fmt: skip
    assert said[2].said_at == datetime(2026, 3, 1, 9, 2, tzinfo=UTC)
    [fact] = [each for each in ana.list() if each.content == "Ana lives in Bergen"]
    assert fact.said_at == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert ana.data.import_from(EXPORTS / "graphiti.json", of="bo").stored == 2


def test_an_item_that_langgraph_lets_expire_expires_here(ana):
    ana.data.import_from(STORE)
    ana._engine.clock.advance(hours=2)
    assert texts(ana) == ITEMS - {"Parks at level 3 today"}


def test_an_item_that_has_expired_is_left():
    clock = ManualClock(MADE.replace(year=2027))
    with simonides.open(":memory:", clock=clock, embedder=SmallEmbedder()) as store:
        report = store.memory(user="ana").data.import_from(STORE)
    assert report.reasons == {"left:other_user": 2, "left:ended": 1}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_sqlite_store_is_not_changed_and_nothing_appears_beside_it(ana, tmp_path, mode):
    path = tmp_path / "store of ana?.db"
    shutil.copy(STORE, path)
    with sqlite3.connect(path) as writer:
        writer.execute(f"PRAGMA journal_mode = {mode}")
    writer.close()
    before = path.read_bytes()
    assert ana.data.import_from(path).stored == 4
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_running_program_has_in_the_log_is_read(ana, tmp_path):
    path = tmp_path / "store.db"
    shutil.copy(STORE, path)
    with sqlite3.connect(path) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        item = ("memories.ana", "k9", '{"text": "Plays chess"}')
        writer.execute("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", item)
        writer.execute("INSERT INTO store (prefix, key, value) VALUES ('ana', 'k9', '{broken')")
        writer.commit()
        report = ana.data.import_from(path)
    writer.close()
    assert (report.stored, report.problems) == (5, (("row 1", "unreadable"),))
    assert "Plays chess" in texts(ana)


def test_another_database_and_a_damaged_one_are_errors_that_say_why(ana, tmp_path):
    other, cut = tmp_path / "other.db", tmp_path / "cut.db"
    with sqlite3.connect(other) as made:
        made.execute("CREATE TABLE store (name)")
    made.close()
    cut.write_bytes(STORE.read_bytes()[:5000])
    for path, says in ((other, "has no table `store` with the columns"), (cut, "cannot read")):
        with pytest.raises(simonides.InvalidInput, match=says):
            ana.data.import_from(path)
        with pytest.raises(simonides.InvalidInput, match=says):
            ana.data.inspect(path)


TABLE = """CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL,
  created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(),
  expires_at timestamptz, ttl_minutes int, PRIMARY KEY (prefix, key))"""


def test_a_store_in_postgresql_is_read(ana, server):
    name = server.new_database()
    url = server.url("postgres", name)
    with pytest.raises(simonides.InvalidInput, match="has no table `store`"):
        ana.data.import_from(url)
    with sqlite3.connect(STORE) as raw, psycopg.connect(url) as made:
        rows = raw.execute(
            "SELECT prefix, key, value, created_at, updated_at FROM store"
        ).fetchall()
        made.execute(TABLE)
        for prefix, key, value, *times in rows:
            cells = (prefix, key, value.decode(), *(f"{time}Z" for time in times))
            made.execute("INSERT INTO store VALUES (%s, %s, %s, %s, %s)", cells)
    raw.close()
    report = ana.data.import_from(url)
    assert (report.stored, report.reasons) == (4, {"left:other_user": 2})
    assert texts(ana) == ITEMS
    # The same items come from the other database.
    assert ana.data.import_from(STORE, dry_run=True).known == 4
    with psycopg.connect(url) as made:
        made.execute("DROP TABLE store")
    server.give_back(name)


def test_an_error_of_an_address_holds_no_password(ana):
    with pytest.raises(simonides.StoreUnavailable) as raised:
        ana.data.import_from("postgresql://ana:hunter2hunter2@127.0.0.1:9/notes")
    assert "hunter2" not in str(raised.value)
    assert "127.0.0.1:9" in str(raised.value)


def test_a_server_connects_nowhere_for_a_client(monkeypatch):
    def connect(*_, **__):
        raise AssertionError("connected")

    monkeypatch.setattr(psycopg, "connect", connect)
    url = "postgresql://ana@127.0.0.1:9/notes"
    with simonides.open("http://127.0.0.1:9", token="none") as store:
        data = store.memory(user="ana").data
        for verb in (data.import_from, data.inspect):
            with pytest.raises(simonides.ConfigurationError, match="needs a store opened here"):
                verb(url)
    with simonides.open(":memory:", embedder=SmallEmbedder()) as store:
        paths = application(store, Callers(store._engine)).openapi()["paths"]
    assert not [path for path in paths if "import" in path or "inspect" in path]


def test_turns_of_another_user_stay_out(ana, tmp_path):
    rows = [
        {"role": "user", "session": "s", "id": f"m{n}", "content": f"I am {name}", "user_id": name}
        for n, name in enumerate(("ana", "bo"))
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert ana.data.import_from(path).reasons == {"left:other_user": 1}
    assert texts(ana) == {"I am ana"}


def test_conversations_that_take_turns_keep_their_order_and_their_repeats(ana, tmp_path):
    rows = [
        {"role": "user", "session": f"s{n % 3}", "content": "Yes." if n > 5 else f"Line {n}"}
        for n in range(12)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    report = ana.data.import_from(path)
    assert (report.stored, report.conversations) == (12, 3)
    said = [each.content for each in ana.session("plain:s1").messages()]
    assert said == ["Line 1", "Line 4", "Yes.", "Yes."]
    assert ana.data.import_from(path).known == 12
