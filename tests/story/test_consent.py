"""What a person refuses is not written, and not seen by anybody."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import simonides
from conftest import World
from principals import history_of, principal_of
from simonides import (
    Draft,
    InvalidInput,
    Memory,
    NotReplayable,
    Outcome,
    UndoRefused,
)
from simonides.domain.errors import NotFound
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.prompting import Prompting
from simonides.types import Event, Scope

SALARY = "Ana earns 5000 a month"
BY_KEY, BY_CATEGORY = ("blocked", "consent_refused:key"), ("blocked", "consent_refused:category")


def said(outcome: Outcome) -> tuple[str, str]:
    return outcome.kind.value, outcome.reasons[0]


def seen(own: Memory) -> list[str]:
    return sorted(memory.content for memory in own.list())


def trail(world: World, owner: Scope) -> list[dict[str, object]]:
    links = world.store._driver.run(world.store.runtime.store.links(owner))
    return [json.loads(link.payload) for link in links if link.payload is not None]


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


def test_a_refused_key_is_blocked_for_every_way_in(world: World, ana: Memory) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    in_task = task.remember(SALARY, key="salary").record
    ana.remember("Ana likes tea", key="drink")
    extracted = Candidate(
        content=SALARY,
        scope=principal_of(ana).home,
        source=Source.USER_STATED,
        proposer=Proposer.RULES,
        label=Label(Trust.USER),
        key="location",
    )
    for key in ("salary", "name", "location"):
        ana.privacy.refuse(key)

    assert said(ana.remember(SALARY, key="salary")) == BY_KEY
    for reader in (ana, task):  # what is hidden cannot be corrected
        with pytest.raises(NotFound):
            reader.correct("salary", "Ana earns 6000")
    batch = ana.remember_many([Draft("x", key="salary"), Draft("Ana likes milk", key="drink")])
    assert [outcome.kind.value for outcome in batch] == ["blocked", "superseded"]
    assert [said(outcome) for outcome in ana.pending.propose([extracted])] == [BY_KEY]
    assert [said(outcome) for outcome in ana.add("My name is Ana.").outcomes] == [BY_KEY]
    assert in_task is not None
    with pytest.raises(NotFound):
        task.promote(in_task.id, "user")
    bot = world.store.memory(user="ana", agent="bot").session("s1")
    assert said(bot.remember(SALARY, key="salary")) == BY_KEY
    admin = world.store.admin(actor="root")
    assert said(admin.remember(Draft(SALARY, key="salary"), scope="/user/ana/")) == BY_KEY

    assert said(world.store.memory(user="bob").remember(SALARY, key="salary"))[0] == "created"
    assert seen(ana) == ["Ana likes milk"]
    assert world.store.admin(actor="root").check_audit().ok


def test_who_refused_a_key_writes_nothing_of_it_for_others(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    original = ana.remember(SALARY, key="pay").record
    assert original is not None
    ana.privacy.refuse(category="fact")

    assert said(ana.remember(Draft(SALARY, key="salary", scope="org"))) == BY_CATEGORY
    with pytest.raises(NotFound):
        ana.promote(original.id, "org")
    assert seen(world.store.memory(user="bob")) == []


def test_what_is_refused_is_hidden_on_every_read_until_it_is_allowed(
    world: World, ana: Memory
) -> None:
    memory = ana.remember(SALARY, key="salary").record
    ana.remember("Ana drinks tea", key="drink")
    assert memory is not None
    digest, recall = (
        ana.digest("what does Ana earn", min_relevance=0),
        ana.recall("what does Ana earn"),
    )
    then = world.clock.now_us()
    world.clock.advance(us=1_000_000)
    ana.privacy.refuse("salary")
    asked = {"query": "what does Ana earn", "limit": 20}
    world.store.admin(actor="root").grant("boss", "read_user:ana")
    boss = world.store.memory(user="boss")

    assert [hit.record.key for hit in ana.recall(**asked)] == ["drink"]
    assert [hit.record.key for hit in boss.recall(**asked, scopes=["/user/ana/"])] == ["drink"]
    assert boss.get(memory.id, scopes=["/user/ana/"]) is None
    at = memory.created_at
    for past in ({"known_at": at}, {"valid_at": at}):
        assert "salary" not in [hit.record.key for hit in ana.recall(**asked, **past)]
    assert (ana.get(memory.id), history_of(ana, "salary"), history_of(ana, memory.id)) == (
        None,
        (),
        (),
    )
    assert [m.key for m in ana.list()] == ["drink"]
    assert "5000" not in ana.digest("what does Ana earn", min_relevance=0).text
    assert "5000" not in Prompting(ana).push("what Ana earns").text
    assert "5000" not in Prompting(ana).search("what Ana earns").text
    assert sum(ana.status()["memories"].values()) == 1
    with pytest.raises(NotFound):
        ana.confirm(memory.id)
    assert ana.explain(memory.id, "Ana").excluded == ("consent_refused",)
    assert memory.id in ana.receipts.verify(f"See {memory.id}.", digest.receipt).gone
    for again, receipt in (
        (ana.receipts.replay, digest.receipt),
        (ana.receipts.replay, recall.receipt),
    ):
        with pytest.raises(NotReplayable) as caught:
            again(receipt)
        assert caught.value.ids == (memory.id,)
    assert then < world.clock.now_us()

    assert ana.privacy.allow(key="salary").changed

    assert "salary" in [hit.record.key for hit in ana.recall(**asked)]
    assert ana.get(memory.id) == memory
    assert ana.receipts.replay(digest.receipt).text == digest.text
    assert said(ana.remember(SALARY, key="salary"))[0] == "refreshed"


def test_a_refused_category_spares_a_key_that_was_allowed(ana: Memory) -> None:
    for key in ("allergies", "weight", None):
        ana.remember(f"Ana's {key}", key=key, category="feedback")
    ana.privacy.refuse(category="feedback")
    ana.privacy.allow(key="allergies")

    assert seen(ana) == ["Ana's allergies"]
    assert said(ana.remember("71 kg", key="weight", category="feedback")) == BY_CATEGORY
    assert said(ana.remember("nuts", key="allergies", category="feedback"))[0] == "superseded"
    ana.privacy.refuse("allergies")
    assert seen(ana) == []
    ana.privacy.allow(category="feedback")
    assert seen(ana) == ["Ana's None", "Ana's weight"]


def test_what_stands_under_a_refused_category_is_not_given_back_by_a_repetition(
    ana: Memory,
) -> None:
    ana.remember(SALARY, category="feedback", tags=("secret",))
    ana.privacy.refuse(category="feedback")

    again = ana.remember(SALARY, category="fact")

    assert (said(again), again.record) == (BY_CATEGORY, None)


def test_a_write_that_was_refused_may_be_tried_again_under_its_key(ana: Memory) -> None:
    first = ana.remember(SALARY, key="salary", idempotency_key="w1")
    ana.privacy.refuse("salary")
    assert said(ana.remember(SALARY, key="salary", idempotency_key="w1")) == BY_KEY
    assert said(ana.remember(SALARY, key="salary", idempotency_key="w2")) == BY_KEY
    ana.privacy.allow(key="salary")

    assert ana.remember(SALARY, key="salary", idempotency_key="w1").record == first.record
    assert said(ana.remember(SALARY, key="salary", idempotency_key="w2"))[0] == "refreshed"


def test_what_there_is_is_removed_on_request_with_all_versions_everywhere(
    world: World, ana: Memory
) -> None:
    for place in (ana, world.store.memory(user="ana").task(name="t1").memory):
        place.remember("Ana earns 4000", key="salary")
        place.remember(SALARY, key="salary")
    ana.remember(Draft("The bot's own", key="salary", audience=["bot"]))
    ana.remember("Ana drinks tea", key="drink")

    change = ana.privacy.refuse("salary", remove=True)

    assert (change.changed, change.removed) == (True, 5)
    assert ana.privacy.refuse("salary", remove=True).removed == 0
    ana.privacy.allow(key="salary")
    assert history_of(ana, "salary") == ()
    assert seen(world.store.memory(user="ana", agent="bot").task(name="t1").memory) == [
        "Ana drinks tea"
    ]
    # The key is free again; only a program that reads it out of talk must not bring it back.
    assert said(ana.remember("Ana earns 7000", key="salary"))[0] == "created"
    assert world.store.admin(actor="root").check_audit().ok


def test_candidates_that_are_held_back_are_let_go(world: World, ana: Memory) -> None:
    held = Candidate(
        content="Prefers long answers",
        scope=principal_of(ana).home,
        source=Source.AGENT_INFERRED,
        proposer=Proposer.RULES,
        label=Label(Trust.AGENT),
        key="response_length",
        category="session_note",
        confidence=0.8,
    )
    assert [outcome.kind.value for outcome in ana.pending.propose([held])] == ["held"]

    assert ana.privacy.refuse("response_length").released == 1

    waiting = world.store.runtime.store.held(principal_of(ana).home)
    assert world.store._driver.run(waiting) == ()
    assert [said(outcome) for outcome in ana.pending.propose([held])] == [BY_KEY]


def test_every_word_is_audited_and_the_last_one_counts(world: World, ana: Memory) -> None:
    first, again = ana.privacy.refuse("salary"), ana.privacy.refuse("salary")
    world.store.memory(user="ana").task(name="t1").memory.privacy.refuse(category="feedback")
    ana.privacy.allow(key="salary")

    assert (first.changed, again.changed, again.events) == (True, False, ())
    assert again.consent == first.consent
    told = [(c.about, c.name, c.allowed, c.by) for c in ana.privacy.list()]
    home = "/global/org/default/user/ana/"
    assert told == [("category", "feedback", False, home), ("key", "salary", True, home)]
    events = trail(world, principal_of(ana).home)
    assert [(e["type"], e["reasons"], e["details"]) for e in events] == [
        ("consent_changed", ["refused"], {"about": "key", "name": "salary"}),
        ("consent_changed", ["refused"], {"about": "category", "name": "feedback"}),
        ("consent_changed", ["allowed"], {"about": "key", "name": "salary"}),
    ]
    assert isinstance(first.events[0], Event)
    assert world.store.memory(user="bob").privacy.list() == ()


def test_a_consent_outlives_the_process(world: World, ana: Memory) -> None:
    ana.remember(SALARY, key="salary")
    ana.privacy.refuse("salary")
    before = ana.privacy.list()

    reopened = world.reopen().memory(user="ana")

    assert seen(reopened) == []
    assert said(reopened.remember(SALARY, key="salary")) == BY_KEY
    assert reopened.privacy.list() == before


def test_a_refusal_names_a_key_or_a_category(ana: Memory) -> None:
    both = {"key": "a", "category": "b"}
    for named in ({}, both, {"key": " "}, {"category": ""}, {"key": "x" * 513}):
        for verb in (ana.privacy.refuse, ana.privacy.allow):
            with pytest.raises(InvalidInput):
                verb(**named)
    with pytest.raises(InvalidInput, match="feedback"):
        ana.privacy.refuse(category="fedback")
    assert ana.privacy.list() == ()


OTHER = """
import sys, simonides
with simonides.open(sys.argv[1]) as opened_store:
    ana = opened_store.memory(user="ana")
    for _ in sys.stdin:
        told = [m.key for m in ana.list()], str(ana.remember("5000", key="salary").kind)
        print(sorted(told[0]), told[1], flush=True)
