"""Five hundred hostile identities: each is a typed error or its own tenant."""

from collections.abc import Callable
from typing import Any

import pytest
from hostile import ALL, NOT_TEXTS, TEXTS, Liar, shows_nothing
from typer.testing import CliRunner

from conftest import World
from principals import capture, history_of, memory_for, principal_of
from simonides import Draft, InvalidInput, InvalidScope, Memory, SimonidesError
from simonides.api.sync import Store
from simonides.cli.app import app
from simonides.domain.errors import NotFound

SECRET = "The secret word is walnut"
IDENTITIES: dict[str, Callable[[Store, Any], Memory]] = {
    "user": lambda store, raw: store.memory(user=raw),
    "org": lambda store, raw: store.memory(user="alice", org=raw),
    "task": lambda store, raw: memory_for(store, user="alice", task=raw),
    "session": lambda store, raw: memory_for(store, session=raw),
}
FACETS: dict[str, Callable[[Store, Any], Memory]] = {
    "agent": lambda store, raw: store.memory(user="alice", agent=raw),
    "purpose": lambda store, raw: store.memory(user="alice", purpose=raw),
}


def attempt(verb: Callable[[], Any]) -> Any:
    """Return what a verb gives; only simonides's own errors may come instead."""
    try:
        return verb()
    except SimonidesError as error:
        said = error
    assert str(said).isprintable(), ascii(str(said))
    return said


def valid(make: Callable[[Store, Any], Memory], store: Store) -> list[Any]:
    made = [(raw, attempt(lambda raw=raw: make(store, raw))) for raw in ALL]
    return [raw for raw, memory in made if isinstance(memory, Memory)]


def test_the_list_is_as_long_as_it_says() -> None:
    assert len(ALL) >= 500
    assert len({*TEXTS}) == len(TEXTS)


@pytest.mark.parametrize(
    "make", [*IDENTITIES.values(), *FACETS.values()], ids=[*IDENTITIES, *FACETS]
)
def test_what_nobody_can_see_and_what_is_no_text_is_refused(
    world: World, make: Callable[[Store, Any], Memory]
) -> None:
    admitted = valid(make, world.store)

    assert [ascii(raw) for raw in admitted if shows_nothing(raw)] == []
    assert [raw for raw in admitted if raw in NOT_TEXTS and not isinstance(raw, str)] == []
    assert "alice" in admitted
    assert len(admitted) < len(ALL) / 2


@pytest.mark.parametrize("make", IDENTITIES.values(), ids=IDENTITIES)
def test_every_admitted_identity_is_strictly_its_own_tenant(
    world: World, make: Callable[[Store, Any], Memory]
) -> None:
    store = world.store
    admitted = valid(make, store)
    # To a store they are digests, whatever they name: on disk a sample of each kind is enough.
    admitted = admitted[::3] if world.is_durable else admitted
    kept: dict[int, str] = {}

    for number, raw in enumerate(admitted):
        outcome = make(store, raw).remember(f"{SECRET} {number}", key="word", pinned=True)
        assert outcome.record is not None
        assert outcome.kind == "created", ascii(raw)
        kept[number] = outcome.record.id

    store = world.reopen()
    for number, raw in enumerate(admitted):
        own = make(store, raw)
        other = kept[number - 1 if number else len(kept) - 1]
        assert [memory.id for memory in own.list()] == [kept[number]], ascii(raw)
        assert [hit.record.id for hit in own.recall(SECRET)] == [kept[number]]
        assert [memory.id for memory in history_of(own, "word")] == [kept[number]]
        assert own.get(other) is None
        assert history_of(own, other) == ()
        with pytest.raises(NotFound):
            own.explain(other, SECRET)
        with pytest.raises(NotFound):
            own.forget(other)
        with pytest.raises(NotFound):
            own.correct(other, "hazel")
        with pytest.raises(NotFound):
            own.confirm(other)
    assert store.admin(actor="root").check_audit().ok


def test_every_admitted_agent_has_its_own_audience(world: World) -> None:
    make, store = FACETS["agent"], world.store
    admitted = valid(make, store)

    for number, raw in enumerate(admitted):
        make(store, raw).remember(
            Draft(f"{SECRET} {number}", key="word", audience=[raw], pinned=True)
        )

    for number, raw in enumerate(admitted):
        assert [m.content for m in make(store, raw).list()] == [f"{SECRET} {number}"], ascii(raw)
    assert store.memory(user="alice").list() == ()


def test_every_admitted_purpose_is_its_own(world: World) -> None:
    make, store = FACETS["purpose"], world.store
    admitted = valid(make, store)
    drafts = [Draft(f"{SECRET} {n}", key="word", purpose=raw) for n, raw in enumerate(admitted)]

    store.memory(user="alice").remember_many(drafts)

    for number, raw in enumerate(admitted):
        assert [m.content for m in make(store, raw).list()] == [f"{SECRET} {number}"], ascii(raw)
    assert store.memory(user="alice").list() == ()


