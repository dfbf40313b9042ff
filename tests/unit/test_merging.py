"""The merge of two stores as a rule: whoever asks, and when, comes to the same."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.memory import (
    Kind,
    Record,
    Status,
    Triple,
)
from simonides.domain.scope import Scope
from simonides.domain.trust import Source, Trust
from simonides.text.normalise import content_hash
from simonides.transfer.sync.merge_rules import (
    Lineage,
    gave_way,
    is_same_state,
    joined,
    settled,
    strength,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
ALICE = Scope.parse("/user/alice")

STATUSES = st.sampled_from(
    (Status.ACTIVE, Status.REVIEW, Status.STALE, Status.SUPERSEDED, Status.EVICTED)
)
SOURCES = st.sampled_from(
    (Source.USER_STATED, Source.USER_CORRECTION, Source.AGENT_INFERRED, Source.EXTERNAL)
)
TIMES = st.integers(0, 5).map(lambda hours: START + timedelta(hours=hours))


def memory(id: str = "m1", content: str = "tea", **fields: object) -> Record:
    made: dict[str, object] = {
        "id": id,
        "root": id,
        "version": 1,
        "scope": ALICE,
        "kind": Kind.SEMANTIC,
        "category": "fact",
        "content": content,
        "content_hash": content_hash(content),
        "source": Source.USER_STATED,
        "trust": Trust.USER,
        "created_at": START,
        "updated_at": START,
        "known_from": START,
    }
    return Record.of(**(made | fields))


@st.composite
def states(draw: st.DrawFn) -> Record:
    """One memory in any state that two stores may have it in."""
    source = draw(SOURCES)
    return memory(
        status=draw(STATUSES),
        source=source,
        trust=source.trust,
        confidence=draw(st.sampled_from((0.3, 0.6, 1.0))),
        updated_at=draw(TIMES),
        verified_at=draw(st.none() | TIMES),
        last_accessed_at=draw(st.none() | TIMES),
        tags=draw(st.sampled_from(((), ("a",), ("a", "b")))),
        pinned=draw(st.booleans()),
        versions=draw(st.integers(1, 3)),
    )


@given(states(), states())
def test_both_sides_agree_on_the_state_of_a_memory(one: Record, other: Record) -> None:
    assert is_same_state(joined(one, other), joined(other, one))


@given(states(), states())
def test_what_is_agreed_on_is_not_changed_by_asking_again(one: Record, other: Record) -> None:
    agreed = joined(one, other)

    assert joined(agreed, other) == agreed
    assert is_same_state(joined(other, agreed), agreed)
    assert joined(agreed, agreed) == agreed


@given(states(), states(), states())
def test_it_does_not_matter_who_meets_first(a: Record, b: Record, c: Record) -> None:
    assert is_same_state(joined(joined(a, b), c), joined(a, joined(b, c)))


@given(states(), states())
def test_what_only_one_side_has_changed_is_that_sides(one: Record, other: Record) -> None:
    agreed = joined(one, other, changed_here=False, changed_there=True)

    assert agreed.status is other.status
    assert agreed.updated_at == other.updated_at
    assert agreed.versions == one.versions  # its place in the chain is this store's own


@st.composite
def rivals(draw: st.DrawFn) -> tuple[Record, ...]:
    """Memories of one key from several stores, some of which replaced others."""
    count = draw(st.integers(2, 5))
    made: list[Record] = []
    for n in range(count):
        source = draw(SOURCES)
        before = draw(st.none() | st.sampled_from(made)) if made else None
        made.append(
            memory(
                f"m{n}",
                draw(st.sampled_from(("tea", "coffee", "milk"))),
                key="drink",
                source=source,
                trust=source.trust,
                confidence=draw(st.sampled_from((0.3, 0.6, 1.0))),
                updated_at=draw(TIMES),
                supersedes=None if before is None else before.id,
                root=f"m{n}" if before is None else before.root,
            )
        )
    return tuple(made)


def lineage(memories: tuple[Record, ...]) -> Lineage:
    return Lineage({each.id: each.supersedes for each in memories})


def after(memories: tuple[Record, ...], order: tuple[Record, ...]) -> dict[str, Record]:
    """Return how memories stand after they were settled, told in some order."""
    stand = {each.id: each for each in memories}
    for contest in settled(order, lineage(memories)):
        stand |= {loser.id: loser for loser in contest.losers}
    return stand


@given(rivals())
def test_one_stands_whatever_the_order_in_which_they_are_told(memories: tuple[Record, ...]) -> None:
    first, *others = (after(memories, order) for order in permutations(memories))

    assert sum(each.status.is_live for each in first.values()) == 1
    assert all(other == first for other in others)


@given(rivals())
def test_who_lost_stays_lost_and_is_kept(memories: tuple[Record, ...]) -> None:
    once = after(memories, memories)

    assert after(tuple(once.values()), tuple(once.values())) == once
    assert {each.content for each in once.values()} == {each.content for each in memories}


@given(rivals())
def test_who_wrote_in_knowledge_of_another_goes_before_it(memories: tuple[Record, ...]) -> None:
    stand = after(memories, memories)
    (winner,) = (each for each in stand.values() if each.status.is_live)

    assert not any(each.supersedes == winner.id for each in memories)


@given(st.lists(rivals().map(lambda found: replace(found[0], supersedes=None)), min_size=2))
def test_of_those_unaware_of_each_other_the_strongest_stands(found: list[Record]) -> None:
    memories = tuple(
        replace(each, id=f"m{n}", root=f"m{n}", status=Status.ACTIVE)
        for n, each in enumerate(found)
    )
    stand = after(memories, memories)
    (winner,) = (each for each in stand.values() if each.status.is_live)

    assert winner.id == max(memories, key=strength).id


def test_a_correction_goes_before_what_is_newer() -> None:
    corrected = memory("m1", "tea", key="drink", source=Source.USER_CORRECTION)
    newer = memory("m2", "milk", key="drink", updated_at=START + timedelta(days=1))

    (contest,) = settled([newer, corrected], lineage((newer, corrected)))

    assert (contest.about, contest.winner.content) == ("key", "tea")
    assert contest.losers == (gave_way(newer, corrected),)
    assert contest.losers[0].status is Status.SUPERSEDED
    assert contest.losers[0].superseded_by == "m1"


def test_what_is_external_gives_way_though_it_be_newer_and_surer() -> None:
    said = memory("m1", "tea", key="drink", confidence=0.5)
    read = memory(
        "m2", "milk", key="drink", source=Source.EXTERNAL, trust=Trust.EXTERNAL, confidence=1.0
    )

    (contest,) = settled([read, said], lineage((read, said)))

    assert contest.winner.id == "m1"


def test_only_a_functional_slot_holds_one_value() -> None:
    oslo = memory("m1", "lives in Oslo", triple=Triple("Alice", "lives in", "Oslo"))
    rome = memory("m2", "lives in Rome", triple=Triple("alice", "lives in", "Rome"))

    assert settled([oslo, rome], lineage((oslo, rome))) == ()
    (contest,) = settled([oslo, rome], lineage((oslo, rome)), frozenset({"lives in"}))
    assert contest.about == "slot"


def test_one_text_said_on_two_sides_stands_once() -> None:
    here, there = memory("m1", "Likes tea"), memory("m2", "likes  TEA")

    (contest,) = settled([here, there], lineage((here, there)))

    assert (contest.about, contest.winner.id) == ("text", "m2")


def test_memories_for_different_readers_do_not_meet() -> None:
    mine = memory("m1", "tea", key="drink")
    private = memory("m2", "milk", key="drink", audience=frozenset({"bot"}))

    assert settled([mine, private], lineage((mine, private))) == ()
