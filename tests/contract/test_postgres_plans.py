"""Reading and collecting an owner whom PostgreSQL's statistics do not know stays linear.

Statistics are as old as the last ANALYZE; of an owner who came since the planner expects one row. A
join that it then does by looking through all rows of the owner for each is quadratic.
"""

import pytest

from simonides.domain.writing.change import TurnRequest
from simonides.storage.schema.columns import LIVE
from simonides.testing import ALICE, BOB, Samples
from simonides.testing.store_contract import drive

pytest.importorskip("psycopg", reason="needs pip install 'psycopg[binary,pool]'")
pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

from simonides.storage.postgres.schema import SQL
from simonides.storage.postgres.store import PostgresStore

APP = "simonides_app"

ROWS, SOME = 400, 20


@pytest.fixture(scope="module")
def unknown(postgres):
    """A database, the name of an owner there that came after its ANALYZE, and its ids."""
    database, make = postgres.new_database(), Samples()
    store = PostgresStore.open(postgres.url(APP, database))
    for owner in (ALICE, BOB):
        change = make.change(*(make.memory(scope=owner) for _ in range(ROWS)))
        drive(store, store.commit(owner, TurnRequest(), lambda _, change=change: change))
        with postgres.connect("postgres", database) as connection:
            connection.autocommit = True
            if owner == ALICE:
                connection.execute("ANALYZE")
    digest, *_ = drive(store, store.chain_head(BOB))
    ids = [row.id for row in drive(store, store.rows(BOB))]
    drive(store, store.close())
    yield database, digest.hex(), ids
    postgres.drop_database(database)


def bound(owner, ids):
    """Everything that the statements bind."""
    some = ids[:SOME]
    columns = {"status": 6, "revision": 9, "known_from": 9, "due_at": 9, "state": b"s"}
    renewed = {"revisions": 1, "befores": b"", "analysers": "a", "embedders": "e", "entries": b"x"}
    return {
        **{name: [value] * SOME for name, value in (columns | renewed).items()},
        "owner": owner,
        "ids": some,
        "id": some,
        "tags": [b"tag"],
        "tag": b"tag",
        "after": "",
        "limit": ROWS,
        "known_at": 2**62,
        "given_way": 0,
        **LIVE,
    }


def thrown_away(plan):
    """Return how many rows a plan looked at in vain, by filters of joins and others."""
    here = sum(plan.get(f"Rows Removed by {what}", 0) for what in ("Join Filter", "Filter"))
    below = sum(thrown_away(each) for each in plan.get("Plans", ()))
    return here * plan["Actual Loops"] + below


def explained(postgres, database, name, given):
    """Return the plan of a statement as it was carried out; nothing of that stays."""
    statement = b"EXPLAIN (ANALYZE, FORMAT JSON) " + SQL[name]
    with postgres.connect("postgres", database) as connection:
        ((told,),) = connection.execute(statement, given).fetchall()
        connection.rollback()
    return told[0]["Plan"]


@pytest.mark.parametrize(
    "name",
    [
        "live_rows",
        "live_entries",
        "rows_page",
        "rows_as_of",
        "rows_of_ids",
        "restate",
        "renew",
        "size",
        "drop_states",
        "drop_lookups",
        "drop_payloads",
    ],
)
def test_an_owner_unknown_to_statistics_is_not_looked_through_for_each_row(name, unknown, postgres):
    database, owner, ids = unknown

    plan = explained(postgres, database, name, bound(owner, ids))

    # Once through the owner's rows for each of three tables at most, or the batch by itself.
    assert thrown_away(plan) <= 3 * 2 * ROWS + 3 * SOME**2


def test_what_has_changed_is_not_looked_for_among_all_rows(unknown, postgres):
    database, owner, ids = unknown

    plan = explained(postgres, database, "changed_rows", bound(owner, ids) | {"revision": 0})

    assert (plan["Actual Rows"], thrown_away(plan)) == (ROWS, 0)
