"""What ended is marked in a digest, after what ended it; what still holds is not."""

import pytest

from simonides.testing import ManualClock
from simonides.testing import open as open_store


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(clock):
    with open_store(clock=clock) as store:
        yield store


def say(store, clock, *said):
    for number, text in enumerate(said):
        store.memory(user="ana", session=f"s{number}").add(text)
        clock.advance(days=1)
    return store.memory(user="ana")


def lines(digest):
    return [line for line in str(digest).splitlines() if line.startswith("- [")]


def place(found, text):
    return next(number for number, line in enumerate(found) if text in line)


ENDED = [
    ("I live in Leipzig, near the station.", "I'm in Dresden now.", "Where do I live?"),
    ("My son is 7.", "My son turned 8 yesterday.", "How old is my son?"),
    ("I love running.", "I don't like running anymore.", "Do I like running?"),
    ("The review is on Monday.", "The review has been moved to Friday.", "When is the review?"),
    ("We deploy with Jenkins.", "We migrated off Jenkins.", "What do we deploy with?"),
    ("I can't stand Velox.", "I love my new Velox.", "What do I think of Velox?"),
    ("My number ends in 4471.", "New sim, my number ends in 9026.", "What does my number end in?"),
    # A fact that the older one taught is over.
    ("I work at Siemens as a planner.", "I quit my job.", "Where do I work?"),
    ("I'm vegetarian, no meat since uni.", "So I've started eating meat again.", "Do I eat meat?"),
    ("I take Ramipril every morning.", "My doctor took me off Ramipril.", "What do I take?"),
]


@pytest.mark.real_encoder
@pytest.mark.parametrize(("old", "new", "question"), ENDED)
def test_the_newer_comes_first_and_the_older_is_marked(store, clock, old, new, question):
    found = lines(say(store, clock, old, new).digest(question))
    then = place(found, f"User: {old}")
    assert then > 0
    assert "earlier]" in found[then]
    assert "earlier" not in found[0]


NEWER = [
    ("I can't stand Velox.", "Their new line is actually great.", "What do I think of Velox?"),
    ("I drink two coffees every morning.", "I quit coffee altogether.", "Do I drink coffee?"),
    ("Our rent is 900 euros.", "The rent went up again, 950 now.", "How much is our rent?"),
    (
        "I bank with Halden.",
        "I've moved to Norrbank, closed the old account.",
        "Which bank am I with?",
    ),
]


@pytest.mark.real_encoder
@pytest.mark.parametrize(("old", "new", "question"), NEWER)
def test_the_newer_of_what_may_have_changed_comes_first(store, clock, old, new, question):
    found = lines(say(store, clock, old, new).digest(question))
    assert place(found, f"User: {new}") < place(found, f"User: {old}")


def test_an_ending_is_marked_where_the_newer_line_is_not_shown(store, clock):
    memory = say(store, clock, "The review is on Monday.", "The review has been moved to Friday.")
    [line] = lines(memory.digest("When is the review?", filter={"session": "s0"}))
    assert "earlier]" in line


def test_what_ended_by_a_moment_is_said_of_that_moment(store, clock):
    say(store, clock, "The review is on Monday.")
    before = clock.now
    clock.advance(days=1)
    store.memory(user="ana", session="s").add("The review has been moved to Friday.")
    memory = store.memory(user="ana")
    [then] = memory.recall("When is the review?", known_at=before)
    assert "earlier" not in then.warnings
    now = {hit.content: hit.warnings for hit in memory.recall("When is the review?")}
    assert "earlier" in now["The review is on Monday."]


def test_a_statement_holds_again_when_what_ended_it_is_forgotten(store, clock):
    memory = say(store, clock, "The review is on Monday.", "The review has been moved to Friday.")
    memory.forget(next(hit for hit in memory.recall("review") if "Friday" in hit.content))
    [line] = lines(memory.digest("When is the review?"))
    assert "earlier" not in line


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_order_of_arrival_ends_the_same(store, clock, order):
    said = ["I work at Siemens.", "The review is on Monday.", "I quit my job at Siemens."]
    at = [f"2025-0{month}-01T12:00:00+00:00" for month in (1, 2, 3)]
    memory = store.memory(user="ana")
    for number in order:
        memory.add(said[number], at=at[number])
    assert not [each for each in memory.list() if each.key == "employer"]
    found = lines(memory.digest("Where do I work?"))
    assert "earlier]" in found[place(found, "User: I work at Siemens.")]


