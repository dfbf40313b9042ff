"""Five hundred hostile identities: each is a typed error or strictly its own tenant (SC-1, SC-4)."""

from collections.abc import Callable
from typing import Any

import pytest
from conftest import World
from hostile import ALL, NOT_TEXTS, TEXTS, Liar, shows_nothing
from typer.testing import CliRunner

from memstrata import Draft, InvalidInput, InvalidScope, MemoryManager, MemstrataError
from memstrata.blocking import Strata
from memstrata.cli.app import app

SECRET = "The secret word is walnut"
IDENTITIES: dict[str, Callable[[Strata, Any], MemoryManager]] = {
    "user": lambda strata, id: strata.manager(user=id),
    "org": lambda strata, id: strata.manager(user="alice", org=id),
    "task": lambda strata, id: strata.manager(user="alice", task=id),
    "session": lambda strata, id: strata.manager(session=id),
}
FACETS: dict[str, Callable[[Strata, Any], MemoryManager]] = {
    "agent": lambda strata, id: strata.manager(user="alice", agent=id),
    "purpose": lambda strata, id: strata.manager(user="alice", purpose=id),
}


def attempt(verb: Callable[[], Any]) -> Any:
    """Return what a verb gives; only memstrata's own errors may come instead."""
    try:
        return verb()
    except MemstrataError as error:
        assert str(error).isprintable() or "\n" in str(error), ascii(str(error))
        return error


def valid(make: Callable[[Strata, Any], MemoryManager], strata: Strata) -> list[Any]:
    made = [(id, attempt(lambda id=id: make(strata, id))) for id in ALL]
    return [id for id, manager in made if isinstance(manager, MemoryManager)]


def test_the_list_is_as_long_as_it_says() -> None:
    assert len(ALL) >= 500
    assert len({*TEXTS}) == len(TEXTS)


@pytest.mark.parametrize("make", [*IDENTITIES.values(), *FACETS.values()], ids=[*IDENTITIES, *FACETS])
def test_what_nobody_can_see_and_what_is_no_text_is_refused(
    world: World, make: Callable[[Strata, Any], MemoryManager]
) -> None:
    admitted = valid(make, world.strata)

    assert [ascii(id) for id in admitted if shows_nothing(id)] == []
    assert [id for id in admitted if id in NOT_TEXTS and not isinstance(id, str)] == []
    assert "alice" in admitted
    assert len(admitted) < len(ALL) / 2


@pytest.mark.parametrize("make", IDENTITIES.values(), ids=IDENTITIES)
def test_every_admitted_identity_is_strictly_its_own_tenant(
    world: World, make: Callable[[Strata, Any], MemoryManager]
) -> None:
    strata = world.strata
    admitted = valid(make, strata)
    kept: dict[int, str] = {}

    for number, id in enumerate(admitted):
        outcome = make(strata, id).remember(f"{SECRET} {number}", key="word", pinned=True)
        assert outcome.memory is not None
        assert outcome.kind == "created", ascii(id)
        kept[number] = outcome.memory.id

    strata = world.reopen()
    for number, id in enumerate(admitted):
        manager = make(strata, id)
        other = kept[number - 1 if number else len(kept) - 1]
        assert [memory.id for memory in manager.list()] == [kept[number]], ascii(id)
        assert [hit.memory.id for hit in manager.recall(SECRET)] == [kept[number]]
        assert [memory.id for memory in manager.history("word")] == [kept[number]]
        assert manager.get(other) is None
        assert manager.history(other) == ()
        assert manager.explain(other, SECRET).excluded == ("not_found",)
        assert manager.forget(id=other).reasons == ("not_found",)
        assert manager.correct(other, "hazel").reasons == ("not_found",)
        assert manager.confirm(other).reasons == ("not_found",)
    assert strata.verify_audit().ok


def test_every_admitted_agent_has_its_own_audience(world: World) -> None:
    make, strata = FACETS["agent"], world.strata
    admitted = valid(make, strata)

    for number, id in enumerate(admitted):
        make(strata, id).remember(f"{SECRET} {number}", key="word", audience=[id], pinned=True)

    for number, id in enumerate(admitted):
        assert [m.content for m in make(strata, id).list()] == [f"{SECRET} {number}"], ascii(id)
    assert strata.manager(user="alice").list() == ()


def test_every_admitted_purpose_is_its_own(world: World) -> None:
    make, strata = FACETS["purpose"], world.strata
    admitted = valid(make, strata)
    drafts = [Draft(f"{SECRET} {n}", key="word", purpose=id) for n, id in enumerate(admitted)]

    strata.manager(user="alice").remember_many(drafts)

    for number, id in enumerate(admitted):
        assert [m.content for m in make(strata, id).list()] == [f"{SECRET} {number}"], ascii(id)
    assert strata.manager(user="alice").list() == ()


