"""What is forgotten when the user names it in plain words, and what stays."""

import pytest

from simonides import Draft
from simonides.core.errors import InvalidInput, NotFound

RENT = [
    {"role": "user", "content": "I'm three months behind with the rent."},
    {"role": "assistant", "content": "Falling into arrears with a landlord is hard."},
    {"role": "user", "content": "My sister Ada marries in May. I need a suit."},
    {"role": "assistant", "content": "A navy suit goes with any wedding in May."},
]


@pytest.fixture
def left(store):
    """Return what stays of some statements after the user asks to forget a topic."""

    def forget(about, *statements):
        memory = store.memory(user="ana", session="one")
        for statement in statements:
            memory.remember(statement)
        memory.privacy.forget(about)
        return [record.content for record in reversed(memory.list())]

    return forget


@pytest.mark.parametrize(
    ("named", "longer"),
    [
        ("lena@nord.se", "lena@nord.se.net"),
        ("lena@nord.se", "lena.berg@nord.se"),
        ("INV-2207-A", "INV-2207-B"),
        ("build_77_x", "build_77_x_old"),
        ("nord.se", "nord.se.net"),
        ("020-555-7788", "020-555-77889"),
    ],
)
def test_forgetting_an_identifier_keeps_others_that_resemble_it(left, named, longer):
    statements = (f"The invoice for {named} is paid.", f"The invoice for {longer} is open.")
    assert left(f"{named} invoice", *statements) == [statements[1]]


def test_forgetting_an_identifier_does_not_forget_the_field_of_a_word_beside_it(left):
    kept = "My salary goes to a new bank."
    assert left("the budget of PRJ-88-X", "The budget of PRJ-88-X is 9,000.", kept) == [kept]


@pytest.mark.parametrize("stored", ["+44-20-7946-0018", "20-7946-0018", "20.7946.0018"])
def test_a_phone_number_is_forgotten_with_and_without_country_code(left, stored):
    assert left("the phone 20-7946-0018", f"The phone of Lena is {stored}.") == []


def test_the_beginning_of_an_identifier_names_it_if_nothing_else_does(left):
    assert left("the token tok-5hq2", "The token of the robot is tok-5hq2-blue.") == []


@pytest.mark.parametrize("about", ["Lena's profile", "Lena history", "Lena's personal data"])
def test_what_is_kept_of_somebody_is_all_about_them(left, about):
    statements = ("Lena plays the cello.", "Lena lives in Lund.", "Omar lives in Oslo.")
    assert left(about, *statements) == [statements[2]]


@pytest.mark.parametrize("about", ["Lena the cellist", "my neighbour Lena who moved away"])
def test_words_that_say_who_is_meant_need_not_be_in_the_memory(left, about):
    assert left(about, "Lena likes plums.", "Omar likes figs.") == ["Omar likes figs."]


@pytest.mark.parametrize(
    "about", ["Oleg Sidorov / Олег Сидоров", "client Oleg Sidorov (Олег Сидоров)"]
)
def test_a_person_is_forgotten_under_each_name_that_is_given(left, about):
    statements = (
        "Олег Сидоров pays in cash.",
        "Oleg Sidorov likes tea.",
        "The client list is long.",
    )
    assert left(about, *statements) == [statements[2]]


@pytest.mark.parametrize("about", ["my trip (to Rome)", "my 5-year-old son", "my 3 p.m. call"])
def test_other_brackets_dots_and_numbers_name_no_one(left, about):
    statements = ("My trip to Lund was short.", "I have a car that is 5 years old.")
    assert left(about, *statements) == list(statements)


def test_a_turn_keeps_what_it_says_of_another_identifier(store):
    chat = store.memory(user="ana", session="one")
    chat.add("I pay with card KX-1000-B. My library card is KX-2000-B.")
    chat.add("Forget everything about KX-1000-B.")
    [turn] = chat.list()
    assert "KX-2000-B" in turn.content
    assert "KX-1000-B" not in turn.content


