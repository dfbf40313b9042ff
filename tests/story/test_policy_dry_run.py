"""What another policy would have done to past writes, and what nobody can tell any more."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import World
from principals import capture
from simonides import Draft, PolicyInvalid
from simonides.types import DryRun, Fate, Rejudged


@pytest.fixture
def policy(tmp_path: Path) -> Any:
    """Writes a policy file and returns its path."""

    def write(text: str) -> Path:
        file = tmp_path / "next.yaml"
        file.write_text(f"version: next\n{text}", encoding="utf-8")
        return file

    return write


def tried(world: World, file: Path, org: str = "default") -> DryRun:
    return world.store.admin(actor="root").dry_run(file, org=org)


def fates(found: DryRun) -> list[tuple[str, str | None, str | None, tuple[str, ...]]]:
    return [
        (w.write.then.value, w.now and w.now.value, w.write.key, w.reasons) for w in found.changed
    ]


def only(found: DryRun) -> Rejudged:
    (one,) = found.writes
    return one


def test_the_policy_in_force_changes_nothing(world: World, policy: Any) -> None:
    ana = world.store.memory(user="ana").session("s1")
    ana.remember("blue", key="color", category="preference")
    ana.remember("blue", key="color", category="preference")
    ana.remember(Draft("The river rose", confidence=0.4, source="external"))
    capture(ana, "I live in Munich. Be concise. Call me Ana.")
    ana.correct("color", "green")

    found = tried(world, policy(""))

    assert found.changed == found.unknown == ()
    assert {write.now for write in found.writes} == {Fate.STORED, Fate.HELD}
    assert len(found.writes) == world.store.admin(actor="root").check_audit().events


def test_a_category_that_is_not_kept_any_more_would_have_blocked_its_writes(
    world: World, policy: Any
) -> None:
    ana = world.store.memory(user="ana")
    kept = ana.remember("blue", key="color", category="preference").record
    ana.remember("The app crashed", key="crash", category="feedback")
    assert kept
    before = world.store.admin(actor="root").check_audit()

    found = tried(world, policy("categories:\n  feedback: {admit: false}\n"))

    assert fates(found) == [
        ("stored", "blocked", "crash", ("category_not_admitted:feedback",)),
    ]
    assert (found.policy, len(found.writes)) == ("next", 2)
    assert found.writes[0].write.subject == kept.id
    assert world.store.admin(actor="root").check_audit() == before, "a dry run writes nothing"


def test_what_is_stored_would_have_waited(world: World, policy: Any) -> None:
    world.store.memory(user="ana").add("I live in Munich.")

    found = tried(world, policy("categories:\n  entity_fact: {durability: session_only}\n"))

    assert fates(found) == [("stored", "held", "location", ("session_only_category",))]


def test_what_waits_would_have_been_stored(
    new_world: Callable[..., World], policy: Any, tmp_path: Path
) -> None:
    strict = tmp_path / "strict.yaml"
    strict.write_text("categories:\n  entity_fact: {durability: session_only}\n")
    world = new_world(policy=strict)
    world.store.memory(user="ana").add("I live in Munich.")

    found = tried(world, policy(""))

    assert fates(found) == [("held", "stored", "location", ("stable_category",))]


def test_execution_is_asked_again_for_what_was_extracted_and_not_for_what_a_caller_said(
    world: World, policy: Any
) -> None:
    ana = world.store.memory(user="ana")
    ana.add("I live in Munich.")
    ana.remember("Berlin", key="location", category="entity_fact")

    found = tried(world, policy("execution:\n  denied_keys: [location]\n"))

    assert fates(found) == [("stored", "blocked", "location", ("key_denied_execution",))]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("proposals:\n  keys: {tone: preference}\n", "memory_key_not_allowed_policy:location"),
        ("proposals:\n  max_value_chars: 3\n", "invalid_memory_candidates:value_too_long"),
        (
            "proposals:\n  scopes: [task]\n  default_scope: task\n",
            "memory_scope_not_allowed_policy:user",
        ),
        ("callers:\n  max_content_bytes: 3\n", "invalid_memory_candidates:content"),
        ("callers:\n  key_pattern: '[0-9]+'\n", "key_not_allowed"),
        (
            "categories:\n  entity_fact: {sources: [tool_verified]}\n",
            "source_not_in_category:user_stated",
        ),
    ],
)
def test_every_boundary_is_asked_again(world: World, policy: Any, rules: str, reason: str) -> None:
    world.store.memory(user="ana").add("I live in Munich.")

    assert fates(tried(world, policy(rules))) == [("stored", "blocked", "location", (reason,))]


def test_another_life_is_a_change(world: World, policy: Any) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("The app crashed", category="feedback")
    ana.remember("It crashed twice", category="feedback", ttl_days=3)

    found = tried(world, policy("categories:\n  feedback: {soft_ttl_days: 5, hard_ttl_days: 9}\n"))

    lives = [(w.life_then, w.life_now, w.changed) for w in found.writes]
    assert lives == [((30, 365), (5, 9), True), ((None, 3), (None, 3), False)]


def test_what_was_refused_is_not_judged_again_for_nothing_of_it_was_kept(
    world: World, policy: Any
) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("Maybe it rains", category="speculation")

    found = only(tried(world, policy("categories:\n  speculation: {admit: true}\n")))

    assert (found.write.then, found.now, found.changed) == (Fate.BLOCKED, None, False)
    assert found.reasons == ("content_not_kept",)
    assert found.write.then_reasons == ("category_not_admitted:speculation",)


def test_what_was_forgotten_is_counted_and_not_told(world: World, policy: Any) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("The door code is 4711", key="door")
    ana.forget("door")

    found = tried(world, policy("categories:\n  fact: {admit: false}\n"))

    assert (found.writes, found.erased) == ((), 1)


def test_a_weaker_newcomer_is_judged_by_its_own_words(world: World, policy: Any) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("short", key="style")
    ana.remember(Draft("much longer than that", key="style", source="external", confidence=0.1))

    found = tried(world, policy("callers:\n  max_content_bytes: 10\n"))

    assert [w.now for w in found.writes] == [Fate.STORED, Fate.BLOCKED]


def test_orgs_are_looked_at_one_by_one(world: World, policy: Any, tmp_path: Path) -> None:
    for org in ("acme", "default"):
        world.store.memory(user="ana", org=org).remember("x", category="feedback")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "default.yaml").write_text("version: all\n")
    (folder / "acme.yaml").write_text("categories:\n  feedback: {admit: false}\n")

    assert len(tried(world, folder, "acme").changed) == 1
    assert len(tried(world, folder, "acme").writes) == 1
    assert tried(world, folder).changed == ()


def test_a_broken_policy_is_named_by_its_line(world: World, policy: Any) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        tried(world, policy("budgets:\n  answer_chars: many\n"))

    assert caught.value.line == 3
