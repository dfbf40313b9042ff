"""What is recorded for operators: kept for its time, without names, and in no prompt."""

import json
from datetime import timedelta

import pytest

import simonides
from simonides import InvalidInput, ScopeDenied
from simonides.cli import main
from simonides.core.scope import Principal, Scope
from simonides.safety import records
from simonides.testing import ManualClock

USER, SESSION, TOKEN = "ana-4711", "visit-at-nine", "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
NOTE = f"{USER.upper()} wrote to eve@example.com in {SESSION}: the token is {TOKEN}."
TABLES = ("safety", "feedback", "events", "owners", "due")


@pytest.fixture
def talk(store):
    return store.memory(user=USER, org="acme").session(SESSION)


@pytest.fixture
def admin(store):
    return store.admin(actor="root")


def rows(store, table, owner="/org/acme"):
    with store._engine.db.read(owner) as connection:
        return connection.rows(f"SELECT * FROM {table} WHERE owner = :owner", {"owner": owner})


def fill(audit):
    return audit.record_safety("self_harm", note=NOTE), audit.record_feedback("helpful", note=NOTE)


def test_operators_read_what_was_recorded_newest_first(talk, admin, clock):
    first = talk.audit.record_safety("self_harm", level="critical", note="He called for help.")
    clock.advance(days=1)
    second = talk.audit.record_safety("abuse")
    said = talk.audit.record_feedback("thumbs-down", source="program")
    assert admin.safety(org="acme") == [second, first]
    assert admin.feedback(org="acme") == [said]
    assert (first.kind, first.level, first.note) == ("self_harm", "critical", "He called for help.")
    assert (second.level, second.note, second.at) == ("high", None, clock.now)
    assert (said.label, said.source) == ("thumbs-down", "program")
    assert first.expires_at - first.at == timedelta(days=90)
    assert said.expires_at - said.at == timedelta(days=180)
    assert admin.safety(org="acme", limit=1) == [second]
    assert admin.safety(org="acme", since=clock.now) == [second]
    assert admin.safety(org="acme", since=clock.now + timedelta(seconds=1)) == []
    with pytest.raises(ValueError, match="frozen"):
        first.kind = "abuse"


def test_what_is_stored_names_nobody_and_holds_no_secret(store, talk, admin):
    for kept in fill(talk.audit):
        assert kept.note == "[user] wrote to [personal] in [session]: the token is [secret]."
    stored = repr([rows(store, table) for table in TABLES]).lower()
    assert "self_harm" in stored
    for part in (USER, SESSION, TOKEN, "eve@example.com"):
        assert part.lower() not in stored
    assert "[user]" not in repr(rows(store, "events"))


@pytest.mark.parametrize("open_store", ["file"], indirect=True)
def test_no_file_holds_the_name_of_the_user_or_the_session(talk, tmp_path):
    fill(talk.audit)
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir()).lower()
    assert b"self_harm" in left
    assert [part for part in (USER, SESSION, TOKEN) if part.lower().encode() in left] == []


def test_codes_tell_users_and_sessions_apart_and_no_more(open_store, store, talk):
    def codes(memory):
        return memory.audit.record_safety("abuse").model_dump(include={"user_code", "session_code"})

    mine = codes(talk)
    assert codes(open_store().memory(user=USER, org="acme").session(SESSION)) == mine
    plain, task = (store.memory(user=USER, org="acme", task=task) for task in (None, "t1"))
    assert codes(plain) == codes(task) == {**mine, "session_code": None}
    ben = codes(store.memory(user="ben", org="acme").session(SESSION))
    other_org = codes(store.memory(user=USER, org="beta").session(SESSION))
    visitor = codes(store.visitor(SESSION, org="acme"))
    assert visitor["user_code"] is None
    seen = [*mine.values(), *ben.values(), *other_org.values(), visitor["session_code"]]
    assert len(set(seen)) == len(seen)
    assert all(len(code) == 32 for code in seen)


def test_two_stores_give_one_user_different_codes():
    codes = set()
    for _ in range(2):
        with simonides.testing.open(embedder="none") as opened:
            codes.add(opened.memory(user="ana").audit.record_safety("abuse").user_code)
    assert len(codes) == 2


