"""The core block: standing rules and dangers are in every prompt, whatever is asked."""

from collections.abc import Callable
from pathlib import Path

import pytest

import simonides
from conftest import World
from principals import memory_for
from simonides import Draft, Memory
from simonides.prompting import Prompting
from simonides.testing import ScriptedModel

RULE = "Never deploy on Fridays"
ABOUT = "Schedule the release"


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana", org="acme")


PATHS: dict[str, Callable[[Memory], str]] = {
    "digest": lambda ana: ana.digest(ABOUT).text,
    "start": lambda ana: ana.digest().text,
    "push": lambda ana: Prompting(ana).push(ABOUT).text,
    "task": lambda ana: ana.task(ABOUT, name="release").prompt(),
    "session": lambda ana: ana.session("monday").digest(ABOUT).text,
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(
    "tell",
    [
        lambda ana: ana.add(f"{RULE}."),
        lambda ana: ana.remember(RULE),
        lambda ana: ana.remember(RULE, key="deploy_rule", category="constraint"),
        lambda ana: ana.remember(f"{RULE}, says the team", category="fact", pinned=True),
        lambda ana: ana.remember(f"{RULE} at Acme", category="fact", importance="critical"),
    ],
    ids=["said", "stated", "keyed", "pinned", "critical"],
)
def test_a_standing_rule_is_in_every_prompt(
    ana: Memory, tell: Callable[[Memory], object], path: Callable[[Memory], str]
) -> None:
    tell(ana)
    ana.remember("The cafeteria opens at noon")

    assert RULE in path(ana)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("I have a peanut allergy", True),
        ("I'm allergic to penicillin", True),
        ("My son is allergic to nuts", True),
        ("I take insulin", True),
        ("I have no allergies", False),
        ("Peanuts are legumes", False),
        ("Under no circumstances email the client", True),
        ("No meetings before ten", True),
        ("Access must be signed off by two people", True),
        ("Ana never liked tea", False),
        ("Call me Ana", True),
        ("Answer in German", True),
        ("The launch is on Friday", False),
    ],
)
def test_what_is_told_without_a_category_is_recognised(
    ana: Memory, said: str, *, shown: bool
) -> None:
    ana.remember(said)

    assert (said in ana.digest("zebra migration in Kenya").text) is shown


def test_a_reply_to_a_tool_call_has_no_core_block(ana: Memory) -> None:
    ana.remember(RULE)
    ana.remember("The release is planned by Zoe")

    reply = ana.tools("search").call("search_memory", {"query": "who plans", "top_k": 1})

    assert reply.digest is not None
    assert {item.section for item in reply.digest.items} <= {"semantic"}


def test_prohibitions_and_dangers_are_never_cut_and_the_rest_is_counted(ana: Memory) -> None:
    for n in range(8):
        ana.remember(f"Never enter room {n}")
        ana.remember(f"Always sign form {n}")
    ana.remember("I have a peanut allergy")

    digest = ana.digest(ABOUT)

    shown = [item.record.content for item in digest.items]
    assert [f"Never enter room {n}" for n in range(8)] == shown[:8]
    assert "I have a peanut allergy" in shown
    assert not [each for each in shown if each.startswith("Always")]
    assert "(8 more standing rules or facts are left out)" in digest.text
    assert ana.receipts.replay(digest.receipt).text == digest.text


@pytest.mark.parametrize(
    "draft",
    [
        Draft(RULE, source="external"),
        Draft(RULE, source="agent_inferred", category="constraint", kind="procedural"),
        Draft(RULE, category="constraint", sensitivity="sensitive"),
        Draft(RULE, category="constraint", purpose="billing"),
    ],
    ids=["external", "agent", "sensitive", "purpose"],
)
def test_what_the_user_did_not_say_or_may_not_be_shown_stays_out(ana: Memory, draft: Draft) -> None:
    ana.remember(draft)

    assert RULE not in ana.digest(ABOUT).text


def test_consent_forgetting_and_expiry_reach_it(world: World, ana: Memory) -> None:
    ana.remember(RULE, key="deploy_rule")
    ana.remember("Always sign form 7")
    ana.remember("Never park in the yard", ttl_days=1)

    ana.privacy.refuse("deploy_rule")
    ana.forget_many(filter={"category": "constraint", "pinned": False}, dry_run=True)
    assert RULE not in ana.digest(ABOUT).text
    ana.privacy.allow(key="deploy_rule")
    assert RULE in ana.digest(ABOUT).text
    ana.forget("deploy_rule")
    world.clock.advance(days=2)

    assert [item.record.content for item in ana.digest(ABOUT).items] == ["Always sign form 7"]


def test_rules_of_the_organisation_reach_its_users_and_tasks(world: World, ana: Memory) -> None:
    world.store.admin(actor="root").grant("boss", "org_write", org="acme")
    world.store.memory(user="boss", org="acme").remember(Draft(RULE, scope="org"))

    task = memory_for(world.store, user="ana", org="acme", task="t")

    for reader in (ana, task):
        assert RULE in reader.digest(ABOUT).text
    assert RULE not in world.store.memory(user="eve", org="other").digest(ABOUT).text


def test_the_policy_sets_its_budget(new_world: Callable[..., World], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("digest: {core: {items: 0}}\n")
    bob = new_world(policy=str(policy)).store.memory(user="bob")
    bob.remember(RULE)

    assert bob.digest(ABOUT).items == ()


def test_a_profile_has_the_current_fact_of_each_key_and_the_rules(
    world: World, ana: Memory
) -> None:
    ana.remember("us-east-1", key="deploy_region")
    ana.correct("deploy_region", "eu-west-1")
    ana.remember(RULE)
    ana.remember("The cafeteria opens at noon")

    profile = ana.profile()

    assert {key: record.content for key, record in profile.facts.items()} == {
        "deploy_region": "eu-west-1"
    }
    assert [record.content for record in profile.rules] == [RULE]
    assert "deploy_region = eu-west-1 (user_correction 2026-01-01)" in str(profile)
    assert world.store.memory(user="bob", org="acme").profile().facts == {}


def test_the_reference_agent_is_told_the_standing_rules() -> None:
    plan = {"kind": "retrieve_memory", "query": "who plans it", "top_k": 1}
    model = ScriptedModel(plan, {"answer": "On Thursday.", "used_memory_keys": []})
    with simonides.open(":memory:", model=model) as store:
        ana = store.memory(user="ana").session("s")
        ana.remember(RULE)
        ana.remember("The release is planned by Zoe")

        result = store.agent(ana).answer(ABOUT)

    assert result.status == "ok"
    assert RULE in str(model.asked[-1])