def test_no_scope_name_leads_a_write_or_a_read_away_from_home(world: World) -> None:
    store = world.store
    alice, bob = store.memory(user="alice"), store.memory(user="bob")
    mine = alice.remember(SECRET, pinned=True).record
    assert mine is not None
    home = "/global/org/default/user/bob/"
    ancestors = {home, "/global/org/default/", "/global/"}

    for raw in ALL:
        paths = [raw]
        if isinstance(raw, str):
            paths += [f"/user/{raw}/", f"/org/{raw}/", f"/org/{raw}/user/bob/", f"/{raw}/bob/"]
            paths += [f"/user/bob/task/{raw}", f"/session/{raw}", f"/org/default/user/bob/{raw}"]
        for path in paths:
            written = attempt(lambda path=path: bob.remember(Draft("Mine", scope=path)))
            if not isinstance(written, SimonidesError):
                assert written.record.scope.path == home, ascii(path)
            read = attempt(lambda path=path: bob.recall(SECRET, scopes=[path]))
            if not isinstance(read, SimonidesError):
                assert set(read.receipt.scopes) <= ancestors, ascii(path)
            moved = attempt(lambda path=path: bob.promote(mine.id, path))
            assert isinstance(moved, SimonidesError), ascii(path)

    assert [memory.id for memory in alice.list()] == [mine.id]
    assert {memory.scope.path for memory in bob.list()} <= {home}


def test_no_grant_goes_to_anyone_but_who_is_named(world: World) -> None:
    store, admin = world.store, world.store.admin(actor="root-operator")
    named, subjects = [], []

    for raw in ALL[::5] if world.is_durable else ALL:
        given = attempt(lambda raw=raw: admin.grant(raw, "org_write"))
        if not isinstance(given, SimonidesError):
            named.append(given.grantee)
        given = attempt(lambda raw=raw: admin.grant("bob", f"read_user:{raw}"))
        if not isinstance(given, SimonidesError):
            subjects.append(given.subject)
        attempt(lambda raw=raw: admin.grant("bob", raw))
        attempt(lambda raw=raw: admin.grants(org=raw))
        attempt(lambda raw=raw: store.admin(actor=raw))

    assert {g.grantee for g in admin.grants() if g.right == "org_write"} == set(named)
    assert {g.subject for g in admin.grants() if g.right == "read_user"} == set(subjects)
    assert "bob" not in named
    for raw in named:
        told = attempt(
            lambda raw=raw: store.memory(user=raw).remember(Draft("For all", scope="org"))
        )
        assert not isinstance(told, SimonidesError), ascii(raw)
    with pytest.raises(SimonidesError):
        store.memory(user="bob").remember(Draft("For all", scope="org"))


def test_no_id_or_key_reaches_what_is_anothers(world: World) -> None:
    store = world.store
    mine = store.memory(user="alice").remember(SECRET, key="word").record
    bob, carol = store.memory(user="bob"), store.memory(user="carol")
    carol.remember("walnut", tags=["a"], metadata={"at": "b"})

    # What a store does with a text does not depend on the verb: on disk a sample is enough.
    for raw in ALL[::10] if world.is_durable else ALL:
        for verb in (bob.get, bob.history, bob.confirm):
            attempt(lambda raw=raw, verb=verb: verb(raw))
        attempt(lambda raw=raw: bob.explain(raw, SECRET))
        attempt(lambda raw=raw: bob.correct(raw, "hazel"))
        attempt(lambda raw=raw: bob.promote(raw, "org"))
        attempt(lambda raw=raw: bob.forget(raw))
        fields = {
            "key": raw,
            "idempotency_key": raw,
            "audience": [raw],
            "tags": [raw],
            "quote": raw,
        }
        for field, value in {**fields, "metadata": {"at": raw}}.items():
            attempt(lambda given={field: value}: bob.remember(Draft("walnut", **given)))
        for field in ("scope", "key", "tags", "metadata.at"):
            attempt(lambda given={field: raw}: carol.recall(SECRET, filter=given))
        attempt(lambda raw=raw: capture(bob, "Call me Bo.", speaker=raw))
        attempt(lambda raw=raw: bob.forget(raw))

    assert store.memory(user="alice").list() == (mine,)
    assert store.admin(actor="root").check_audit().ok


def test_an_error_names_what_was_wrong(world: World) -> None:
    for name, make in IDENTITIES.items():
        field = "name" if name == "task" else name  # a task is named by its parameter ``name``
        with pytest.raises(InvalidScope) as caught:
            make(world.store, "al/ice")
        assert caught.value.field == field
        assert isinstance(caught.value, InvalidInput)


def test_a_text_that_lies_about_itself_is_taken_at_its_letters(world: World) -> None:
    world.store.memory(user="alice").remember(SECRET)

    liar = world.store.memory(user=Liar("mallory"))

    assert principal_of(liar).home.path == "/global/org/default/user/mallory/"
    assert liar.list() == ()


@pytest.mark.parametrize("option", ["--user", "--org", "--session", "--agent"])
def test_the_command_line_refuses_them_too(tmp_path: Any, option: str) -> None:
    store = str(tmp_path / "m.db")
    user = {"--user": [], "--session": []}
    front = ["--store", store, *user.get(option, ["--user", "alice"])]
    CliRunner().invoke(app, ["--store", store, "--user", "alice", "remember", SECRET])

    for raw in TEXTS[::40]:
        told = CliRunner().invoke(app, [*front, f"{option}={raw}", "list"])
        assert told.exit_code in (0, 2), (ascii(raw), told.output)
        assert told.exception is None or isinstance(told.exception, SystemExit)
        if raw not in ("alice", "default") and option != "--agent":
            assert "walnut" not in told.output, ascii(raw)
