"""Every edit of every table that decides is found under an audit key."""

import shutil

import apsw
import pytest

import simonides
from simonides.storage import statements

KEY = "kept elsewhere"

COUNTED = {
    "tokens": "vectors of words, made anew from the text",
    "reads": "how often something was read",
    "counters": "figures of digests and quotas",
    "due": "when work is due",
}
"""Tables that prove nothing, with the reason."""

ANA, BEN = "/org/acme/user/ana", "/org/acme/user/ben"


def fill(path):
    """Make a store with rows in every table that has a digest or a sum."""
    with simonides.open(path, audit_key=KEY, embedder="none") as store:
        admin = store.admin(actor="root")
        for user in ("ana", "ben"):
            memory = store.memory(user=user, org="acme")
            memory.remember("The dog is called Rex", key="dog", idempotency_key="first")
            memory.remember("The dog is called Max", key="dog", idempotency_key="second")
            memory.remember("The office is in Oslo")
            talk = memory.session("monday")
            talk.add("I live in Oslo. My sister lives in Bergen.")
            talk.add("I moved to Bergen.")
            talk.digest("office")
            memory.session("tuesday").add("Good morning")
            memory.task("Paint the house", name="paint").note("Blue is best")
            memory.task("Paint the fence", name="fence")
            memory.privacy.refuse(about="my health")
            memory.privacy.refuse(about="my religion")
            memory.forget(memory.remember("The cat is called Tom").record)
            memory.forget(memory.remember("The fish is called Bob").record)
            memory.digest("office")
            memory.add("Forget everything that you know about me")
            memory.session("tuesday").add("Forget my sister or my office, I do not know")
            memory.audit.record_safety("threat", level="high")
            memory.audit.record_feedback("good")
            memory.audit.record_safety("threat", level="low")
            memory.audit.record_feedback("bad")
            admin.grant(user, "org_write", org="acme")
            admin.new_token(f"laptop-{user}", user=user, org="acme")
        folder = path.parent / "notes"
        folder.mkdir(exist_ok=True)
        for name in ("one", "two"):
            (folder / f"{name}.md").write_text(f"The {name} is here.", "utf-8")
        store.add_source(folder, org="acme")
        memory = store.memory(user="ana", org="acme")
        memory.promote(memory.recall("office")[0].record, to="org")
        memory.promote(memory.recall("dog")[0].record, to="org")
        store.flush()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    fill(path)
    return path


@pytest.fixture
def after(filled, tmp_path):
    """Return a function that edits a copy of the store, and says what a check finds."""

    def after(*edits):
        path = tmp_path / "copy.db"
        shutil.copyfile(filled, path)
        raw = apsw.Connection(str(path))
        before = raw.total_changes()
        for sql, *params in edits:
            raw.execute(sql, *params)
        changed = raw.total_changes() - before
        raw.close()
        with simonides.open(path, audit_key=KEY, embedder="none") as store:
            problems = store.admin(actor="root").verify_audit().problems
        assert changed
        return problems

    return after


def rows_of(path, table):
    raw = apsw.Connection(str(path))
    about = list(raw.execute(f"PRAGMA table_info({table})"))
    names, keys = [row[1] for row in about], [row[1] for row in about if row[5]]
    rows = [dict(zip(names, row, strict=True)) for row in raw.execute(f"SELECT * FROM {table}")]
    raw.close()
    return keys, rows


def other(value):
    """Return another value of the same type."""
    match value:
        case bytes():
            return bytes([value[0] ^ 1]) + value[1:] if value else b"x"
        case str():
            return f"{value}x"
        case None:
            return 1
        case _:
            return value + 1


def where(keys):
    return " AND ".join(f"{key} = :k_{key}" for key in keys)


def named(keys, row):
    return {f"k_{key}": row[key] for key in keys}


TABLES = [table for table in statements.OWNED if table not in COUNTED]


@pytest.mark.parametrize("table", TABLES)
def test_every_edit_of_a_table_is_found(after, filled, table):
    keys, rows = rows_of(filled, table)
    assert len(rows) > 1, "the filled store needs rows here"
    row, second = rows[0], rows[-1]
    nullable = {"owner"} if table == "owners" else set()
    for name in sorted(row.keys() - nullable):
        edit = f"UPDATE OR REPLACE {table} SET {name} = :new WHERE {where(keys)}"
        strict = {**named(keys, row), "new": other(row[name])}
        if row[name] is None:
            continue  # another row has a value there
        assert after((edit, strict)), name
    gone = f"DELETE FROM {table} WHERE {where(keys)}"
    assert after((gone, named(keys, row))), "a row is gone"
    assert after((f"DELETE FROM {table}",)), "all rows are gone"
    names = ", ".join(row)
    insert = f"INSERT OR REPLACE INTO {table} ({names}) VALUES (:{', :'.join(row)})"
    free = next((key for key in reversed(keys) if key != "owner"), "owner")
    added = {**row, free: other(row[free])}
    if table == "api_tokens":
        added["prefix"] = "another"
    assert after((insert, added)), "a row was added"
    if table != "owners":
        elsewhere = BEN if row["owner"] == ANA else ANA
        assert after((insert, {**row, "owner": elsewhere})), "a row was copied to another owner"
    swapped = {**second, **{key: row[key] for key in keys}}
    if swapped != row:
        assert after((insert, swapped)), "a row has the content of another"