@pytest.mark.real_encoder
def test_a_fact_ends_what_the_user_said_before(store, clock):
    memory = say(store, clock, "Please answer in German.", "You can go back to English.")
    found = lines(memory.digest("Which language do I want?"))
    assert "earlier]" in found[place(found, "answer in German")]
    assert place(found, "language = English") < place(found, "answer in German")


def test_the_fact_in_force_ends_what_states_another_value(store, clock):
    say(store, clock, "I live in Rome.", "I like jam.", "I moved to Oslo.")
    store.memory(user="ana", session="s2").add("Sorry, I meant Bergen.")
    found = lines(store.memory(user="ana").digest("Where do I live?"))
    assert "location = Bergen" in found[0]
    assert all("earlier" in line for line in found[1:])


def test_what_ended_a_statement_may_have_ended_too(store, clock):
    say(store, clock, "The review is on Monday.", "I like jam.", "The review moved to Friday.")
    store.memory(user="ana", session="s2").add("Sorry, I meant Thursday.")
    found = lines(store.memory(user="ana").digest("When is the review?"))
    places = [place(found, day) for day in ("Thursday", "Friday", "Monday")]
    assert places == sorted(places)
    assert ["earlier" in found[at] for at in places] == [False, True, True]


STANDING = [
    ("I play the cello.", "I also play chess now.", "What do I play?"),
    ("I live in Berlin.", "I'm in Paris this week for a conference.", "Where do I live?"),
    ("My sister works at Bosch.", "I quit my job at Siemens.", "Where does my sister work?"),
    ("I went to Rome last spring.", "The Rome trip is off.", "When was I in Rome?"),
    ("Do you like Velox?", "I don't like Velox any more.", "What do I think of Velox?"),
    ("I like the sea.", "I finally have a garden.", "What do I like?"),
    ("My sister lives in Oslo.", "My brother lives in Rome now.", "Where does my sister live?"),
    ("My dentist is Dr. Blum.", "My new physio is Dr. Hart.", "Who is my dentist?"),
    ("My rent is 900.", "The new flat's deposit is 1800.", "How much is my rent?"),
    ("I live in Oslo.", "I loved Rome when we were there.", "Where do I live?"),
    ("I have two cats.", "I now have three guitars.", "How many cats do I have?"),
]


@pytest.mark.parametrize(("old", "new", "question"), STANDING)
def test_what_still_holds_is_not_marked(store, clock, old, new, question):
    assert "earlier" not in str(say(store, clock, old, new).digest(question))


def test_only_the_ended_clause_is_marked(store, clock):
    old = "My desk is in room 4, and my address is Lindenweg 4."
    memory = say(store, clock, old, "My new address is Parkstrasse 9.")
    found = lines(memory.digest("What is my address?"))
    assert "My desk is in room 4, and [earlier: my address is Lindenweg 4.]" in "\n".join(found)


def test_what_was_said_of_it_ends_with_it(store, clock):
    memory = say(store, clock, "We have a beagle, Rufus, he sleeps on my feet.", "Rufus died.")
    found = lines(memory.digest("How is Rufus doing?"))
    assert "earlier" in found[place(found, "sleeps on my feet")].split("] ")[0]


def test_an_ending_whose_subject_is_refused_marks_and_shows_nothing(store, clock):
    memory = say(store, clock, "I work at Siemens as a planner.", "I quit my job, thanks to Olga.")
    memory.privacy.refuse(about="Olga")
    assert "Olga" not in str(memory.digest("Where do I work?"))


def test_a_receipt_gives_the_marks_again(store, clock):
    old = "My desk is in room 4, and my address is Lindenweg 4."
    memory = say(store, clock, old, "New address: Parkstrasse 9.")
    digest = memory.digest("What is my address?")
    assert memory.receipts.replay(memory.receipts.list()[0]).text == digest.text


def test_what_another_person_says_ends_nothing(store, clock):
    memory = store.memory(user="ana", session="s")
    memory.add("I drink coffee every morning.")
    clock.advance(days=1)
    memory.add([{"role": "user", "name": "Bob", "content": "I quit coffee."}], me="Ana")
    assert "earlier" not in str(memory.digest("Do I drink coffee?"))