"""


def test_a_refusal_holds_at_the_next_read_of_another_process(tmp_path) -> None:
    import simonides

    path = tmp_path / "m.db"
    command = [sys.executable, "-c", OTHER, str(path)]
    with (
        simonides.open(path) as store,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdin is not None
        assert other.stdout is not None

        def asked() -> str:
            other.stdin.write("\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        ana = store.memory(user="ana")
        ana.remember(SALARY, key="salary")
        ana.remember("tea", key="drink")
        assert asked() == "['drink', 'salary'] superseded"
        ana.privacy.refuse("salary")
        assert asked() == "['drink'] blocked"
        ana.privacy.allow(key="salary")
        assert asked() == "['drink', 'salary'] refreshed"
        other.stdin.close()


def test_what_is_refused_is_nobodys_to_decide_or_take_back(ana: Memory) -> None:
    for city, source in (("Oslo", "user_stated"), ("Rome", "tool_verified")):
        triple = ("Ana", "lives in", city)
        outcome = ana.remember_many(
            [Draft(f"Ana lives in {city}", category="entity_fact", source=source, triple=triple)]
        )[0]
    (review,) = ana.pending.list(kind="review")
    ana.remember("green", key="colour")
    corrected = ana.correct("colour", "blue").events[0].id
    ana.privacy.refuse(category="entity_fact")
    ana.privacy.refuse(key="colour")

    assert outcome.kind == "review"
    assert ana.pending.list(kind="review") == ()
    with pytest.raises(NotFound):
        ana.pending.resolve(review.id, "old")
    with pytest.raises(UndoRefused, match="unknown_event"):
        ana.undo(corrected)

    ana.privacy.allow(category="entity_fact")
    ana.privacy.allow(key="colour")
    assert [each.id for each in ana.pending.list(kind="review")] == [review.id]
    assert ana.undo(corrected).kind == "undone"


def test_what_is_refused_is_in_no_search_of_the_session_in_which_it_was_said(
    world: World, ana: Memory
) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I live in Lisbon."})
    session.add({"role": "assistant", "content": "Lisbon is lovely at night."})
    session.add({"role": "user", "content": "No, it's Berlin."})
    session.add(
        {"role": "tool", "name": "maps", "content": "Number 28 is near.", "key": "location"}
    )
    session.add({"role": "user", "content": "The tram is late at night."})

    def told() -> set[int | None]:
        found = session.recall(
            "where do I live, late at night, near number 28?", limit=20, layer="session"
        )
        return {hit.record.origin.turn for hit in found}

    assert told() == {0, 1, 2, 3, 4}
    ana.privacy.refuse("location")

    assert told() == {4}
    for layered in ("Lisbon", "Berlin"):
        found = Prompting(session).search("where do I live?", layer="l1")
        assert layered not in found.text
        assert (
            layered
            not in session.tools("search")
            .call("search_memory", {"query": "where do I live?", "layer": "l1"})
            .text
        )
    session.add({"role": "user", "content": "I live in Porto."})
    session.add({"role": "assistant", "content": "Porto it is, at night."})
    assert told() == {4}
    # The talk goes on in it.
    assert session.messages()[0].text == "I live in Lisbon."

    ana.privacy.allow(key="location")

    assert told() == {0, 1, 2, 3, 4, 5, 6}


def test_what_was_forgotten_is_in_no_search_of_the_session_in_which_it_was_said(
    ana: Memory,
) -> None:
    session = ana.session("s")
    session.add({"role": "user", "content": "I live in Lisbon."})
    session.add({"role": "user", "content": "The tram is late."})
    ana.remember("Lisbon", key="location")

    ana.forget("location")

    assert [
        hit.record.origin.turn for hit in session.recall("Lisbon tram late", layer="session")
    ] == [1]


def test_a_refusal_that_was_restored_holds_for_searches_of_sessions(new_world, tmp_path) -> None:
    here, there = (new_world().store.memory(user="ana") for _ in range(2))
    here.privacy.refuse("location")
    here.session("s").add({"role": "user", "content": "I live in Lisbon."})
    here.data.export(tmp_path / "ana.export")

    there.data.restore(tmp_path / "ana.export")

    assert len(there.session("s").messages()) == 1
    assert not there.session("s").recall("Lisbon", layer="session")


def turn(text: str, place: int, **told: object) -> Draft:
    return Draft(
        text, kind="episodic", category="turn", confidence=1.0, session="s", turn=place, **told
    )


def test_what_is_refused_is_in_no_turn_that_is_imported(ana: Memory) -> None:
    ana.privacy.refuse("location")

    written = ana.remember_many(
        [
            turn("I live in Lisbon.", 0),
            turn("Lisbon is lovely.", 1, source="agent_inferred"),
            turn("The tram is late.", 2),
        ]
    )

    assert [said(one)[0] for one in written] == ["blocked", "blocked", "created"]
    assert said(written[0]) == BY_KEY
    assert seen(ana) == ["The tram is late."]


def test_turns_that_were_kept_go_with_what_is_removed_on_request(ana: Memory) -> None:
    ana.remember_many(
        [
            turn("I live in Lisbon.", 0),
            turn("Lisbon is lovely.", 1, source="agent_inferred"),
            turn("The tram is late.", 2),
        ]
    )
    ana.remember("Lisbon", key="location")

    assert ana.privacy.refuse("location", remove=True).removed == 3
    ana.privacy.allow(key="location")

    assert seen(ana) == ["The tram is late."]


def test_turns_that_were_kept_are_hidden_while_what_they_speak_of_is_refused(
    world: World, ana: Memory
) -> None:
    first, *_ = ana.remember_many(
        [
            turn("I live in Lisbon.", 0),
            turn("Lisbon is lovely.", 1, source="agent_inferred"),
            turn("The tram is late.", 2),
        ]
    )
    shown = ana.digest("Lisbon").receipt

    ana.privacy.refuse("location")

    assert seen(ana) == ["The tram is late."]
    assert not ana.recall("Where in Lisbon do I live?", min_relevance=0.5)
    then = ana.recall("Lisbon tram", known_at=shown.at)
    assert [hit.record.content for hit in then] == ["The tram is late."]
    assert ana.get(first.record.id) is None
    assert "Lisbon" not in ana.digest("Lisbon", min_relevance=0).text
    with pytest.raises(NotReplayable):
        ana.receipts.replay(shown)

    ana.remember(turn("The bus is late.", 3).content)
    assert seen(ana) == ["The bus is late.", "The tram is late."]

    ana.privacy.allow(key="location")

    assert len(seen(ana)) == 4
    assert ana.recall("Where in Lisbon do I live?")[0].record.id == first.record.id


def test_turns_that_were_kept_are_hidden_in_another_process_and_in_tasks(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with simonides.open(path) as store, simonides.open(path) as other:
        ana, task = store.memory(user="ana"), other.memory(user="ana").task(name="trip").memory
        ana.remember_many([turn("I live in Lisbon.", 0), turn("The tram is late.", 1)])
        assert len(task.recall("Lisbon tram")) == 2

        ana.privacy.refuse("location")

        assert [hit.record.content for hit in task.recall("Lisbon tram")] == ["The tram is late."]
        assert ana.privacy.refuse("location", remove=True).removed == 1
        ana.privacy.allow(key="location")
        assert [hit.record.content for hit in task.recall("Lisbon tram")] == ["The tram is late."]


def summary(text: str, **told: object) -> Draft:
    return Draft(text, kind="episodic", category="session_summary", confidence=0.9, **told)


@pytest.mark.parametrize("is_corrected", [False, True])
def test_summaries_that_tell_of_what_is_refused_are_hidden_and_go_with_it(
    ana: Memory, is_corrected: bool
) -> None:
    home = ana.remember("Lisbon", key="location").record
    outcomes = ana.remember_many(
        [
            summary("I live in Lisbon. The launch moved to Friday."),
            summary("Her days in Lisbon are spent on the launch.", parents=(home.id,)),
            summary("The tram is late on Mondays.", parents=(home.id,)),
        ]
    )
    own, told, other = (outcome.record.content for outcome in outcomes)
    then = outcomes[-1].record.known_from
    if is_corrected:
        ana.correct("location", "Porto")

    ana.privacy.refuse("location")

    assert seen(ana) == [other]
    assert [hit.record.content for hit in ana.recall("launch tram", known_at=then)] == [other]
    assert "Lisbon" not in ana.digest("Lisbon launch", min_relevance=0).text

    ana.privacy.allow(key="location")
    assert seen(ana) == sorted([own, told, other, "Porto" if is_corrected else "Lisbon"])

    # Every version goes, and what was made of one, whatever it tells.
    assert ana.privacy.refuse("location", remove=True).removed == 4 + is_corrected
    ana.privacy.allow(key="location")
    assert seen(ana) == []


def test_a_telling_that_gave_way_is_shown_by_no_id_history_or_past_either(
    world: World, ana: Memory
) -> None:
    home = ana.remember("Lisbon", key="location").record
    told = ana.remember_many(
        [
            summary("I live in Lisbon. The launch moved to Friday."),
            summary("Her days in Lisbon are spent on the launch.", parents=(home.id,)),
            turn("I live in Lisbon now.", 0),
            turn("Lisbon is lovely.", 1, source="agent_inferred"),
            summary("The tram is late on Mondays."),
        ]
    )
    before = [outcome.record for outcome in told]
    ana.remember_many([turn("I live in Lisbon, as I said.", 2)])
    ana.correct("location", "Porto")
    world.clock.advance(seconds=1)
    stood = ana.remember("Sails on Sundays.").record.known_from
    world.clock.advance(seconds=1)
    after = [ana.correct(memory.id, f"It went well, {memory.id}.").record for memory in before]

    ana.privacy.refuse("location")

    assert [ana.get(memory.id) is not None for memory in before] == [False] * 4 + [True]
    lengths = [len(history_of(ana, memory.id)) for memory in after]
    assert lengths == [1, 1, 1, 1, 2]
    past = ana.recall("Lisbon launch tram", known_at=stood, limit=20)
    assert not any("Lisbon" in hit.record.content for hit in past)


def test_a_turn_that_gave_way_is_hidden_of_the_past_by_what_was_said_later(
    world: World, ana: Memory
) -> None:
    said = [turn("Lisbon is lovely.", 1, source="agent_inferred"), turn("The tram is late.", 2)]
    lovely, tram = (outcome.record for outcome in ana.remember_many(said))
    world.clock.advance(seconds=1)
    for memory in (lovely, tram):
        ana.correct(memory.id, f"It went well, {memory.id}.")
    ana.remember_many([turn("I live in Lisbon now.", 3)])

    ana.privacy.refuse("location")

    past = ana.recall("Lisbon tram", known_at=tram.known_from, limit=20)
    assert [hit.record.content for hit in past] == ["The tram is late."]
    assert [ana.get(memory.id) is None for memory in (lovely, tram)] == [True, False]


def test_a_repair_that_gave_way_is_hidden_by_what_it_repaired(ana: Memory) -> None:
    said = [turn("I live in Lisbon.", 0), turn("No, it's Porto.", 1), turn("No, it's late.", 3)]
    _, repair, other = (outcome.record for outcome in ana.remember_many(said))
    for memory in (repair, other):
        ana.correct(memory.id, f"It went well, {memory.id}.")

    ana.privacy.refuse("location")

    assert ana.get(repair.id) is None


def test_a_summary_that_tells_of_what_is_refused_is_not_written(ana: Memory) -> None:
    ana.privacy.refuse("location")

    outcomes = ana.remember_many([summary("I live in Lisbon."), summary("The tram is late.")])

    assert [said(outcome) for outcome in outcomes] == [BY_KEY, ("created", outcomes[1].reasons[0])]


def placeless(text: str) -> Draft:
    return Draft(text, kind="episodic", category="turn", confidence=1.0)


def test_a_word_removes_no_turn_that_another_word_only_hides(ana: Memory) -> None:
    ana.remember_many([turn("I live in Lisbon.", 0), turn("My name is Ana Pereira.", 1)])
    ana.privacy.refuse("location")

    assert ana.privacy.refuse("shoe_size", remove=True).removed == 0
    assert ana.privacy.refuse("name", remove=True).removed == 1

    ana.privacy.allow(key="location")
    assert seen(ana) == ["I live in Lisbon."]


def test_a_turn_of_a_key_that_was_allowed_stays_when_its_category_is_removed(
    ana: Memory,
) -> None:
    ana.remember_many([turn("I live in Lisbon.", 0), turn("My name is Ana Pereira.", 1)])
    ana.privacy.allow(key="location")

    assert ana.privacy.refuse(category="entity_fact", remove=True).removed == 1

    assert seen(ana) == ["I live in Lisbon."]


def test_turns_without_a_place_are_told_apart(ana: Memory) -> None:
    spoken = ["I live in Lisbon.", "No, it's Berlin.", "The tram is late."]
    ana.remember_many([placeless(text) for text in spoken])

    # Nothing tells that the second one repairs the first.
    assert ana.privacy.refuse("location", remove=True).removed == 1

    assert seen(ana) == sorted(spoken[1:])
    again = ana.remember_many([placeless(text) for text in ("I live in Oslo.", "It rains.")])
    assert [outcome.kind.value for outcome in again] == ["blocked", "created"]


def test_a_turn_of_a_task_in_the_same_place_stays(world: World, ana: Memory) -> None:
    task = world.store.memory(user="ana").task(name="t1").memory
    ana.remember_many([turn("I live in Lisbon.", 0)])
    task.remember_many([turn("No, it's Berlin.", 0), turn("The build is green.", 1)])

    assert ana.privacy.refuse("location", remove=True).removed == 1

    assert sorted(memory.content for memory in task.list(scopes=["task"])) == [
        "No, it's Berlin.",
        "The build is green.",
    ]


def test_who_refused_something_says_it_in_no_turn_for_others(world: World) -> None:
    world.store.admin(actor="root").grant("ana", "org_write")
    ana = world.store.memory(user="ana")
    ana.privacy.refuse("location")

    written = ana.remember_many(
        [
            turn("I live in Lisbon.", 0, scope="org"),
            turn("The tram is late.", 1, scope="org"),
        ]
    )

    assert said(written[0]) == BY_KEY
    assert seen(world.store.memory(user="bob")) == ["The tram is late."]


def test_no_turn_that_speaks_of_what_was_refused_comes_to_a_replica(tmp_path) -> None:
    import simonides

    remote = tmp_path / "remote.db"
    with simonides.open(remote) as store:
        store.memory(user="ana").remember_many(
            [
                turn("I live in Lisbon.", 0),
                turn("Lisbon is lovely.", 1, source="agent_inferred"),
                turn("The tram is late.", 2),
            ]
        )
    with simonides.open(tmp_path / "replica.db", mode="synced", remote=remote) as store:
        ana = store.memory(user="ana")
        ana.privacy.refuse("location")

        (one,) = store.sync().owners

        assert (one.pulled, dict(one.refused)) == (1, {"consent_refused": 2})
        assert seen(ana) == ["The tram is late."]

        ana.privacy.allow(key="location")
        (one,) = store.sync().owners

        assert (one.pulled, dict(one.refused)) == (2, {})
        assert len(seen(ana)) == 3
