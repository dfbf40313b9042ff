"""Tables that are split by owner: within one PostgreSQL, and what Citus is told."""

import re

import psycopg
import pytest
from psycopg import sql
from test_statements import all_statements

import simonides
from simonides import StoreError
from simonides.storage import statements
from simonides.storage.postgres import PARTITIONS, PARTS, init, split_schema

OWNER = "/org/acme/user/ana"
SAMPLE = {"bigint": 1, "double precision": 1.0, "text": "x", "bytea": b"x"}


@pytest.fixture(scope="session")
def owner_url(server):
    server.execute("CREATE DATABASE partitioned OWNER owner_role")
    url = server.url("owner_role", "partitioned")
    init(url, "app_role", distributed="partitions")
    return url


@pytest.fixture(scope="session")
def url(owner_url):
    return owner_url.replace("owner_role", "app_role")


def test_a_partitioned_store_remembers_recalls_forgets_and_erases(url):
    with simonides.open(url) as store:
        for user in ("ana", "ben"):
            memory = store.memory(user=user, org="acme")
            memory.remember(f"{user.title()} plays the cello", key="music").raise_for_refusal()
            memory.remember(f"{user.title()} lives in Bern", key="town").raise_for_refusal()
    with simonides.open(url) as store:
        ana, ben = (store.memory(user=user, org="acme") for user in ("ana", "ben"))
        assert ana.recall("cello")[0].content == "Ana plays the cello"
        ana.forget("music")
        assert [each.key for each in ana.list()] == ["town"]
        assert ana.data.erase(confirm="ana").rows["memories"] == 1
        assert ana.list() == []
        assert len(ben.list()) == 2
        assert store.admin("root").verify_audit().ok


def test_a_role_reaches_rows_only_through_the_whole_table(url):
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT * FROM {PARTS}.memories_0")


def test_a_schema_stays_split_as_it_was_made(owner_url):
    init(owner_url, "app_role")
    init(owner_url, "app_role", distributed="partitions")
    with pytest.raises(StoreError, match="made in another way"):
        init(owner_url, "app_role", distributed="citus")


# -- statements ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def planner(url):
    """Return a connection with rights on the rows of the owners that statements are asked for."""
    with psycopg.connect(url, prepare_threshold=None) as connection:
        owners = "{" + ",".join(f"{OWNER}{number}" for number in ("", 0, 1, 2)) + "}"
        connection.execute("SET search_path = simonides")
        connection.execute("SELECT set_config('simonides.read', %s, false)", [owners])
        connection.execute("SELECT set_config('simonides.write', %s, false)", [OWNER])
        yield connection


HIGH = {"high": b"\xff"}
"""What an upper bound is, so that it is not below the lower one."""


def is_owner(name):
    return re.fullmatch(r"owner\d*", name)


def partitions_of(connection, statement, names):
    """Return the partitions in the plan of a statement."""
    text = re.sub(r"(?<!:):([a-z]\w*)", lambda found: f"${names.index(found[1]) + 1}", statement)
    connection.execute(f"DEALLOCATE ALL; PREPARE asked AS {text}")
    prepared = "SELECT parameter_types::text[] FROM pg_prepared_statements"
    [(types,)] = connection.execute(prepared).fetchall()
    values = [
        sql.Literal(
            OWNER + name[len("owner") :] if is_owner(name) else HIGH.get(name, SAMPLE[type])
        )
        for name, type in zip(names, types, strict=True)
    ]
    asked = sql.SQL("EXPLAIN (FORMAT JSON) EXECUTE asked ({})").format(sql.SQL(", ").join(values))
    [[found]] = connection.execute(asked).fetchone()
    return set(relations(found["Plan"])) - set(statements.OWNED)


def relations(plan):
    if "Relation Name" in plan:
        yield plan["Relation Name"]
    for each in plan.get("Plans", ()):
        yield from relations(each)


def partition_of(connection, owner):
    parts = (
        "SELECT part FROM generate_series(0, %s) part "
        "WHERE satisfies_hash_partition('owners'::regclass, %s, part, %s::text)"
    )
    return connection.execute(parts, (PARTITIONS - 1, PARTITIONS, owner)).fetchone()[0]


def owned_statements():
    """Return all statements but those over all owners, which read no content."""
    return [
        pytest.param(each, id=name)
        for name, each in all_statements().items()
        if each not in statements.ACROSS_OWNERS
    ]


@pytest.mark.parametrize("statement", owned_statements())
def test_a_statement_reads_the_partition_of_its_owner(planner, statement):
    names = list(dict.fromkeys(re.findall(r"(?<!:):([a-z]\w*)", statement)))
    parts = {
        partition_of(planner, OWNER + each[len("owner") :]) for each in filter(is_owner, names)
    }
    found = partitions_of(planner, statement, names)
    assert {int(each.rpartition("_")[2]) for each in found} <= parts
    assert found or statement.startswith("INSERT")  # the row itself says where it goes


def test_a_statement_without_its_owner_reads_all_partitions(planner):
    assert (
        len(partitions_of(planner, "SELECT id FROM memories WHERE id = :id", ["id"])) == PARTITIONS
    )


# -- Citus -----------------------------------------------------------------------------------------


def test_citus_is_told_where_each_table_lies():
    text = "\n".join(split_schema("citus"))
    made = re.findall(r"^CREATE TABLE (\w+)", text, re.MULTILINE)
    told = re.findall(
        r"create_(?:distributed|reference)_table\('simonides\.(\w+)'(?:, '(\w+)')?", text
    )
    assert [table for table, _ in told] == made
    by_column = {column: {table for table, each in told if each == column} for _, column in told}
    assert by_column == {"owner": set(statements.OWNED), "part": {"roots"}, "": {"meta"}}
    together = set(
        re.findall(r"'simonides\.(\w+)', 'owner', colocate_with => 'simonides.owners'", text)
    )
    assert together == set(statements.OWNED) - {"owners"}


def test_an_insertion_has_no_subquery():
    """Citus refuses one, also among what it returns."""
    for name, each in all_statements().items():
        assert not re.match(r"INSERT .* VALUES .*\bSELECT\b", each, re.DOTALL), name
