"""What a user has goes into a file that anybody can read, and comes back from it whole."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from principals import erase, history_of, principal_of
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs.portable import MAX_LINE_BYTES
from simonides.domain.errors import CarryRefused, NotFound, ScopeDenied
from simonides.domain.event import CHAIN_START, chain
from simonides.domain.memory import Draft
from simonides.engine.core.audit_chain import verify_owner
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock
from simonides.testing.contracts.base import drive

PLAIN = Settings(embedder="none", synchronous="normal")


def opened(target=":memory:", clock=None, ids=None):
    clock = clock or ManualClock()
    made = assemble(
        target, settings=PLAIN, inline=True, clock=clock, ids=ids or CountingIds(), alarm=clock
    )
    return Store(made)


def live(store, user="alice"):
    """Write a small life with everything in it that a file has to keep."""
    clock, memory = store.runtime.clock, store.memory(user=user).session("s1")
    memory.remember("I live in Lisbon", key="city", category="fact")
    clock.advance(days=1)
    memory.correct("city", "Berlin")
    tea = memory.remember(
        "I drink tea, never coffee\u2028at all",
        tags=("drink", "é"),
        metadata={"deep": {"er": [1.5, None]}},
        ttl_days=10,
        idempotency_key="k1",
    ).record
    clock.advance(days=1)
    memory.confirm(tea.id)
    memory.remember(Draft("For the bot's eyes", audience=["bot"], confidence=0.3))
    memory.remember("The code is 4711", key="code")
    memory.forget("code")
    with_task = store.memory(user=user).task(name="t1").memory
    with_task.remember("The task's own")
    memory.remember_many([Draft("Ana: hi", kind="episodic", session="s1", turn=0, speaker="Ana")])
    store.admin(actor="root").grant(user, "org_write")
    memory.promote(tea.id, "org")
    memory.recall("where do I live?")
    return memory


def org_first(source, target, place):
    """Carry the org, so that the copies that users promoted to it are there."""
    source.admin(actor="root").export(place / "org-first.jsonl", overwrite=True)
    target.admin(actor="root").restore(place / "org-first.jsonl")


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def written(path, lines):
    """Write lines as a file whose end is right, as somebody would who knows the format."""
    raw = b"".join(canonical_json(line) + b"\n" for line in lines[:-1])
    counts = {}
    for line in lines[1:-1]:
        counts[line["type"]] = counts.get(line["type"], 0) + 1
    end = {"type": "end", "counts": counts, "sha256": hashlib.sha256(raw).hexdigest()}
    Path(path).write_bytes(raw + canonical_json(end) + b"\n")


def middle(path):
    """The lines between header and end, which do not depend on when and whence."""
    return Path(path).read_bytes().splitlines()[1:-1]


@pytest.mark.parametrize("other", ["memory", "sqlite"])
def test_a_life_comes_back_whole_in_another_store(tmp_path, world, other):
    memory = live(world.store)
    report = memory.data.export(tmp_path / "alice.jsonl")
    target = ":memory:" if other == "memory" else tmp_path / "other.db"
    with opened(target, world.clock) as elsewhere:
        there = elsewhere.memory(user="alice").session("s1")
        org_first(world.store, elsewhere, tmp_path)
        back = elsewhere.admin(actor="root").restore(tmp_path / "alice.jsonl", user="alice")
        again = there.data.export(tmp_path / "again.jsonl")

        assert (back.restored, back.lost_edges) == (True, 0)
        assert back.counts == report.counts == again.counts
        assert middle(tmp_path / "alice.jsonl") == middle(tmp_path / "again.jsonl")
        ends = [lines_of(tmp_path / f"{name}.jsonl") for name in ("alice", "again")]
        heads = [{k: v for k, v in lines[0].items() if k != "chain"} for lines in ends]
        assert heads[0] == heads[1]
        assert elsewhere.admin(actor="root").check_audit().ok
        for which in ("city", there.list()[0].id):
            assert history_of(there, which) == history_of(memory, which)
        own = [principal_of(memory).home.path]
        assert there.list(scopes=own) == memory.list(scopes=own)
        for when in (m.known_from for m in memory.list(scopes=own)):
            asked = {"query": "", "known_at": when, "limit": 50, "scopes": own}
            then = [{h.record for h in m.recall(**asked)} for m in (memory, there)]
            assert then[0] == then[1]
        assert there.receipts.list() == memory.receipts.list()
        # What was forgotten is not in the file at all.
        assert b"The code is" not in (tmp_path / "alice.jsonl").read_bytes()
        # Life goes on: gates, chains and times know what came.
        assert there.remember("I drink tea, never coffee\u2028at all").kind == "refreshed"
        assert there.correct("city", "Porto").record.version == 3
        assert elsewhere.admin(actor="root").check_audit().ok


def test_an_export_says_what_it_has_line_by_line(tmp_path, world):
    memory = live(world.store)
    told = []

    report = memory.data.export(tmp_path / "a.jsonl", progress=told.append)

    lines = lines_of(tmp_path / "a.jsonl")
    header, end = lines[0], lines[-1]
    assert (header["format"], header["version"]) == ("simonides-export", 1)
    assert header["owner"] == principal_of(memory).home.path
    assert header["memories"] == report.counts["memory"]
    assert end["counts"] == report.counts
    raw = (tmp_path / "a.jsonl").read_bytes()
    assert end["sha256"] == hashlib.sha256(raw[: raw[:-1].rindex(b"\n") + 1]).hexdigest()
    assert report.size_bytes == len(raw)
    named = {line["version"].get("key"): line for line in lines if line["type"] == "memory"}
    assert named["city"]["version"]["content"] == "Berlin"
    erased = [line for line in lines if line["type"] == "event" and line["payload"] is None]
    assert erased
    assert all(line["salt"] is None for line in erased)
    assert told[-1].lines == sum(report.counts.values())
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o077 == 0
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == []


def test_what_is_there_is_not_overwritten_unasked(tmp_path, world):
    memory = live(world.store)
    (tmp_path / "a.jsonl").write_text("mine")

    with pytest.raises(CarryRefused, match="a file is there already") as refused:
        memory.data.export(tmp_path / "a.jsonl")

    assert refused.value.reason == "exists"
    assert (tmp_path / "a.jsonl").read_text() == "mine"
    memory.data.export(tmp_path / "a.jsonl", overwrite=True)
    assert lines_of(tmp_path / "a.jsonl")[0]["type"] == "header"
    with pytest.raises(CarryRefused, match="No such file") as refused:
        memory.data.export(tmp_path / "nowhere" / "a.jsonl")
    assert refused.value.reason == "file"


def test_restoring_what_stands_here_does_nothing(tmp_path, world):
    memory = live(world.store)
    memory.data.export(tmp_path / "a.jsonl")
    trail = world.store.admin(actor="root").check_audit().events

    assert not memory.data.restore(tmp_path / "a.jsonl").restored

    assert world.store.admin(actor="root").check_audit().events == trail
    memory.data.export(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_life_of_its_own_is_not_overwritten(tmp_path, world):
    memory = live(world.store)
    memory.data.export(tmp_path / "a.jsonl")
    memory.remember("Something newer")
    memory.data.export(tmp_path / "before.jsonl")

    with pytest.raises(CarryRefused) as refused:
        memory.data.restore(tmp_path / "a.jsonl")

    assert refused.value.reason == "exists"
    memory.data.export(tmp_path / "after.jsonl")
    assert middle(tmp_path / "before.jsonl") == middle(tmp_path / "after.jsonl")


def test_the_trail_of_the_org_says_what_was_carried(tmp_path, world):
    live(world.store).data.export(tmp_path / "a.jsonl")
    admin = world.store.admin(actor="root")

    admin.export(tmp_path / "b.jsonl", user="alice")
    admin.export(tmp_path / "org.jsonl")

    events = [line["payload"] for line in lines_of(tmp_path / "org.jsonl") if "payload" in line]
    exported = [event for event in events if event["type"] == "exported"]
    assert [event["scope"] for event in exported] == [
        "/global/org/default/user/alice/",
        "/global/org/default/",
    ]
    assert {event["actor"] for event in exported} == {"admin:root"}
    with opened() as elsewhere:
        elsewhere.admin(actor="root").restore(tmp_path / "a.jsonl", user="alice")
        elsewhere.admin(actor="root").export(tmp_path / "org2.jsonl")
        events = [
            line["payload"] for line in lines_of(tmp_path / "org2.jsonl") if "payload" in line
        ]
        (restored,) = [event for event in events if event["type"] == "brought_back"]
        assert restored["details"]["sha256"] == lines_of(tmp_path / "a.jsonl")[-1]["sha256"]
        chain = lines_of(tmp_path / "a.jsonl")[0]["chain"]
        assert restored["details"]["chain"]["code"] == chain["code"]


def test_who_was_erased_and_came_again_can_be_taken_elsewhere(tmp_path, world):
    memory = live(world.store)
    erase(memory)
    memory.remember("I live in Porto", key="city")
    memory.data.export(tmp_path / "a.jsonl")

    with opened() as elsewhere:
        assert elsewhere.memory(user="alice").data.restore(tmp_path / "a.jsonl").restored
        assert [m.content for m in elsewhere.memory(user="alice").list()] == ["I live in Porto"]
        assert elsewhere.admin(actor="root").check_audit().ok


def test_an_org_comes_back_with_its_grants(tmp_path, world):
    live(world.store)
    admin = world.store.admin(actor="root")
    admin.export(tmp_path / "org.jsonl")

    with opened() as elsewhere:
        elsewhere.admin(actor="root").restore(tmp_path / "org.jsonl")
        assert elsewhere.admin(actor="root").grants() == admin.grants()
        assert elsewhere.admin(actor="root").check_audit().ok


def test_only_the_owner_and_who_administers_the_org_carry_somebody(tmp_path, world):
    live(world.store)
    world.store.admin(actor="root").grant("bob", "read_user:alice")
    world.store.admin(actor="root").grant("carol", "admin")
    store, target = world.store, tmp_path / "a.jsonl"
    denied = [
        (store.memory(user="bob"), "alice"),
        (store.memory(user="alice", agent="bot"), None),
        (store.memory(user="alice", purpose="ads"), None),
        (store.memory(user="alice").task(name="t1").memory, None),
        (store.memory(user="carol", org="other"), "alice"),
    ]

    for memory, user in denied:
        with pytest.raises(ScopeDenied):
            memory.data.export(target, user=user)
        with pytest.raises(ScopeDenied):
            memory.data.restore(target, user=user)

    assert not target.exists()
    store.memory(user="carol").data.export(target, user="alice")
    assert lines_of(target)[0]["owner"] == "/global/org/default/user/alice/"
    # Nothing of anybody else's is in it.
    store.memory(user="bob").remember("I am Bob's canary")
    store.memory(user="alice").data.export(target, overwrite=True)
    assert b"canary" not in target.read_bytes()


def test_who_was_never_there_exports_nothing_and_it_comes_back_as_nothing(tmp_path, world):
    report = world.store.memory(user="nobody").data.export(tmp_path / "n.jsonl")

    assert report.counts == {}
    assert not world.store.memory(user="nobody").data.restore(tmp_path / "n.jsonl").restored
    with pytest.raises(CarryRefused, match="not of") as refused:
        world.store.memory(user="other").data.restore(tmp_path / "n.jsonl")
    assert (refused.value.reason, refused.value.line) == ("other_owner", 1)


def edited(**changes):
    """Return what edits the first line of a type and sets the end right."""

    def edit(lines, path):
        kind, field, value = changes["type"], changes["field"], changes["value"]
        line = next(line for line in lines if line["type"] == kind)
        for name in field[:-1]:
            line = line[name]
        line[field[-1]] = value
        written(path, lines)

    return edit


def cut(keep):
    return lambda lines, path: path.write_bytes(keep(path.read_bytes()))


def with_line(raw):
    """Return what puts a line behind the header."""

    def put(lines, path):
        first, rest = path.read_bytes().split(b"\n", 1)
        path.write_bytes(first + b"\n" + raw + b"\n" + rest)

    return put


def swapped(lines, path):
    lines[1], lines[2] = lines[2], lines[1]
    written(path, lines)


def with_grant(lines, path):
    body = {"grantee": "alice", "right": "admin", "subject": None, "by": "alice"}
    place = next(n for n, line in enumerate(lines) if line["type"] in ("journal", "end"))
    written(path, [*lines[:place], {"type": "grant", "body": body}, *lines[place:]])


def with_event(**changes):
    """Return what puts another event at the end of the trail, and all codes right."""

    def edit(lines, path):
        header, events = lines[0], [line for line in lines if line["type"] == "event"]
        last = next(line for line in reversed(events) if line["payload"] is not None)
        last["payload"] |= changes
        raw = bytes.fromhex(last["salt"]) + canonical_json(last["payload"])
        last["commitment"] = hashlib.sha256(raw).hexdigest()
        code = CHAIN_START
        for line in events:
            owner, said = bytes.fromhex(header["chain"]["owner"]), bytes.fromhex(line["commitment"])
            code = chain(code, owner, line["seq"], said)
        header["chain"]["code"] = code.hex()
        written(path, lines)

    return edit


def with_line_of(line, before):
    """Return what puts a line before the first of some types, and the end right."""

    def put(lines, path):
        place = next(n for n, other in enumerate(lines) if other["type"] in before)
        written(path, [*lines[:place], line, *lines[place:]])

    return put


def with_session(owner):
    body = {"owner": owner, "session": "s"}
    line = {"type": "session", "session": "s", "started_at": 1, "due_at": 1, "body": body}
    return with_line_of(line, ("end",))


def with_held(body):
    line = {"type": "held", "id": "h", "reason": "hold", "held_at": 1, "session": None}
    return with_line_of({**line, "body": body}, ("grant", "journal", "end"))


def with_review(scope):
    sides = {"a": "x", "b": "y", "kept": None}
    body = {"scope": scope, "reason": "small_gap", "opened_at": 1, **sides}
    line = {"type": "review", "id": "r", "status": "open", "at": 1, "body": body}
    return with_line_of(line, ("end",))


BAD = {
    "cut in a line": (cut(lambda raw: raw[: len(raw) // 2]), "damaged"),
    "cut at a line": (cut(lambda raw: raw[: raw[:-1].rindex(b"\n") + 1]), "damaged"),
    "empty": (cut(lambda raw: b""), "damaged"),
    "more behind the end": (cut(lambda raw: raw + b"\n"), "damaged"),
    "an edited word": (cut(lambda raw: raw.replace(b"Berlin", b"Munich", 1)), "damaged"),
    "bad UTF-8": (cut(lambda raw: raw.replace(b"Berlin", b"Berl\xffn", 1)), "damaged"),
    "a blank": (cut(lambda raw: raw.replace(b'"type":', b'"type": ', 3)), "damaged"),
    "deep": (with_line(b"[" * 10_000 + b"]" * 10_000), "damaged"),
    "a long line": (with_line(b'"' + b"a" * (MAX_LINE_BYTES + 1) + b'"'), "damaged"),
    "NaN": (with_line(b'{"type":NaN}'), "damaged"),
    "unknown type": (with_line(b'{"type":"spell"}'), "damaged"),
    "version": (edited(type="header", field=["version"], value=2), "version"),
    "format": (edited(type="header", field=["format"], value="other"), "damaged"),
    "owner": (
        edited(type="header", field=["owner"], value="/global/org/default/user/bob/"),
        "other_owner",
    ),
    "chain": (edited(type="header", field=["chain", "code"], value="00" * 32), "damaged"),
    "event": (edited(type="event", field=["payload", "actor"], value="nobody"), "damaged"),
    "scope": (
        edited(type="memory", field=["version", "scope"], value="/global/org/default/user/bob/"),
        "damaged",
    ),
    "a chain": (edited(type="memory", field=["version", "version"], value=7), "damaged"),
    "an origin": (
        edited(type="memory", field=["version", "origin"], value={"turn": "x"}),
        "damaged",
    ),
    "no scope": (edited(type="memory", field=["version", "scope"], value="/user"), "damaged"),
    "content": (edited(type="memory", field=["version", "content"], value=7), "damaged"),
    "big": (edited(type="memory", field=["version", "content"], value="a" * 65_537), "damaged"),
    "time": (edited(type="memory", field=["version", "created"], value=2**62), "damaged"),
    "trust": (edited(type="memory", field=["state", "trust"], value="system"), "damaged"),
    "status": (edited(type="memory", field=["state", "status"], value="blessed"), "damaged"),
    "revision": (edited(type="memory", field=["revision"], value=10**6), "damaged"),
    "unknown field": (edited(type="memory", field=["version", "spell"], value=1), "damaged"),
    "missing order": (swapped, "damaged"),
    "an event of somebody else": (with_event(scope="/global/org/default/user/bob/"), "damaged"),
    "an event of no type": (with_event(type="blessed"), "damaged"),
    "an event without subjects": (with_event(subjects="all"), "damaged"),
    "a session of somebody else": (with_session("/global/org/default/user/bob/"), "damaged"),
    "a candidate of nothing": (with_held({}), "damaged"),
    "a consent of nothing": (
        with_line_of({"type": "consent", "at": 1, "body": {"about": "key"}}, ("end",)),
        "damaged",
    ),
    "a review of somebody else": (with_review("/global/org/default/user/bob/"), "damaged"),
    "a right of its own making": (with_grant, "damaged"),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "alice.jsonl"
    with opened() as store:
        live(store).data.export(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_not_as_it_was_written_is_refused_whole(tmp_path, exported, name):
    path = tmp_path / "a.jsonl"
    path.write_bytes(exported)
    spoil, reason = BAD[name]
    spoil(lines_of(path), path)

    with opened() as store:
        memory = store.memory(user="alice")
        with pytest.raises(CarryRefused) as refused:
            memory.data.restore(path)

        assert refused.value.reason == reason
        assert refused.value.line >= 1
        assert str(path) in str(refused.value)
        assert drive(store.runtime.store, store.runtime.store.owners()) == ()
        path.write_bytes(exported)
        assert memory.data.restore(path).restored


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_no_flipped_bit_goes_unnoticed(tmp_path_factory, exported, data):
    path = tmp_path_factory.mktemp("flip") / "a.jsonl"
    place = data.draw(st.integers(0, len(exported) * 8 - 1))
    raw = bytearray(exported)
    raw[place // 8] ^= 1 << place % 8
    path.write_bytes(raw)

    with opened() as store:
        with pytest.raises(CarryRefused):
            store.memory(user="alice").data.restore(path)
        assert drive(store.runtime.store, store.runtime.store.owners()) == ()


def test_a_file_names_no_children_that_do_not_name_their_parent(tmp_path, world):
    live(world.store).data.export(tmp_path / "a.jsonl")
    lines = lines_of(tmp_path / "a.jsonl")
    (place,) = [n for n, line in enumerate(lines) if line["type"] == "derivation"]
    with opened() as elsewhere:
        victim = elsewhere.memory(user="bob").remember("Bob's own").record
        forged = {**lines[place], "owner": victim.scope.path, "child": victim.id}
        written(tmp_path / "a.jsonl", [*lines[: place + 1], forged, *lines[place + 1 :]])
        store, owner = elsewhere.runtime.store, principal_of(elsewhere.memory(user="alice")).home

        report = elsewhere.admin(actor="root").restore(tmp_path / "a.jsonl", user="alice")

        assert report.lost_edges == 2
        assert drive(store, store.derived(owner, forged["parent"])) == ()


def test_a_user_s_own_file_names_no_children_elsewhere(tmp_path, world):
    live(world.store).data.export(tmp_path / "a.jsonl")
    with opened() as elsewhere:
        org_first(world.store, elsewhere, tmp_path)

        report = elsewhere.memory(user="alice").data.restore(tmp_path / "a.jsonl")

        assert (report.restored, report.lost_edges) == (True, 1)


def test_a_file_brings_no_work_in_somebody_s_name(tmp_path, world):
    live(world.store).data.export(tmp_path / "a.jsonl")
    lines = lines_of(tmp_path / "a.jsonl")
    body = {"home": "/global/", "by": "admin:root", "candidate": "{}"}
    work = {"type": "outbox", "id": "x", "target": "/global/", "body": body}
    written(tmp_path / "a.jsonl", [*lines[:-1], work, lines[-1]])

    with opened() as elsewhere, pytest.raises(CarryRefused, match="outbox"):
        elsewhere.memory(user="alice").data.restore(tmp_path / "a.jsonl")


def test_a_pipe_or_a_directory_is_no_file(tmp_path, world):
    os.mkfifo(tmp_path / "pipe")
    memory = world.store.memory(user="alice")

    for path in (tmp_path / "pipe", tmp_path, tmp_path / "missing"):
        with pytest.raises(CarryRefused) as refused:
            memory.data.restore(path)
        assert refused.value.reason == "file"


DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "key", "correct", "confirm", "forget", "task", "recall"]),
        st.integers(0, 3),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12),
    ),
    max_size=12,
)


def done(memory, task, deeds, clock):
    """Do what was drawn, as far as it can be done."""
    for deed, number, text in deeds:
        clock.advance(seconds=3600)
        word = f"{text} and so on"
        match deed:
            case "remember":
                memory.remember(word, tags=(text,) if text.strip() else ())
            case "key":
                memory.remember(word, key=f"k{number}", idempotency_key=f"{number} {word}")
            case "correct":
                with suppress(NotFound):
                    memory.correct(f"k{number}", word)
            case "confirm" if known := memory.list():
                memory.confirm(known[number % len(known)].id)
            case "forget" if known := memory.list():
                memory.forget(known[number % len(known)].id)
            case "task":
                task.remember(word)
            case "recall":
                memory.recall(word)
            case _:
                pass


@given(deeds=DEEDS, later=DEEDS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_small_life_comes_back_and_goes_on_the_same(tmp_path_factory, deeds, later):
    place, made = tmp_path_factory.mktemp("life"), (ManualClock(), CountingIds())
    clock = made[0]
    with opened(place / "a.db", *made) as one, opened(":memory:", *made) as other:
        memory = one.memory(user="alice")
        done(memory, one.memory(user="alice").task(name="t").memory, deeds, clock)
        memory.data.export(place / "1.jsonl")
        there = other.memory(user="alice")
        there.data.restore(place / "1.jsonl")
        there.data.export(place / "2.jsonl")

        assert middle(place / "1.jsonl") == middle(place / "2.jsonl")
        assert there.list(limit=1000) == memory.list(limit=1000)
        owner = principal_of(memory).home.owner
        store = other.runtime.store
        if owner in drive(store, store.owners()):
            assert drive(store, verify_owner(store, owner)).ok
        done(there, other.memory(user="alice").task(name="t").memory, later, clock)
        assert other.admin(actor="root").check_audit().ok


def test_a_life_travels_by_way_of_postgres(tmp_path, postgres, database):
    url = postgres.url("simonides_app", database)
    made = ManualClock(), CountingIds()
    with opened(tmp_path / "a.db", *made) as one, opened(url, *made) as two:
        live(one).data.export(tmp_path / "1.jsonl")
        there = two.memory(user="alice")
        org_first(one, two, tmp_path)
        assert two.admin(actor="root").restore(tmp_path / "1.jsonl", user="alice").restored
        assert not there.data.restore(tmp_path / "1.jsonl").restored
        there.data.export(tmp_path / "2.jsonl")
        assert two.admin(actor="root").check_audit().ok
        assert there.correct("city", "Porto").record.version == 3
        with pytest.raises(CarryRefused):
            there.data.restore(tmp_path / "1.jsonl")

    with opened(":memory:", *made) as three, opened(tmp_path / "a.db", *made) as one:
        org_first(one, three, tmp_path)
        assert three.admin(actor="root").restore(tmp_path / "2.jsonl", user="alice").restored
        three.memory(user="alice").data.export(tmp_path / "3.jsonl")
    assert middle(tmp_path / "1.jsonl") == middle(tmp_path / "2.jsonl")
    assert middle(tmp_path / "2.jsonl") == middle(tmp_path / "3.jsonl")
