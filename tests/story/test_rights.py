"""Who may write where, and the one way across scopes."""

import json
from collections.abc import Iterator

import pytest

from conftest import World
from principals import memory_for, principal_of
from simonides import (
    Draft,
    InvalidInput,
    InvalidScope,
    Memory,
    Outcome,
    Record,
    ScopeDenied,
    StoreUnavailable,
)
from simonides.types import EventType

KEY = "deploy_region"


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


def stored(outcome: Outcome) -> Record:
    assert outcome.record is not None, outcome.reasons
    return outcome.record


def answers(memory: Memory) -> list[str]:
    return [hit.record.content for hit in memory.recall("deploy region", limit=20)]


def test_the_nearest_scope_wins_and_the_farther_ones_serve_where_it_is_silent(
    world: World, ana: Memory
) -> None:
    admin = world.store.admin(actor="root-operator")
    admin.remember(Draft("global region", key=KEY))
    assert answers(ana) == ["global region"]
    admin.remember(Draft("org region", key=KEY), scope="/org/default/")
    assert answers(ana) == ["org region"]
    ana.remember("my region", key=KEY)
    task = world.store.memory(user="ana").task(name="t1").memory
    assert answers(ana) == answers(task) == ["my region"]

    task.remember("task region", key=KEY)

    assert answers(task) == ["task region"]
    assert answers(ana) == ["my region"]
    assert answers(world.store.memory(user="bob")) == ["org region"]
    assert answers(world.store.memory(user="bob", org="other")) == ["global region"]
    assert answers(world.store.visitor("s1")) == ["org region"]
    shadowed = next(m for m in ana.list() if m.content == "org region")
    assert ana.explain(shadowed.id, "region").excluded == ("nearer_scope_holds_key",)


def test_a_named_scope_is_read_alone(world: World, ana: Memory) -> None:
    world.store.admin(actor="root").remember(Draft("org region", key=KEY), scope="/org/default/")
    ana.remember("my region", key=KEY)

    found = {
        name: [h.record.content for h in ana.recall("region", scopes=[name])]
        for name in ("org", "user")
    }

    assert found == {"org": ["org region"], "user": ["my region"]}


@pytest.mark.parametrize(
    "scope", ["org", "workspace", "global", "/global/", "/user/bob/", "/org/other/"]
)
def test_a_principal_writes_at_home_only(world: World, ana: Memory, scope: str) -> None:
    with pytest.raises(ScopeDenied) as caught:
        ana.remember(Draft("Not mine to say", scope=scope))

    assert caught.value.right == "write"
    assert world.store.admin(actor="root").check_audit().events == 0


@pytest.mark.parametrize("scope", ["/user/ana/", "/user/ana/task/t2/", "/org/default/"])
def test_a_task_writes_neither_up_nor_beside(world: World, scope: str) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory

    with pytest.raises(ScopeDenied):
        task.remember(Draft("Not mine to say", scope=scope))


def test_a_grant_lets_a_member_write_for_the_org_until_it_is_revoked(
    world: World, ana: Memory
) -> None:
    admin = world.store.admin(actor="root-operator")
    given = admin.grant("ana", "org_write")
    assert (given.grantee, given.name, given.by) == ("ana", "org_write", "admin:root-operator")
    assert admin.grants() == (given,)
    events = world.store.admin(actor="root").check_audit().events
    admin.grant("ana", "org_write")
    assert world.store.admin(actor="root").check_audit().events == events

    written = ana.remember(Draft("We deploy on Friday", scope="org"))

    assert written.kind == "created"
    assert stored(written).scope.path == "/global/org/default/"
    assert written.events[0].actor == "/global/org/default/user/ana/"
    assert "We deploy on Friday" in [m.content for m in world.store.memory(user="bob").list()]
    for stranger in (
        world.store.memory(user="bob"),
        world.store.memory(user="ana", org="other"),
        world.store.visitor("ana"),
    ):
        with pytest.raises(ScopeDenied):
            stranger.remember(Draft("Me too", scope="org"))
    assert admin.revoke("ana", "org_write") is True
    assert admin.revoke("ana", "org_write") is False
    with pytest.raises(ScopeDenied):
        ana.remember(Draft("One more", scope="org"))
    world.reopen()
    assert world.store.admin(actor="root-operator").grants() == ()


