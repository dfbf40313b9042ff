"""By whose recipe entries are written: newer models take over once, and nobody for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.operations.reindex import (
    Noted,
    Recipe,
    RecipeNote,
    in_force,
    is_noted,
    may_take,
)

OLD, NEW, NEWER = (Recipe(name, "1", f"model {name}") for name in ("old", "new", "newer"))
BARE = Recipe("bare", "1", "")


def notes(*said: tuple[Noted, Recipe]) -> list[RecipeNote]:
    return [RecipeNote(*each) for each in said]


def test_an_empty_list_is_anybodys() -> None:
    assert in_force([]) is None
    assert may_take([], NEW)
    assert may_take([], BARE)


def test_the_first_that_was_seen_is_in_force() -> None:
    seen = notes((Noted.SEEN, OLD), (Noted.SEEN, NEW))

    assert in_force(seen) == OLD
    assert may_take(seen, OLD)


def test_a_newer_model_takes_over_and_the_older_does_not_take_back() -> None:
    taken = notes((Noted.SEEN, OLD), (Noted.SEEN, NEW), (Noted.TAKEN, NEW))

    assert may_take(taken[:2], NEW)
    assert in_force(taken) == NEW
    assert not may_take(taken, OLD)
    assert may_take(taken, NEWER), "of which the store has never heard"


def test_of_two_that_take_over_at_once_the_newer_stays() -> None:
    both = notes((Noted.SEEN, OLD), (Noted.SEEN, NEW), (Noted.SEEN, NEWER))
    taken = [*both, *notes((Noted.TAKEN, NEWER), (Noted.TAKEN, NEW))]

    assert in_force(taken) == NEWER
    assert not may_take(taken, NEW)


def test_what_is_asked_for_goes_before_what_is_newer() -> None:
    said = notes((Noted.SEEN, OLD), (Noted.SEEN, NEW), (Noted.TAKEN, NEW), (Noted.ASKED, OLD))

    assert in_force(said) == OLD
    assert not may_take(said, NEW)
    assert may_take(said, NEWER)


def test_who_has_no_embedder_takes_no_vectors_away() -> None:
    said = notes((Noted.SEEN, OLD))

    assert not may_take(said, BARE)
    assert may_take(notes((Noted.SEEN, BARE)), NEW)
    assert in_force([*said, *notes((Noted.ASKED, BARE))]) == BARE


@given(
    order=st.lists(st.sampled_from([OLD, NEW, NEWER, BARE]), max_size=40),
    asked=st.lists(st.sampled_from([OLD, NEW, NEWER, BARE]), max_size=2),
)
def test_processes_that_go_on_for_ever_come_to_rest(
    order: list[Recipe], asked: list[Recipe]
) -> None:
    said: list[RecipeNote] = []
    taken = 0
    for recipe in [*order, *asked, *order, *order]:
        force = in_force(said)
        if force is not None and force.tag != recipe.tag and may_take(said, recipe):
            if not is_noted(said, recipe):
                said.append(RecipeNote(Noted.SEEN, recipe))
            said.append(RecipeNote(Noted.TAKEN, recipe))
            taken += 1
        elif not is_noted(said, recipe):
            said.append(RecipeNote(Noted.SEEN, recipe))

    # Each model takes over at most once.
    assert taken <= 3
    last = in_force(said)
    assert not [r for r in set(order) if r != last and may_take(said, r)]


@pytest.mark.parametrize("recipe", [OLD, BARE], ids=["embedder", "none"])
def test_a_recipe_has_a_name(recipe: Recipe) -> None:
    assert recipe.name == f"analyser 1, {recipe.embedder or 'no embedder'}"
