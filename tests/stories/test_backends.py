"""The same memories rank alike on every backend, and however owners share them."""

import dataclasses

import pytest

import simonides
from simonides import Draft
from simonides.testing import ManualClock

pytestmark = pytest.mark.real_encoder

WORDS = "boat train tea cello garden winter Bern Malta bicycle bread river piano market dog"

QUESTIONS = [
    "where is the boat?", "What did Ana buy at the market in Bern?", "tea", "I play piano again.",
    "when was the winter in Malta", "which dog is by the river", "hello again", "zzz",
]  # fmt: skip


def facts(count=60):
    names = WORDS.split()
    for n in range(count):
        one, two, three = (names[(n * step) % len(names)] for step in (1, 3, 5))
        text = f"Ana saw the {one} near the {two} and thought of the {three} {n} times"
        yield Draft(text, confidence=1 - (n % 4) / 10, importance=("normal", "high")[n % 2])


def turns():
    for n, word in enumerate(WORDS.split() * 2):
        yield Draft(f"Tell me about the {word}?" if n % 2 else f"I like the {word} most",
                    session=f"s{n // 7}", position=n % 7, role=("user", "assistant")[n % 2],
                    speaker=("Ana", "Helper")[n % 2])  # fmt: skip


def filled(memory, clock):
    for draft in (*facts(), *turns()):
        memory.remember(draft).raise_for_refusal()
        clock.advance(hours=7)
    for record in memory.list(limit=1000)[10:30:3]:
        memory.forget(record)


def rankings(memory):
    return [
        [(hit.content, hit.score, hit.relevance, dict(hit.why), hit.terms) for hit in hits]
        for hits in (memory.recall(question, limit=15) for question in QUESTIONS)
    ]


def assert_alike(mine, theirs):
    for one, other in zip(mine, theirs, strict=True):
        assert [hit[0] for hit in one] == [hit[0] for hit in other]
        for (*_, why, terms), (*_, other_why, other_terms) in zip(one, other, strict=True):
            assert why == pytest.approx(other_why, abs=1e-6)
            assert terms == other_terms
        for place in (1, 2):
            expected = pytest.approx([hit[place] for hit in other], abs=1e-6)
            assert [hit[place] for hit in one] == expected


@pytest.fixture(scope="module")
def expected():
    clock = ManualClock()
    with simonides.open(":memory:", clock=clock) as store:
        memory = store.memory(user="ana")
        filled(memory, clock)
        return rankings(memory)


def test_every_backend_ranks_alike(open_store, clock, expected):
    memory = open_store().memory(user="ana")
    filled(memory, clock)
    assert_alike(rankings(memory), expected)
    assert_alike(rankings(open_store().memory(user="ana")), expected)


def test_sharing_between_scopes_changes_no_ranking(open_store, clock):
    store, admin = open_store(), open_store().admin("root")
    scopes = ("/org/acme/user/ana/", "/org/acme/", "/global/")
    with simonides.open(":memory:", clock=clock) as other:
        whole = other.memory(user="ana")
        for n, draft in enumerate(facts()):
            whole.remember(draft).raise_for_refusal()
            shared = dataclasses.replace(draft, scope=scopes[n % 3])
            admin.remember_many([shared]).raise_for_refusal()
            clock.advance(hours=1)
        expected = rankings(whole)
    assert_alike(rankings(store.memory(user="ana", org="acme")), expected)
