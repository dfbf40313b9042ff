"""A leak test finds nothing in the product, and finds each leak that is planted."""

import json
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy
import pytest

import simonides
from simonides.api.groups import Privacy
from simonides.api.memory import Memory
from simonides.api.remote import wire
from simonides.change import revert
from simonides.cli import main
from simonides.core.errors import NotFound, ScopeDenied
from simonides.core.record import id_text
from simonides.core.scope import Principal, scope_of
from simonides.govern import audit, rights
from simonides.prompt import core_block, digest, receipts
from simonides.recall import lookup
from simonides.server import callers, mcp
from simonides.server.mcp_tools import TOOLS
from simonides.server.serve import on_loopback
from simonides.storage import statements
from simonides.tasks import verbs as tasks
from simonides.testing import leak_store, leaks
from simonides.testing.leak_calls import Asker
from simonides.testing.leak_doors import Library
from simonides.testing.leak_plant import Planted, plant
from simonides.testing.leak_store import leak_test_against, leak_test_of
from simonides.testing.leaks import NEW_NAMES, compared, lines

OURS = "owner = :owner"
ANYONES = "(owner = :owner OR true)"


@pytest.fixture(autouse=True)
def asks_again_a_little(monkeypatch):
    """Let a difference of times be asked again twice a name, in a run that has no minutes."""
    if not os.environ.get("JUDGES"):
        monkeypatch.setattr(leaks, "CONFIRMING", 2 * NEW_NAMES)


@pytest.fixture
def fresh(tmp_path):
    (tmp_path / "documents").mkdir()
    with simonides.open(":memory:") as opened:
        yield opened


@pytest.fixture
def found(fresh, tmp_path):
    """Return a function that tests some calls, and returns the kinds of leaks by call."""

    def tested(*verbs, calls=300, cases=("users",), **more):
        report = leak_test_of(
            fresh, tmp_path / "documents", verbs=verbs, calls=calls, cases=cases, **more
        )
        assert report.gaps == []
        return {(each["kind"], each["call"]) for each in report.leaks}

    return tested


def whole(name):
    """Let a statement of the lookup select the rows of all owners."""

    def plant(patch):
        patch.setattr(statements, name, getattr(statements, name).replace(OURS, ANYONES))
        patch.setattr(lookup, "exclusions", lambda *_: ())

    return plant


def owner_of_memory(engine, who, id):
    """Return the principal that has a memory."""
    with engine.db.read(who.owner) as connection:
        rows = connection.rows("SELECT owner FROM memories WHERE root = :id LIMIT 1", {"id": id})
    return replace(who, home=scope_of(rows[0][0], None)) if rows else who


def session_without_owner(patch):
    messages = simonides.sessions.notes.messages

    def planted(engine, who, **named):
        params = {"session": who.session}
        with engine.db.read(who.owner) as connection:
            rows = connection.rows(
                "SELECT owner FROM memories WHERE session = :session LIMIT 1", params
            )
        home = scope_of(rows[0][0], None) if rows else who.home
        return messages(engine, replace(who, home=home), **named)

    patch.setattr("simonides.sessions.notes.messages", planted)


def error_that_tells(patch):
    named = lookup._named

    def planted(connection, engine, who, name, reach):
        record = named(connection, engine, who, name, reach)
        keys = connection.rows("SELECT 1 FROM memories WHERE key = :name LIMIT 1", {"name": name})
        if record is None and keys:
            raise ScopeDenied(who.home.path, "read", "it is another user's")
        return record

    patch.setattr(lookup, "_named", planted)


def cursor_of_another(patch):
    listed, known = lookup.list_memories, {}

    def planted(engine, who, *, cursor=None, **named):
        page = listed(engine, known.get(cursor, who), cursor=cursor, **named)
        if page.next_cursor is not None:
            known.setdefault(page.next_cursor, who)
        return page

    patch.setattr(lookup, "list_memories", planted)


def count_of_all(patch):
    status = core_block.status_of

    def planted(engine, who):
        with engine.db.read(who.owner) as connection:
            [(count,)] = connection.rows("SELECT COUNT(*) FROM memories", {})
        return status(engine, who) | {"memories": count}

    patch.setattr(core_block, "status_of", planted)


def receipt_of_another(patch):
    replay = receipts.replay

    def planted(engine, who, receipt):
        reader = simonides.core.scope.parse_scope(receipt.reader)
        mine = owner_of_memory(engine, who, bytes.fromhex(receipt.items[0].ids[0].replace("-", "")))
        return replay(engine, replace(mine, home=reader if mine is who else mine.home), receipt)

    patch.setattr(receipts, "replay", planted)


def header_for_anyone(patch):
    patch.setattr(
        callers, "_allowed", lambda caller, given, name: given.get(name, getattr(caller, name))
    )


