"""What one principal keeps, no other one sees, counts, feels or changes."""

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

import simonides
from conftest import World
from principals import history_of, memory_for, principal_of
from simonides import Draft, Memory, SimonidesError
from simonides.api.sync import Store
from simonides.cli.app import app
from simonides.domain.value import plain
from simonides.prompting import Prompting

SECRET = "I like dark mode"
KEY = "colour_mode"
QUESTIONS = ("which colour mode do they like?", "dark mode", SECRET, KEY, "")
# Who stores and, for each kind of stranger, who asks.
PAIRS = {
    "another user": ({"user": "alice"}, {"user": "bob"}),
    "a user whose id begins alike": ({"user": "42"}, {"user": "421"}),
    "the same user id in another org": (
        {"user": "alice", "org": "acme"},
        {"user": "alice", "org": "umbrella"},
    ),
    "a sibling task": ({"user": "alice", "task": "t1"}, {"user": "alice", "task": "t2"}),
    "the user above a task": ({"user": "alice", "task": "t1"}, {"user": "alice"}),
    "a task of another user": ({"user": "alice", "task": "t1"}, {"user": "bob", "task": "t1"}),
    "a principal known by its session": (
        {"user": "alice", "session": "s1"},
        {"session": "s1"},
    ),
    "a user of the session's name": ({"session": "s1"}, {"user": "s1", "session": "s1"}),
    "a session of another org": (
        {"session": "s1", "org": "acme"},
        {"session": "s1", "org": "umbrella"},
    ),
    "another agent": ({"user": "alice", "agent": "a"}, {"user": "alice", "agent": "b"}),
    "no agent at all": ({"user": "alice", "agent": "a"}, {"user": "alice"}),
}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
SALT = re.compile(r"\"salt\": \"[0-9a-f]{32}\"")


@pytest.fixture(params=PAIRS.values(), ids=PAIRS.keys())
def pair(request: pytest.FixtureRequest) -> tuple[dict[str, str], dict[str, str]]:
    return request.param


def keep_secret(store: Store, owner: dict[str, str]) -> tuple[str, str]:
    """Store the secret under a key and, in other words, as free text; returns both ids."""
    audience = (owner["agent"],) if "agent" in owner else None
    memory = memory_for(store, **owner)
    keyed = memory.remember(
        Draft(
            SECRET,
            key=KEY,
            category="preference",
            tags=["dark"],
            metadata={"mode": "dark mode"},
            audience=audience,
            pinned=True,
            idempotency_key="write-1",
        )
    )
    free = memory.remember(Draft(f"{SECRET} in every editor", audience=audience, pinned=True))
    assert keyed.record is not None
    assert free.record is not None
    return keyed.record.id, free.record.id


def answer(verb: Callable[[], Any]) -> Any:
    """Return what a verb gives as plain data, an error by type and text."""
    try:
        return plain(verb())
    except SimonidesError as error:
        return [type(error).__name__, str(error)]


def read_all(stranger: Memory, ids: tuple[str, ...]) -> list[Any]:
    """Ask every question that a reader can ask."""
    verbs: list[Callable[[], Any]] = [stranger.status, stranger.list]
    verbs += [lambda q=q: stranger.recall(q, limit=1000) for q in QUESTIONS]
    verbs += [lambda: stranger.recall(SECRET, preference_bias=True)]
    verbs += [lambda: stranger.recall(SECRET, known_at="2026-06-01T00:00:00Z")]
    verbs += [lambda: stranger.recall(SECRET, filter={"key": KEY})]
    verbs += [lambda q=q: stranger.digest(q, min_relevance=0) for q in QUESTIONS]
    verbs += [lambda q=q: Prompting(stranger).push(q) for q in QUESTIONS]
    verbs += [lambda q=q: Prompting(stranger).search(q, top_k=50) for q in QUESTIONS]
    verbs += [lambda: stranger.tools("search").call("search_memory", {"query": SECRET})]
    verbs += [lambda: Prompting(stranger).triggers(SECRET).before_model()]
    verbs += [lambda: Prompting(stranger).triggers().before_tool(SECRET, SECRET)]
    verbs += [lambda: stranger.digest(SECRET, filter={"metadata.mode": {"$contains": "dark"}})]
    verbs += [lambda: stranger.list(filter={"tags": "dark"})]
    verbs += [lambda: stranger.list(filter={"metadata.mode": "dark mode"})]
    verbs += [lambda: history_of(stranger, KEY)]
    for id in ids:
        verbs += [lambda name=id: stranger.get(name), lambda name=id: history_of(stranger, name)]
        verbs += [lambda name=id, q=q: stranger.explain(name, q) for q in QUESTIONS]
    return [answer(verb) for verb in verbs]