def test_the_root_and_the_secret_are_bound_to_the_key(after):
    assert after(("UPDATE meta SET value = 'ab' WHERE name = 'secret'",))
    assert after(("UPDATE roots SET owners = owners + 1",))
    assert after(("UPDATE roots SET changes = changes - 1",))
    assert after(("DELETE FROM roots",))


def test_an_owner_that_is_missing_or_was_added_is_found(after, filled):
    gone = [(f"DELETE FROM {table} WHERE owner = ?", (BEN,)) for table in statements.OWNED]
    assert after(*gone) == ("store: an owner went back, is missing or was added",)
    copied = []
    for table in statements.OWNED:
        for row in rows_of(filled, table)[1]:
            if row["owner"] == BEN:
                names = ", ".join(row)
                sql = f"INSERT INTO {table} ({names}) VALUES (:{', :'.join(row)})"
                copied.append((sql, {**row, "owner": "/org/acme/user/eve"}))
    assert after(*copied)


def test_an_owner_that_went_back_is_found(filled, tmp_path):
    """A right that was revoked is in force again if all rows of an owner go back."""
    path = tmp_path / "memory.db"
    shutil.copyfile(filled, path)
    before = {table: rows_of(path, table)[1] for table in statements.OWNED}
    with simonides.open(path, audit_key=KEY, embedder="none") as store:
        admin = store.admin(actor="root")
        heads = admin.heads()
        admin.revoke("ana", "org_write", org="acme")
        later = admin.heads()
    raw = apsw.Connection(str(path))
    for table, rows in before.items():
        raw.execute(f"DELETE FROM {table} WHERE owner = '/org/acme'")
        for row in (row for row in rows if row["owner"] == "/org/acme"):
            raw.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES (:{', :'.join(row)})", row)
    raw.close()
    with simonides.open(path, audit_key=KEY, embedder="none") as store:
        admin = store.admin(actor="root")
        assert admin.grants(org="acme")
        assert admin.verify_audit().problems == (
            "store: an owner went back, is missing or was added",
        )
        named = [
            p for p in admin.verify_audit(against=later).problems if p.startswith("/org/acme:")
        ]
        assert "went back behind event" in named[0]
        assert len(admin.verify_audit(against=heads).problems) == 1
    with pytest.raises(simonides.StoreCorrupt, match="an owner went back"):
        simonides.open(path, audit_key=KEY, verify=True)


def test_a_whole_file_that_went_back_is_found_by_saved_heads(filled, tmp_path):
    path = tmp_path / "memory.db"
    shutil.copyfile(filled, path)
    with simonides.open(path, audit_key=KEY, embedder="none") as store:
        store.memory(user="ana", org="acme").remember("The train leaves at nine")
        heads = store.admin(actor="root").heads()
    shutil.copyfile(filled, path)
    with simonides.open(path, audit_key=KEY, embedder="none") as store:
        admin = store.admin(actor="root")
        assert admin.verify_audit()
        [problem] = admin.verify_audit(against=heads).problems
        assert problem.startswith(f"{ANA}: the chain went back behind event")
        with pytest.raises(simonides.InvalidInput, match="against"):
            admin.verify_audit(against={ANA: "x"})


def test_the_daily_work_raises_an_alert(filled, tmp_path):
    from datetime import timedelta

    from simonides.testing import ManualClock

    path = tmp_path / "memory.db"
    shutil.copyfile(filled, path)
    raw = apsw.Connection(str(path))
    raw.execute("UPDATE memories SET content = 'The office is in Rome' WHERE content LIKE '%Oslo'")
    raw.close()
    now = simonides.core.clock.SystemClock().now_ms()
    clock = ManualClock(simonides.core.clock.to_datetime(now) + timedelta(days=1, hours=1))
    with simonides.open(path, audit_key=KEY, embedder="none", clock=clock) as store:
        store.flush()
        alerts = store.memory(user="ana", org="acme").status()["alerts"]
        assert "audit" in [alert.name for alert in alerts]
