"""Keyed facts that a later message ends or corrects."""

import pytest

from simonides.testing import ManualClock
from simonides.testing import open as open_store


@pytest.fixture
def told():
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana", session="s")

        def tell(*said):
            for text in said:
                memory.add(text)
            return {
                record.key or record.triple.predicate: record
                for record in memory.list()
                if record.key or record.triple
            }

        yield tell


ENDS = [
    ("employer", "I work at Siemens.", "I quit my job at Siemens."),
    ("employer", "I work at Siemens.", "I quit my job."),
    ("location", "I live in Oslo.", "I no longer live in Oslo."),
    ("eats", "I'm vegetarian.", "I'm no longer vegetarian."),
    ("takes", "I take 20 mg of lisinopril.", "I came off lisinopril."),
]


@pytest.mark.parametrize(("name", "fact", "end"), ENDS)
def test_what_the_user_ends_is_a_fact_no_more(told, name, fact, end):
    assert name in told(fact)
    assert name not in told(end)


KEPT = [
    ("employer", "I work at Siemens.", "My brother quit his job at Siemens."),
    ("employer", "I work at Siemens.", "I quit coffee."),
    ("employer", "I work at Siemens.", "Should I say that I quit my job?"),
    ("allergic_to", "I'm allergic to peanuts.", "I no longer eat fish."),
    ("location", "I live in Oslo.", "I left Bergen years ago."),
]


@pytest.mark.parametrize(("name", "fact", "other"), KEPT)
def test_other_endings_leave_a_fact_alone(told, name, fact, other):
    assert name in told(fact, other)


CORRECTS = [
    ("location", "Hull", ["I live in Halifax.", "It is a quiet town.", "Sorry, I meant Hull."]),
    ("age", "43", ["I'm 34.", "Sorry, I meant 43."]),
    ("location", "Hull", ["I'm 34.", "I live in Halifax.", "I meant Hull."]),
    ("update_channel", "Slack", ["Contact me by email.", "Use Slack instead of e-mail."]),
    ("language", "English", ["Please answer in German.", "You can go back to English."]),
]


@pytest.mark.parametrize(("key", "value", "said"), CORRECTS)
def test_a_correction_replaces_the_value(told, key, value, said):
    assert told(*said)[key].content == value


def test_a_late_correction_is_of_something_else(told):
    between = [f"The shop sells {number} kinds of tea." for number in range(8)]
    assert told("I live in Halifax.", *between, "Sorry, I meant Hull.")["location"].content == (
        "Halifax"
    )


def test_the_report_names_the_facts_that_were_ended():
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana")
        memory.add("I work at Siemens.")
        report = memory.add("I quit my job at Siemens.")
    [ended] = report.lines[0].ended
    assert (ended.key, ended.content) == ("employer", "Siemens")
    assert report.to_dict()["lines"][0]["ended"][0]["id"] == ended.id


DIETS = [
    (["I'm vegetarian.", "I'm vegan now."], ["vegan"]),
    (["I'm vegetarian.", "I've started eating meat again."], []),
    (["I'm vegan.", "I've gone back to eating fish."], []),
    (["I don't eat fish.", "I'm eating fish again."], []),
    (["I'm vegan.", "I'm gluten-free."], ["vegan", "gluten-free"]),
    (["I don't eat pork.", "I'm vegetarian."], ["don't eat pork", "vegetarian"]),
    (["I don't eat pork.", "I'm eating dairy again."], ["don't eat pork"]),
]


@pytest.mark.parametrize(("said", "left"), DIETS)
def test_a_prompt_always_shows_the_diets_in_force(said, left):
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana")
        for text in said:
            memory.add(text)
        core = [item for item in memory.digest("Suggest a menu").items if item.part == "core"]
        shown = [memory.get(item.ids[0]) for item in core]
    assert [record.triple.object for record in shown if record.triple is not None] == left


LIFTED = [
    (["Never deploy on Fridays.", "You can deploy on Fridays again."], []),
    (["Send me a summary every evening.", "I don't need the evening summary anymore."], []),
    (["Don't call me before nine.", "It's fine to call me before nine."], []),
    (
        ["Don't call me before nine.", "You can call the plumber now."],
        ["Don't call me before nine."],
    ),
    (
        ["Never eat nuts in my kitchen.", "We can eat outside again."],
        ["Never eat nuts in my kitchen."],
    ),
]


@pytest.mark.parametrize(("said", "left"), LIFTED)
def test_a_rule_that_the_user_takes_back_leaves_the_prompt(said, left):
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana")
        for text in said:
            memory.add(text)
        assert [item.line.split("] ")[1] for item in memory.digest().items] == left


def test_nobody_but_the_user_takes_a_rule_back():
    with open_store(clock=ManualClock()) as store:
        memory = store.memory(user="ana")
        memory.add("Never deploy on Fridays.")
        memory.add([{"role": "assistant", "content": "You can deploy on Fridays again."}])
        memory.add("You can deploy on Fridays again.", source="external")
        assert "Never deploy" in str(memory.digest())


@pytest.mark.parametrize(
    "said",
    ["Can't have cockles, I'm allergic.", "I'm pregnant, so keep the cheese off my list."],
)
def test_a_danger_that_a_clause_only_names_is_kept_with_the_clause_beside_it(ana, said):
    ana.add(said)
    [danger] = ana.list(filter={"category": "danger"})
    assert danger.content == said