@pytest.mark.parametrize(
    ("user", "note", "kept"),
    [
        ("a", "User A sat on a mat, /user/a/", "User [user] sat on [user] mat, /user/[user]/"),
        ("田中", "田中さんが泣いた", "[user]さんが泣いた"),
        ("jos\u00e9", "Jose\u0301 saw JOSÉ's dog", "[user] saw [user]'s dog"),
        ("4111", "Card 4111 1111 1111 1111 of 4111", "Card [secret] of [user]"),
        ("ana", "Write to ana@example.com", "Write to [personal]"),
        ("secret", "my password is Tr0ub4dor&3x", "my password is [secret]"),
        ("ana", "", ""),
    ],
)
def test_a_note_is_masked(user, note, kept):
    with simonides.testing.open(embedder="none") as opened:
        found = opened.memory(user=user).audit.record_safety("abuse", note=note)
    assert found.note == kept


def test_a_visitor_belongs_to_the_default_organisation(store, admin):
    kept = store.visitor("guest-17").audit.record_safety("abuse", note="guest-17 cried")
    assert (kept.user_code, kept.note) == (None, "[session] cried")
    assert admin.safety(org="default") == [kept]
    assert admin.safety(org="acme") == []


@pytest.mark.parametrize(
    ("verb", "arguments", "problem"),
    [
        ("record_safety", {"kind": ""}, "kind: must be a name"),
        ("record_safety", {"kind": "he was angry"}, "kind: must be a name"),
        ("record_safety", {"kind": "x" * 65}, "kind: must be a name"),
        ("record_safety", {"kind": 5}, "kind: must be text"),
        ("record_safety", {"kind": USER}, "kind: names the user"),
        ("record_safety", {"kind": SESSION.upper()}, "kind: names the user or the session"),
        ("record_safety", {"kind": TOKEN}, "kind: .* holds a secret"),
        ("record_safety", {"kind": "abuse", "level": "hihg"}, "did you mean 'high'"),
        ("record_safety", {"kind": "abuse", "note": "x" * 2_001}, "note: .* 2,000 characters"),
        ("record_safety", {"kind": "abuse", "note": "a\0"}, "NUL"),
        ("record_feedback", {"label": "good answer"}, "label: must be a name"),
        ("record_feedback", {"label": "good", "source": "usr"}, "did you mean 'user'"),
    ],
)
def test_a_wrong_record_is_refused_and_nothing_is_stored(talk, admin, verb, arguments, problem):
    with pytest.raises(InvalidInput, match=problem):
        getattr(talk.audit, verb)(**arguments)
    assert admin.safety(org="acme") == admin.feedback(org="acme") == []


def test_only_administrators_of_the_organisation_read(store, talk, admin):
    fill(talk.audit)
    assert admin.safety(org="beta") == admin.feedback(org="beta") == []
    engine, user = store._engine, talk._who
    other = Principal(Scope("beta"), actor="eve", is_admin=True)
    for read in (records.list_safety, records.list_feedback):
        for who in (user, other):
            with pytest.raises(ScopeDenied, match="/global/org/acme/"):
                read(engine, who, org="acme")
        assert len(read(engine, Principal(Scope("acme"), is_admin=True), org="acme")) == 1
    for wrong in ({"org": "acme", "limit": 0}, {"org": "a b"}, {"org": "acme", "since": "soon"}):
        with pytest.raises(ValueError):
            admin.safety(**wrong)


def test_records_expire_by_the_clock(store, talk, admin, clock):
    fill(talk.audit)
    clock.advance(days=90, seconds=-1)
    assert len(admin.safety(org="acme")) == 1
    clock.advance(seconds=1)
    assert (admin.safety(org="acme"), len(admin.feedback(org="acme"))) == ([], 1)
    assert len(rows(store, "safety")) == 1
    talk.audit.record_feedback("helpful")
    assert (rows(store, "safety"), len(rows(store, "feedback"))) == ([], 2)
    clock.advance(days=90)
    assert len(admin.feedback(org="acme")) == 1
    assert admin.verify_audit()


def test_the_worker_deletes_daily_what_has_expired(store, talk, admin, clock):
    for _ in range(150):
        talk.audit.record_safety("abuse")
    clock.advance(hours=12)
    fill(talk.audit)
    for _ in range(90):
        clock.advance(days=1)
        store.flush()
    assert (len(rows(store, "safety")), len(rows(store, "feedback"))) == (0, 1)
    for _ in range(91):
        clock.advance(days=1)
        store.flush()
    assert rows(store, "feedback") == []
    operator = admin.memory(org="acme")
    assert len(operator.audit.list(type="collected", limit=1_000)) == 152
    assert {event.reason for event in operator.audit.list(type="collected")} == {"expired"}
    assert admin.verify_audit()