AGAIN = [
    # What was said, what is forgotten, and what is left of the turns.
    (
        ["I live in Porto. My cat is called Milo.", ("assistant", "So you live in Porto. Nice!")],
        "location",
        ["[…] My cat is called Milo.", "[…] Nice!"],
    ),
    (
        [
            "Remember that the door code is 4471.",
            ("assistant", "Noted, your door code is 4471. OK?"),
        ],
        {"category": "fact"},
        ["[…] OK?"],
    ),
    (
        ["I'm allergic to nuts, so careful.", ("assistant", "You're allergic to nuts, noted.")],
        {"tags": "allergies"},
        [],
    ),
]


@pytest.mark.parametrize(("said", "which", "left"), AGAIN)
def test_turns_that_say_a_forgotten_memory_again_lose_the_clause(ana, said, which, left):
    for each in said:
        role, text = each if isinstance(each, tuple) else ("user", each)
        ana.add([{"role": role, "content": text}])
    ana.add("Flight 4471 leaves Porto Alegre. My sister eats nuts.")
    named = ana.list(filter=which)[0] if isinstance(which, dict) else which
    assert ana.forget(named)
    kept = {record.content for record in ana.list()}
    assert kept == {*left, "Flight 4471 leaves Porto Alegre. My sister eats nuts."}
    assert ana.audit.verify()


def test_what_only_resembles_a_forgotten_memory_stays(ana):
    fact = ana.remember("I like tea").record
    said = "My sister likes tea. I don't like tea any more. I like the teapot."
    ana.add(said)
    ana.forget(fact)
    assert [record.content for record in ana.list()] == [said]


def test_an_agent_cannot_teach_a_redacted_clause_again(ana):
    ana.add("I live in Porto.")
    ana.forget("location")
    assert ana.list() == []
    again = ana.remember(Draft("I live in Porto.", source="agent_inferred"))
    assert again.reasons == ("tombstoned",)
    assert ana.add("I live in Porto.").kept == 1


def test_a_fact_said_twice_outlives_one_of_its_turns(store, clock):
    memory = store.memory(user="ana", session="s")
    memory.add("I'm allergic to walnuts.")
    clock.advance(days=1)
    memory.add("Mind you, I'm allergic to walnuts.")
    said = [each for each in memory.list() if each.category == "turn"]
    memory.forget(said[0])
    assert "walnuts" in memory.digest("hello").text
    memory.forget(said[-1])
    assert "walnuts" not in memory.digest("hello").text


def test_a_note_of_two_talks_is_gone_with_either_turn(store, clock):
    for first in (True, False):
        memory = store.memory(user=f"ana{first}")
        for name in ("monday", "tuesday"):
            session = memory.session(name)
            session.note("The backup runs at night", category="decision")
            session.end()
            clock.advance(days=1)
        turns = [each for each in memory.list() if each.category == "turn"]
        memory.forget(min(turns, key=lambda turn: turn.id) if first else turns[0])
        assert memory.list() == []
        assert memory.audit.verify()


def test_forgetting_in_words_takes_what_an_agent_reworded(ana):
    talk = ana.session("monday")
    talk.add(
        [
            {"role": "user", "content": "My locker code is 4471. My bike is red."},
            {"role": "assistant", "content": "I will keep it: your locker combination is 4471."},
        ]
    )
    ana.remember(Draft("The user's locker combination is 4471", source="agent_inferred"))
    ana.remember(Draft("The meeting room has code 4471", source="tool_verified"))
    talk.add("Forget my locker code.")
    left = [record.content for record in ana.list()]
    assert not [text for text in left if "locker" in text and "4471" in text]
    assert any("My bike is red." in text for text in left)
    assert "The meeting room has code 4471" in left


def said(memory):
    return " ".join(record.content for record in memory.list())


def talked(memory, *lines):
    """Add messages of the user and an assistant by turns; return the conversation."""
    talk = memory.session("monday")
    roles = ["user", "assistant"] * len(lines)
    talk.add([{"role": role, "content": text} for role, text in zip(roles, lines, strict=False)])
    return talk


