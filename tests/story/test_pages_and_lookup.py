"""A memory is named by id, key, record or hit; lists come in pages."""

from collections.abc import Callable
from typing import Any

import pytest

from conftest import World
from simonides import Draft, InvalidInput, Memory, NotFound, Page


@pytest.fixture
def ana(world: World) -> Memory:
    world.store.admin(actor="root").grant("ana", "org_write")
    return world.store.memory(user="ana")


VERBS: dict[str, Callable[[Memory, Any], Any]] = {
    "get": lambda ana, which: ana.get(which),
    "history": lambda ana, which: ana.history(which),
    "explain": lambda ana, which: ana.explain(which, "tea"),
    "correct": lambda ana, which: ana.correct(which, "Ana likes milk"),
    "confirm": lambda ana, which: ana.confirm(which),
    "promote": lambda ana, which: ana.promote(which, to="org"),
    "forget": lambda ana, which: ana.forget(which),
    "audit": lambda ana, which: ana.audit.list(which=which),
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


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("which", [7, b"drink", ["drink"], "", " ", "a\0", "\ud800", "x" * 600])
def test_what_names_no_memory_is_an_error(
    ana: Memory, verb: Callable[[Memory, Any], Any], which: Any
) -> None:
    ana.remember("Ana likes tea", key="drink")

    with pytest.raises(InvalidInput) as caught:
        verb(ana, which)

    assert caught.value.field == "which"
    assert [each.content for each in ana.list()] == ["Ana likes tea"]


def test_what_is_another_users_is_not_there(world: World, ana: Memory) -> None:
    record = ana.remember("Ana likes tea", key="drink").record
    assert record is not None
    bob = world.store.memory(user="bob")

    assert bob.get(record) is None
    for verb in (bob.history, bob.confirm, bob.forget):
        with pytest.raises(NotFound) as caught:
            verb(record)
        assert caught.value.nearest is None
    assert bob.audit.list(which=record) == ()
    assert ana.get("drink") == record


def test_a_record_of_an_old_version_names_the_same_memory_in_reads(ana: Memory) -> None:
    old = ana.remember("Ana likes tea", key="drink").record
    assert old is not None
    new = ana.correct(old, "Ana likes milk").record
    assert new is not None

    read = ana.get(old)
    assert read is not None
    assert (read.content, read.status) == ("Ana likes tea", "superseded")
    assert [each.id for each in ana.history(old)] == [old.id, new.id]
    assert ana.forget(old).done
    assert ana.list() == ()


MOST = 1_000
"""More than any list of these tests has."""


def walked(list_page: Callable[..., Page[Any]], limit: int, **how: Any) -> list[Any]:
    """Return all of a list, read page by page."""
    page = list_page(limit=limit, **how)
    found = list(page)
    while page.next_cursor is not None:
        assert len(page) == limit
        page = list_page(limit=limit, cursor=page.next_cursor, **how)
        assert page
        found += page
        assert len(found) <= MOST, "the pages go round"
    return found


def harbours(number: int) -> list[Draft]:
    return [Draft(f"Ana visited harbour {n}", key=f"harbour_{n}") for n in range(number)]


@pytest.mark.parametrize("limit", [1, 7, 50, 249, 250, 251])
def test_pages_together_are_the_list(ana: Memory, limit: int) -> None:
    ana.remember_many(harbours(250))

    assert walked(ana.list, limit) == list(ana.list(limit=MOST))


def test_a_walk_shows_each_memory_once_though_others_are_written(world: World, ana: Memory) -> None:
    ana.remember_many(harbours(250))
    told = {each.key for each in ana.list(limit=250)}
    forgotten, page = set(), ana.list(limit=20)
    seen = [each.key for each in page]
    while page.next_cursor is not None:
        world.clock.advance(seconds=1)
        ana.remember(f"Ana drank tea number {len(seen)}", key=f"tea_{len(seen)}")
        left = sorted(str(key) for key in told - set(seen) - forgotten)
        if left:
            ana.forget(left[-1])
            forgotten.add(left[-1])
        page = ana.list(limit=20, cursor=page.next_cursor)
        seen += [each.key for each in page]

    assert len(seen) == len(set(seen))
    assert set(seen) == told - forgotten
    assert forgotten


def test_a_filter_holds_on_every_page(ana: Memory) -> None:
    ana.remember_many(harbours(25))
    ana.remember_many([Draft(f"Ana drank tea {n}", tags=("tea",)) for n in range(25)])

    found = walked(ana.list, 4, filter={"tags": ["tea"]})

    assert len(found) == 25
    assert all(each.tags == ("tea",) for each in found)


def test_sessions_the_trail_and_what_waits_come_in_pages(world: World, ana: Memory) -> None:
    for number in range(7):
        ana.session(f"s~{number}").add("I live in Porto.")
        ana.remember(f"Ana visited harbour {number}")
        world.clock.advance(seconds=1)

    for list_page in (ana.sessions, ana.audit.list, ana.pending.list):
        assert walked(list_page, 2) == list(list_page(limit=MOST))
    assert len(walked(ana.sessions, 2)) == 7
    assert len(walked(ana.audit.list, 2)) >= 7


def test_sessions_are_walked_though_one_ends(ana: Memory) -> None:
    for number in range(4):
        ana.session(f"s{number}").add("Hello.")
    first = ana.sessions(limit=2)

    ana.session(first[-1].name).end()

    assert [one.name for one in ana.sessions(cursor=first.next_cursor)] == ["s2", "s3"]


@pytest.mark.parametrize("verb", ["list", "sessions", "audit", "pending"])
@pytest.mark.parametrize(
    "cursor", ["", "page two", "~", "--5~x", "\u00b2~x", "\u00b2", "9" * 5_000, "9" * 5_000 + "~x",
               b"5~x", [], "\ud800"],
)  # fmt: skip
def test_a_cursor_that_is_none_is_an_error(ana: Memory, verb: str, cursor: Any) -> None:
    ana.remember("Ana likes tea")
    lists = {
        "list": ana.list,
        "sessions": ana.sessions,
        "audit": ana.audit.list,
        "pending": ana.pending.list,
    }

    with pytest.raises(InvalidInput) as caught:
        lists[verb](cursor=cursor)

    assert caught.value.field == "cursor"


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "5", None, 10**9])
def test_a_limit_that_is_none_is_an_error(ana: Memory, limit: Any) -> None:
    for list_page in (ana.list, ana.sessions, ana.audit.list, ana.pending.list, ana.receipts.list):
        with pytest.raises(InvalidInput, match="limit"):
            list_page(limit=limit)
