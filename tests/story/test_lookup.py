"""A memory is named by id, key, record or hit; lists come in pages; an outcome says what it is."""

from collections.abc import Callable
from typing import Any

import pytest

from conftest import World
from simonides import Draft, InvalidInput, Memory, NotFound, Page, Record, Refused

SECRET = "My password is hunter2"


@pytest.fixture
def ana(world: World) -> Memory:
    return world.store.memory(user="ana")


VERBS: dict[str, Callable[[Memory, Any], Any]] = {
    "get": lambda ana, which: ana.get(which),
    "history": lambda ana, which: ana.history(which),
    "explain": lambda ana, which: ana.explain(which, "tea"),
    "correct": lambda ana, which: ana.correct(which, "Ana likes milk"),
    "confirm": lambda ana, which: ana.confirm(which),
    "forget": lambda ana, which: ana.forget(which),
    "ageing": lambda ana, which: ana.maintenance.ageing(which),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("by", ["id", "key", "record", "hit"])
def test_a_memory_is_named_in_four_ways(
    ana: Memory, verb: Callable[[Memory, Any], Any], by: str
) -> None:
    record = ana.remember("Ana likes tea", key="drink").record
    assert record is not None
    (hit,) = ana.recall("tea")
    named = {"id": record.id, "key": "drink", "record": record, "hit": hit}

    assert verb(ana, named[by])


@pytest.mark.parametrize("verb", [v for n, v in VERBS.items() if n not in ("get", "ageing")])
def test_what_is_not_there_is_told_with_the_nearest_key(
    ana: Memory, verb: Callable[[Memory, Any], Any]
) -> None:
    ana.remember("Ana likes tea", key="drink")

    with pytest.raises(NotFound, match="did you mean 'drink'") as caught:
        verb(ana, "drnk")

    assert (caught.value.which, caught.value.nearest) == ("drnk", "drink")
    assert isinstance(caught.value, LookupError)
    assert ana.get("drnk") is None
    assert [each.content for each in ana.list()] == ["Ana likes tea"]


def walked(ana: Memory, limit: int) -> list[Record]:
    page = ana.list(limit=limit)
    found = list(page)
    while page.next_cursor is not None:
        page = ana.list(limit=limit, cursor=page.next_cursor)
        found += page
    return found


def test_pages_show_each_memory_once_though_others_are_written(ana: Memory) -> None:
    told = [Draft(f"Ana visited harbour {n}") for n in range(25)]
    ana.remember_many(told)

    first = ana.list(limit=10)
    ana.remember("Ana likes tea")
    second = ana.list(limit=10, cursor=first.next_cursor)
    third = ana.list(limit=10, cursor=second.next_cursor)

    seen = [each.content for each in (*first, *second, *third)]
    assert sorted(seen) == sorted(draft.content for draft in told)
    assert third.next_cursor is None
    assert isinstance(first, Page)
    assert [each.id for each in walked(ana, 7)] == [each.id for each in ana.list(limit=100)]


def test_a_cursor_that_is_none_is_an_error(ana: Memory) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        ana.list(cursor="page two")


def test_an_outcome_says_whether_it_was_done_or_refused(ana: Memory) -> None:
    done = ana.remember("Ana likes tea", key="drink")
    refused = ana.remember(SECRET)
    assert (done.done, done.pending, done.refused, bool(done)) == (True, False, False, True)
    assert (refused.done, refused.pending, refused.refused) == (False, False, True)
    assert not refused
    assert done.explanation == "Stored."
    assert "secret:password" in refused.explanation
    assert SECRET not in refused.explanation
    assert done.raise_for_refusal() is done
    with pytest.raises(Refused) as caught:
        refused.raise_for_refusal()
    assert caught.value.outcomes == (refused,)
    assert isinstance(caught.value, PermissionError)


@pytest.mark.parametrize("atomic", [True, False])
def test_a_refusal_in_a_batch_concerns_its_item_only(ana: Memory, *, atomic: bool) -> None:
    outcomes = ana.remember_many([Draft("Ana likes tea"), Draft(SECRET)], atomic=atomic)

    assert [len(outcomes.done), len(outcomes.refused)] == [1, 1]
    assert [each.content for each in ana.list()] == ["Ana likes tea"]
    with pytest.raises(Refused):
        outcomes.raise_for_refusal()


def test_a_batch_is_one_transaction_of_at_most_500_or_any_number_in_slices(ana: Memory) -> None:
    drafts = [Draft(f"Ana visited harbour {n}") for n in range(501)]

    with pytest.raises(InvalidInput, match="500"):
        ana.remember_many(drafts)
    assert ana.list() == ()
    assert len(ana.remember_many(drafts, atomic=False).done) == 501


def test_how_a_memory_is_kept_is_changed_without_its_text(world: World, ana: Memory) -> None:
    ana.remember("Ana likes tea", key="drink", ttl_days=10)

    assert ana.correct("drink", pinned=True, importance="critical", expires="never").done
    changed = ana.get("drink")
    assert changed is not None
    assert (changed.content, changed.pinned, changed.importance, changed.hard_expires_at) == (
        "Ana likes tea",
        True,
        "critical",
        None,
    )
    assert len(ana.history("drink")) == 1
    with pytest.raises(InvalidInput, match="say what to change"):
        ana.correct("drink")


def test_the_trail_is_listed_newest_first_and_filtered(ana: Memory) -> None:
    ana.remember("Ana likes tea", key="drink")
    ana.remember("Ana reads on a phone")
    ana.correct("drink", "Ana likes milk")
    ana.forget("drink")

    types = [event.type for event in ana.audit.list()]
    assert types[-1] == "created"
    assert types[0] == "forgotten"
    assert {event.type for event in ana.audit.list(type="created")} == {"created"}
    assert len(ana.audit.list(limit=2)) == 2


@pytest.mark.parametrize(
    ("wrong", "field", "advice"),
    [
        ({"category": "preferences"}, "category", "did you mean 'preference'"),
        ({"category": "zzz"}, "category", "use configuration"),
        ({"key": "A b"}, "key", "such as deploy_region"),
        ({"key": "019b76da-a800-7000-8000-000000000088"}, "key", "looks like the id"),
        ({"importance": "huge"}, "importance", "critical"),
        ({"ttl_days": 0}, "ttl_days", "must be over 0"),
    ],
)
def test_a_callers_mistake_is_an_error_that_says_what_is_right(
    ana: Memory, wrong: dict[str, Any], field: str, advice: str
) -> None:
    with pytest.raises(InvalidInput, match=advice) as caught:
        ana.remember("Ana likes tea", **wrong)

    assert caught.value.field == field
    assert caught.value.code == "invalid_input"
    assert ana.list() == ()
