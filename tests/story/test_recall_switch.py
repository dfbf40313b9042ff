"""While recall is off nothing of a user goes into a prompt, and everything else goes on."""

import json
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simonides
from conftest import World
from principals import erase, history_of, principal_of
from simonides import (
    Digest,
    Memory,
    NotReplayable,
    Recall,
)
from simonides.domain.errors import NotFound
from simonides.domain.governance.consent import RECALL_OFF
from simonides.prompting import Prompting
from simonides.types import ConsentChange

QUERY = "which colour mode?"
SAID = "Ana likes dark mode in the editor"


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana", org="acme").session("s1")


def reads(memory: Memory) -> list[Recall | Digest]:
    """Everything that may go before a model."""
    triggers = Prompting(memory).triggers("colours")
    reply = memory.tools("search").call("search_memory", {"query": QUERY})
    assert reply.digest is not None
    now = memory.recall(QUERY)
    soon = now.receipt.at + timedelta(minutes=1)
    made = [
        now,
        memory.recall(QUERY, known_at=soon),
        memory.recall(QUERY, valid_at=soon),
        memory.recall(QUERY, scopes=["org"]),
        memory.digest(QUERY, min_relevance=0),
        Prompting(memory).push("colours"),
        Prompting(memory).search(QUERY),
        reply.digest,
        triggers.before_model(),
        triggers.before_tool("editor", {"mode": "dark"}),
        triggers.after_failed_tool("editor", {"mode": "dark"}, "no such mode"),
    ]
    return [each for each in made if each is not None]


def told(read: Recall | Digest) -> tuple[bool, tuple[str, ...]]:
    shown = read.hits if isinstance(read, Recall) else read.items
    return bool(shown), read.receipt.degraded


def test_every_read_for_a_prompt_is_empty_and_says_why(world: World, ana: Memory) -> None:
    admin = world.store.admin(actor="root")
    admin.remember(
        simonides.Draft("Acme's editor has a dark mode", pinned=True), scope="/org/acme/"
    )
    ana.remember(SAID, pinned=True)
    assert all(told(read)[0] for read in reads(ana))

    change = ana.privacy.pause_recall()

    assert isinstance(change, ConsentChange)
    assert change.changed
    assert [told(read) for read in reads(ana)] == [(False, (RECALL_OFF,))] * 11
    assert ana.explain(ana.list()[0].id, QUERY).excluded == (RECALL_OFF,)
    assert not any(told(read)[0] for read in reads(world.store.memory(user="ana", org="acme")))
    task = world.store.memory(user="ana", org="acme", agent="bot").task(name="t").memory
    assert [told(read) for read in reads(task)] == [(False, (RECALL_OFF,))] * 11
    assert world.store.memory(user="bob", org="acme").recall(QUERY).degraded == ()

    assert ana.privacy.resume_recall().changed
    assert all(told(read)[0] for read in reads(ana))


def test_the_reference_agent_retrieves_nothing(world: World, ana: Memory) -> None:
    agent = world.store.agent(ana)
    agent.capture("Please use email as the primary channel for incident updates.")
    assert agent.answer("Draft an incident update").applied_memory
    ana.privacy.pause_recall()

    result = agent.answer("Draft an incident update")

    assert (result.status, result.outcome) == ("ok", "context_only")
    assert result.applied_memory == () == result.used_memory_keys


def test_the_users_own_inspection_and_writes_go_on(
    world: World, ana: Memory, tmp_path: Path
) -> None:
    before = ana.remember(SAID, key="mode").record
    assert before is not None
    ana.privacy.pause_recall()

    assert ana.remember("Ana drinks tea").stored
    assert ana.correct("mode", "Ana likes light mode").stored
    assert len(ana.list()) == 2
    assert [memory.version for memory in history_of(ana, "mode")] == [1, 2]
    assert ana.get(before.id) is not None
    assert ana.status()["recall"] is False
    owner = world.store.memory(user="ana", org="acme")
    assert owner.data.export(tmp_path / "ana.jsonl").counts["memory"]


def test_others_who_may_read_a_user_are_shown_nothing_of_him(world: World) -> None:
    ana = world.store.memory(user="ana", org="acme")
    boss = world.store.memory(user="boss", org="acme")
    world.store.admin(actor="root").grant("boss", "read_user:ana", org="acme")
    id = getattr(ana.remember(SAID).record, "id", "")
    theirs = {"scopes": ["/org/acme/user/ana/"]}
    assert len(boss.recall(QUERY, **theirs)) == 1

    ana.privacy.pause_recall()

    assert boss.recall(QUERY, **theirs).hits == ()
    # That she has switched it off is hers to tell.
    assert boss.recall(QUERY, **theirs).degraded == ()
    assert boss.digest(QUERY, min_relevance=0, **theirs).items == ()
    assert boss.explain(id, QUERY, **theirs).recalled is False


def test_what_stands_before_a_model_goes_when_recall_is_switched_off_elsewhere(
    world: World, ana: Memory
) -> None:
    ana.remember(SAID, pinned=True)
    triggers = Prompting(ana).triggers("colours")
    pushed = triggers.before_model()
    assert pushed is not None
    assert pushed.items
    if world.is_durable:
        with simonides.open(world.target) as other:
            other.memory(user="ana", org="acme").privacy.pause_recall()
    else:
        world.store.memory(user="ana", org="acme").privacy.pause_recall()

    now = triggers.before_model()

    assert now is not None
    assert told(now) == (False, (RECALL_OFF,))
    assert ana.recall(QUERY).degraded == (RECALL_OFF,)
    assert triggers.before_model() is now
    ana.privacy.resume_recall()
    again = triggers.before_model()
    assert again is not None
    assert again.items


