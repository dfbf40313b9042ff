"""Recall finds a thing under its other names, and says so."""

from collections.abc import Sequence

import pytest

import simonides
from simonides.api.open.assemble import assemble
from simonides.api.sync import Memory, Store
from simonides.domain.reading.recall import Hit
from simonides.retrieval.ranking.evidence import Weights
from simonides.settings import Settings
from simonides.testing import CountingIds, ManualClock

CLUSTER = "Deploys services to a Kubernetes cluster"
NODES = "The k8s nodes are full on Mondays"
CITY = "Flew to New York City for the fair"
OTHERS = (
    "Prefers green tea",
    "The piano is out of tune",
    "Ordered two blue chairs",
    "Runs by the lake on Sundays",
    "The vendor raised prices",
    "Reads crime novels",
    "Has a dentist in Porto",
    "Sold the old car",
    "Cooks on Fridays",
)


def recalling(drafts: Sequence[simonides.Draft | str]) -> Memory:
    core = assemble(
        ":memory:", settings=Settings(), inline=True, clock=ManualClock(), ids=CountingIds()
    )
    memory = Store(core).memory(user="ana")
    memory.remember_many(
        [d if isinstance(d, simonides.Draft) else simonides.Draft(d) for d in drafts]
    )
    return memory


def by_text(hits: Sequence[Hit]) -> dict[str, Hit]:
    return {hit.record.content: hit for hit in hits}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("where is k8s?", CLUSTER),
        ("is kubernetes out of space?", NODES),
        ("when was NYC visited?", CITY),
    ],
)
def test_a_memory_is_found_by_another_name_of_what_it_holds(question: str, text: str) -> None:
    memory = recalling([CLUSTER, NODES, CITY, *OTHERS])

    hits = by_text(memory.recall(question, limit=12))

    assert list(hits).index(text) < 2
    assert hits[text].why["aliases"] > 0
    assert all(hits[other].why["aliases"] == 0 for other in OTHERS if other in hits)


def test_an_alias_counts_as_the_word_and_evidence_still_adds_up() -> None:
    spelt = by_text(recalling([NODES, *OTHERS]).recall("full k8s nodes"))[NODES]
    memory = recalling([NODES, *OTHERS])
    meant = by_text(memory.recall("full kubernetes nodes"))[NODES]

    assert "aliases" not in spelt.why
    assert meant.why["aliases"] + meant.why["bm25"] == pytest.approx(spelt.why["bm25"])
    assert "kubernet" in memory.explain(meant.record.id, "full kubernetes nodes").matched_terms


def test_a_stated_alias_joins_two_names_for_all_memories() -> None:
    said = "The staging cluster, also known as bluebird, has four nodes"
    other = "Never restart the staging cluster on a Friday"
    question = "may I restart bluebird?"

    alone = by_text(recalling([other, *OTHERS]).recall(question, limit=12))
    joined = by_text(recalling([other, said, *OTHERS]).recall(question, limit=12))

    assert "aliases" not in alone[other].why
    assert joined[other].why["aliases"] > 0


def test_an_alias_that_was_forgotten_joins_nothing() -> None:
    memory = recalling(["Restart the staging cluster with care", *OTHERS])
    (outcome,) = memory.remember_many(
        [simonides.Draft("The staging cluster, aka bluebird, is new")]
    )
    assert outcome.record is not None
    memory.recall("restart bluebird")

    memory.forget(outcome.record.id)

    assert all("aliases" not in hit.why for hit in memory.recall("restart bluebird", limit=12))


def test_two_letters_stand_for_more_only_where_nobody_says_them() -> None:
    question = "who said hi to LA?"
    moved = "Aunt Rita moved to Los Angeles"

    unsaid = by_text(recalling([moved, *OTHERS]).recall(question, limit=12))
    said = by_text(recalling([moved, "la la land was long", *OTHERS]).recall(question, limit=12))

    assert unsaid[moved].why["aliases"] > 0
    assert "aliases" not in said[moved].why


