"""What words are called otherwise, told by a text alone."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.text.analyser import analyse, query_terms, term_id
from simonides.text.names import (
    LEAST_NAME_ID,
    MOST_ALIAS_IDS,
    STATES_ALIAS,
    alias_ids,
    aliases,
    name_id,
    name_ids,
    numeronym,
    stated_aliases,
    states_alias,
)


def answers(query: str, text: str) -> bool:
    """Whether a text stands for a word of a query by a form that neither spells out."""
    ids = {id for other in aliases(query, query_terms(query)) for id in other.ids}
    return not ids.isdisjoint([*alias_ids(text, ()), *map(term_id, analyse(text))])


@pytest.mark.parametrize(
    ("word", "short"),
    [
        ("kubernetes", "k8s"),
        ("internationalization", "i18n"),
        ("notebook", None),
        ("naïvetés12", None),
    ],
)
def test_only_long_plain_words_have_a_numeronym(word: str, short: str | None) -> None:
    assert numeronym(word) == short


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("is k8s up?", "Deploys to Kubernetes."),
        ("is Kubernetes up?", "The k8s nodes are full."),
        ("who does l10n?", "Ana is responsible for localization."),
        ("trips to NYC", "We flew to New York City."),
        ("trips to New York City", "NYC was cold."),
        ("trips to nyc", "We flew to New York City."),
        ("what did the DMV want?", "The Department of Motor Vehicles wrote again."),
        ("who lives in LA?", "My aunt moved to Los Angeles."),
    ],
)
def test_short_forms_and_long_ones_stand_for_each_other(query: str, text: str) -> None:
    assert answers(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("is k9s up?", "Deploys to Kubernetes."),
        ("trips to NYC", "New York, City of lights."),
        ("trips to NYC", "never yet confirmed"),
        ("what did she say?", "Say Hello Everyone"),
        ("TRIPS TO NYC", "We flew to New York City."),
    ],
    ids=["another count", "parted", "no capitals", "a word with vowels", "all in capitals"],
)
def test_what_only_looks_alike_does_not(query: str, text: str) -> None:
    assert not answers(query, text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("My sister Elizabeth, aka Liz, called.", ("elizabeth", "liz")),
        ("The staging cluster, also known as bluebird, is down", ("stage cluster", "bluebird")),
        ("We use Postgres (short: PG) here", ("postgr", "pg")),
        ("Everyone says 'the moneybox' a.k.a. payments-service", ("moneybox", "payment servic")),
        ("Liz is short for Elizabeth", ("liz", "elizabeth")),
        ("LIT is short for Lisbon Institute of Technology", ("lit", "lisbon institut technolog")),
        ("Our dog goes by Rex now", ("dog", "rex")),
    ],
)
def test_an_alias_is_read_where_a_text_states_it(text: str, names: tuple[str, str]) -> None:
    assert [tuple(map(" ".join, pair)) for pair in stated_aliases(text)] == [names]
    assert STATES_ALIAS in alias_ids(text, ())


@pytest.mark.parametrize(
    "text",
    [
        "Time goes by quickly",
        "Life is short for us",
        "Melanie also called Caroline",
        "Known as a good cook",
        "aka",
        "Ana, aka Ana",
    ],
)
def test_no_alias_is_read_into_what_says_something_else(text: str) -> None:
    assert not states_alias(text)
    assert STATES_ALIAS not in alias_ids(text, ())


def test_a_key_and_tags_are_names_as_a_whole_whatever_their_order() -> None:
    ids = alias_ids("text", ("deploy_region", "dead letter queue"))

    assert ids == [
        name_id(map(term_id, analyse(name))) for name in ("deploy region", "dead letter queue")
    ]
    assert set(ids) <= set(
        name_ids(list(map(term_id, query_terms("a dead letter queue deploy region"))))
    )
    assert ids[0] in name_ids(list(map(term_id, query_terms("region deploy"))))
    assert ids[0] not in name_ids(list(map(term_id, query_terms("deploy the new region"))))


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_any_text_is_posted_in_bounds_and_apart_from_terms(text: str, names: list[str]) -> None:
    ids = alias_ids(text, names)

    assert len(ids) == len(set(ids)) <= MOST_ALIAS_IDS + 1
    assert all(0 <= id < 2**64 for id in ids)
    assert not set(ids) & set(map(term_id, analyse(text)))
    assert len([id for id in ids if id >= LEAST_NAME_ID]) <= len(names)


@given(st.text())
def test_any_query_names_only_terms_of_its_own(text: str) -> None:
    terms = query_terms(text)

    for other in aliases(text, terms):
        assert other.ids
        assert other.places
        assert all(0 <= place < len(terms) for place in other.places)


def test_a_text_of_nothing_but_capitals_does_not_swell_an_index() -> None:
    rng = random.Random(7)
    text = " ".join(f"{rng.choice(string.ascii_uppercase)}x" for _ in range(5_000))

    assert len(alias_ids(text, ())) == MOST_ALIAS_IDS
