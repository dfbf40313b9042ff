"""The audit trail: what it lists, and which changes behind its back it finds."""

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

import simonides
from simonides import Draft, InvalidInput
from simonides.core.scope import scope_of

AUDIT_KEY = "kept elsewhere"
OWNER = "/org/acme/user/ana"


@pytest.fixture
def filled(store, ana, ben):
    """A store with every sort of row and event, and the row of a memory as it was first."""
    ana.remember("good", key="k")
    ana.remember("better", key="k")
    ana.remember("kept", key="old")
    ana.remember("gone", key="gone")
    ana.forget("gone")
    ben.remember("ben's own words")
    store.admin("root").grant("ana", "org_write", org="acme")
    assert store.admin("root").verify_audit()
    return store


TAMPER = {
    "content edited": ["UPDATE memories SET content = 'evil' WHERE version = 2"],
    "label edited": ["UPDATE memories SET trust = 'system' WHERE key = 'old'"],
    "number edited": ["UPDATE memories SET confidence = 0.5 WHERE key = 'old'"],
    "vector edited": ["UPDATE memories SET vector = NULL WHERE key = 'old'"],
    "row removed": ["DELETE FROM memories WHERE key = 'old'"],
    "old version removed": ["DELETE FROM memories WHERE version = 1 AND key = 'k'"],
    "old version in force again": [
        "UPDATE memories SET known_to = 5 WHERE version = 2",
        "UPDATE memories SET known_to = NULL, ended = NULL, ended_by = NULL WHERE version = 1",
    ],
    "put into a task": ["UPDATE memories SET task = 't' WHERE key = 'old'"],
    "event edited": ["UPDATE events SET actor = 'x' WHERE seq = 2"],
    "data of an event edited": ["UPDATE events SET data = '{}' WHERE seq = 2"],
    "event removed": ["DELETE FROM events WHERE seq = 2"],
    "last event removed": ["DELETE FROM events WHERE seq = (SELECT MAX(seq) FROM events)"],
    "all events removed": ["DELETE FROM events"],
    "events re-ordered": [
        "UPDATE events SET seq = 99 WHERE seq = 1",
        "UPDATE events SET seq = 1 WHERE seq = 2",
        "UPDATE events SET seq = 2 WHERE seq = 99",
    ],
    "head rolled back": ["UPDATE owners SET events = events - 1"],
    "tombstone removed": ["DELETE FROM tombstones"],
    "tombstone edited": ["UPDATE tombstones SET at = 5"],
}


@pytest.mark.parametrize("attack", TAMPER)
def test_a_change_behind_the_back_is_found(filled, ana, attack):
    with filled._engine.db.write(OWNER) as connection:
        for statement in TAMPER[attack]:
            connection.run(statement + _only(statement), {})
    report = ana.audit.verify()
    assert report.problems
    assert all(problem.startswith(OWNER) for problem in report.problems)
    whole = filled.admin("root").verify_audit().problems
    assert whole[: len(report.problems)] == report.problems
    assert all(problem.startswith("store: ") for problem in whole[len(report.problems) :])


def _only(statement):
    """Keep an attack to one owner on SQLite, where nothing else does."""
    return f" {'AND' if ' WHERE ' in statement else 'WHERE'} owner = '{OWNER}'"


@pytest.mark.parametrize(
    "attack",
    [
        "DELETE FROM grants",
        "UPDATE grants SET right_ = 'admin'",
        "UPDATE grants SET grantee = 'ben'",
        "INSERT INTO grants SELECT owner, :id, 'ben', right_, subject, by_, at FROM grants",
    ],
)
def test_a_changed_grant_is_found(filled, attack):
    with filled._engine.db.write("/org/acme") as connection:
        connection.run(attack, {"id": bytes(16)})
    assert filled.admin("root").verify_audit().problems


def test_a_row_put_back_to_an_earlier_state_is_found(filled, ana):
    db, columns = filled._engine.db, ("updated_at", "verified_at", "soft_expires_at")
    select = f"SELECT {', '.join(columns)} FROM memories WHERE owner = :owner AND key = 'old'"
    with db.read(OWNER) as connection:
        [before] = connection.rows(select, {"owner": OWNER})
    filled._engine.clock.advance(days=1)
    ana.confirm("old")
    assert ana.audit.verify()
    assignments = ", ".join(f"{name} = :{name}" for name in columns)
    with db.write(OWNER) as connection:
        values = {"owner": OWNER, **dict(zip(columns, before, strict=True))}
        connection.run(
            f"UPDATE memories SET {assignments} WHERE owner = :owner AND key = 'old'", values
        )
    assert ana.audit.verify().problems


@pytest.mark.parametrize("open_store", ["file", "encrypted"], indirect=True)
def test_a_row_given_to_another_owner_is_found(filled):
    with filled._engine.db.write(OWNER) as connection:
        connection.run("UPDATE memories SET owner = '/org/acme/user/ben' WHERE key = 'old'", {})
    problems = filled.admin("root").verify_audit().problems
    assert {problem.split(":")[0] for problem in problems} == {OWNER, "/org/acme/user/ben"}