def meddle(stranger: Memory, ids: tuple[str, ...]) -> list[Any]:
    """Try to change, remove, copy or overtake what is not one's own."""
    # What came from a source goes from a user's own tasks too, unless a scope is named.
    own = {"scope": principal_of(stranger).home.path}
    verbs: list[Callable[[], Any]] = []
    for id in ids:
        verbs += [
            lambda name=id: stranger.correct(name, "I like light mode"),
            lambda name=id: stranger.confirm(name),
            lambda name=id: stranger.forget(name),
            lambda name=id: stranger.promote(name, "org"),
            lambda name=id: stranger.promote(name, "user"),
        ]
    verbs += [
        lambda: stranger.forget(KEY),
        lambda: stranger.forget_many(filter={"tags": "dark"}),
        lambda: stranger.forget_many(
            source="user_stated", filter={"category": "preference"}, **own
        ),
        lambda: stranger.remember(Draft("A guess", key=KEY, source="agent_inferred")),
        lambda: stranger.remember(f"{SECRET} in every editor"),
        lambda: stranger.remember("Something else", idempotency_key="write-1"),
        lambda: stranger.remember("Light", key=KEY, category="preference"),
        lambda: stranger.correct(KEY, "Lighter"),
        lambda: stranger.forget(KEY),
    ]
    return [answer(verb) for verb in verbs]


def faceless(said: Any, location: str) -> str:
    """Return data as text without what differs between any two stores."""
    text = json.dumps(said, ensure_ascii=False, sort_keys=True).replace(location, "STORE")
    seen: dict[str, str] = {}
    text = UUID.sub(lambda m: seen.setdefault(m[0], f"id-{len(seen)}"), text)
    return SALT.sub('"salt": ""', text)


def test_a_reader_cannot_tell_whether_a_stranger_exists(
    new_world: Callable[..., World], pair: tuple[dict[str, str], dict[str, str]]
) -> None:
    owner, stranger = pair
    shared, lonely = new_world(), new_world()
    for world in (shared, lonely):
        memory_for(world.store, **stranger).remember("My mode of transport is the train")
    ids = keep_secret(shared.store, owner)

    seen = read_all(memory_for(shared.store, **stranger), ids)
    alone = read_all(memory_for(lonely.store, **stranger), ids)
    for told, world in ((seen, shared), (alone, lonely)):
        told.append(answer(memory_for(world.store, **stranger).receipts.list))

    text = faceless(seen, shared.location)
    assert text == faceless(alone, lonely.location)
    for id in ids:
        assert f'"id": "{id}"' not in json.dumps(seen)
    assert f"{SECRET} in every" not in text


def test_a_meddler_changes_nothing_and_learns_nothing(
    new_world: Callable[..., World], pair: tuple[dict[str, str], dict[str, str]]
) -> None:
    owner, stranger = pair
    shared, lonely = new_world(), new_world()
    ids = keep_secret(shared.store, owner)
    for world in (shared, lonely):
        world.clock.advance(seconds=60)
    # Read at one time, before and after: only the clock of the answers may differ.
    before = read_all(memory_for(shared.store, **owner), ids)

    seen = meddle(memory_for(shared.store, **stranger), ids)
    alone = meddle(memory_for(lonely.store, **stranger), ids)

    assert faceless(seen, shared.location) == faceless(alone, lonely.location)
    held = [memory_for(shared.store, **owner).get(id) for id in ids]
    assert [(m.id, m.version, m.status, m.key) for m in held if m] == [
        (ids[0], 1, "active", KEY),
        (ids[1], 1, "active", None),
    ]
    if "agent" not in owner and "task" not in owner:
        after = read_all(memory_for(shared.store, **owner), ids)
        assert faceless(after, shared.location) == faceless(before, shared.location)
    assert shared.store.admin(actor="root").check_audit().ok


