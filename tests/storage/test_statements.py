"""Every statement names its owner by equality."""

import inspect
import re

import pytest

from simonides.storage import statements

CONSTANTS = {
    name: value
    for name, value in vars(statements).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
}
MADE = {
    "heads": statements.heads(3),
    "by_ids": statements.by_ids(3),
    "reads_of": statements.reads_of(3),
    **{
        f"{make.__name__} {table}": make(table)
        for make in (statements.insert, statements.delete, statements.page)
        for table in statements.TABLES
    },
}
OWNED = {
    name: sql for name, sql in {**CONSTANTS, **MADE}.items() if sql not in statements.ACROSS_OWNERS
}


def test_all_functions_that_make_statements_are_tried():
    makers = [
        name for name, value in vars(statements).items()
        if callable(value) and getattr(value, "__module__", "") == statements.__name__
        and not name.startswith("_") and not inspect.isclass(value)
    ]  # fmt: skip
    assert sorted(makers) == sorted({name.split()[0] for name in MADE})


@pytest.mark.parametrize("name", OWNED)
def test_a_statement_names_its_owner_by_equality(name):
    sql = " ".join(OWNED[name].split())
    if sql.startswith("INSERT INTO"):
        columns, values = re.search(r"\((.*?)\) VALUES \((.*?)\)", sql).groups()
        pairs = dict(zip(columns.split(", "), values.split(", "), strict=True))
        assert pairs["owner"] == ":owner"
        return
    # Each query has a condition of its own, subqueries too.
    assert len(re.findall(r"\bFROM|UPDATE \w+ SET", sql)) <= len(
        re.findall(r"\bowner = :owner\d*", sql)
    )


def test_a_statement_across_owners_reads_no_content():
    for sql in statements.ACROSS_OWNERS:
        assert not re.search(r"memories|events|tombstones|grants", sql)