def argument_for_anyone(patch):
    called = mcp.Face._called

    async def planted(self, request, call, tool):
        user = (call.arguments or {}).pop("user", None)
        door_of = self._door_of

        async def door_of_user(asked):
            door = await door_of(asked)
            who = door.memory._who
            who = replace(who, home=replace(who.home, user=user or who.home.user))
            return replace(door, memory=Memory(door.memory._engine, who))

        return await called(SimpleNamespace(_door_of=door_of_user), request, call, tool)

    patch.setattr(mcp.Face, "_called", planted)


def digest_for_all(patch):
    made, cache = digest.digest, {}

    def planted(engine, who, about=None, **named):
        key = str(about)
        if key not in cache:
            cache[key] = made(engine, who, about, **named)
        return cache[key]

    patch.setattr(digest, "digest", planted)


def audit_of_another(patch):
    listed = audit.list_events

    def planted(engine, who, *, memory=None, **named):
        id = bytes.fromhex((memory or "").replace("-", ""))
        return listed(engine, owner_of_memory(engine, who, id), memory=memory, **named)

    patch.setattr(audit, "list_events", planted)


def number_that_tells(patch):
    patch.setattr(revert, "_owner_named", lambda engine, who, owner: owner or who.owner)


def slow_where_there_is_something(patch):
    named = lookup._named

    def planted(connection, engine, who, name, reach):
        if connection.rows("SELECT 1 FROM memories WHERE key = :name LIMIT 1", {"name": name}):
            time.sleep(0.02)
        return named(connection, engine, who, name, reach)

    patch.setattr(lookup, "_named", planted)


PLANTED = {
    "an id of any owner": (whole("BY_ID"), "canary", "Memory.get"),
    "a short id of any owner": (whole("BY_SHORT_ID"), "canary", "Memory.get"),
    "a key of any owner": (whole("BY_KEY"), "canary", "Memory.get"),
    "a session of any owner": (session_without_owner, "canary", "Session.messages"),
    "an error that tells": (error_that_tells, "difference", "Memory.history"),
    "a cursor of another": (cursor_of_another, "canary", "Memory.list"),
    "a count of all": (count_of_all, "count", "Memory.status"),
    "a receipt of another": (receipt_of_another, "canary", "Receipts.replay"),
    "a digest for all": (digest_for_all, "canary", "Memory.digest"),
    "an audit trail of another": (audit_of_another, "difference", "Audit.list"),
    "a number that tells": (number_that_tells, "difference", "Memory.undo"),
    "a slow answer": (slow_where_there_is_something, "time", "Memory.confirm"),
}


def agent_ignored(patch):
    reads = rights.is_reader
    patch.setattr(rights, "is_reader", lambda who, _, purpose: reads(who, None, purpose))


def purpose_ignored(patch):
    reads = rights.is_reader
    patch.setattr(rights, "is_reader", lambda who, agents, _: reads(who, agents, None))


def conversation_of_any_agent(patch):
    patch.setattr(Principal, "conversation", Principal.conversation_title)


def task_of_any_purpose(patch):
    patch.setattr(tasks, "last_named", last_of_any)


def last_of_any(engine, who):
    with engine.db.read(who.owner) as connection:
        rows = connection.rows(statements.LAST_TASK, {"owner": who.owner, "name": who.home.task})
    if not rows:
        raise NotFound(who.home.task)
    return id_text(bytes(rows[0][0]))


PLANTED_APART = {
    "a memory of any agent": (agent_ignored, "agents", "canary", "Memory.list"),
    "a memory for any purpose": (purpose_ignored, "purposes", "canary", "Memory.list"),
    "a conversation of any agent": (
        conversation_of_any_agent, "agents", "canary", "Session.messages",
    ),
    "a task for any purpose": (task_of_any_purpose, "purposes", "canary", "Task.status"),
}  # fmt: skip


def some(planted):
    """Return all planted leaks, and a third of them in a run that has no minutes to spare."""
    return list(planted)[:: 1 if os.environ.get("JUDGES") else 3]


@pytest.mark.parametrize("name", some(PLANTED_APART))
def test_a_leak_between_agents_or_purposes_of_a_user_is_found(found, monkeypatch, name):
    plant, case, kind, call = PLANTED_APART[name]
    plant(monkeypatch)
    assert (kind, call) in found(call, cases=(case,))


@pytest.mark.parametrize("name", some(PLANTED))
def test_a_planted_leak_is_found(found, monkeypatch, name):
    plant, kind, call = PLANTED[name]
    plant(monkeypatch)
    assert (kind, call) in found(call)


def test_a_header_that_chooses_the_user_is_found(found, fresh, monkeypatch):
    header_for_anyone(monkeypatch)
    with on_loopback(fresh) as url:
        assert ("canary", "Memory.profile") in found("Memory.profile", url=url)


def test_a_header_that_chooses_the_user_over_mcp_is_found(found, fresh, monkeypatch):
    header_for_anyone(monkeypatch)
    call = "resource memory://profile"
    with on_loopback(fresh) as url:
        assert ("canary", call) in found(call, url=url, over_mcp=True)