def test_nothing_of_a_stranger_reaches_logs_or_warnings(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    ids = keep_secret(world.store, {"user": "alice"})
    read_all(world.store.memory(user="bob"), ids)
    meddle(world.store.memory(user="bob"), ids)

    assert "dark" not in caplog.text
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_the_command_line_shows_a_stranger_nothing(tmp_path: Any, as_json: bool) -> None:
    store = str(tmp_path / "m.db")
    with simonides.open(store) as opened:
        ids = keep_secret(opened, {"user": "alice"})
    front = ["--store", store, "--user", "bob", *(["--json"] if as_json else [])]
    verbs = [["list"], ["status"], ["history", KEY], ["forget", KEY]]
    verbs += [["recall", question] for question in QUESTIONS]
    for id in ids:
        verbs += [["get", id], ["history", id], ["explain", id, SECRET], ["confirm", id]]
        verbs += [["correct", id, "light"], ["forget", id]]

    said = []
    for verb in verbs:
        result = CliRunner().invoke(app, [*front, *verb])
        # What one asked oneself, and the store's name, are no news.
        told = re.sub(r'"query": .*|nothing is remembered under \'[^\']*\'', "", result.output)
        said.append(told.replace(store, ""))
        assert result.exit_code in (0, 1), result.output

    assert "dark" not in "".join(said)
    assert KEY not in "".join(said)
    with simonides.open(store) as opened:
        assert len(opened.memory(user="alice").list()) == 2


def test_five_hundred_nearer_memories_of_others_change_no_score(
    new_world: Callable[..., World],
) -> None:
    shared, lonely = new_world(), new_world()
    own = [f"My {thing} is set to dark mode on day {n}" for n, thing in enumerate(THINGS)]
    for world in (shared, lonely):
        world.store.memory(user="bob").remember_many([Draft(text) for text in own])
    crowd = [Draft(f"I like dark mode, colour mode number {n}") for n in range(500)]
    shared.store.memory(user="alice").remember_many(crowd)
    shared.store.memory(user="bob", org="umbrella").remember_many(crowd)
    shared.store.memory(user="bob").task(name="t1").memory.remember_many(crowd)
    shared.store.visitor("bob").remember_many(crowd)

    for limit in (1, 3, 5, 20):
        ours = shared.store.memory(user="bob").recall(SECRET, limit=limit)
        theirs = lonely.store.memory(user="bob").recall(SECRET, limit=limit)
        assert len(ours) == min(limit, len(own))
        assert ours.to_dict() == theirs.to_dict()


def test_sibling_tasks_are_as_strangers(new_world: Callable[..., World]) -> None:
    shared, lonely = new_world(), new_world()
    for world in (shared, lonely):
        task = world.store.memory(user="bob").task(name="t2").memory
        task.remember_many([Draft(f"The {thing} uses dark mode") for thing in THINGS])
    crowd = [Draft(f"I like dark mode, colour mode number {n}") for n in range(300)]
    shared.store.memory(user="bob").task(name="t1").memory.remember_many(crowd)

    ours = shared.store.memory(user="bob").task(name="t2").memory.recall(SECRET, limit=20)
    theirs = lonely.store.memory(user="bob").task(name="t2").memory.recall(SECRET, limit=20)

    assert ours.to_dict() == theirs.to_dict()


def test_memories_of_another_agent_change_no_score(new_world: Callable[..., World]) -> None:
    shared, lonely = new_world(), new_world()
    for world in (shared, lonely):
        agent = world.store.memory(user="bob", agent="b")
        agent.remember_many([Draft(f"The {thing} uses dark mode") for thing in THINGS])
    crowd = [Draft(f"I like dark mode {n}", audience=("a",)) for n in range(300)]
    shared.store.memory(user="bob", agent="a").remember_many(crowd)

    ours = shared.store.memory(user="bob", agent="b").recall(SECRET, limit=20)
    theirs = lonely.store.memory(user="bob", agent="b").recall(SECRET, limit=20)

    assert ours.to_dict() == theirs.to_dict()


def test_expired_and_superseded_rows_shift_no_score(new_world: Callable[..., World]) -> None:
    worn, fresh = new_world(), new_world()
    standing = [Draft(f"The {thing} uses dark mode", key=f"k{n}") for n, thing in enumerate(THINGS)]
    for world in (worn, fresh):
        world.store.memory(user="bob").remember_many(standing)
    ended = [Draft(f"I like dark mode {n}", ttl_days=1) for n in range(200)]
    worn.store.memory(user="bob").remember_many(ended)
    old = [Draft(f"Dark mode was {n}", key="x", ttl_days=1) for n in range(50)]
    for draft in old:
        worn.store.memory(user="bob").remember_many([draft])
    for world in (worn, fresh):
        world.clock.advance(days=1, seconds=1)

    ours = worn.store.memory(user="bob").recall(SECRET, limit=20)
    theirs = fresh.store.memory(user="bob").recall(SECRET, limit=20)

    assert [(h.record.content, h.score, dict(h.why)) for h in ours] == [
        (h.record.content, h.score, dict(h.why)) for h in theirs
    ]
    assert ours.receipt.considered == theirs.receipt.considered == len(THINGS)


def test_the_same_words_in_two_scopes_are_two_memories(world: World) -> None:
    makers = [
        memory_for(world.store, **who)
        for who in ({"user": "a"}, {"user": "b"}, {"user": "a", "org": "o"}, {"session": "a"})
    ] + [memory_for(world.store, user="a", task=task) for task in ("t1", "t2")]

    outcomes = [maker.remember(SECRET, idempotency_key="same") for maker in makers]
    keyed = [maker.remember(SECRET, key=KEY) for maker in makers]

    assert {outcome.kind for outcome in outcomes} == {"created"}
    # Each key goes to the maker's own words.
    assert [each.record.supersedes for each in keyed if each.record] == [
        outcome.record.id for outcome in outcomes if outcome.record
    ]
    assert len({o.record.id for o in (*outcomes, *keyed) if o.record}) == 2 * len(makers)


def test_a_named_scope_that_is_not_readable_is_denied_alike_whether_it_exists(
    world: World,
) -> None:
    keep_secret(world.store, {"user": "alice"})
    bob = world.store.memory(user="bob")

    errors = []
    for name in ("alice", "nobody"):
        with pytest.raises(simonides.ScopeDenied) as caught:
            bob.recall(SECRET, scopes=[f"/user/{name}/"])
        errors.append(str(caught.value).replace(name, "X"))

    assert errors[0] == errors[1]


THINGS = (
    "editor", "terminal", "phone", "tablet", "browser", "mail", "calendar", "reader",
    "console", "dashboard", "wiki", "chat",
)  # fmt: skip
