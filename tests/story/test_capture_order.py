"""What capture makes of several candidates: text order, rights, limits, what waits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from principals import principal_of

from conftest import World
from simonides import Draft, Memory, ScopeDenied
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.writing.decision import CaptureReport, Drop
from simonides.settings import Settings
from simonides.testing.models import ScriptedModel


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


def names(own: Memory) -> list[str]:
    return [memory.content for memory in own.list(filter={"key": "name"})]


def told(report: CaptureReport) -> list[tuple[str | None, str, str]]:
    pairs = zip(report.proposed, report.outcomes, strict=True)
    return [(c.key, o.kind.value, o.reasons[0]) for c, o in pairs]


def held(world: World, user: str = "ana") -> int:
    owner = principal_of(world.store.memory(user=user)).home
    return len(world.store._driver.run(world.store.runtime.store.held(owner)))


# -- the order of the text -----------------------------------------------------------------


@pytest.mark.parametrize("before", ["My name is Bob.", "My name is Ana."])
def test_what_is_said_after_forgetting_stands(ana: Memory, before: str) -> None:
    ana.add(before)

    report = ana.add("Forget my name. My name is Ana.")

    assert [outcome.kind.value for outcome in report.outcomes] == ["forgotten", "created"]
    assert names(ana) == ["Ana"]


def test_what_is_said_before_forgetting_goes(ana: Memory) -> None:
    ana.add("My name is Ana. Forget my name.")

    assert names(ana) == []


def test_capture_does_not_bring_back_what_an_earlier_turn_forgot(ana: Memory) -> None:
    ana.add("My name is Ana.")
    ana.forget("name")

    again = ana.add("My name is Ana.")
    mixed = ana.add("Forget my name. My name is Ana.")

    assert told(again) == [("name", "blocked", "tombstoned")]
    assert told(mixed)[1] == ("name", "blocked", "tombstoned")
    assert names(ana) == []


# -- rights and execution ------------------------------------------------------------------


class Modelled:
    """A world whose model proposes items of three scopes."""

    def __init__(self, items: list[dict[str, Any]], policy: Path | None = None) -> None:
        model = ScriptedModel({"items": items})
        settings = Settings(policy=policy)
        self.store = Store(assemble(":memory:", settings=settings, inline=True, model=model))


TEXT = "Noted: emacs, rust and metric it is"
ITEMS = [
    {"key": "editor", "value": "emacs", "scope": "workspace", "quote": "emacs"},
    {"key": "programming_language", "value": "rust", "quote": "rust"},
    {"key": "units", "value": "metric", "scope": "task", "quote": "metric"},
]


def opened(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text("execution:\n  allowed_scopes: [user, task]\n  workspace_memory: true\n")
    return file


def test_a_scope_that_execution_denies_is_blocked_in_its_place() -> None:
    world = Modelled(ITEMS)

    report = world.store.memory(user="ana").add(TEXT)

    assert told(report) == [
        ("editor", "blocked", "scope_denied_execution"),
        ("programming_language", "created", "stable_category"),
        ("units", "blocked", "scope_denied_execution"),
    ]
    assert [judgement.reasons[0] for judgement in report.judged] == [t[2] for t in told(report)]
    assert world.store.admin(actor="root").check_audit().owners == 1
    assert world.store.admin(actor="root").check_audit().ok


def test_an_extracted_fact_for_a_scope_without_right_is_blocked(tmp_path: Path) -> None:
    world = Modelled(ITEMS, opened(tmp_path))
    ana = world.store.memory(user="ana")

    report = ana.add(TEXT)

    assert told(report) == [
        ("editor", "blocked", "scope_not_own"),
        ("programming_language", "created", "stable_category"),
        ("units", "blocked", "scope_denied_execution"),  # there is no task
    ]
    assert isinstance(report.judged[0], Drop)
    with pytest.raises(ScopeDenied):
        ana.remember(Draft("Ours", scope="org"))


def test_extracted_facts_of_two_owners_are_stored_with_each(tmp_path: Path) -> None:
    world = Modelled(ITEMS, opened(tmp_path))
    world.store.admin(actor="root").grant("ana", "org_write")

    report = world.store.memory(user="ana").add(TEXT)

    assert [outcome.kind.value for outcome in report.outcomes] == ["created", "created", "blocked"]
    bob = world.store.memory(user="bob")
    assert [memory.content for memory in bob.list()] == ["emacs"]
    assert world.store.admin(actor="root").check_audit().ok


# -- policy's boundary binds rules too -----------------------------------------------------


def test_a_key_outside_the_policy_is_blocked(new_world: Any, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("proposals:\n  keys: {tone: preference}\n")
    ana = new_world(policy=file).store.memory(user="ana")

    report = ana.add("My birthday is on May 4.")

    reason = "memory_key_not_allowed_policy:birthday"
    assert told(report) == [("birthday", "blocked", reason)]
    assert ana.list() == ()


def test_a_long_value_is_blocked(new_world: Any, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("proposals:\n  max_value_chars: 3\n")
    ana = new_world(policy=file).store.memory(user="ana")

    report = ana.add("My name is Anna.")

    assert told(report) == [("name", "blocked", "invalid_memory_candidates:value_too_long")]


def test_of_many_statements_the_first_six_are_taken_and_judged_once(ana: Memory) -> None:
    things = ("kale", "golf", "opera", "winter", "queues", "jazz", "chess")
    text = " ".join(f"I hate {thing}." for thing in things)

    report = ana.add(text)

    too_many = "invalid_memory_candidates:too_many_items"
    assert [kind for _, kind, _ in told(report)] == ["created"] * 6 + ["blocked"]
    assert report.judged[6].reasons == report.outcomes[6].reasons == (too_many,)


# -- what waits ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Be brief.", "I'm not good at math."])
def test_the_same_is_held_once(world: World, ana: Memory, text: str) -> None:
    kinds = {ana.add(text).outcomes[0].kind for _ in range(5)}

    assert len(kinds) == 1
    assert held(world) == 1
    ana.add("I'm not good at chess.")
    assert held(world) == 2


def test_what_was_forgotten_is_not_held(world: World, ana: Memory) -> None:
    ana.remember("concise", key="response_style")
    ana.forget("response_style")

    report = ana.add("Be brief.")

    assert told(report) == [("response_style", "blocked", "tombstoned")]
    assert held(world) == 0
