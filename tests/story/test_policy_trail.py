"""A change of policy stands in the org's trail, once, before the first write under it."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from conftest import World
from principals import history_of
from simonides import Draft, Store
from simonides.api.open.assemble import assemble
from simonides.domain.scope import Scope
from simonides.policy.file import load_policy
from simonides.policy.policy import DEFAULT_POLICY
from simonides.settings import Settings
from simonides.storage.sqlite.store import SqliteStore
from simonides.testing.store_contract import drive


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A policy file that says what the built-in policy says."""
    path = tmp_path / "policy.yaml"
    path.write_text(f"version: {DEFAULT_POLICY.version}\n")
    return path


def trail(store: Store, org: str = "default") -> list[dict[str, Any]]:
    links = drive(store.runtime.store, store.runtime.store.links(Scope.of_org(org)))
    return [json.loads(link.payload or b"{}") for link in links]


def versions(store: Store, org: str = "default") -> list[str]:
    return [event["details"].get("version", event["type"]) for event in trail(store, org)]


def test_the_built_in_policy_is_in_force_where_nothing_is_on_record(
    new_world: Callable[..., World], file: Path
) -> None:
    for world in (new_world(), new_world(policy=file)):
        world.store.memory(user="ana").remember("x")

        assert trail(world.store) == []
        assert world.store.admin(actor="root").check_audit().owners == 1


def test_a_changed_policy_is_recorded_with_the_next_write(
    new_world: Callable[..., World], file: Path
) -> None:
    world = new_world(policy=file)
    ana = world.store.memory(user="ana")
    ana.remember("x")
    file.write_text("version: strict 2\ncategories:\n  feedback: {admit: false}\n")

    written = ana.remember("y")

    (event,) = trail(world.store)
    assert (event["type"], event["actor"]) == ("policy_changed", "system")
    assert event["details"] == {
        "version": "strict 2",
        "policy": load_policy(file).hash,
        "before": DEFAULT_POLICY.hash,
    }
    assert written.events[0].details["policy"] == event["details"]["policy"]
    assert world.store.admin(actor="root").check_audit().ok
    ana.remember("z")
    world.reopen().memory(user="ben").remember("z")
    assert versions(world.store) == ["strict 2"]


def test_reading_records_nothing(new_world: Callable[..., World], file: Path) -> None:
    world = new_world(policy=file)
    ana = world.store.memory(user="ana")
    ana.remember("x")
    file.write_text("version: strict 2\n")

    ana.recall("x")
    ana.list()
    ana.status()
    history_of(ana, "x")

    assert trail(world.store) == []


def test_going_back_is_a_change_too(new_world: Callable[..., World], file: Path) -> None:
    world = new_world(policy=file)
    ana = world.store.memory(user="ana")
    for version in ("one", "two", "two", "one", DEFAULT_POLICY.version):
        file.write_text(f"version: {version}\n")
        ana.remember(f"under {version}")

    assert versions(world.store) == ["one", "two", "one", DEFAULT_POLICY.version]


def test_a_change_while_nothing_ran_is_recorded_by_who_writes_next(
    new_world: Callable[..., World], file: Path
) -> None:
    world = new_world(policy=file)
    file.write_text("version: one\n")
    world.store.memory(user="ana").remember("x")
    file.write_text(f"version: {DEFAULT_POLICY.version}\n")

    world.reopen().memory(user="ana").remember("y")

    assert versions(world.store) == ["one", DEFAULT_POLICY.version]


def test_each_org_has_its_own_trail_and_the_global_scope_that_of_the_default_org(
    new_world: Callable[..., World], tmp_path: Path
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "acme.yaml").write_text("version: for acme\n")
    (folder / "default.yaml").write_text("version: for all\n")
    world = new_world(policy=folder)

    world.store.admin(actor="root").remember(Draft("Be kind"))
    world.store.memory(user="ana", org="acme").remember("x")

    assert versions(world.store) == ["for all"]
    assert versions(world.store, "acme") == ["for acme"]


def test_a_policy_that_refuses_a_write_is_on_record_before_it_does(
    new_world: Callable[..., World], file: Path
) -> None:
    world = new_world(policy=file)
    file.write_text("version: shut\ncategories:\n  fact: {admit: false}\n")

    assert world.store.memory(user="ana").remember("x").kind == "blocked"

    assert versions(world.store) == ["shut"]


def test_of_several_that_notice_a_change_at_once_one_records_it(tmp_path: Path, file: Path) -> None:
    file.write_text("version: raced\n")
    settings = Settings(policy=file, store=str(tmp_path / "m.db"))
    opened = [Store(assemble(settings=settings, inline=True)) for _ in range(6)]
    ready = Barrier(len(opened))

    def write(opened_store: Store, user: str) -> None:
        ready.wait()
        opened_store.memory(user=user).remember("x")

    threads = [Thread(target=write, args=(s, f"u{n}")) for n, s in enumerate(opened)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert versions(opened[0]) == ["raced"]
    for opened_store in opened:
        opened_store.close()


def test_the_rules_themselves_are_kept(new_world: Callable[..., World], file: Path) -> None:
    world = new_world(policy=file)
    if not world.is_durable:
        return
    file.write_text("version: kept\nbudgets: {seconds: 7}\n")
    world.store.memory(user="ana").remember("x")

    store = world.store.runtime.store
    assert isinstance(store, SqliteStore)
    with store._reading() as connection:
        ((version, hash, body),) = connection.execute(
            "SELECT version, hash, body FROM policies"
        ).fetchall()
    assert (version, hash.hex()) == (1, load_policy(file).hash)
    assert json.loads(body)["budgets"]["seconds"] == 7
