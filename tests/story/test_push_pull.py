"""Push, pull and both: what a model is given unasked, and what it or its host asks for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import World
from simonides import (
    Digest,
    Draft,
    InvalidInput,
    StoreUnavailable,
)
from simonides.api.sync import Memory
from simonides.prompting import Prompting, Triggers
from simonides.types import Made, Trigger


def contents(digest: Digest | None) -> list[str]:
    assert digest is not None
    return [item.record.content for item in digest.items]


RULE = "Run the smoke tests before a deploy of billing"


@pytest.fixture
def ana(world: World) -> Memory:
    ana = world.store.memory(user="ana", org="acme").session("monday")
    ana.remember("Answer in short sentences", key="response_style", category="preference")
    ana.remember("The billing service is deployed to us-east-1", category="entity_fact")
    ana.remember("Porto is where Ana grew up", category="entity_fact")
    ana.remember(Draft("The deploy of the billing service failed in May", kind="episodic"))
    ana.remember(Draft(RULE, kind="procedural"))
    return ana


def test_a_push_brings_preferences_and_what_bears_on_the_subject(ana: Memory) -> None:
    digest = Prompting(ana).push("deploy the billing service to us-east-1")

    assert "Answer in short sentences" in contents(digest)
    assert "The billing service is deployed to us-east-1" in contents(digest)
    assert not {"Porto is where Ana grew up", "The deploy of the billing service failed in May"} & {
        *contents(digest)
    }
    assert digest.receipt.floor == 0.8
    assert digest.receipt.page is not None
    assert digest.receipt.page.trigger is Trigger.PUSH
    total = digest.receipt.page.rules.total
    assert (total.items, total.tokens) == (5, 2_000)


def test_a_push_about_nothing_brings_preferences_only(ana: Memory) -> None:
    assert contents(Prompting(ana).push()) == [RULE, "Answer in short sentences"]


def test_a_push_holds_its_budget(world: World) -> None:
    ana = world.store.memory(user="ana")
    for n in range(9):
        ana.remember(f"Preference {n}: " + "walnut cake " * 300, key=f"p{n}", category="preference")

    digest = Prompting(ana).push("walnut cake")

    assert 1 <= len(digest.items) <= 5
    assert world.store.runtime.models.tokens.count(digest.text) <= 2_000
    assert {dropped.reason for dropped in digest.receipt.dropped} & {"items:facts", "tokens:facts"}


def test_a_task_gets_its_own_context(world: World, ana: Memory) -> None:
    task = world.store.memory(user="ana", org="acme").task(name="upgrade").memory
    sibling = world.store.memory(user="ana", org="acme").task(name="other").memory
    task.remember("Stay on version 12 of the database", category="constraint")
    sibling.remember("Paint the garden fence", category="constraint")

    assert set(contents(Prompting(task).push("zebras"))) == {
        RULE, "Stay on version 12 of the database", "Answer in short sentences",
    }  # fmt: skip
    assert contents(Prompting(ana).push("zebras")) == [RULE, "Answer in short sentences"]


def test_a_search_has_no_floor_and_as_many_as_asked_for(ana: Memory) -> None:
    ana.remember("Nothing before noon", pinned=True)

    found = Prompting(ana).search("where did Ana grow up?", top_k=1)

    assert contents(found) == ["Porto is where Ana grew up"]
    assert len(Prompting(ana).search("billing deploy Ana short").items) == 5
    assert found.receipt.page is not None
    assert found.receipt.page.trigger is Trigger.PULL
    for wrong in ({"layer": "l9"}, {"top_k": 0}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            Prompting(ana).search("x", **wrong)  # type: ignore[arg-type]


def test_pushes_and_searches_are_given_again_byte_for_byte(world: World, ana: Memory) -> None:
    task = world.store.memory(user="ana", org="acme").task(name="upgrade").memory
    task.remember("Stay on version 12 of the database")
    given = [
        Prompting(task).push("deploy billing"),
        Prompting(task).push(),
        Prompting(task).search("deploy", top_k=2),
    ]
    world.clock.advance(days=2)
    task.remember("Deploy at night")
    ana.correct("response_style", "Answer at length")

    for digest in given:
        again = task.receipts.replay(type(digest.receipt).from_dict(digest.receipt.to_dict()))
        assert (again.text, again.made) == (digest.text, Made.RANKED)


def test_the_tool_is_a_json_schema_with_the_policys_limits(
    new_world: Callable[..., World], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("proposals: {max_top_k: 4, default_top_k: 2, max_query_chars: 99}\n")
    tool = new_world(policy=str(policy)).store.memory(user="bob").tools("search").all[0]

    assert tool.name == "search_memory"
    assert tool.description
    assert json.loads(json.dumps(tool.to_dict())) == tool.to_dict()
    properties = tool.parameters["properties"]
    assert properties["layer"]["enum"] == ["memory"]
    assert (properties["top_k"]["maximum"], properties["top_k"]["default"]) == (4, 4)
    assert properties["query"]["maxLength"] == 99
    assert tool.parameters["required"] == ["query"]
    assert tool.parameters["additionalProperties"] is False


def test_a_models_call_is_carried_out(ana: Memory) -> None:
    reply = ana.tools("search").call(
        "search_memory", '{"query": "where did Ana grow up?", "top_k": 1}'
    )

    assert reply.refused is None
    assert contents(reply.digest) == ["Porto is where Ana grew up"]
    assert str(reply) == reply.text == reply.digest.text  # type: ignore[union-attr]
    assert (
        len(
            ana.tools("search")
            .call("search_memory", {"query": "billing Ana short deploy"})
            .digest.items
        )
        == 5
    )  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("nonsense", "not_object"),
        ("[" * 60_000, "not_object"),
        ("[1]", "not_object"),
        (7, "not_object"),
        ({}, "query"),
        ({"query": "  "}, "query"),
        ({"query": ["x"]}, "query"),
        ({"query": "x" * 241}, "query_too_long"),
        ({"query": "x", "top_k": 7}, "top_k"),
        ({"query": "x", "top_k": "many"}, "top_k"),
        ({"query": "x", "layer": "l3"}, "layer"),
        ({"query": "x", "layer": ["l2"]}, "layer"),
        ({"query": "x", "scope": "/global/"}, "unknown_argument"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_whatever_a_model_says_wrong_is_a_refusal_that_it_can_read(
    ana: Memory, arguments: Any, reason: str
) -> None:
    reply = ana.tools("search").call("search_memory", arguments)

    assert reply.refused == f"invalid_retrieval_intent:{reason}"
    assert reply.refused in reply.text
    assert reply.digest is None


def test_a_model_searches_where_execution_allows_and_nowhere_else(
    new_world: Callable[..., World], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: one\n")
    world = new_world(policy=str(policy))
    world.store.admin(actor="root").remember(Draft("Acme sells walnuts"), scope="/org/acme/")
    ana = world.store.memory(user="ana", org="acme")

    assert contents(Prompting(ana).search("walnuts")) == ["Acme sells walnuts"]
    assert contents(ana.tools("search").call("search_memory", {"query": "walnuts"}).digest) == []
    policy.write_text("version: two\nexecution: {workspace_memory: true}\n")
    assert contents(ana.tools("search").call("search_memory", {"query": "walnuts"}).digest) == [
        "Acme sells walnuts"
    ]


def test_before_a_tool_three_are_pulled_for_its_name_and_the_beginning_of_its_input(
    ana: Memory,
) -> None:
    triggers = Prompting(ana).triggers()

    found = triggers.before_tool("deploy", {"service": "billing", "note": "x" * 500})

    assert found is not None
    assert len(found.items) == 3
    query = found.receipt.query
    assert query.startswith('deploy {"service": "billing", "note": "xxx')
    assert len(query) == len("deploy ") + 200
    text = triggers.before_tool("write_file", "\0\ud800" + "deploy " * 100)
    assert text is not None
    assert len(text.receipt.query) == len("write_file ") + 200


def test_after_a_failed_tool_its_error_is_searched_for_as_well(ana: Memory) -> None:
    found = (
        Prompting(ana)
        .triggers(mode="pull")
        .after_failed_tool("deploy", "billing", "region unknown")
    )

    assert found is not None
    assert found.receipt.query == "deploy region unknown billing"


def test_input_that_is_no_data_is_an_error(ana: Memory) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)

    with pytest.raises(InvalidInput, match="input"):
        Prompting(ana).triggers().before_tool("deploy", cycle)
    with pytest.raises(InvalidInput, match="name"):
        Prompting(ana).triggers().before_tool("", "x")
    with pytest.raises(InvalidInput, match="mode"):
        Prompting(ana).triggers(mode="shove")
    with pytest.raises(InvalidInput, match="about"):
        Prompting(ana).triggers(5)  # type: ignore[arg-type]


def test_each_mode_does_its_own(ana: Memory) -> None:
    push, pull = Prompting(ana).triggers(mode="push"), Prompting(ana).triggers(mode="pull")

    assert push.before_model() is not None
    assert push.before_tool("deploy", "x") is None
    assert push.after_failed_tool("deploy", "x") is None
    assert pull.before_model() is None
    assert pull.before_tool("deploy", "x") is not None


def looked(triggers: Triggers) -> bool:
    """Whether a model call makes memory be read again."""
    before = triggers.pinned
    return triggers.before_model() is not before


def test_a_push_stays_pinned_until_five_turns_have_passed(ana: Memory) -> None:
    triggers = Prompting(ana).triggers("deploy billing")
    assert looked(triggers)

    seen = []
    for _ in range(12):
        triggers.turn_end()
        seen.append(looked(triggers))
        assert not looked(triggers)

    assert [turn for turn, new in enumerate(seen, start=1) if new] == [5, 10]


def test_in_push_mode_only_what_changes_makes_it_look_again(ana: Memory) -> None:
    triggers = Prompting(ana).triggers("deploy billing", mode="push")
    triggers.before_model()

    for _ in range(12):
        triggers.turn_end()
    assert not looked(triggers)
    triggers.state_changed()
    assert looked(triggers)


def test_a_change_of_state_may_bring_another_subject(ana: Memory) -> None:
    triggers = Prompting(ana).triggers("zebras")
    assert contents(triggers.before_model()) == [RULE, "Answer in short sentences"]

    triggers.state_changed("the billing service deployed to us-east-1")

    assert "The billing service is deployed to us-east-1" in contents(triggers.before_model())


def test_what_gave_way_does_not_stay_before_the_model(world: World, ana: Memory) -> None:
    triggers = Prompting(ana).triggers()
    triggers.before_model()

    ana.remember("Tea is at four", category="entity_fact")
    assert not looked(triggers), "a new memory that is not in it changes nothing"
    ana.correct("response_style", "Answer at length")
    assert contents(triggers.before_model()) == [RULE, "Answer at length"]
    ana.forget("response_style")
    assert contents(triggers.before_model()) == [RULE]
    ana.remember("Speak French today", key="tongue", category="preference", ttl_days=1)
    triggers.state_changed()
    assert contents(triggers.before_model()) == [RULE, "Speak French today"]
    world.clock.advance(days=1, seconds=1)
    assert contents(triggers.before_model()) == [RULE]


def test_another_policy_makes_it_look_again(
    new_world: Callable[..., World], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: one\n")
    bob = new_world(policy=str(policy)).store.memory(user="bob")
    triggers = Prompting(bob).triggers()
    triggers.before_model()
    assert not looked(triggers)

    policy.write_text("version: another, and longer\n")

    assert looked(triggers)


def test_without_the_store_a_warm_push_is_looked_for_again_and_says_so(
    world: World, ana: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    triggers = Prompting(ana).triggers()
    triggers.before_model()

    async def gone(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("here", "gone")

    monkeypatch.setattr(world.store.runtime.store, "heads", gone, raising=False)
    digest = triggers.before_model()

    assert contents(digest) == [RULE, "Answer in short sentences"]
    assert digest is not None
    assert digest.receipt.degraded == ("store",)


def test_strangers_and_siblings_push_and_pull_nothing(world: World, ana: Memory) -> None:
    for stranger in (
        world.store.memory(user="bob", org="acme"),
        world.store.memory(user="ana", org="other"),
    ):
        assert contents(Prompting(stranger).push("deploy the billing service")) == []
        assert contents(Prompting(stranger).search("deploy the billing service")) == []
        assert (
            contents(stranger.tools("search").call("search_memory", {"query": "billing"}).digest)
            == []
        )


def test_what_was_selected_for_a_push_is_selected_anew_once_a_nearer_key_of_another_kind_ends(
    world: World,
) -> None:
    ana = world.store.memory(user="ana")
    ana.remember("english", key="language", category="preference")
    task = world.store.memory(user="ana").task(name="upgrade").memory
    task.remember(Draft("french", key="language", kind="episodic", ttl_days=1))
    assert contents(Prompting(task).push("zebras")) == []

    world.clock.advance(days=2)

    assert contents(Prompting(task).push("zebras")) == ["english"]
    ana.remember("Answer in short sentences", key="response_style", category="preference")
    assert len(contents(Prompting(task).push("zebras"))) == 2
