"""World time: what was true then, beside what was believed then."""

from datetime import UTC, datetime

from conftest import World
from simonides import Draft, Memory

QUERY = "Where do I live? Berlin Paris Rome"


def true_at(memory: Memory, when: str) -> list[str]:
    return sorted(hit.record.content for hit in memory.recall(QUERY, valid_at=when, limit=10))


def test_a_fact_is_true_from_when_it_says_until_the_next_begins(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(Draft("I live in Berlin", key="home", valid_from="2020-01-01"))
    ana.remember(Draft("I live in Paris", key="home", valid_from="2023-06-01"))

    assert true_at(ana, "2019-06-01") == []
    assert true_at(ana, "2021-06-01") == ["I live in Berlin"]
    assert true_at(ana, "2023-06-01") == ["I live in Paris"]
    assert [hit.record.content for hit in ana.recall("live")] == ["I live in Paris"]


def test_news_without_a_date_is_true_from_now_on(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(Draft("I live in Berlin", key="home", valid_from="2020-01-01"))
    world.clock.set(datetime(2026, 5, 1, tzinfo=UTC))
    ana.remember("I live in Paris", key="home")

    assert true_at(ana, "2026-04-30") == ["I live in Berlin"]
    assert true_at(ana, "2026-05-02") == ["I live in Paris"]


def test_what_was_corrected_was_never_true(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(Draft("I live in Berlin", key="home", valid_from="2020-01-01"))
    world.clock.advance(days=3)
    ana.correct("home", "I live in Rome")

    assert true_at(ana, "2021-06-01") == ["I live in Rome"]
    believed = ana.recall("live", known_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert [hit.record.content for hit in believed] == ["I live in Berlin"]


def test_a_weaker_guess_was_never_true(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(Draft("I live in Berlin", key="home", valid_from="2020-01-01"))
    ana.remember(
        Draft("I live in Rome", key="home", source="agent_inferred", valid_from="2021-01-01")
    )

    assert true_at(ana, "2022-06-01") == ["I live in Berlin"]


def test_belief_and_truth_are_asked_together(world: World) -> None:
    ana = world.store.memory(user="ana")
    ana.remember(Draft("I live in Berlin", key="home", valid_from="2020-01-01"))
    world.clock.set(datetime(2026, 2, 1, tzinfo=UTC))
    ana.remember(Draft("I live in Paris", key="home", valid_from="2023-06-01"))
    world.clock.set(datetime(2026, 3, 1, tzinfo=UTC))
    ana.correct("home", "I live in Rome")

    def asked(known_at: str, valid_at: str) -> list[str]:
        hits = ana.recall(QUERY, known_at=known_at, valid_at=valid_at, limit=10)
        return [hit.record.content for hit in hits]

    assert asked("2026-01-31", "2024-01-01") == ["I live in Berlin"]
    assert asked("2026-02-02", "2024-01-01") == ["I live in Paris"]
    assert asked("2026-02-02", "2021-01-01") == ["I live in Berlin"]
    assert asked("2026-03-02", "2024-01-01") == ["I live in Rome"]
