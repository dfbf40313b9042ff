"""Every statement names its owner by equality."""

import re

import pytest

from simonides.storage import statements

ACROSS = {"ACROSS_OWNERS", "MEMORY", "TABLES", "SUMMED", "COLUMNS", "ORDER", "OWNED", "INDEXED"}
FUNCTIONS = {
    "heads": [(1,), (3,)],
    "insert": [(table,) for table in statements.TABLES],
    "delete": [(table,) for table in statements.TABLES],
    "page": [(table,) for table in statements.OWNED],
    "replace": [("tasks",)],
    "count": [(table,) for table in statements.OWNED],
    "delete_all": [(table,) for table in statements.OWNED],
    "of_user": [("safety",), ("feedback",)],
    "insert_row": [(table,) for table in statements.OWNED],
    "row": [(table,) for table in statements.TABLES],
    "unexpired": [("safety",), ("feedback",)],
    "expired": [("safety",), ("feedback",)],
    "ended_of": [(1,), (4,)],
    "learned_from": [(1,), (4,)],
    "by_ids": [(1,), (4,)],
    "last_reads": [(2,)],
    "tokens_of": [(2,)],
    "reads_of": [(1,), (4,)],
    "forget_receipt": [(1,), (4,)],
}


def all_statements():
    found = {}
    for name, value in vars(statements).items():
        if (
            name.startswith("_")
            or name in ACROSS
            or not (isinstance(value, str) or callable(value))
        ):
            continue
        if name in ("annotations", "lru_cache", "Callable", "Mapping"):
            continue
        if callable(value):
            for arguments in FUNCTIONS[name]:
                found[f"{name}{arguments}"] = value(*arguments)
        else:
            found[name] = value
    return found


def names_its_owner(sql):
    text = " ".join(sql.split())
    if text.startswith("INSERT") and " VALUES " in text:
        columns, values = re.findall(r"\(([^()]*)\)", text)[:2]
        named = dict(zip(columns.split(", "), values.split(", "), strict=True))
        return named.get("owner") == ":owner"
    tables = re.findall(r"\b(?:FROM|UPDATE) (?!SET\b)\w+", text)
    owned = re.findall(r"\bWHERE (?:\w\.)?owner = :owner\d*\b", text)
    text = re.sub(r"\bowner = :owner\d+ OR (?=owner = :owner\d)", "", text)
    while "(" in text:
        text = re.sub(r"\([^()]*\)", "", text)
    return len(tables) == len(owned) > 0 and " OR " not in text


@pytest.mark.parametrize(("name", "sql"), all_statements().items())
def test_a_statement_names_its_owner(name, sql):
    assert names_its_owner(sql) or sql in statements.ACROSS_OWNERS, sql


def test_exceptions_read_no_owned_table_but_the_names_of_owners():
    for sql in statements.ACROSS_OWNERS:
        table = re.search(r"\b(?:FROM|INTO|UPDATE) (?!SET\b)(\w+)", sql)[1]
        assert table in ("meta", "owners", "due", "roots")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM memories",
        "SELECT * FROM memories WHERE id = :id",
        "SELECT * FROM memories WHERE id = :id OR owner = :owner",
        "SELECT * FROM memories WHERE owner = :owner OR id = :id",
        "SELECT * FROM memories WHERE owner LIKE :owner",
        "SELECT * FROM memories WHERE owner = :owner AND id IN (SELECT subject FROM events)",
        "DELETE FROM memories WHERE id = :id",
        "UPDATE memories SET content = 'x' WHERE id = :id",
        "INSERT INTO memories (owner, id) VALUES (:other, :id)",
    ],
)
def test_the_rule_finds_a_statement_that_does_not(sql):
    assert not names_its_owner(sql)
