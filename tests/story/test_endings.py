"""What a user says is over is no longer told as current; what was so stays in the history."""

from collections.abc import Iterator

import pytest

from conftest import World
from simonides import Memory


@pytest.fixture
def ana(world: World) -> Iterator[Memory]:
    """A user; whatever the test did, the chains of all owners hold at its end."""
    yield world.store.memory(user="ana")
    assert world.store.admin(actor="root").check_audit().ok


@pytest.mark.parametrize(
    ("told", "over", "key"),
    [
        ("I live in Rome.", "I no longer live in Rome.", "location"),
        ("I live in Rome.", "I don't live in Rome any more.", "location"),
        ("I work at Siemens.", "I quit my job at Siemens.", "employer"),
        ("I work at Siemens.", "I quit my job.", "employer"),
        ("I work at Siemens.", "I no longer work for Siemens.", "employer"),
    ],
)
def test_an_ending_takes_the_place_of_what_it_ends(
    ana: Memory, told: str, over: str, key: str
) -> None:
    (first,) = ana.add(told).outcomes
    (outcome,) = ana.add(over).outcomes

    assert outcome.kind == "superseded"
    (stands,) = ana.list()
    assert (stands.key, stands.content) == (key, over.rstrip("."))
    assert first.record is not None
    then = ana.get(first.record.id)
    assert then is not None
    assert then.status == "superseded"


@pytest.mark.parametrize(
    ("told", "over"),
    [
        ("I live in Milan.", "I no longer live in Rome."),
        ("I work at Bosch.", "I quit my job at Siemens."),
    ],
)
def test_an_ending_of_something_else_changes_nothing(ana: Memory, told: str, over: str) -> None:
    ana.add(told)
    (before,) = ana.list()

    (outcome,) = ana.add(over).outcomes

    assert (outcome.kind, outcome.reasons) == ("dropped", ("ending",))
    assert ana.list()[:] == (before,)


def test_an_ending_of_nothing_is_not_stored(ana: Memory) -> None:
    (outcome,) = ana.add("I quit my job at Siemens.").outcomes

    assert outcome.kind == "dropped"
    assert ana.list()[:] == ()


def test_a_new_value_takes_the_place_of_an_ending(ana: Memory) -> None:
    for said in ("I live in Rome.", "I no longer live in Rome.", "I live in Oslo."):
        ana.add(said)

    assert [memory.content for memory in ana.list()] == ["Oslo"]


def test_a_liking_in_passing_is_not_stored(ana: Memory) -> None:
    (outcome,) = ana.add("I love jazz.").outcomes

    assert (outcome.kind, outcome.reasons) == ("dropped", ("liked_in_passing",))
    assert ana.list()[:] == ()
