"""What is looked for on a write that could be against something, and what is not."""

import pytest

from simonides.domain.memory import Kind, Place
from simonides.domain.scope import Scope
from simonides.hygiene.contradiction.conflict_candidates import needs_of
from simonides.retrieval.index.near_duplicates import NearTexts, shape_of
from simonides.text.analyser import analyse, term_id

PLACE = Place(Scope.of_user("acme", "ana"))


def filed(*texts: str, kind: Kind = Kind.SEMANTIC) -> NearTexts:
    near = NearTexts()
    for number, text in enumerate(texts):
        near.add(
            {"role": f"m{number}", "content": shape_of(PLACE, kind, analyse(text), b"\x01\x02")}
        )
    return near


@pytest.mark.parametrize(
    "text",
    [
        "The team visited the lake",
        "Ana prefers green tea in Lisbon, ticket 182736",
        "my sister painted an old piano after the outage, ticket 5",
        "Dr. Lee sold two tickets near the lake, ticket 7",
        "The team works on the payment service",
    ],
)
def test_a_write_that_opposes_nothing_asks_for_nothing(text: str) -> None:
    assert needs_of(text, shape_of(PLACE, Kind.SEMANTIC, analyse(text), b"")) == ()


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I live in Oslo", "We have moved to Rome"),
        ("I drink coffee", "I no longer drink coffee"),
        ("Never suggest Acme", "I love Acme's new line"),
        ("My meeting is on Tuesday", "My meeting moved to Thursday"),
        ("I use VS Code", "I switched from VS Code to Neovim"),
    ],
)
@pytest.mark.parametrize("kind", [Kind.SEMANTIC, Kind.PROCEDURAL], ids=str)
def test_what_could_be_meant_is_found_by_its_words(older: str, newer: str, kind: Kind) -> None:
    near = filed("The bakery sells bread", older, "Ben paints boats", kind=kind)
    asked = shape_of(PLACE, Kind.SEMANTIC, analyse(newer), b"\x01\x02")

    assert near.about(Kind.SEMANTIC, asked, needs_of(newer, asked)) == ["m1"]


def test_five_are_found_at_most_and_the_newest_of_equals() -> None:
    near = filed(*(f"I live in town {number}" for number in range(9)))
    asked = shape_of(PLACE, Kind.SEMANTIC, analyse("I moved to Rome"), b"\x01\x02")

    found = near.about(Kind.SEMANTIC, asked, needs_of("I moved to Rome", asked))

    assert found == ["m8", "m7", "m6", "m5", "m4"]


def test_what_happened_and_what_lies_elsewhere_is_not_among_them() -> None:
    near = filed("I live in Oslo", kind=Kind.EPISODIC)
    other = shape_of(Place(Scope.of_user("acme", "ben")), Kind.SEMANTIC, analyse("I live"), b"")
    near.add({"role": "other", "content": other})
    asked = shape_of(PLACE, Kind.SEMANTIC, analyse("I moved to Rome"), b"")

    assert near.about(Kind.SEMANTIC, asked, needs_of("I moved to Rome", asked)) == []
    assert term_id("move") in asked.terms