SAID_OTHERWISE = [
    "If I quit coffee, I sleep better.",
    "My flatmate said that she quit coffee.",
    "Imagine I quit coffee.",
    "Maybe I'll quit coffee.",
    "Notes on the matter:\nI quit coffee.",
    "It's all about coffee now.",
    "I'm going to make coffee now.",
]


@pytest.mark.real_encoder
@pytest.mark.parametrize("new", SAID_OTHERWISE)
def test_what_the_user_does_not_state_as_so_ends_nothing(store, clock, new):
    memory = say(store, clock, "I drink two coffees every morning.", new)
    assert "earlier" not in str(memory.digest("Do I drink coffee?"))


def test_an_ending_that_the_question_does_not_find_is_brought_along(store, clock):
    fillers = [f"The library has book number {number} about the sea." for number in range(20)]
    memory = say(store, clock, "Our dog Rufus is a beagle.", *fillers, "Rufus died.")
    found = lines(memory.digest("Which breed is our beagle?", max_items=4))
    assert place(found, "Rufus died.") < place(found, "beagle")


BRAND = [
    "I can't stand Velox.",
    "I'm not considering sports cars at all.",
    "Their new electric line is actually great, I'd buy one.",
]


@pytest.mark.real_encoder
def test_the_last_word_on_a_brand_is_in_force(store, clock):
    found = lines(say(store, clock, *BRAND).digest("What do I think of Velox sports cars?"))
    assert [text in found[0] for text in BRAND] == [False, False, True]


@pytest.mark.real_encoder
def test_the_last_word_on_a_brand_is_in_force_when_remembered(store, clock):
    memory = store.memory(user="ana")
    for text in BRAND:
        memory.remember(text)
        clock.advance(days=1)
    found = lines(memory.digest("What do I think of Velox sports cars?"))
    assert [text in found[0] for text in BRAND] == [False, False, True]


def test_a_free_statement_is_corrected_soon_after_it(store):
    memory = store.memory(user="ana", session="s")
    memory.add("We're meeting in Halifax for lunch.")
    memory.add("It will be a long day.")
    memory.add("Sorry, I meant Hull.")
    found = lines(memory.digest("Where are we meeting?"))
    assert place(found, "I meant Hull") < place(found, "earlier] User: We're meeting")


@pytest.mark.real_encoder
@pytest.mark.parametrize(
    ("key", "value", "new", "question"),
    [
        ("car", "Volvo", "We bought a new car, an Audi.", "Which car do I drive?"),
        ("dentist", "Dr. Weber", "I have a new dentist, Dr. Blum.", "Who is my dentist?"),
        ("gym", "FitBox", "I go to the Kraftwerk gym now.", "Which gym do I go to?"),
        ("phone", "Pixel 8", "I switched my phone to an iPhone.", "Which phone do I have?"),
    ],
)
def test_a_turn_challenges_a_fact_that_the_program_stored(store, clock, key, value, new, question):
    store.memory(user="ana").remember(value, key=key)
    clock.advance(days=1)
    found = lines(say(store, clock, new).digest(question))
    fact = place(found, f"{key} = {value}")
    assert place(found, new) < fact
    assert "earlier]" in found[fact]


def test_a_fact_of_the_program_is_ended_by_what_the_user_says_of_its_value(store, clock):
    store.memory(user="ana").remember("a 2014 Skoda Octavia", key="car")
    clock.advance(days=1)
    store.memory(user="ana", session="s1").add("We sold the Skoda.")
    found = lines(store.memory(user="ana").digest("What car do I drive?"))
    assert place(found, "We sold the Skoda.") < place(found, "car = a 2014 Skoda Octavia")
    assert "earlier]" in found[place(found, "car = ")]


def test_a_value_that_changes_each_day_fills_no_prompt(store, clock):
    memory = say(store, clock, *(f"I weigh {80 + n}.5 kilos." for n in range(40)))
    found = lines(memory.digest("What do I weigh?"))
    assert "119.5" in found[0]
    assert len(found) <= 6
    assert all("earlier" in line for line in found[1:])


def test_a_denial_names_its_figure(store):
    memory = store.memory(user="ana")
    memory.remember("vitamin 3", key="allergy")
    memory.remember("vitamin 5", key="allergy")
    memory.add("I'm not allergic to vitamin 5.")
    assert "vitamin 3" in str(memory.digest())
