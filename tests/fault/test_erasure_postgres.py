"""What is erased from PostgreSQL is vacuumed, or the receipt says what that waits for."""

import psycopg
import pytest
from erasing import Life, rows_of

from principals import erase, principal_of
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.engine.recall.read_journal import ReadJournal
from simonides.settings import Settings
from simonides.types import ErasureState


@pytest.fixture
def store(postgres, database):
    url = postgres.url("simonides_app", database)
    with Store(assemble(url, inline=True, settings=Settings(reindex="manual"))) as opened:
        yield opened


@pytest.fixture
def owner(postgres, database):
    """A connection of the role that owns the tables."""
    with psycopg.connect(postgres.url("simonides_owner", database), autocommit=True) as connection:
        yield connection


def test_a_life_is_erased_and_others_stay_as_they_were(store):
    store.admin(actor="root").grant("ana", "org_write")
    ana, bob, life = store.memory(user="ana"), store.memory(user="bob"), Life("postgres")
    Life("bob").lead(bob, org=False)
    store._driver.run(store.runtime.part(ReadJournal).flush())
    before = rows_of(store, principal_of(bob).home)
    life.lead(ana)
    assert len(bob.list(scopes=["org"])) == 1

    receipt = erase(ana)

    assert receipt.state is ErasureState.COMPLETE
    assert receipt.copies == 1
    assert ana.list() == ()
    assert {outcome.kind for outcome in life.replay(ana)} == {"blocked"}
    assert rows_of(store, principal_of(bob).home) == before
    assert store.admin(actor="root").check_audit().ok
    assert store.admin(actor="root").check_erasure(receipt).ok


def test_the_receipt_waits_for_who_may_still_see_the_rows(store, owner):
    ana = store.memory(user="ana")
    ana.remember("The door code is 4711", key="door")
    owner.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    owner.execute("SELECT count(*) FROM simonides.migrations")

    pending = erase(ana)
    owner.execute("COMMIT")
    done = ana.data.erasure()

    assert (pending.state, pending.waits) == (ErasureState.PENDING, ("old_snapshots",))
    assert (done.state, done.waits) == (ErasureState.COMPLETE, ())
    codes = {each.code for each in done.remains}
    assert {"free_space", "write_ahead_log", "log_archive", "replicas", "server_backups"} <= codes
    assert done.files == ()
    assert store.admin(actor="root").check_erasure(done).ok


def test_where_the_application_may_not_vacuum_its_owner_does(store, owner):
    owner.execute("REVOKE MAINTAIN ON ALL TABLES IN SCHEMA simonides FROM simonides_app")
    ana = store.memory(user="ana")
    ana.remember("The door code is 4711", key="door")

    pending = erase(ana)
    for (table,) in owner.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'simonides'::regnamespace"
        " AND relkind = 'r'"
    ).fetchall():
        owner.execute(f"VACUUM simonides.{table}")
    done = ana.data.erasure()

    assert pending.waits == ("vacuum_not_permitted",)
    assert done.state is ErasureState.COMPLETE
