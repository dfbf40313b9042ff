"""Two texts are one statement only if no word of them tells otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.text.similarity.same_statement import (
    adds_nothing,
    are_the_same,
    idle_terms,
    loose_terms,
    mean_the_same,
    overlap,
    read,
)

SAME = [
    ("I like tea", "I really like tea."),
    ("The user prefers dark mode", "User prefers the dark mode!"),
    ("I'm fine", "I am fine"),
    ("She doesn't eat fish", "She does not eat fish"),
    ("I use the editor that I like", "I use the editor I like"),
    ("Well, I moved to Lisbon", "I moved to Lisbon, thanks"),
    ("It is a well-known place", "It is a well known place"),
    ("Ich mag sehr guten Tee", "Ich mag guten Tee"),
    ("Я очень люблю чай", "Я люблю чай"),
    ("我喜欢喝茶", "我喜欢喝茶。"),
]

TOLD_APART = {
    "negation": ("I like tea", "I don't like tea"),
    "negated duty": ("You must go", "You must not go"),
    "version": ("We run v1.2 of it", "We run v1.3 of it"),
    "number": ("I have 2 dogs", "I have 3 dogs"),
    "sign": ("It was -5 degrees", "It was 5 degrees"),
    "factorial": ("The answer is 5", "The answer is 5!"),
    "unit": ("It weighs 5 kg", "It weighs 5 lb"),
    "currency": ("It costs $5", "It costs €5"),
    "date": ("We meet on 2026-01-02", "We meet on 2026-02-01"),
    "time": ("We meet at 10:30", "We meet at 11:30"),
    "name": ("Ana is my friend", "Ann is my friend"),
    "antonym": ("Turn left at the church", "Turn right at the church"),
    "tense": ("I live in Rome", "I lived in Rome"),
    "who does it": ("Ana likes Ben", "Ben likes Ana"),
    "direction": ("I fly from Rome to Oslo", "I fly from Oslo to Rome"),
    "case": ("Der Mann beißt den Hund", "Den Mann beißt der Hund"),
    "umlaut": ("Das ist schon gut", "Das ist schön gut"),
    "question": ("You like tea?", "You like tea"),
    "smile": ("I got the job :)", "I got the job :("),
    "few": ("I have a few friends", "I have few friends"),
    "letter": ("Plan A works for me and you", "Plan works for me and you"),
    "title": ("I read The Very Long Night", "I read The Long Night"),
    "quotation": ('I watched "It" in the cinema', "I watched it in the cinema"),
    "weakened": ("It is not definitely Monday", "It is not Monday"),
    "comma": ("No, tea is fine", "No tea is fine"),
    "запятая": ("Казнить, нельзя помиловать", "Казнить нельзя, помиловать"),
    "preposition": ("Dio a Ana", "Dio Ana"),
    "отрицание": ("Я люблю чай", "Я не люблю чай"),
    "имя": ("Мою сестру зовут Аня", "Мою сестру зовут Оля"),
    "否定": ("我喜欢喝茶", "我不喜欢喝茶"),
    "谁": ("我比他高", "他比我高"),
    "数": ("我有两只狗", "我有三只狗"),
    "疑问": ("你喜欢茶吗", "你喜欢茶"),
    "scope": ("Only I drink coffee", "I drink only coffee"),
    "hedge": ("I think I like tea", "I like tea"),
    "addition": ("I like decaf coffee", "I like coffee"),
}

WORDS = st.lists(
    st.sampled_from(
        "Ana Ben the a tea coffee like likes not never 2 3 10:30 Rome Oslo in on to left right "
        "live lived чай люблю не 茶 喝 mag nicht really very please kg lb must went :) ?".split()
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.parametrize(("one", "other"), SAME, ids=[one for one, _ in SAME])
def test_what_does_not_tell_is_passed_over(one: str, other: str) -> None:
    assert are_the_same(read(one), read(other))
    assert mean_the_same(read(one), read(other))


@pytest.mark.parametrize("why", TOLD_APART)
def test_what_tells_is_never_passed_over(why: str) -> None:
    one, other = map(read, TOLD_APART[why])

    assert not are_the_same(one, other)
    assert not mean_the_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("In the morning I drink coffee", "I drink coffee in the morning"),
        ("I stay at home if it rains", "If it rains I stay at home"),
        ("My mom lives in Rome", "My mother lives in Rome"),
        ("I bought two big bikes", "I purchased two large bikes"),
    ],
)
def test_meaning_lets_synonyms_and_a_moved_phrase_pass(one: str, other: str) -> None:
    assert not are_the_same(read(one), read(other))
    assert mean_the_same(read(one), read(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I don't drink because I drive", "Because I drive I don't drink"),
        ("On Monday only Ana works", "Only Ana works on Monday"),
        ("Ana Mum is here", "Ana Mother is here"),
        ("In Rome Ana met Ben", "In Rome Ben met Ana"),
    ],
    ids=["negated", "scope", "name", "swapped"],
)
def test_meaning_moves_nothing_whose_place_tells(one: str, other: str) -> None:
    assert not mean_the_same(read(one), read(other))


@given(WORDS, st.sampled_from("Cid 7 no niemals не 不 grams 2027-05-01 % right".split()), st.data())
def test_a_word_that_tells_always_tells(
    words: list[str], telling: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words)))
    other = [*words[:place], telling, *words[place:]]

    one, more = read(" ".join(words)), read(" ".join(other))

    assert not are_the_same(one, more)
    assert not mean_the_same(one, more)


@given(WORDS, WORDS)
def test_sameness_is_symmetric_and_needs_the_same_words(one: list[str], other: list[str]) -> None:
    mine, theirs = read(" ".join(one)), read(" ".join(other))

    assert are_the_same(mine, theirs) == are_the_same(theirs, mine)
    assert mean_the_same(mine, theirs) == mean_the_same(theirs, mine)
    assert overlap(mine, theirs) == overlap(theirs, mine)
    if are_the_same(mine, theirs):
        assert mean_the_same(mine, theirs)
        numbers = [{word for word in said.words if not word.isalpha()} for said in (mine, theirs)]
        assert numbers[0] == numbers[1]
        assert mine.is_negated == theirs.is_negated


@given(WORDS)
def test_a_text_is_the_same_as_itself_whatever_its_case_and_spaces(words: list[str]) -> None:
    one, other = read(" ".join(words)), read("  ".join(words) + " ")

    assert one == other
    assert are_the_same(one, other) == bool(one.telling)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    said = read(text)

    assert overlap(said, said) == (1.0 if said.words else 0.0)


@pytest.mark.parametrize(
    ("newcomer", "standing", "expected"),
    [
        ("Ana likes tea", "Ana really likes green tea", True),
        ("Ana likes tea", "Ana no longer likes tea", False),
        ("I live in Rome", "I used to live in Rome", False),
        ("Ana likes tea", "Ben said Ana likes tea", False),
        ("Ana likes coffee", "Ana likes tea", False),
        ("Ana has 2 dogs", "Ana has 3 dogs", False),
    ],
)
def test_what_stands_already_adds_nothing(newcomer: str, standing: str, expected: bool) -> None:
    assert adds_nothing(read(newcomer), read(standing)) is expected


def test_terms_of_words_that_may_differ_are_known() -> None:
    assert idle_terms() < loose_terms()