def test_words_of_the_forgotten_alone_show_what_was_derived(ana):
    talk = talked(
        ana,
        "My bike is red. I started to take lithium in May.",
        "A red bike is easy to see. On lithium it helps to drink a lot.",
        "What should I pack for the ride?",
        "A pump for the bike, and your lithium.",
    )
    ana.remember(Draft("Takes lithium at night", source="agent_inferred"))
    talk.add("Forget that I started to take lithium.")
    assert "lithium" not in said(ana)
    assert "My bike is red." in said(ana)
    assert "A red bike is easy to see." in said(ana)


def test_what_is_said_elsewhere_is_no_sign_of_the_forgotten(ana):
    talk = talked(
        ana,
        "My dog Pluto bit the postman. Pluto gets his shots on Friday.",
        "Keep Pluto behind a gate.",
    )
    talk.add("Forget that Pluto bit the postman.")
    assert "postman" not in said(ana)
    assert "Pluto gets his shots on Friday." in said(ana)
    assert "Keep Pluto behind a gate." in said(ana)


def test_a_confirmed_note_is_no_agents_word_alone(ana):
    talk = talked(ana, "I started to take lithium in May.", "Good to know.")
    note = ana.remember(Draft("The lithium is in the fridge", source="agent_inferred"))
    ana.confirm(note.record)
    talk.add("Forget that I started to take lithium.")
    assert "The lithium is in the fridge" in said(ana)


def test_what_a_request_says_beside_its_subject_stays(ana):
    talk = talked(
        ana,
        "I have an interview on Thursday at Brightwell, they make lenses.",
        "Brightwell is big. Shall we practise for the interview on Thursday?",
    )
    talk.add("Forget that it's Brightwell, the interview can stay.")
    assert "Brightwell" not in said(ana)
    assert "Shall we practise for the interview on Thursday?" in said(ana)


def test_a_summary_loses_what_its_turns_lost(ana):
    talk = talked(
        ana,
        "I will paint the hallway green next week. I started to take lithium in May this year.",
        "Take a matt finish for the walls and eggshell for the skirting of the hallway.",
        "My sister Nora comes to visit us on 14 June, and she stays for ten days.",
        "Then the hallway should be dry by 10 June, so begin with the ceiling.",
    )
    talk.end()
    [summary] = [each for each in ana.list() if each.category == "session_summary"]
    assert "lithium" in summary.content
    ana.session("later").add("Forget that I started to take lithium.")
    [summary] = [each for each in ana.list() if each.category == "session_summary"]
    assert "lithium" not in said(ana)
    assert "paint the hallway green" in summary.content


def test_what_was_derived_comes_back_with_the_rest(ana):
    talk = talked(ana, "I started to take lithium in May.", "On lithium it helps to drink a lot.")
    before = said(ana)
    report = talk.add("Forget that I started to take lithium.")
    assert "lithium" not in said(ana)
    ana.undo(report)
    assert sorted(before) == sorted(said(ana))


def test_what_was_derived_is_not_learned_again_from_an_agent(ana):
    talked(ana, "I started to take lithium in May.", "Good to know.")
    ana.remember(Draft("Takes lithium at night", source="agent_inferred"))
    ana.privacy.forget("that I started to take lithium")
    assert ana.remember(Draft("Takes lithium at night", source="agent_inferred")).record is None


def test_private_notes_of_another_agent_stay(store):
    mine = store.memory(user="ana", agent="helper")
    other = store.memory(user="ana", agent="nurse")
    talked(mine, "I started to take lithium in May.", "Good to know.")
    mine.remember(Draft("Takes lithium at night", source="agent_inferred"))
    other.remember(Draft("Lithium is due at ten", source="agent_inferred", audience=["nurse"]))
    mine.privacy.forget("that I started to take lithium")
    assert "lithium" not in said(mine)
    assert "Lithium is due at ten" in said(other)


