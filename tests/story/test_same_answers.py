"""The same memories give the same recall, byte for byte, however they came there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from conftest import World
from simonides import Draft
from simonides.api.open.assemble import assemble
from simonides.api.sync import Store
from simonides.domain.value import from_us
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

QUERIES = (
    "where does the team deploy on Friday?",
    "Мария едет в Москву поездом",
    "小明喜欢喝绿茶",
    "résumé für die Straße",
    "coffee",
    "the",
    "",
)
_ENGLISH = ("deploys to", "writes about", "prefers", "forgot", "repaired", "visits", "paints")
_THINGS = ("the green harbour", "a coffee machine", "eu-west-1", "Friday reports", "old résumés")
_WHO = ("Ana", "the team", "Bob", "Zoë", "our neighbour", "nobody")
_RUSSIAN = ("едет в Москву", "читает старую книгу", "любит чёрный чай", "починила велосипед")
_PEOPLE = ("Мария", "Иван", "Команда", "Соседка")
_CHINESE = ("喜欢喝绿茶", "住在上海的老房子", "每天骑自行车上班", "讨厌下雨的星期五", "在学习法语")
_NAMES = ("小明", "王老师", "我们的团队", "邻居")


def texts() -> list[str]:
    """Three hundred statements in three scripts, all different."""
    english = [f"{w} {v} {t} for the {n}th time" for n, (w, v, t) in enumerate(_crossed())]
    russian = [f"{w} {v}, день {n}" for n, w in enumerate(_PEOPLE) for v in _RUSSIAN]
    chinese = [f"{w}{v}，第{n}次" for n, w in enumerate(_NAMES) for v in _CHINESE]
    repeated = [f"{w} drinks coffee {n} times" for w in _WHO for n in range(9)]
    return [*english, *russian, *chinese, *repeated]


def _crossed() -> Iterable[tuple[str, str, str]]:
    return ((w, v, t) for w in _WHO for v in _ENGLISH for t in _THINGS)


class IdsInOrder(CountingIds):
    """Gives the ids that it is told to, so that two stores written in other orders are equal."""

    def __init__(self) -> None:
        super().__init__()
        self.next: list[str] = []

    def new(self, at_us: int) -> str:
        made = super().new(at_us)
        return self.next.pop(0) if self.next else made


def opened(target: str, **settings: object) -> tuple[Store, ManualClock, IdsInOrder]:
    clock, ids = ManualClock(), IdsInOrder()
    made = assemble(
        target,
        settings=Settings(**settings),  # type: ignore[arg-type]
        inline=True,
        clock=clock,
        ids=ids,
    )
    return Store(made), clock, ids


def said(store: Store) -> bytes:
    """Everything that recall answers, as bytes."""
    memory = store.memory(user="ana")
    found = [memory.recall(query, limit=50).to_dict() for query in QUERIES]
    found += [memory.recall(q, limit=1000, preference_bias=True).to_dict() for q in QUERIES[-2:]]
    return json.dumps(found, ensure_ascii=False).encode()


def write(
    target: str, order: Sequence[int], step: int, **settings: object
) -> tuple[Store, ManualClock]:
    """Store texts in an order, each under an id and at a time of its own, and recall at times."""
    store, clock, ids = opened(target, **settings)
    memory, every = store.memory(user="ana"), texts()
    moment = clock.now_us()
    for start in range(0, len(order), step):
        numbers = order[start : start + step]
        for number in numbers:
            ids.next = [f"00000000-0000-7000-8000-{number:012d}"]
            clock.set(from_us(moment + number * 1000))
            memory.remember(
                Draft(
                    every[number],
                    key=f"key_{number}" if number % 7 == 0 else None,
                    category="preference" if number % 5 == 0 else "fact",
                    importance="high" if number % 11 == 0 else "normal",
                    source="agent_inferred" if number % 4 == 0 else "user_stated",
                    pinned=number % 50 == 0,
                )
            )
        memory.recall("coffee")
    clock.set(from_us(moment + 86_400_000_000))
    return store, clock


def test_there_are_three_hundred_different_texts_in_three_scripts() -> None:
    assert len(texts()) == len(set(texts())) >= 300


@pytest.mark.parametrize("fusion", ["conversational", "rrf", "weighted", "hybrid"])
def test_both_stores_answer_alike(tmp_path: Path, fusion: str) -> None:
    order = range(0, len(texts()), 1 if fusion == "conversational" else 3)
    in_memory, one = write(":memory:", order, 1000, fusion=fusion)
    on_disk, other = write(str(tmp_path / "m.db"), order, 1000, fusion=fusion)

    fresh = said(in_memory)
    assert fresh == said(on_disk)
    # Inferences have lost confidence by then, facts are up for review, what nobody reads is stale.
    for clock in (one, other):
        clock.advance(days=200)
    assert said(in_memory) == said(on_disk) != fresh
    on_disk.close()


@pytest.mark.parametrize("fusion", ["conversational", "rrf"])
def test_postgresql_answers_alike(postgres: Any, database: str, fusion: str) -> None:
    order = range(0, len(texts()), 2 if fusion == "conversational" else 6)
    url = postgres.url("simonides_app", database)
    in_memory, _ = write(":memory:", order, 1000, fusion=fusion)
    in_database, clock = write(url, order, 1000, fusion=fusion)

    expected = said(in_memory)
    assert said(in_database) == expected
    in_database.close()
    again, new_clock, _ = opened(url, fusion=fusion)
    new_clock.set(from_us(clock.now_us()))
    assert said(again) == expected
    again.close()


def test_a_store_that_is_opened_again_answers_alike(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    store, clock = write(path, range(len(texts())), 40)
    warm = said(store)
    store.close()

    again, new_clock, _ = opened(path)
    new_clock.set(from_us(clock.now_us()))

    assert said(again) == warm
    again.close()


def test_an_index_that_grew_bit_by_bit_answers_like_one_built_at_once(
    new_world: Callable[..., World],
) -> None:
    crowd = [Draft(f"{text} again and again, number {n}") for n in (1, 2) for text in texts()]
    grown, built = new_world(), new_world()
    grown.store.memory(user="ana").remember_many(crowd, atomic=False)
    built.store.memory(user="ana").remember_many(crowd, atomic=False)
    for number, text in enumerate(texts()[:60]):
        for world in (grown, built):
            memory = world.store.memory(user="ana")
            memory.remember(text, key=f"k{number % 20}")
            world.clock.advance(seconds=1)
        # Only one of them builds columns at every step: a main segment and a tail of the newest.
        grown.store.memory(user="ana").recall("coffee")

    built.reopen()

    assert said(grown.store) == said(built.store)


def test_the_order_of_writes_leaves_no_trace_in_scores() -> None:
    forward = range(len(texts()))
    orders = [list(forward), list(reversed(forward)), [*forward[1::2], *forward[::2]]]

    answers = []
    for order in orders:
        store, _ = write(":memory:", order, 25)
        memory = store.memory(user="ana")
        answers.append(
            [
                [
                    (hit.record.content, hit.score, dict(hit.why))
                    for hit in memory.recall(q, limit=500)
                ]
                for q in QUERIES
            ]
        )

    for other in answers[1:]:
        for ours, theirs in zip(answers[0], other, strict=True):
            assert sorted(ours, key=str) == sorted(theirs, key=str)


def test_ties_break_by_newest_update_then_id(new_world: Callable[..., World]) -> None:
    world = new_world(embedder="none")
    memory = world.store.memory(user="ana")
    batch = memory.remember_many([Draft(f"Green tea{mark}") for mark in "%*?"])
    world.clock.advance(days=1)
    later = memory.remember_many([Draft(f"Green tea{mark}") for mark in "+=&"])

    hits = memory.recall("green tea", limit=6)

    ids = [[o.record.id for o in outcomes if o.record] for outcomes in (later, batch)]
    assert [hit.record.id for hit in hits] == [*sorted(ids[0]), *sorted(ids[1])]
    assert len({hit.score for hit in hits}) == 1


def test_a_longer_list_begins_with_the_shorter_one(world: World) -> None:
    memory = world.store.memory(user="ana")
    memory.remember_many([Draft(text) for text in texts()])

    for query in QUERIES:
        long = [hit.to_dict() for hit in memory.recall(query, limit=100)]
        for limit in (1, 2, 7, 30):
            assert [h.to_dict() for h in memory.recall(query, limit=limit)] == long[:limit]


def test_processes_with_other_hash_seeds_answer_alike(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    script = dedent(
        """
        import hashlib, sys
        sys.path[:0] = [sys.argv[1], sys.argv[1] + "/.."]
        import test_same_answers as story
        opened_store, _ = story.write(sys.argv[2], range(0, len(story.texts()), 4), 60)
        print(hashlib.sha256(story.said(opened_store)).hexdigest())
        opened_store.close()
        """
    )
    answers = set()
    for number, target in enumerate((":memory:", str(tmp_path / "a.db"), str(tmp_path / "b.db"))):
        environment = {**os.environ, "PYTHONHASHSEED": str(number * 7919)}
        done = subprocess.run(
            [sys.executable, "-c", script, here, target],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers.add(done.stdout)

    assert len(answers) == 1
