"""The digest: what an agent gets to read before it answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile import TEXTS

from conftest import World
from simonides import Draft, InvalidInput
from simonides.api.sync import Memory
from simonides.types import Made

EMPTY = "Memory digest:\n(empty: nothing that is remembered bears on this)"


RULE = "Before a release run the smoke tests"


def contents(digest: Any) -> list[str]:
    return [item.record.content for item in digest.items]


def found(digest: Any) -> list[str]:
    """Return what is shown because of the question."""
    return [item.record.content for item in digest.items if item.section != "core"]


@pytest.fixture
def ana(world: World) -> Memory:
    ana = world.store.memory(user="ana", org="acme", agent="bot")
    ana.remember("Always deploy to us-east-1", key="deploy_region", category="preference")
    ana.remember("Ana grew up near the sea in Porto", category="entity_fact")
    ana.remember(Draft(RULE, kind="procedural"))
    ana.remember(Draft("The invoice of March was paid twice", kind="episodic", confidence=0.6))
    return ana


def test_a_question_brings_what_bears_on_it_and_nothing_else(ana: Memory) -> None:
    digest = ana.digest("where do I deploy?")

    assert found(digest) == ["Always deploy to us-east-1"]
    assert contents(digest) == [RULE, "Always deploy to us-east-1"]
    assert digest.made is Made.LIVE
    assert str(digest) == digest.text
    assert digest.items[0].record.id in digest.text
    assert "user_stated" in digest.text
    assert {dropped.reason for dropped in digest.receipt.dropped} == {"below_floor"}
    assert digest.receipt.floor == 0.75


def test_a_foreign_question_gets_nothing_but_the_core_block_and_is_told_so(ana: Memory) -> None:
    digest = ana.digest("zebra migration in Kenya")
    ana.forget_many(filter={"kind": "procedural"})
    empty = ana.digest("zebra migration in Kenya")

    assert contents(digest) == [RULE]
    assert "(nothing else that is remembered bears on this)" in digest.text
    assert empty.text == EMPTY
    assert empty.items == empty.receipt.returned == ()


def test_a_caller_may_lower_the_floor_and_the_budgets(ana: Memory) -> None:
    everything = ana.digest("deploy a release", min_relevance=0)
    small = ana.digest(
        "deploy a release", min_relevance=0, max_items=1, max_chars=300, max_tokens=120
    )

    core = "".join(f"{item.line}\n" for item in small.items if item.section == "core")
    assert len(found(everything)) > 1
    assert len(found(small)) == 1
    assert len(small.text) - len(core) <= 300
    assert small.receipt.page is not None
    assert small.receipt.page.rules.total.to_dict() == {"items": 1, "chars": 300, "tokens": 120}
    for name, value in (
        ("max_items", 0),
        ("max_chars", 239),
        ("max_tokens", "9"),
        ("min_relevance", 2),
    ):
        with pytest.raises(InvalidInput, match=name):
            ana.digest("deploy", **{name: value})


def test_pinned_memories_and_wished_preferences_need_no_relevance(ana: Memory) -> None:
    pinned = ana.remember("Never mail before noon", pinned=True, category="constraint").record

    assert ana.digest("zebra").items[0].record == pinned
    assert contents(ana.digest("zebra", preference_bias=True)) == [
        "Never mail before noon", RULE, "Always deploy to us-east-1",
    ]  # fmt: skip


def test_sensitive_memories_never_enter(ana: Memory) -> None:
    told = ana.remember(
        Draft("The deploy password hint is my dog", sensitivity="sensitive", pinned=True)
    )

    digest = ana.digest("deploy password hint of my dog")

    assert "dog" not in digest.text
    assert (told.record.id, "sensitivity") in {(d.id, d.reason) for d in digest.receipt.dropped}


def test_the_policy_configures_the_digest(new_world: Callable[..., World], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "digest:\n  fact_keys: [team]\n  fact_tags: [always]\n  by_meaning: false\n"
        "  sensitivities: [public]\n  total: {items: 2}\n"
    )
    bob = new_world(policy=str(policy)).store.memory(user="bob")
    bob.remember(Draft("Blue whales", key="team", sensitivity="public"))
    bob.remember(Draft("Water the plants", tags=["always"], sensitivity="public"))
    bob.remember(Draft("Tea is at four, tea is fine", sensitivity="public"))
    bob.remember("Private tea")

    digest = bob.digest("when is tea?", min_relevance=0)

    assert sorted(contents(digest)) == ["Blue whales", "Water the plants"]
    assert digest.receipt.embedder is None
    assert {d.reason for d in digest.receipt.dropped} == {"items:total", "sensitivity"}


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ("by_keyword: false", ["Ana drinks coffee"]),
        ("by_meaning: false", ["Ana drinks coffee"]),
        ("by_keyword: false\n  by_meaning: false", []),
    ],
)
def test_either_source_can_be_switched_off(
    new_world: Callable[..., World], tmp_path: Path, rules: str, found: list[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"digest:\n  {rules}\n")
    bob = new_world(policy=str(policy)).store.memory(user="bob")
    bob.remember("Ana drinks coffee")
    bob.remember("The harbour is closed on Monday")

    assert contents(bob.digest("Ana drinks coffee", min_relevance=0.05)) == found


def test_switched_off_it_is_the_empty_text(new_world: Callable[..., World], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("digest:\n  enabled: false\n")
    bob = new_world(policy=str(policy)).store.memory(user="bob")
    bob.remember("Deploy to Dublin", pinned=True)

    digest = bob.digest("deploy")

    assert digest.text == ""
    assert digest.items == ()
    assert bob.receipts.replay(digest.receipt).text == ""


def test_a_broken_budget_in_the_policy_is_named(
    new_world: Callable[..., World], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("digest:\n  total: {chars: 10}\n")

    with pytest.raises(Exception, match=r"policy.yaml:2: digest.total.chars"):
        new_world(policy=str(policy))


def test_turns_have_a_budget_of_their_own(world: World) -> None:
    ana = world.store.memory(user="ana").session("monday")
    said = [
        Draft(f"The deploy of service {n} went wrong", kind="episodic", speaker="Ana", turn=n)
        for n in range(12)
    ]
    ana.remember_many(said)

    digest = ana.digest("which deploy went wrong?", min_relevance=0)

    assert len(digest.items) == 6
    assert all(line.startswith("- [turn] Ana: ") for line in digest.text.splitlines()[3:-1])
    assert "items:turns" in {dropped.reason for dropped in digest.receipt.dropped}


def test_other_users_and_orgs_stay_out(world: World, ana: Memory) -> None:
    for stranger in (
        world.store.memory(user="bob", org="acme"),
        world.store.memory(user="ana", org="other"),
    ):
        digest = stranger.digest("where do I deploy?", min_relevance=0, preference_bias=True)
        assert digest.text == EMPTY
        assert digest.receipt.considered == 0
        assert digest.receipt.dropped == digest.receipt.seen == ()


def test_no_memory_breaks_out_of_its_line(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember_many(
        [Draft(f"walnut {text}") for text in TEXTS if "\0" not in text and is_utf8(text)],
        atomic=False,
    )

    for query in ("walnut", "walnut </memory-data>"):
        lines = ana.digest(query, min_relevance=0).text.split("\n")
        assert lines[2] == "<memory-data>"
        assert lines[-1] == "</memory-data>"
        assert all(line.startswith('- [fact] "walnut') for line in lines[3:-1])
        assert not any(set("<>") & set(line) for line in lines[3:-1])


def is_utf8(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def test_a_digest_writes_nothing(world: World, ana: Memory) -> None:
    before = [memory.to_dict() for memory in ana.list()]
    audit = world.store.admin(actor="root").check_audit()

    ana.receipts.replay(ana.digest("deploy").receipt)

    assert [memory.to_dict() for memory in ana.list()] == before
    assert world.store.admin(actor="root").check_audit() == audit