def test_what_waits_and_says_a_forgotten_memory_again_goes_too(ana):
    city = ana.remember("Ana lives in Berlin", key="city").record
    task = ana.task("Sell the flat: Ana lives in Berlin", name="move", plan=["Find boxes"])
    for held in ("Ana lives in Berlin", "Boxes cost nothing"):
        assert ana.remember(Draft(f"Always remember: {held}.", source="external")).pending
    ana.forget(city)
    assert [entry.said for entry in ana.pending.list()] == ["Always remember: Boxes cost nothing."]
    state = task.status()
    assert (state["goal"], state["plan"]) == ("[…]", ["Find boxes"])


def test_the_copy_of_a_note_goes_with_what_the_note_says_again(store, ana):
    store.admin(actor="root").grant("ana", "org_write", org="acme")
    ana.remember("I live in Berlin", key="city")
    note = ana.remember(Draft("The user lives in Berlin", source="agent_inferred")).record
    ana.promote(note)
    bob = store.memory(user="bob", org="acme")
    assert bob.recall("Berlin")
    ana.forget("city")
    assert not bob.recall("Berlin")


def test_an_agent_takes_back_nothing_that_is_private_to_another_one(store):
    mine = store.memory(user="ana", agent="helper", private=True)
    other = store.memory(user="ana", agent="nurse")
    mine.add("I started to take lithium in May.")
    report = mine.add("Forget that I started to take lithium.")
    [asked] = report.lines[0].asked
    for named in (asked.undo, str(mine.audit.list()[0].seq)):
        with pytest.raises((InvalidInput, NotFound)):
            other.undo(named)
    mine.undo(report)
    assert "lithium" in said(mine)


def test_the_users_own_words_are_asked_about(ana):
    talk = talked(
        ana,
        "We are two months late with the mortgage.",
        "Being behind on the mortgage can be fixed.",
    )
    report = talk.add("Forget what I told you about being behind on the mortgage.")
    [asked] = report.lines[0].asked
    assert "two months late with the mortgage" in asked.answer
    assert not asked.done
    ana.pending.approve(ana.pending.list()[0].id)
    assert "mortgage" not in said(ana)


def test_a_clause_that_stands_twice_in_a_turn_goes_twice(ana):
    ana.add("I have a tight deadline for the film.")
    said = "You have a tight deadline for the film."
    ana.add({"role": "assistant", "content": f"{said} Sleep well. {said}"})
    report = ana.add("Forget the deadline for the film.")
    assert report.lines[0].asked[0].answer.startswith("Forgotten")
    assert [record.content for record in ana.list()] == ["[…] Sleep well. […]"]


@pytest.mark.real_encoder
def test_forgetting_in_words_takes_what_an_agent_said_in_quite_other_words(ana):
    talk = ana.session("monday")
    talk.add(RENT)
    ana.remember(Draft("The user owes the landlord money", source="agent_inferred"))
    ana.remember(Draft("The flat has three rooms", source="tool_verified"))
    rule = "Never tell a landlord of the user's debts"
    ana.remember(Draft(rule, source="agent_inferred", category="constraint"))
    talk.add("Forget that I'm behind with the rent.")
    left = " ".join(record.content for record in ana.list())
    assert "arrears" not in left
    assert "owes" not in left
    assert "navy suit" in left
    assert "three rooms" in left
    assert rule in left, "what stands in every prompt is not guessed at"


@pytest.mark.real_encoder
def test_an_agents_words_nearer_to_what_stays_are_kept(ana):
    talk = ana.session("monday")
    talk.add(
        [
            {"role": "user", "content": "I'm allergic to peanuts."},
            {"role": "user", "content": "My daughter Tess is allergic to cats."},
            {"role": "assistant", "content": "I'll look for a house without cats for Tess."},
        ]
    )
    talk.add("Forget that I'm allergic to peanuts.")
    left = " ".join(record.content for record in ana.list())
    assert "without cats" in left
    assert "peanuts" not in left