@pytest.mark.parametrize("by", ["worker", "write"])
def test_the_bytes_of_an_expired_record_are_gone(tmp_path, by):
    clock = ManualClock()
    with simonides.open(tmp_path / "m.db", clock=clock, embedder="none") as store:
        audit = store.memory(user="ana").audit
        audit.record_safety("abuse", note="Zanzibar was named")
        clock.advance(days=91)
        if by == "worker":
            store.flush()
        else:
            audit.record_safety("abuse")
        assert all(b"Zanzibar" not in file.read_bytes() for file in tmp_path.iterdir())


def test_no_reading_shows_a_record(store, admin, clock):
    ana = store.memory(user="ana", org="acme").session("monday")
    note = "The zeppelin is on fire"
    ana.audit.record_safety("zeppelin", note=note)
    ana.audit.record_feedback("zeppelin", note=note)
    ana.add("Where is the airship?")
    operator = admin.memory(org="acme")
    for memory in (ana, operator):
        shown = [
            memory.recall("zeppelin on fire"), memory.digest("zeppelin"), memory.digest(),
            memory.profile(), memory.list(), memory.pending.list(), memory.status(),
            memory.receipts.list(), memory.audit.list(), memory.sessions(), ana.messages(),
            ana.buffer(), ana.tools().call("search_memory", {"query": "zeppelin"}),
        ]  # fmt: skip
        assert "zeppelin is" not in repr(shown)
        assert "zeppelin" not in repr([each.content for each in memory.list()])
    assert operator.recall("zeppelin on fire") == []


def test_a_user_who_is_forgotten_leaves_the_records(talk, admin):
    kept = fill(talk.audit)
    talk.remember("Ana likes tea")
    talk.privacy.refuse(session=SESSION)
    talk.privacy.forget("abuse")
    talk.add("Forget everything about me")
    talk.add("Forget everything about me")
    assert talk.list() == []
    assert (admin.safety(org="acme"), admin.feedback(org="acme")) == ([kept[0]], [kept[1]])
    later = talk.audit.record_safety("abuse")
    assert later.session_code == kept[0].session_code


def test_each_record_is_an_event_without_content(store, talk, admin):
    kept = fill(talk.audit)
    events = admin.memory(org="acme").audit.list()
    assert {event.subject for event in events} == {each.id for each in kept}
    assert {event.subject_table for event in events} == {"safety", "feedback"}
    assert {(e.type.value, e.actor, e.reason, str(e.data)) for e in events} == {
        ("recorded", "safety", "", "{}")
    }
    assert talk.audit.list() == []


@pytest.mark.parametrize(
    "attack",
    [
        "DELETE FROM safety WHERE owner = '/org/acme'",
        "UPDATE safety SET level = 'low' WHERE owner = '/org/acme'",
        "UPDATE feedback SET note = NULL WHERE owner = '/org/acme'",
        "UPDATE feedback SET expires = expires + 1 WHERE owner = '/org/acme'",
    ],
)
def test_a_changed_record_is_found(store, talk, admin, attack):
    fill(talk.audit)
    assert admin.verify_audit()
    with store._engine.db.write("/org/acme") as connection:
        connection.run(attack, {})
    assert admin.verify_audit().problems


def test_a_record_keeps_no_organisation_from_being_collected(store, talk, admin, clock):
    talk.audit.record_safety("abuse")
    draft = simonides.Draft("The guest code is blue", scope="/org/acme/", ttl_days=2)
    admin.remember_many([draft])
    clock.advance(days=3)
    store.flush()
    assert admin.memory(org="acme").audit.list(type="collected")


def test_incognito_keeps_records_in_memory_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with simonides.open(mode="incognito") as store:
        [kept, _] = fill(store.memory(user="ana").audit)
        assert store.admin("root").safety(org="default") == [kept]
        store.flush()
    assert list(tmp_path.rglob("*")) == []


def test_the_command_line_records_and_reads(tmp_path, capsys):
    ana = ["--store", str(tmp_path / "m.db"), "--user", USER, "--org", "acme"]

    def run(*command):
        assert main([*ana, *command]) == 0
        return capsys.readouterr().out

    options = ("--level", "critical", "--note", NOTE, "--session", SESSION)
    shown = run("audit", "record-safety", "self_harm", *options)
    assert "self_harm  critical  user " in shown
    assert TOKEN not in shown
    kept = json.loads(run("audit", "record-feedback", "helpful", "--source", "model", "--json"))
    assert (kept["label"], kept["source"], kept["session_code"]) == ("helpful", "model", None)
    assert run("admin", "safety", "--limit", "5") == shown
    assert json.loads(run("admin", "feedback", "--json"))["items"] == [kept]
    assert main([*ana, "audit", "record-safety", "self_harm", "--level", "worst"]) == 2
    assert "--level" in capsys.readouterr().err