def test_a_grant_survives_a_restart(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")

    world.reopen()

    assert world.store.memory(user="ana").remember(Draft("Ours", scope="org")).kind == "created"


def test_only_an_administrator_writes_for_all_and_under_its_name(world: World) -> None:
    root = world.store.admin(actor="root")
    ana = world.store.memory(user="ana")
    root.grant("ana", "org_write")

    outcome = root.remember(Draft("Be kind", kind="procedural"))

    assert outcome.events[0].actor == "admin:root"
    assert [m.content for m in world.store.memory(user="x", org="y").list()] == ["Be kind"]
    with pytest.raises(ScopeDenied):
        ana.remember(Draft("Be kinder", scope="global"))
    root.grant("ana", "admin")
    assert (
        ana.remember(Draft("Be kinder", scope="global")).events[0].actor == principal_of(ana).name
    )
    root.revoke("ana", "admin")
    with pytest.raises(ScopeDenied):
        ana.remember(Draft("Be kindest", scope="global"))


def test_who_administers_one_org_does_not_write_for_all(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "admin", org="acme")
    ana = world.store.memory(user="ana", org="acme")

    for scope in ("global", "org", "/org/default/"):
        with pytest.raises(ScopeDenied):
            ana.remember(Draft("Mine to say?", scope=scope))


def test_reading_another_user_takes_a_grant_for_that_user(world: World, ana: Memory) -> None:
    ana.remember("I like dark mode")
    bob = world.store.memory(user="bob")
    with pytest.raises(ScopeDenied):
        bob.recall("dark mode", scopes=["/user/ana/"])
    world.store.admin(actor="root").grant("bob", "read_user:ana")

    found = bob.recall("dark mode", scopes=["/user/ana/"])

    assert [hit.record.content for hit in found] == ["I like dark mode"]
    assert len(bob.recall("dark mode")) == 0
    assert bob.list() == ()
    for name in ("/user/anabel/", "/user/carol/", "/user/ana/task/t1/", "/org/other/user/ana/"):
        with pytest.raises(ScopeDenied):
            bob.recall("dark mode", scopes=[name])
    with pytest.raises(ScopeDenied):
        world.store.memory(user="bob", org="other").recall("x", scopes=["/org/default/user/ana/"])
    world.store.admin(actor="root").revoke("bob", "read_user:ana")
    with pytest.raises(ScopeDenied):
        bob.recall("dark mode", scopes=["/user/ana/"])


def test_a_task_hands_up_to_its_user(world: World, ana: Memory) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    learned = stored(
        task.remember(Draft("Blue deploys work", tags=["ops"], source="task_learning"))
    )

    outcome = task.promote(learned.id, "user")

    copy = stored(outcome)
    assert outcome.kind == "created"
    assert copy.id != learned.id
    assert (copy.scope.path, copy.version) == ("/global/org/default/user/ana/", 1)
    assert copy.parents == (learned.id,)
    assert copy.origin.memory == learned.id
    assert (copy.trust, copy.confidence, copy.tags) == (learned.trust, 0.8, ("ops",))
    assert [m.id for m in ana.list()] == [copy.id]
    assert task.get(learned.id) == learned
    events = world.store.admin(actor="root").check_audit().events
    again = task.promote(learned.id, "user")
    assert stored(again) == copy
    assert len(ana.list()) == 1
    assert world.store.admin(actor="root").check_audit().events == events


@pytest.mark.parametrize("task", [None, "t1"])
def test_promotion_to_the_org_takes_the_grant(world: World, task: str | None) -> None:
    memory = memory_for(world.store, user="ana", task=task)
    mine = stored(memory.remember("We deploy on Friday", key="deploy_day"))
    with pytest.raises(ScopeDenied):
        memory.promote(mine.id, "org")
    world.store.admin(actor="root").grant("ana", "org_write")

    outcome = memory.promote(mine.id, "org")

    assert outcome.kind == "created"
    assert stored(outcome).scope.path == "/global/org/default/"
    assert memory.promote(mine.id, "/org/default/").record == outcome.record
    assert [m.content for m in world.store.memory(user="bob").list()] == ["We deploy on Friday"]
    assert world.store.deliver_outbox() == 0
    assert world.store.admin(actor="root").check_audit().ok


def test_the_trail_of_the_source_tells_of_a_promotion(world: World, ana: Memory) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    mine = stored(ana.remember("We deploy on Friday"))

    ana.promote(mine.id, "org")

    links = world.store._driver.run(world.store.runtime.store.links(principal_of(ana).home))
    types = [json.loads(link.payload or b"{}")["type"] for link in links]
    assert types == [EventType.CREATED, EventType.PROMOTED]
    assert mine.id.encode() in (links[1].payload or b"")


@pytest.mark.parametrize(
    "to", ["global", "/global/", "user", "task", "/user/bob/", "/org/other/", "/user/ana/task/t/"]
)
def test_promotion_goes_upward_along_the_line_only(world: World, ana: Memory, to: str) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    mine = stored(ana.remember("Mine"))

    with pytest.raises((InvalidScope, InvalidInput)):
        ana.promote(mine.id, to)

    with pytest.raises(InvalidInput):
        world.store.visitor("s1").promote(mine.id, "org")


def test_what_was_forgotten_upstairs_is_not_promoted_again(world: World, ana: Memory) -> None:
    ana.remember("us-east-1", key=KEY)
    ana.forget(KEY)
    task = world.store.memory(user="ana").task(name="t1").memory
    learned = stored(task.remember("eu-west-1", key=KEY))

    outcome = task.promote(learned.id, "user")

    assert (outcome.kind, outcome.reasons) == ("blocked", ("tombstoned",))
    assert ana.list() == ()


def test_a_private_memory_stays_private_when_it_is_promoted(world: World) -> None:
    agent = world.store.memory(user="ana", agent="a").task(name="t1").memory
    secret = stored(agent.remember(Draft("Only for a", audience=["a"], sensitivity="sensitive")))

    copy = stored(agent.promote(secret.id, "user"))

    assert (copy.audience, copy.sensitivity) == (frozenset({"a"}), "sensitive")
    assert world.store.memory(user="ana", agent="b").list() == ()


def test_a_nearer_scope_hides_a_key_whatever_kind_is_asked_for(world: World) -> None:
    admin = world.store.admin(actor="root")
    admin.remember(
        Draft("Reply in French", key="reply_rule", kind="procedural", category="rule"),
        scope="/org/default/",
    )
    ana = world.store.memory(user="ana")
    ana.remember("Reply in English", key="reply_rule", category="preference")

    assert ana.recall("reply French", kinds=["procedural"]).hits == ()
    assert ana.recall("reply French", filter={"category": "rule"}).hits == ()
    assert [hit.record.content for hit in ana.recall("reply")] == ["Reply in English"]


def test_a_promoted_copy_lives_no_longer_than_its_original(world: World) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    short = task.remember("The staging password rotates tonight", ttl_days=1)
    assert short.record
    world.clock.advance(days=0.5)

    copy = task.promote(short.record.id, "user").record

    assert copy
    assert copy.hard_expires_at == short.record.hard_expires_at


def test_a_copy_in_another_owner_is_known_to_the_owner_of_its_original(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    original = ana.remember("The venue is booked").record
    assert original
    copy = ana.promote(original.id, "org").record
    assert copy

    store = world.store.runtime.store
    edges = world.store._driver.run(store.derived(original.scope.owner, original.id))

    assert edges == ((copy.scope.owner, copy.id),)


def test_nothing_is_answered_from_memory_once_the_store_is_closed(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("The venue is booked")
    assert len(ana.recall("venue")) == 1

    world.store.close()

    with pytest.raises(StoreUnavailable):
        ana.recall("venue")