def test_no_scope_name_leads_a_write_or_a_read_away_from_home(world: World) -> None:
    strata = world.strata
    alice, bob = strata.manager(user="alice"), strata.manager(user="bob")
    mine = alice.remember(SECRET, pinned=True).memory
    assert mine is not None
    home = "/global/org/default/user/bob/"
    ancestors = {home, "/global/org/default/", "/global/"}

    for id in ALL:
        paths = [id]
        if isinstance(id, str):
            paths += [f"/user/{id}/", f"/org/{id}/", f"/global/org/{id}/user/bob/", f"/{id}/bob/"]
            paths += [f"/user/bob/task/{id}", f"/session/{id}", f"/org/default/user/bob/{id}"]
        for path in paths:
            written = attempt(lambda path=path: bob.remember("Mine", scope=path))
            if not isinstance(written, MemstrataError):
                assert written.memory.scope.path == home, ascii(path)
            read = attempt(lambda path=path: bob.recall(SECRET, scopes=[path]))
            if not isinstance(read, MemstrataError):
                assert set(read.receipt.scopes) <= ancestors, ascii(path)
            moved = attempt(lambda path=path: bob.promote(mine.id, path))
            assert isinstance(moved, MemstrataError), ascii(path)

    assert [memory.id for memory in alice.list()] == [mine.id]
    assert {memory.scope.path for memory in bob.list()} <= {home}


def test_no_grant_goes_to_anyone_but_who_is_named(world: World) -> None:
    strata, admin = world.strata, world.strata.admin(by="root-operator")
    named, subjects = [], []

    for id in ALL:
        given = attempt(lambda id=id: admin.grant(id, "org_write"))
        if not isinstance(given, MemstrataError):
            named.append(given.grantee)
        given = attempt(lambda id=id: admin.grant("bob", f"read_user:{id}"))
        if not isinstance(given, MemstrataError):
            subjects.append(given.subject)
        attempt(lambda id=id: admin.grant("bob", id))
        attempt(lambda id=id: admin.grants(org=id))
        attempt(lambda id=id: strata.admin(by=id))

    assert {g.grantee for g in admin.grants() if g.right == "org_write"} == set(named)
    assert {g.subject for g in admin.grants() if g.right == "read_user"} == set(subjects)
    assert "bob" not in named
    for id in named:
        told = attempt(lambda id=id: strata.manager(user=id).remember("For all", scope="org"))
        assert not isinstance(told, MemstrataError), ascii(id)
    with pytest.raises(MemstrataError):
        strata.manager(user="bob").remember("For all", scope="org")


def test_no_id_or_key_reaches_what_is_anothers(world: World) -> None:
    strata = world.strata
    mine = strata.manager(user="alice").remember(SECRET, key="word").memory
    bob = strata.manager(user="bob")

    for id in ALL:
        for verb in (bob.get, bob.history, bob.confirm):
            attempt(lambda id=id, verb=verb: verb(id))
        attempt(lambda id=id: bob.explain(id, SECRET))
        attempt(lambda id=id: bob.correct(id, "hazel"))
        attempt(lambda id=id: bob.promote(id, "org"))
        attempt(lambda id=id: bob.forget(id=id))
        attempt(lambda id=id: bob.remember("walnut", key=id, idempotency_key=id, audience=[id]))
        attempt(lambda id=id: bob.remember("walnut", tags=[id], metadata={"at": id}, quote=id))
        attempt(lambda id=id: bob.recall(SECRET, filter={"scope": id, "key": id, "tags": id}))
        attempt(lambda id=id: bob.list(filter={"metadata.at": id}))
        attempt(lambda id=id: bob.capture("Call me Bo.", speaker=id))
        attempt(lambda id=id: bob.forget(key=id))

    assert strata.manager(user="alice").list() == (mine,)
    assert strata.verify_audit().ok


def test_an_error_names_what_was_wrong(world: World) -> None:
    for make, field in ((IDENTITIES[name], name) for name in IDENTITIES):
        with pytest.raises(InvalidScope) as caught:
            make(world.strata, "al/ice")
        assert caught.value.field == field
        assert isinstance(caught.value, InvalidInput)


def test_a_text_that_lies_about_itself_is_taken_at_its_letters(world: World) -> None:
    world.strata.manager(user="alice").remember(SECRET)

    liar = world.strata.manager(user=Liar("mallory"))

    assert liar.principal.home.path == "/global/org/default/user/mallory/"
    assert liar.list() == ()


@pytest.mark.parametrize("option", ["--user", "--org", "--task", "--session", "--agent"])
def test_the_command_line_refuses_them_too(tmp_path: Any, option: str) -> None:
    store = str(tmp_path / "m.db")
    user = {"--user": [], "--session": [], "--task": ["--user", "carol"]}
    front = ["--store", store, *user.get(option, ["--user", "alice"])]
    CliRunner().invoke(app, ["--store", store, "--user", "alice", "remember", SECRET])

    for id in TEXTS[::6]:
        told = CliRunner().invoke(app, [*front, f"{option}={id}", "list"])
        assert told.exit_code in (0, 2), (ascii(id), told.output)
        assert told.exception is None or isinstance(told.exception, SystemExit)
        if id not in ("alice", "default") and option != "--agent":
            assert "walnut" not in told.output, ascii(id)