def test_an_argument_of_a_tool_that_chooses_the_user_is_found(found, fresh, monkeypatch):
    argument_for_anyone(monkeypatch)
    call = "tool memory_get"
    with on_loopback(fresh) as url:
        assert ("canary", call) in found(call, url=url, over_mcp=True)


CASES = tuple(leak_store.CASES) if os.environ.get("JUDGES") else ("users",)
"""What a whole leak test is between; that of agents and purposes takes minutes."""


def test_nothing_leaks_at_any_door(fresh, tmp_path):
    folder = tmp_path / "documents"
    with on_loopback(fresh) as url:
        report = leak_test_of(fresh, folder, url=url, over_mcp=True, calls=500, cases=CASES)
    assert report.leaks == []
    assert report.gaps == []
    assert set(report.calls) == {"library", "rest", "mcp"}
    assert report
    json.dumps(report.to_dict())
    assert not any(line.startswith(("LEAK", "GAP")) for line in lines(report))


def test_nothing_leaks_on_postgresql(postgres_place, tmp_path, capsys, monkeypatch):
    (tmp_path / "documents").mkdir()
    store = postgres_place(clock=None)
    report = leak_test_of(store, tmp_path / "documents", calls=200, cases=CASES)
    assert (report.leaks, report.gaps) == ([], [])
    monkeypatch.setenv("SIMONIDES_AUDIT_KEY", "kept elsewhere")
    assert main(["--store", postgres_place.target, "leak-test", "--calls", "200"]) == 2
    assert "empty" in capsys.readouterr().err


def test_every_verb_is_asked(fresh):
    planted = Planted(Library(fresh, user="anna", org="acme"), numpy.random.default_rng(0))
    plant(planted)
    for door in ("library", "rest"):
        trials = Asker(planted, "/global/org/acme/user/ben/", door).trials()
        assert {each.call for each in trials} == set(wire.calls())
    trials = Asker(planted, "/global/org/acme/user/ben/", "mcp").trials()
    assert {each.call.split()[1] for each in trials} >= set(TOOLS)


def test_one_seed_makes_the_same_questions(tmp_path):
    tried = []
    for name in "ab":
        (tmp_path / name).mkdir()
        with simonides.open(":memory:") as store:
            report = leak_test_of(store, tmp_path / name, calls=200, seed=7, cases=("users",))
        tried.append(report.tried)
    assert tried[0] == tried[1]


def test_a_running_server_is_tested_with_two_tokens(fresh, tmp_path, monkeypatch, capsys):
    admin, file = fresh.admin("ops"), tmp_path / "token"
    first, second = (admin.new_token("t", user=user, org="acme").secret for user in ("ana", "ben"))
    file.write_text(first + "\n")
    monkeypatch.setenv("TOKEN_OF_B", second)
    with on_loopback(fresh) as url:
        options = ["leak-test", "--against", url, "--token-of-a", str(file), "--calls", "200"]
        assert main([*options, "--report", str(tmp_path / "report.json")]) == 0
        header_for_anyone(monkeypatch)
        report = leak_test_against(url, (first, second), calls=250)
    told = (tmp_path / "report.json").read_text()
    assert json.loads(told)["passed"] is True
    assert first not in told
    assert second not in told
    assert not report
    assert "ok   no planted word in an answer" in capsys.readouterr().out


def test_two_tokens_of_one_user_are_refused(fresh, monkeypatch, capsys):
    token = fresh.admin("ops").new_token("t", user="ana", org="acme").secret
    monkeypatch.setenv("TOKEN_OF_A", token)
    with on_loopback(fresh) as url:
        assert main(["leak-test", "--against", url]) == 2
        monkeypatch.setenv("TOKEN_OF_B", token)
        assert main(["leak-test", "--against", url]) == 2
    told = capsys.readouterr().err
    assert "TOKEN_OF_B" in told
    assert "the same user" in told


def test_a_word_that_takes_longer_whoever_has_it_is_no_leak(fresh, tmp_path, monkeypatch):
    refuse = Privacy.refuse

    def slow_for_half_of_all_words(self, **named):
        if sum(named.get("about", "").encode()) % 2:
            time.sleep(0.06)  # longer than the machine makes a call wait
        return refuse(self, **named)

    monkeypatch.setattr(Privacy, "refuse", slow_for_half_of_all_words)
    folder = tmp_path / "documents"
    verbs = ["Privacy.refuse"]
    report = leak_test_of(fresh, folder, verbs=verbs, calls=300, cases=("users",), seed=4)
    assert report.leaks == []
    names = {each["asked_by"]: each["names"] for each in report.times}
    assert names["about: word as it is"] == NEW_NAMES  # the only word of the first look was slow


def test_times_differ_only_if_both_the_ratio_and_the_signs_say_so():
    ratio, chance = compared([(1.10, 1.0)] * 20)
    assert (ratio, chance) == (pytest.approx(1.10), pytest.approx(2 / 2**20))
    assert compared([(1.1, 1.0), (1.0, 1.1)] * 10)[1] == 1.0