def test_it_is_still_off_after_a_restart(world: World) -> None:
    world.store.memory(user="ana").remember(SAID)
    world.store.memory(user="ana").privacy.pause_recall()

    ana = world.reopen().memory(user="ana")

    assert ana.recall(QUERY).degraded == (RECALL_OFF,)
    assert ana.status()["recall"] is False


def test_what_was_shown_is_not_given_again_while_it_is_off(ana: Memory) -> None:
    ana.remember(SAID)
    digest, recall = ana.digest(QUERY, min_relevance=0), ana.recall(QUERY)
    ana.privacy.pause_recall()

    with pytest.raises(NotReplayable):
        ana.receipts.replay(digest.receipt)
    with pytest.raises(NotReplayable):
        ana.receipts.replay(recall.receipt)
    empty = ana.digest(QUERY, min_relevance=0)
    assert ana.receipts.replay(empty.receipt).text == empty.text

    ana.privacy.resume_recall()
    assert ana.receipts.replay(digest.receipt).text == digest.text
    assert ana.receipts.replay(empty.receipt).text == empty.text


def test_every_word_is_audited_and_saying_it_twice_changes_nothing(
    world: World, ana: Memory
) -> None:
    first, again, back = (
        ana.privacy.pause_recall(),
        ana.privacy.pause_recall(),
        ana.privacy.resume_recall(),
    )

    assert (first.changed, again.changed, back.changed) == (True, False, True)
    (event,) = first.events
    assert (event.type, event.reasons) == ("consent_changed", ("refused",))
    assert dict(event.details) == {"about": "recall", "name": "recall"}
    assert again.events == ()
    links = world.store._driver.run(
        world.store.runtime.store.links(principal_of(ana).home)  # type: ignore[arg-type]
    )
    payloads = [json.loads(link.payload) for link in links if link.payload is not None]
    assert [said["reasons"] for said in payloads] == [["refused"], ["allowed"]]
    assert [(c.about, c.allowed) for c in ana.privacy.list()] == [("recall", True)]


def test_it_travels_with_the_owner(world: World, tmp_path: Path) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(SAID)
    ana.privacy.pause_recall()
    ana.data.export(tmp_path / "ana.jsonl")

    with simonides.open(tmp_path / "elsewhere.db") as other:
        there = other.memory(user="ana")
        there.data.restore(tmp_path / "ana.jsonl")

        assert [memory.content for memory in there.list()] == [SAID]
        assert there.recall(QUERY).degraded == (RECALL_OFF,)


def test_a_key_of_that_name_is_another_matter(ana: Memory) -> None:
    ana.remember("Ana's recall is good", key="recall")
    ana.privacy.refuse("recall")

    assert ana.recall("how is Ana's recall?").degraded == ()
    ana.privacy.pause_recall()
    ana.privacy.allow(key="recall")
    assert ana.recall("how is Ana's recall?").degraded == (RECALL_OFF,)


def test_the_floor_learns_nothing_from_reads_that_looked_for_nothing(ana: Memory) -> None:
    ana.remember(SAID)
    ana.privacy.pause_recall()
    for _ in range(40):
        ana.receipts.verify([], ana.digest(QUERY).receipt)

    assert ana.status()["floors"]["reads"] == 0


def test_the_command_line_switches_it(cli) -> None:
    cli("remember", SAID)

    assert "recall is off" in cli("privacy", "pause-recall").stdout
    done = cli("recall", QUERY)
    assert (done.returncode, SAID in done.stdout, "recall_off" in done.stdout) == (0, False, True)
    assert "recall is off" in cli("privacy", "list").stdout
    assert "recall is on" in cli("privacy", "resume-recall").stdout
    assert SAID in cli("recall", QUERY).stdout
    cli("consent", "recall", "on")
    assert SAID in cli("recall", QUERY).stdout


STEPS = st.lists(
    st.sampled_from(["off", "on", "remember", "correct", "forget", "erase", "read"]),
    min_size=3,
    max_size=14,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_with_recall_off_nothing_of_the_user_is_ever_shown(steps: list[str]) -> None:
    with simonides.open(":memory:") as store:
        store.admin(actor="root").grant("boss", "read_user:ana", org="acme")
        ana = store.memory(user="ana", org="acme")
        boss = store.memory(user="boss", org="acme")
        is_on = True
        for number, step in enumerate([*steps, "read"]):
            match step:
                case "off" | "on":
                    is_on = step == "on"
                    (ana.privacy.resume_recall() if is_on else ana.privacy.pause_recall())
                case "remember":
                    ana.remember(f"Ana's dark mode number {number}", key=f"k{number}", pinned=True)
                case "correct":
                    with suppress(NotFound):
                        ana.correct("k0", f"Ana's dark mode is now {number}")
                case "forget":
                    ana.forget_many(scope="user")
                case "erase":
                    erase(ana)
                    is_on = True  # whoever was erased and comes again has said nothing
                case _:
                    kept = bool(ana.list())
                    shown = bool(ana.recall("dark mode", min_relevance=0))
                    assert shown is (kept and is_on)
                    if not is_on:
                        assert not any(told(read)[0] for read in reads(ana))
                        theirs = {"scopes": ["/org/acme/user/ana/"]}
                        assert not boss.recall("dark mode", **theirs).hits
