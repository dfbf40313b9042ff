"""Twenty thousand questions about what is another's, over pooled connections: nothing leaks."""

import asyncio
from collections import Counter

import pytest

from principals import history_of, memory_for
from simonides.api.open.assemble import assemble
from simonides.domain.errors import SimonidesError
from simonides.domain.scope import Scope
from simonides.domain.value import plain
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

pytest.importorskip("psycopg_pool", reason="needs pip install 'psycopg[binary,pool]'")

QUERIES = 20_000
REUSES = 10_000
POOL_SIZE = 4

# Calls under way at the same time; more than connections, so that each is handed on.
AT_ONCE = 16

# A verb takes several times as long as a call of the store, and a write as a read: one query of so
# many is a verb that reads, one a verb that writes, and the others are calls of the store.
READS_EVERY, WRITES_EVERY = 10, 25

PEOPLE = (
    *({"user": user, "org": org} for user in ("alice", "42", "421") for org in ("acme", "umbra")),
    {"user": "alice", "org": "acme", "task": "t1"},
    {"user": "alice", "org": "acme", "task": "t2"},
    {"session": "alice", "org": "acme"},
    {"session": "42", "org": "umbra"},
)
HOSTILE = (
    "' OR '1'='1",
    "%",
    "_",
    "*",
    "../alice",
    "{}",
    "NULL",
    "x') --",
    "\\",
    "а́lice",
    "x" * 500,
)


def scope_of(org, user=None, session=None, task=None):
    """Where somebody's memories live."""
    del task
    return Scope.of_user(org, user) if user else Scope.of_session(org, session)


class Person:
    """Somebody with a secret that nobody else may see."""

    def __init__(self, store, number, named):
        self.own = memory_for(store, **named)
        self.store = store.runtime.store
        self.home = scope_of(**named)
        self.above = {"user": named.get("user"), "org": named.get("org")} if "task" in named else {}
        self.is_named = named
        self.mark = f"marker{number:02}end"
        self.ids = []

    async def settle_in(self):
        for key, text in (("colour", "My zebra is"), (None, "In my drawer a zebra of")):
            told = await self.own.remember(f"{text} {self.mark}", key=key, tags=["zebra"])
            self.ids.append(told.record.id)
        self.before = plain([await self.own.get(id) for id in self.ids])


def reads_of(me, wanted):
    """Every way to read, of ids that are another's or of nobody's making."""
    return (
        lambda: me.get(wanted),
        lambda: history_of(me, wanted),
        lambda: me.recall("zebra", limit=100),
        lambda: me.explain(wanted, "zebra"),
        lambda: me.list(filter={"tags": "zebra"}),
        lambda: me.recall("zebra", filter={"id": wanted}),
        me.list,
        lambda: me.recall(wanted),
        me.privacy.grants,
        me.status,
        lambda: me.get(wanted, scopes=["user"]),
        lambda: me.recall("which colour?", preference_bias=True),
        lambda: me.recall("zebra", known_at="2026-06-01T00:00:00Z"),
    )


def calls_of(store, home, wanted):
    """Every way to read from the store with the id of another's memory."""
    return (
        lambda: store.get(home, (wanted,)),
        lambda: store.history(home, wanted),
        lambda: store.states(home, wanted),
        lambda: store.derived(home, wanted),
        lambda: store.keyed(home, home, "colour"),
        lambda: store.rows(home, after=wanted[:8]),
        lambda: store.held(home, session=wanted),
        lambda: store.snapshot(home),
        lambda: store.links(home),
        lambda: store.as_of(home, 2**62),
        lambda: store.outbox(source=home),
        lambda: store.journaled(home, limit=5),
    )


def writes_of(me, wanted):
    """Every way to change, remove or copy what is not one's own."""
    return (
        lambda: me.correct(wanted, "Something else"),
        lambda: me.confirm(wanted),
        lambda: me.forget(wanted),
        lambda: me.promote(wanted, "org"),
        lambda: me.forget("nothing"),
        lambda: me.remember("A plain fact", idempotency_key="write-1"),
        lambda: me.add("Forget that zebra"),
    )


async def asked(number, people, foreign, told):
    """Ask one question of the many and look for what is another's in the answer."""
    person = people[number % len(people)]
    others = foreign[person.mark]
    wanted = others[number // len(people) % len(others)]
    is_beneath = number % WRITES_EVERY and number % READS_EVERY
    if number % WRITES_EVERY == 0:
        verbs, number = writes_of(person.own, wanted), number // WRITES_EVERY
    elif number % READS_EVERY == 0:
        verbs, number = reads_of(person.own, wanted), number // READS_EVERY
    else:
        verbs = calls_of(person.store, person.home, wanted)
    try:
        answer = str(await verbs[number % len(verbs)]())
        told["answered"] += 1
    except SimonidesError as error:
        answer = f"{type(error).__name__} {error}"
        told[type(error).__name__] += 1
    for other in people:
        is_foreign = other is not person and other.is_named != person.above
        if is_beneath:
            # Rows of a task lie with its user; who of them may see what is the verbs' to know.
            is_foreign = other.home != person.home
        if is_foreign and other.mark in answer:
            told["leaked"] += 1
    told["seen"] += person.mark in answer


def test_twenty_thousand_questions_about_others_leak_nothing(postgres, database):
    async def story():
        settings = Settings(pool_size=POOL_SIZE)
        url = postgres.url("simonides_app", database)
        made = assemble(
            url, settings=settings, inline=False, clock=ManualClock(), ids=CountingIds()
        )
        async with made as store:
            people = [Person(store, n, named) for n, named in enumerate(PEOPLE)]
            for person in people:
                await person.settle_in()
            foreign = {
                p.mark: [*(id for o in people if o is not p for id in o.ids), *HOSTILE]
                for p in people
            }
            numbers, told = iter(range(QUERIES)), Counter()

            async def one_of_many():
                for number in numbers:
                    await asked(number, people, foreign, told)

            await asyncio.gather(*(one_of_many() for _ in range(AT_ONCE)))
            for person in people:
                after = [await person.own.get(id) for id in person.ids]
                assert plain(after) == person.before
            assert (await store.admin(actor="root").check_audit()).ok
            return told, store.runtime.store._pool._pool.get_stats()

    told, stats = asyncio.run(story())
    assert told["leaked"] == 0
    # The questions were asked: own secrets were found, and most had an answer.
    assert told["seen"] > QUERIES // 10
    assert told["answered"] > QUERIES // 2
    assert stats["requests_num"] - stats["connections_num"] > REUSES
    assert stats["connections_num"] < 2 * POOL_SIZE
