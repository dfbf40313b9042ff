"""What every statement of the SQLite store has in common: one owner, by index, values bound."""

import re

import apsw
import pytest

from simonides.storage.schema.sql_files import load_queries
from simonides.storage.sqlite.file.schema import SQL, SQL_DIRECTORY

# For the operator, or about the store itself.
OF_NO_OWNER = {
    "add_meta",
    "add_migration",
    "drop_meta",
    "meta",
    "migrations",
    "nameless",
    "outbox_of_all",
    "owner_names",
    "sessions_due",
    "put_meta",
    "version",
}
OF_ONE_OWNER = sorted(set(SQL) - OF_NO_OWNER)


@pytest.fixture(scope="module")
def connection():
    connection = apsw.Connection(":memory:")
    for file in sorted(SQL_DIRECTORY.glob("[0-9]*.sql")):
        connection.execute(file.read_text("utf-8")).fetchall()
    yield connection
    connection.close()


def plan_of(connection, statement):
    bound = dict.fromkeys(re.findall(r":(\w+)", statement))
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bound)]


@pytest.mark.parametrize("name", OF_ONE_OWNER)
def test_a_statement_names_its_owner(name):
    assert ":owner" in SQL[name]


@pytest.mark.parametrize("name", OF_ONE_OWNER)
def test_no_statement_walks_through_other_owners_rows(connection, name):
    scans = [step for step in plan_of(connection, SQL[name]) if step.startswith("SCAN")]

    # The steps of a recursive walk are rows of its own, and those of a list are what was bound.
    harmless = {"SCAN story", "SCAN CONSTANT ROW", "SCAN j VIRTUAL TABLE INDEX 1:"}
    assert [step for step in scans if step not in harmless] == []
    assert all("owner=?" in s for s in plan_of(connection, SQL[name]) if s.startswith("SEARCH"))


@pytest.mark.parametrize("name", sorted(SQL))
def test_no_statement_has_a_value_written_in(name):
    # Zero, one and the empty blob are part of what a statement means.
    literals = re.findall(r"'[^']*'|\b\d+\b", re.sub(r"--.*", "", SQL[name]))
    without_names = [literal for literal in literals if not literal.startswith("live_")]

    assert set(without_names) <= {"''", "0", "1"}


def test_every_table_of_an_owner_begins_its_key_with_it(connection):
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    firsts = {
        table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5] == 1]
        for (table,) in tables
    }

    assert {table for table, first in firsts.items() if first != ["owner"]} == {
        "meta",
        "migrations",
    }


def test_a_query_file_is_read_by_names():
    text = "-- About.\n\n-- name: one\n-- Why.\nSELECT 1;\n\n-- name: two\nSELECT\n  2;\n"

    assert load_queries(text) == {"one": "SELECT 1", "two": "SELECT\n  2"}
