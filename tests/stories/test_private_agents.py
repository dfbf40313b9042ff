"""What is told to a private agent is for that agent alone."""

import pytest

import simonides
from simonides import Draft


@pytest.fixture
def coach(store):
    return store.memory(user="ana", org="acme", agent="coach", private=True)


@pytest.fixture
def cook(store):
    return store.memory(user="ana", org="acme", agent="cook", private=True)


def texts(memory):
    return {record.content for record in memory.list()}


def test_what_one_agent_was_told_no_other_reads(store, ana, coach, cook):
    coach.add("I am training for the marathon in Oslo.")
    coach.remember("The user runs at six", key="run")
    cook.add("I would like more soups.")
    ana.add("The desk is oak.")
    assert texts(coach) >= {"I am training for the marathon in Oslo.", "The user runs at six"}
    for other in (ana, cook, store.memory(user="ana", org="acme", agent="clerk")):
        assert "marathon" not in str(other.digest("Which marathon am I training for?"))
        assert not any("marathon" in hit.content for hit in other.recall("marathon"))
        assert other.get("run") is None
        assert "The user runs at six" not in texts(other)
    assert "The desk is oak." in texts(coach)


def test_conversations_of_one_name_are_apart(store, ana, coach, cook):
    for memory, said in ((coach, "I ran ten miles"), (cook, "I baked bread"), (ana, "Good day")):
        memory.session("t").add([said, {"role": "assistant", "content": f"So: {said}"}])
    for memory, said in ((coach, "I ran ten miles"), (cook, "I baked bread"), (ana, "Good day")):
        messages = memory.session("t").messages()
        assert [each.content for each in messages] == [said, f"So: {said}"]
        assert [each.name for each in memory.sessions()] == ["t"]
    assert coach.session("t").end().session == "t"
    assert [each.is_open for each in coach.sessions()] == [False]
    assert [each.is_open for each in cook.sessions()] == [True]


def test_the_summary_of_a_talk_is_as_private_as_the_talk(store, ana, coach, cook):
    chat = coach.session("t")
    for n in range(6):
        chat.add(f"On day {n} of the training for the marathon in Oslo I ran {n} miles uphill.")
    summary = chat.end().summary.record
    assert summary.audience == ("coach",)
    assert "marathon" in str(coach.session("u").digest())
    assert "marathon" not in str(cook.session("u").digest()) + str(ana.session("u").digest())


def test_tasks_of_one_name_are_apart(store, ana, coach, cook):
    runs = coach.task("Plan the runs", name="plan", constraints=["Never run on Mondays"])
    cooks = cook.task("Plan the meals", name="plan", constraints=["Never fry"])
    plain = ana.task("Plan the week", name="plan", constraints=["Never on Sundays"])
    runs.observe("watch", "The pulse was racing")
    cooks.observe("fridge", "There are leeks")
    for task, own, foreign in (
        (runs, "Mondays", "fry"), (cooks, "fry", "Mondays"), (plain, "Sundays", "fry"),
    ):  # fmt: skip
        prompt = task.prompt()
        assert own in prompt
        assert foreign not in prompt
    assert "racing" not in cooks.prompt() + plain.prompt()
    plain.abandon()
    assert "Mondays" in runs.prompt()
    assert "racing" in runs.prompt()
    cooks.complete()
    assert "racing" in runs.prompt()
    assert (
        store.memory(user="ana", org="acme", agent="coach", private=True)
        .task("Plan the runs", name="plan")
        .status()["goal"]
        == "Plan the runs"
    )


def test_forgetting_by_one_agent_leaves_what_is_private_to_another(ana, coach, cook):
    coach.add("My sister Olga runs with me.")
    cook.add("My sister Olga eats no fish.")
    ana.add("My sister Olga lives in Rome.")
    assert coach.privacy.forget("Olga") == 2  # its own, and what all may read
    assert not any("Olga" in text for text in texts(coach))
    assert any("Olga" in text for text in texts(cook))
    ana.privacy.forget("Olga")
    assert not any("Olga" in text for text in texts(cook))


def test_forgetting_everything_in_words_is_bounded_likewise(store, coach, cook):
    coach.add("I ran ten miles.")
    cook.add("I baked bread.")
    coach.add("Forget everything you know about me.")
    coach.add("Forget everything you know about me.")
    assert not any("ten miles" in text for text in texts(coach))
    assert "I baked bread." in texts(cook)


def test_receipts_are_apart(coach, cook):
    coach.remember("The user runs at six", key="run")
    assert coach.digest("When do I run?").items
    assert len(coach.receipts.list()) == 1
    assert cook.receipts.list() == []


def test_privacy_names_its_agent(store):
    with pytest.raises(simonides.InvalidInput, match="agent"):
        store.memory(user="ana", private=True)


def test_an_end_after_a_quiet_time_stays_private(store, coach, cook, clock):
    chat = coach.session("t")
    for n in range(6):
        chat.add(f"On day {n} of the training for the marathon in Oslo I ran {n} miles uphill.")
    clock.advance(minutes=30)
    store.flush()
    assert [each.is_open for each in coach.sessions()] == [False]
    summaries = [record for record in coach.list() if record.category == "session_summary"]
    assert [record.audience for record in summaries] == [("coach",)]
    assert "marathon" not in str(cook.digest())


def test_no_agent_takes_back_what_another_was_told(ana, coach, cook):
    outcome = coach.remember("The user runs at six", key="run")
    for change in (outcome, str(outcome.events[0].seq)):
        with pytest.raises(simonides.InvalidInput):
            cook.undo(change)
    assert coach.get("run").content == "The user runs at six"
    assert coach.undo(outcome).kind == "undone"


def test_no_agent_learns_which_idempotency_keys_another_used(ana, coach, cook):
    first = coach.remember(Draft("The user runs at six", idempotency_key="1"))
    for memory in (cook, ana):
        other = memory.remember(Draft("The desk is oak", idempotency_key="1"))
        assert other.record.content == "The desk is oak"
    assert (
        coach.remember(Draft("The user runs at six", idempotency_key="1")).record.id
        == first.record.id
    )