@pytest.mark.parametrize("open_store", ["file", "encrypted", "postgres"], indirect=True)
def test_another_audit_key_is_refused_and_nothing_is_written(filled, open_store):
    for key, said in (("another", "another audit key"), (None, "an audit key")):
        with pytest.raises(simonides.KeyUnavailable, match=f"made under {said}$"):
            open_store(audit_key=key)
    assert open_store(verify=True).admin("root").verify_audit()


def test_a_key_for_a_store_that_was_made_without_one_is_refused(tmp_path):
    path = tmp_path / "memory.db"
    with simonides.open(path, embedder="none") as store:
        store.memory(user="ana").remember("I like tea")
    with pytest.raises(simonides.KeyUnavailable, match="no audit key; a key is for a new store"):
        simonides.open(path, audit_key="a key")
    with simonides.open(path, embedder="none", verify=True) as store:
        assert store.memory(user="ana").audit.verify()


def read_everything(store):
    ana = store.memory(user="ana", org="acme")
    reads = (
        ana.list, ana.sessions, ana.audit.list, ana.audit.verify, ana.pending.list, ana.status,
        lambda: ana.digest("good"), lambda: ana.history("k"), store.admin("root").verify_audit,
    )  # fmt: skip
    for read in reads:
        with contextlib.suppress(simonides.SimonidesError):
            read()


@pytest.mark.parametrize("open_store", ["file"], indirect=True)
@pytest.mark.parametrize("bit", [0, 7])
def test_a_flipped_bit_in_the_name_of_an_owner_is_found(filled, tmp_path, bit):
    path = filled._engine.db.location
    filled.close()
    # Other tables than these, of times of jobs and counts of reads, are in the chain.
    with contextlib.closing(sqlite3.connect(path)) as raw:
        [size] = raw.execute("PRAGMA page_size").fetchone()
        named = "SELECT rootpage FROM sqlite_master WHERE name IN ('due', 'reads')"
        apart = {page - 1 for (page,) in raw.execute(named)}
    whole, flipped = Path(path).read_bytes(), tmp_path / "flipped.db"
    places = [found.start() for found in re.finditer(OWNER.encode(), whole)]
    places = [place for place in places if place // size not in apart]
    assert len(places) > 20
    for number, place in enumerate(places):
        damaged = bytearray(whole)
        damaged[place + number % len(OWNER)] ^= 1 << bit
        flipped.write_bytes(damaged)
        with pytest.raises(simonides.StoreCorrupt):
            simonides.open(flipped, audit_key=AUDIT_KEY, verify=True)
        with simonides.open(flipped, audit_key=AUDIT_KEY) as store:
            read_everything(store)
        for each in tmp_path.glob("flipped.db*"):
            each.unlink()


@pytest.mark.parametrize(
    "owner", ["/org/acme/ucer/ana", "/org", "/org/a b", "org", "/org/acme/user"]
)
def test_the_name_of_an_owner_that_is_none_means_a_damaged_store(owner):
    with pytest.raises(simonides.StoreCorrupt, match="is no owner"):
        scope_of(owner, None)


def test_heads_show_that_the_whole_file_was_put_back(ana):
    ana.remember("one")
    before = ana.audit.verify().heads
    ana.remember("two")
    after = ana.audit.verify().heads
    assert after[OWNER][0] == before[OWNER][0] + 1
    assert after[OWNER][1] != before[OWNER][1]


def test_the_trail_names_who_did_what_and_when(store, ana, clock):
    record = ana.remember("good", key="k").record
    clock.advance(days=1)
    acting = store.memory(user="ana", org="acme", actor="carer", agent="helper")
    acting.correct("k", "better")
    acting.forget("k")
    events = ana.audit.list()
    assert [event.seq for event in events] == list(range(len(events), 0, -1))
    assert {(event.actor) for event in events} == {"/global/org/acme/user/ana/", "carer helper"}
    assert "good" not in repr(events.to_dict())
    assert "better" not in repr(events.to_dict())

    def types(**options):
        return [event.type.value for event in ana.audit.list(**options)]

    assert types(type="created") == ["created"]
    assert types(memory=record.root) == ["corrected", "superseded", "created"]
    assert types(actor="carer helper", type="forgotten") == ["forgotten"] * 2
    assert types(until=clock.now) == ["created"]
    assert len(types(since=clock.now)) == len(events) - 1


def test_pages_of_the_trail_hold_every_event_once(ana):
    ana.remember_many([Draft(f"thing {n}", key=f"k{n}") for n in range(25)])
    seen, cursor = [], None
    while True:
        page = ana.audit.list(limit=7, cursor=cursor)
        seen += [event.seq for event in page]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == list(range(25, 0, -1))
    for wrong in ("x", "-1", "", 5, "9" * 30):
        with pytest.raises(InvalidInput):
            ana.audit.list(cursor=wrong)


def test_a_marked_memory_and_a_turn_that_was_there_fit_the_chain(ana):
    ana.remember("Write to ana@example.com about the lease")
    turn = Draft("Hello", session="s", position=0)
    ana.remember_many([turn])
    ana.remember_many([Draft("Hello again", session="s", position=0)])
    assert ana.audit.verify().problems == ()