def test_the_order_of_writing_changes_nothing() -> None:
    texts = [CLUSTER, NODES, CITY, "The staging cluster, aka bluebird, is new", *OTHERS]
    questions = ("k8s nodes in NYC", "is bluebird full?")

    found = [
        {hit.record.content: hit.why for hit in recalling(order).recall(question, limit=20)}
        for question in questions
        for order in (texts, texts[::-1])
    ]

    assert found[0] == found[1]
    assert found[2] == found[3]


def test_what_the_question_calls_by_its_tag_goes_before_what_mentions_it_more_often() -> None:
    cache = simonides.Draft("Redis is used as a cache", tags=("Redis",))
    login = simonides.Draft(
        "Login asks Redis; if Redis is down, login asks nobody", tags=("login",)
    )
    hits = recalling([login, cache, *OTHERS]).recall("what's Redis doing?")

    assert hits[0].record.content == cache.content
    assert 0 < hits[0].why["named"] <= Weights().named
    assert by_text(hits)[login.content].why["named"] == 0


def test_a_key_is_a_name_too() -> None:
    region = simonides.Draft("Always eu-west-1", key="deploy_region")
    hits = recalling([region, *OTHERS]).recall("which deploy region?")

    assert hits[0].why["named"] > 0


def test_a_tag_that_was_added_later_is_a_name_at_once() -> None:
    memory = recalling([simonides.Draft("Always eu-west-1", tags=("deploys",)), *OTHERS])
    assert all("named" not in hit.why for hit in memory.recall("which region is home?", limit=12))

    memory.remember_many([simonides.Draft("Always eu-west-1", tags=("region",))])

    hits = by_text(memory.recall("which region is home?", limit=12))
    assert hits["Always eu-west-1"].why["named"] > 0


def test_a_tag_that_many_have_is_a_label_and_counts_little() -> None:
    few = [simonides.Draft(text, tags=("home",)) for text in OTHERS[:1]]
    many = [simonides.Draft(text, tags=("home",)) for text in OTHERS[:8]]

    rare, common = (
        recalling([*drafts, *OTHERS[len(drafts) :]]).recall("home")[0].why["named"]
        for drafts in (few, many)
    )

    assert rare > 2 * common > 0


def test_what_the_named_memory_calls_by_name_is_one_step_away() -> None:
    login = simonides.Draft("The login service needs Redis for its sessions", tags=("login",))
    cache = simonides.Draft("A cache with one node, backed up by night", tags=("Redis",))
    backup = simonides.Draft("Tapes in the cellar", tags=("night",))
    hits = by_text(
        recalling([login, cache, backup, *OTHERS]).recall("what does login need?", limit=12)
    )

    assert list(hits)[:2] == [login.content, cache.content]
    assert hits[cache.content].why["linked"] > 0
    assert hits[login.content].why["linked"] == 0
    assert backup.content not in hits or hits[backup.content].why["linked"] == 0


def test_two_things_of_one_name_are_no_step_from_each_other() -> None:
    cache = simonides.Draft("Redis is the cache of the backend", tags=("Redis",))
    pianist = simonides.Draft("Redis plays the piano in the novel", tags=("Redis",))
    hits = recalling([cache, pianist, *OTHERS]).recall("what does Redis cache in the backend?")

    assert hits[0].record.content == cache.content
    assert all("linked" not in hit.why for hit in hits)


def test_without_a_name_in_the_question_no_step_is_taken() -> None:
    login = simonides.Draft("Signing in needs Redis for its sessions", tags=("login",))
    cache = simonides.Draft("A cache with one node", tags=("Redis",))
    hits = recalling([login, cache, *OTHERS]).recall("what does signing in need?", limit=12)

    assert all("linked" not in hit.why and "named" not in hit.why for hit in hits)
