"""Two texts are the same statement only if all telling words agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.text.statement import (
    adds_nothing,
    are_the_same,
    content_hash,
    mean_the_same,
    normal_form,
    overlap,
    read,
)

WORDS = st.lists(
    st.sampled_from(
        "Ana Ben the a tea coffee like likes not never 2 3 10:30 Rome Oslo in on to left right "
        "live lived чай люблю не 茶 喝 mag nicht really very please kg lb must went :) ?".split()
    ),
    min_size=1,
    max_size=9,
)


DIFFERENT = """
negation: I like tea / I don't like tea
version: We run v1.2 of it / We run v1.3 of it
number: I have 2 dogs / I have 3 dogs
sign: It was -5 degrees / It was 5 degrees
factorial: The answer is (5) / The answer is (5!)
unit: It weighs 5 kg / It weighs 5 lb
currency: It costs $5 / It costs €5
date: We meet on 2026-01-02 / We meet on 2026-02-01
time: We meet at 10:30 / We meet at 11:30
name: Ana is my friend / Ann is my friend
antonym: Turn left at the church / Turn right at the church
tense: I live in Rome / I lived in Rome
subject: Ana likes Ben / Ben likes Ana
case: Der Mann beißt den Hund / Den Mann beißt der Hund
question: You like tea? / You like tea
emoticon: I got the job :) / I got the job :(
few: I have a few friends / I have few friends
letter: Plan A works for me and you / Plan works for me and you
title: I read The Very Long Night / I read The Long Night
emphasis: It is not definitely Monday / It is not Monday
comma: No, tea is fine / No tea is fine
запятая: Казнить, нельзя помиловать / Казнить нельзя, помиловать
отрицание: Я люблю чай / Я не люблю чай
否定: 我喜欢喝茶 / 我不喜欢喝茶
谁: 我比他高 / 他比我高
scope: Only I drink coffee / I drink only coffee
moved: I don't drink because I drive / Because I drive I don't drink
moved scope: On Monday only Ana works / Only Ana works on Monday
rotation: Dogs Ana likes / Ana likes dogs
swapped: In Rome Ana met Ben / In Rome Ben met Ana
surname: Ana Mum is here / Ana Mother is here
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
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
    ],
)
def test_words_that_do_not_tell_may_differ(one: str, other: str) -> None:
    assert are_the_same(read(one), read(other))
    assert mean_the_same(read(one), read(other))


@pytest.mark.parametrize("line", DIFFERENT.strip().splitlines())
def test_telling_words_may_not_differ(line: str) -> None:
    one, other = map(read, line.partition(": ")[2].split(" / "))

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
def test_meaning_allows_synonyms_and_a_moved_phrase(one: str, other: str) -> None:
    assert not are_the_same(read(one), read(other))
    assert mean_the_same(read(one), read(other))


@pytest.mark.parametrize(
    ("newcomer", "existing", "expected"),
    [
        ("Ana likes tea", "Ana really likes green tea", True),
        ("Ana likes tea", "Ana no longer likes tea", False),
        ("I live in Rome", "I used to live in Rome", False),
        ("Ana likes tea", "Ben said Ana likes tea", False),
        ("Ana has 2 dogs", "Ana has 3 dogs", False),
    ],
)
def test_a_confirmed_part_adds_nothing(newcomer: str, existing: str, expected: bool) -> None:
    assert adds_nothing(read(newcomer), read(existing)) is expected


@given(WORDS, st.sampled_from("Cid 7 no niemals не 不 grams 2027-05-01 % right".split()), st.data())
def test_an_added_telling_word_makes_another_statement(
    words: list[str], telling: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words)))
    one, more = (read(" ".join(w)) for w in (words, [*words[:place], telling, *words[place:]]))

    assert not are_the_same(one, more)
    assert not mean_the_same(one, more)


@given(WORDS, WORDS)
def test_comparisons_are_symmetric(one: list[str], other: list[str]) -> None:
    mine, theirs = read(" ".join(one)), read("  ".join(other))

    for compare in (are_the_same, mean_the_same, overlap):
        assert compare(mine, theirs) == compare(theirs, mine)
    assert are_the_same(mine, read(" ".join(one) + " ")) == bool(mine.telling)
    assert mean_the_same(mine, theirs) or not are_the_same(mine, theirs)


@given(st.text(st.characters(), max_size=60))
def test_any_text_has_a_stable_normal_form(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)
    assert content_hash(normal_form(text)) == content_hash(text)
    assert overlap(read(text), read(text)) == (1.0 if read(text).words else 0.0)


def test_the_hash_ignores_case_width_and_white_space() -> None:
    assert content_hash(" Ｃａｆé\tNoir") == content_hash("cafe\u0301 NOIR")
    assert content_hash("tea") != content_hash("sea")
