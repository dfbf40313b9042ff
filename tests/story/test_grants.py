"""Rights come from an administrator and are used in the open."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import World
from principals import history_of, principal_of
from simonides import Draft, InvalidInput, Memory, ScopeDenied, Store, StoreReadOnly
from simonides.api.open.assemble import assemble
from simonides.domain.errors import NotFound
from simonides.domain.scope import Scope
from simonides.settings import Settings
from simonides.testing.store_contract import drive

ANA = "/user/ana/"


def explained(memory: Memory, which: str, query: str, scopes: list[str] | None) -> bool:
    try:
        return memory.explain(which, query, scopes=scopes).recalled
    except NotFound:
        return False


READS: dict[str, Callable[[Memory, str, list[str] | None], Any]] = {
    "recall": lambda m, one, scopes: [h.record.content for h in m.recall("mode", scopes=scopes)],
    "digest": lambda m, one, scopes: [
        item.record.content for item in m.digest("mode", min_relevance=0, scopes=scopes).items
    ],
    "list": lambda m, one, scopes: [memory.content for memory in m.list(scopes=scopes)],
    "get": lambda m, one, scopes: [f.content for f in [m.get(one, scopes=scopes)] if f],
    "history": lambda m, one, scopes: [f.content for f in history_of(m, "mode", scopes=scopes)],
    "history by id": lambda m, one, scopes: [f.content for f in history_of(m, one, scopes=scopes)],
    "explain": lambda m, one, scopes: (
        ["I like dark mode"] if explained(m, one, "mode", scopes=scopes) else []
    ),
}


@pytest.fixture
def mine(world: World) -> str:
    """Id of a memory of ana."""
    found = world.store.memory(user="ana").remember("I like dark mode", key="mode").record
    assert found
    return found.id


def journal(world: World, user: str = "ana") -> list[dict[str, Any]]:
    store = world.store.runtime.store
    entries = drive(store, store.journaled(Scope.of_user("default", user)))
    assert {entry.kind for entry in entries} <= {"granted_read"}
    return [json.loads(entry.body) for entry in entries]


@pytest.mark.parametrize("verb", READS)
def test_every_verb_reads_another_user_by_grant_only_and_says_so_in_that_users_journal(
    world: World, mine: str, verb: str
) -> None:
    read, bob = READS[verb], world.store.memory(user="bob", agent="desk")
    with pytest.raises(ScopeDenied):
        read(bob, mine, [ANA])
    assert journal(world) == []
    world.store.admin(actor="root").grant("bob", "read_user:ana")

    found = read(bob, mine, [ANA])

    assert found == ["I like dark mode"]
    assert read(bob, mine, None) == [], "a grant widens no question that does not name the scope"
    assert journal(world) == [
        {
            "by": "/global/org/default/user/bob/",
            "agent": "desk",
            "scope": "/global/org/default/user/ana/",
            "verb": verb.partition(" ")[0],
        }
    ]
    world.store.admin(actor="root").revoke("bob", "read_user:ana")
    with pytest.raises(ScopeDenied):
        read(bob, mine, [ANA])
    assert len(journal(world)) == 1


@pytest.mark.parametrize("verb", READS)
def test_reading_at_home_leaves_no_entry(world: World, mine: str, verb: str) -> None:
    ana = world.store.memory(user="ana")

    for scopes in (None, ["user"], ["user", "org", "global"]):
        assert READS[verb](ana, mine, scopes) == ["I like dark mode"]
    assert READS[verb](ana, mine, ["org"]) == []

    assert journal(world) == []


def test_a_read_that_cannot_be_put_down_is_not_made(
    world: World, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.admin(actor="root").grant("bob", "read_user:ana")

    async def refuse(*rest: object) -> None:
        raise StoreReadOnly("here", "cannot be written")

    monkeypatch.setattr(world.store.runtime.store, "journal", refuse)

    with pytest.raises(StoreReadOnly):
        world.store.memory(user="bob").get(mine, scopes=[ANA])
    assert world.store.memory(user="ana").get(mine) is not None


def test_who_administers_an_org_gives_and_takes_rights_there_under_its_own_name(
    world: World,
) -> None:
    world.store.admin(actor="root").grant("ana", "admin", org="acme")
    ana, bob = (world.store.memory(user=name, org="acme") for name in ("ana", "bob"))

    given = ana.privacy.grant("bob", "org_write")

    assert (given.name, given.by) == ("org_write", principal_of(ana).name)
    assert bob.remember(Draft("We deploy on Friday", scope="org")).stored
    assert given in ana.privacy.grants()
    assert ana.privacy.revoke("bob", "org_write") is True
    assert ana.privacy.revoke("bob", "org_write") is False
    with pytest.raises(ScopeDenied):
        bob.remember(Draft("Or on Monday", scope="org"))
    store = world.store.runtime.store
    links = drive(store, store.links(Scope.of_org("acme")))
    told = [json.loads(link.payload or b"{}") for link in links]
    assert [(event["type"], event["actor"]) for event in told] == [
        ("granted", "admin:root"),
        ("granted", principal_of(ana).name),
        ("created", principal_of(bob).name),
        ("revoked", principal_of(ana).name),
    ]
    assert world.store.admin(actor="root").check_audit().ok


def test_nobody_grants_to_themselves_nor_beyond_their_org(world: World) -> None:
    root = world.store.admin(actor="root")
    root.grant("ana", "admin", org="acme")
    ana = world.store.memory(user="ana", org="acme")
    task = world.store.memory(user="ana", org="acme").task(name="t1").memory

    for memory in (ana, task):
        for right in ("org_write", "admin", "read_user:bob"):
            with pytest.raises(ScopeDenied) as caught:
                memory.privacy.grant("ana", right)
            assert caught.value.right == "admin"
    with pytest.raises(InvalidInput):
        ana.privacy.grant("bob", "everything")
    for stranger in (
        world.store.memory(user="ana"),
        world.store.memory(user="bob", org="acme"),
        world.store.visitor("ana", org="acme"),
    ):
        with pytest.raises(ScopeDenied):
            stranger.privacy.grant("carol", "org_write")
        with pytest.raises(ScopeDenied):
            stranger.privacy.revoke("ana", "admin")
    assert [g.name for g in root.grants(org="acme")] == ["admin"]


def test_one_sees_the_rights_that_concern_one(world: World) -> None:
    root = world.store.admin(actor="root")
    root.grant("ana", "admin")
    reading = root.grant("bob", "read_user:carol")

    assert len(world.store.memory(user="ana").privacy.grants()) == 2
    assert list(world.store.memory(user="bob").privacy.grants()) == [reading]
    assert list(world.store.memory(user="carol").privacy.grants()) == [reading]
    assert list(world.store.memory(user="dan").privacy.grants()) == []
    assert list(world.store.visitor("bob").privacy.grants()) == []


USERS = ("ana", "bob", "carol")
ORGS = ("acme", "default")
users, orgs = st.sampled_from(USERS), st.sampled_from(ORGS)
rights = st.sampled_from(("org_write", "admin", *(f"read_user:{name}" for name in USERS)))
# Who asks (None: the operator), of which org, for whom, for what, and whether to give it.
steps = st.lists(st.tuples(st.none() | users, orgs, users, rights, st.booleans()), max_size=12)


def allowed(act: Callable[[], object]) -> bool:
    try:
        act()
    except ScopeDenied:
        return False
    return True


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=steps)
def test_there_is_no_right_without_a_grant(
    steps: list[tuple[str | None, str, str, str, bool]],
) -> None:
    with Store(assemble(":memory:", settings=Settings(embedder="none"), inline=True)) as store:
        held: set[tuple[str, str, str]] = set()
        for by, org, user, right, given in steps:
            may = by is None or ((org, by, "admin") in held and not (given and user == by))
            root, own = store.admin(actor="root"), store.memory(user=by or "x", org=org)
            if by is None:
                (root.grant if given else root.revoke)(user, right, org=org)
            else:
                did = own.privacy.grant if given else own.privacy.revoke
                assert allowed(lambda did=did, user=user, right=right: did(user, right)) is may
            if may:
                (held.add if given else held.discard)((org, user, right))
        for org in ORGS:
            for user in USERS:
                agree(store, org, user, {r for o, u, r in held if (o, u) == (org, user)})


def agree(store: Store, org: str, user: str, held: set[str]) -> None:
    """What a user may do is what it holds, in its own org and nowhere else."""
    memory = store.memory(user=user, org=org)

    def write(scope: str) -> bool:
        return allowed(lambda: memory.remember(Draft(f"{user} of {org} was here", scope=scope)))

    assert write("org") is ("org_write" in held)
    assert write("global") is (org == "default" and "admin" in held)
    assert write(f"/org/{'default' if org == 'acme' else 'acme'}/") is False
    for other in set(USERS) - {user}:
        for there in ORGS:
            scope = f"/org/{there}/user/{other}/"
            may = there == org and f"read_user:{other}" in held
            assert allowed(lambda scope=scope: memory.list(scopes=[scope])) is may
            assert write(scope) is False


def contents(memory: Memory, query: str, scopes: list[str] | None) -> list[str]:
    return sorted(hit.record.content for hit in memory.recall(query, scopes=scopes))


def test_the_nearest_scope_wins_in_whatever_order_scopes_are_named(world: World) -> None:
    world.store.admin(actor="root").grant("bob", "org_write")
    bob = world.store.memory(user="bob")
    bob.remember(Draft("UTC everywhere", key="timezone", scope="org"))
    bob.remember("CET, please", key="timezone")
    org, own = principal_of(bob).home.lineage[1].path, principal_of(bob).home.path

    for scopes in (None, [org, own], [own, org]):
        assert contents(bob, "timezone", scopes) == ["CET, please"]
    assert contents(bob, "timezone", [org]) == ["UTC everywhere"]


def test_what_another_user_has_under_a_key_neither_hides_mine_nor_is_hidden_by_it(
    world: World,
) -> None:
    world.store.admin(actor="root").grant("bob", "read_user:ana")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    ana.remember("Lisbon", key="location")
    bob.remember("Berlin", key="location")
    hers, own = principal_of(ana).home.path, principal_of(bob).home.path

    for scopes in ([hers, own], [own, hers]):
        assert contents(bob, "location", scopes) == ["Berlin", "Lisbon"]
        assert bob.recall("where do I live?", scopes=scopes)[0].record.content == "Berlin"


def test_what_other_users_have_hides_nothing_of_an_org_in_whatever_order_they_are_named(
    world: World,
) -> None:
    root = world.store.admin(actor="root")
    for right in ("org_write", "read_user:ana", "read_user:carol"):
        root.grant("bob", right)
    ana, bob, carol = (world.store.memory(user=name) for name in USERS)
    bob.remember(Draft("UTC everywhere", key="timezone", scope="org"))
    ana.remember("CET, please", key="timezone")
    ana.remember("Lisbon", key="location")
    carol.remember("Oslo", key="location")
    org, hers = principal_of(bob).home.lineage[1].path, principal_of(ana).home.path
    third = principal_of(carol).home.path

    for scopes in ([org, hers], [hers, third, org], [third, hers, org]):
        assert {"CET, please", "UTC everywhere"} <= {*contents(bob, "timezone", scopes)}
    for scopes in ([hers, third], [third, hers]):
        assert not bob.recall("where do I live?", scopes=scopes, min_relevance=0.5)


def test_what_is_asked_of_oneself_no_other_users_memory_answers(world: World) -> None:
    world.store.admin(actor="root").grant("bob", "read_user:ana")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    ana.remember("Lisbon", key="location")
    bob.remember("I like tea")
    hers, own = principal_of(ana).home.path, principal_of(bob).home.path

    for scopes in ([hers, own], [own, hers]):
        assert not bob.recall("where do I live?", scopes=scopes, min_relevance=0.5)
    # Who reads hers alone asks in her name.
    assert (
        bob.recall("where do I live?", scopes=[hers], min_relevance=0.5)[0].record.content
        == "Lisbon"
    )


def test_a_digest_says_whose_a_memory_of_another_user_is(world: World) -> None:
    world.store.admin(actor="root").grant("bob", "read_user:ana")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    ana.remember("Lisbon", key="location")
    bob.remember("Berlin", key="location")
    both = [principal_of(bob).home.path, principal_of(ana).home.path]

    shown = bob.digest("location", scopes=both, min_relevance=0)
    hers, own = sorted(shown.text.splitlines()[3:-1], key=lambda line: "Berlin" in line)

    assert hers.endswith('; of "ana")')
    assert "of " not in own
    assert bob.receipts.replay(shown.receipt).text == shown.text


def test_what_two_users_say_alike_a_digest_tells_of_both(world: World) -> None:
    world.store.admin(actor="root").grant("bob", "read_user:ana")
    ana, bob = world.store.memory(user="ana"), world.store.memory(user="bob")
    ana.remember("Likes tea")
    bob.remember("Likes tea")
    both = [principal_of(bob).home.path, principal_of(ana).home.path]

    shown = bob.digest("tea", scopes=both, min_relevance=0)

    assert sorted(str(item.record.scope.user) for item in shown.items) == ["ana", "bob"]
    assert bob.receipts.replay(shown.receipt).text == shown.text