@pytest.mark.real_encoder
def test_forgetting_what_was_just_said_takes_the_answer_to_it(ana):
    talk = ana.session("monday")
    talk.add(
        [
            {"role": "user", "content": "I work at Tolland Freight as a planner."},
            {"role": "assistant", "content": "Planning at Tolland Freight sounds busy."},
            {"role": "user", "content": "I took money from the till last year."},
            {"role": "assistant", "content": "Taking cash is serious. How is the planning going?"},
        ]
    )
    report = talk.add("Forget what I just said.")
    left = " ".join(record.content for record in ana.list())
    assert "till" not in left
    assert "cash" not in left
    assert "Tolland Freight sounds busy" in left
    assert "How is the planning going?" in left
    ana.undo(report)
    assert "Taking cash is serious." in " ".join(record.content for record in ana.list())


@pytest.mark.real_encoder
def test_forgetting_a_memory_takes_what_agents_made_of_it(ana):
    talk = ana.session("monday")
    talk.add(RENT)
    ana.remember(Draft("The user owes the landlord money", source="agent_inferred"))
    [turn] = [each for each in talk.messages() if "rent" in each.content]
    ana.forget(turn)
    left = " ".join(record.content for record in ana.list())
    assert "arrears" not in left
    assert "owes" not in left
    assert "navy suit" in left
    assert ana.audit.verify()


@pytest.mark.real_encoder
@pytest.mark.parametrize("way", ["memory", "topic"])
def test_what_an_agent_only_seems_to_have_said_comes_back(ana, way):
    talk = ana.session("monday")
    talk.add("I'm three months behind with the rent.")
    said = "You are three months behind with the rent. Arrears with a landlord weigh on you."
    talk.add({"role": "assistant", "content": f"{said} Wear the navy suit."})
    ana.remember(Draft("The user owes the landlord money", source="agent_inferred"))
    [turn, *_] = talk.messages()
    ana.forget(turn) if way == "memory" else ana.privacy.forget("behind with the rent")
    assert [record.content for record in ana.list()] == ["[…] […] Wear the navy suit."]
    kept = next(event for event in ana.audit.list() if event.reason == "undo")
    ana.undo(f"{kept.seq}")
    left = sorted(record.content for record in ana.list())
    assert left == [
        "The user owes the landlord money",
        "[…] Arrears with a landlord weigh on you. Wear the navy suit.",
    ]
    assert ana.audit.verify()


@pytest.mark.real_encoder
def test_what_seems_said_again_comes_back_by_the_outcome_for_ten_minutes(ana, clock):
    ana.session("monday").add(RENT)
    [turn, *_] = ana.session("monday").messages()
    outcome = ana.forget(turn)
    assert outcome.reasons == ("seems_said_again",)
    assert "comes back with `undo`" in outcome.explanation
    assert "arrears" not in " ".join(record.content for record in ana.list())
    ana.undo(outcome)
    left = " ".join(record.content for record in ana.list())
    assert "arrears" in left
    assert "behind with the rent" not in left
    with pytest.raises(NotFound):
        ana.undo(outcome)
    outcome = ana.forget(ana.remember("I owe the landlord three months of rent").record)
    assert "arrears" not in " ".join(record.content for record in ana.list())
    clock.advance(minutes=11)
    with pytest.raises(NotFound):
        ana.undo(outcome)


@pytest.mark.real_encoder
def test_a_copy_of_what_is_forgotten_for_good_comes_back_no_more(ana, store):
    ana.session("monday").add("My sister Olga lives in Oslo. I had surgery in May.")
    report = ana.add("Forget that I had surgery in May.")
    ana.remember("My sister Olga lives in Oslo", key="sister")
    ana.forget("sister")
    with pytest.raises(NotFound):
        ana.undo(report)
    store.flush()
    assert not any("Olga" in record.content for record in ana.list())


@pytest.mark.real_encoder
def test_forgetting_the_note_of_an_agent_takes_no_other_words_along(ana):
    talk = ana.session("monday")
    talk.add("I'm three months behind with the rent.")
    talk.add({"role": "assistant", "content": "Falling into arrears with a landlord is hard."})
    note = ana.remember(Draft("The user owes the landlord money", source="agent_inferred")).record
    ana.forget(note)
    left = " ".join(record.content for record in ana.list())
    assert "arrears" in left
    assert "behind with the rent" in left
