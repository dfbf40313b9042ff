"""An index follows its store, whatever order threads bring news in."""

from dataclasses import replace

import pytest

from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import Record, Status
from simonides.domain.value import to_us
from simonides.domain.writing.change import (
    Committed,
    Head,
    Snapshot,
    StoredRow,
)
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.index.owner_index import SMALL_OWNER, OwnerIndex
from simonides.retrieval.index.segment import Segment
from simonides.testing import Samples
from simonides.text.analyser import term_id

INDEXER = Indexer(None)
START = Head(b"i" * 16, 0, 1, 1, 1)


def head(revision: int, *, epoch: int = 0) -> Head:
    return START._replace(revision=revision, epoch=epoch)


def row(memory: Record, revision: int) -> StoredRow:
    state = encode_state(memory)
    since = to_us(memory.known_from)
    body = encode_body(memory)
    return StoredRow(memory.id, revision, body, state, INDEXER.readable([memory])[0], since, None)


def delta(revision: int, *rows: StoredRow, epoch: int = 0, complete: bool = False) -> Snapshot:
    return Snapshot(head=head(revision, epoch=epoch), complete=complete, rows=rows)


@pytest.fixture
def index() -> OwnerIndex:
    return OwnerIndex(recipe=INDEXER.recipe, dimensions=0, remake=INDEXER.readable)


@pytest.fixture
def memory() -> Record:
    return Samples().memory("alpha", key="letter")


def standing(index: OwnerIndex) -> set[str]:
    frozen = index.freeze()
    return {
        segment.rows[place].id
        for segment, alive in zip(frozen.segments, frozen.alive, strict=True)
        for place in range(len(segment))
        if alive is None or alive[place]
    }


def test_late_news_of_an_earlier_revision_changes_nothing(
    index: OwnerIndex, memory: Record
) -> None:
    index.refresh(delta(1, row(memory, 1), complete=True))
    gone = replace(memory, status=Status.SUPERSEDED)

    index.refresh(delta(3, row(gone, 3)))
    index.refresh(delta(2, row(memory, 2)))

    assert index.head == head(3)
    assert standing(index) == set()


def test_a_late_complete_reading_does_not_bring_back_what_was_removed(
    index: OwnerIndex, memory: Record
) -> None:
    index.refresh(delta(1, row(memory, 1), complete=True))

    index.refresh(delta(2, complete=True, epoch=1))
    index.refresh(delta(1, row(memory, 1), complete=True))

    assert index.head == head(2, epoch=1)
    assert standing(index) == set()


def test_another_incarnation_is_always_news(index: OwnerIndex, memory: Record) -> None:
    index.refresh(delta(9, row(memory, 9), complete=True))
    reborn = Head(b"j" * 16, 0, 1, 1, 1)

    index.refresh(Snapshot(head=reborn, complete=True, rows=()))

    assert index.head == reborn
    assert standing(index) == set()


def test_changes_of_what_the_index_does_not_hold_are_left_alone(
    index: OwnerIndex, memory: Record
) -> None:
    index.refresh(delta(5, row(memory, 5)))
    assert (index.head, standing(index)) == (None, set())

    reborn = Head(b"j" * 16, 0, 1, 1, 1)
    index.refresh(Snapshot(head=reborn, complete=True, rows=()))
    index.refresh(delta(5, row(memory, 5)))
    assert (index.head, standing(index)) == (reborn, set())


def test_an_own_commit_is_followed_only_from_the_revision_before(
    index: OwnerIndex, memory: Record
) -> None:
    index.refresh(delta(1, row(memory, 1), complete=True))
    other = replace(memory, id=memory.id[:-1] + "f", root="r", key="other")

    index.follow(Committed(head(3), (row(other, 3),)))
    assert index.head == head(1)

    index.follow(Committed(head(2), (row(other, 2),)))
    assert index.head == head(2)
    assert standing(index) == {memory.id, other.id}


def test_a_long_tail_and_a_fresh_load_show_the_same_rows(index: OwnerIndex) -> None:
    make = Samples()
    memories = [make.memory(f"note {n}") for n in range(SMALL_OWNER + 200)]
    rows = [row(memory, n + 1) for n, memory in enumerate(memories)]
    index.refresh(delta(len(rows), *rows[:SMALL_OWNER], complete=True))
    index.freeze()
    for n, added in enumerate(rows[SMALL_OWNER : SMALL_OWNER + 50]):
        index.apply(head(len(rows) + n + 1), [added])
    gone = replace(memories[0], status=Status.EVICTED)
    index.apply(head(10_000), [row(gone, 10_000)])

    frozen = index.freeze()

    assert len(frozen.segments) == 2
    assert standing(index) == {memory.id for memory in memories[1 : SMALL_OWNER + 50]}
    assert index.nbytes > 0


def test_entries_of_another_recipe_are_made_anew(memory: Record) -> None:
    other = OwnerIndex(recipe=12345, dimensions=0, remake=lambda ms: made.extend(ms) or [entry])
    made: list[Record] = []
    entry = INDEXER.readable([memory])[0]

    other.refresh(delta(1, row(memory, 1), complete=True))

    assert [each.id for each in made] == [memory.id]
    assert [*other.stale] == [memory.id]


def test_what_was_made_anew_in_the_store_is_stale_no_more(memory: Record) -> None:
    recipe = 12345
    now = recipe.to_bytes(8, "little") + INDEXER.readable([memory])[0][8:]
    bare = (54321).to_bytes(8, "little") + now[8:]
    index = OwnerIndex(recipe=recipe, dimensions=0, remake=lambda ms: [bare] * len(ms))
    index.refresh(delta(1, row(memory, 1), complete=True))
    assert ([*index.stale], index.bare) == ([memory.id], {memory.id})
    index.freeze()

    index.renewed([row(memory, 2)._replace(entry=now)])
    assert ([*index.stale], index.bare) == ([], {memory.id}), "of a revision that is not here yet"

    index.apply(head(2), [row(memory, 2)])
    index.renewed([row(memory, 2)._replace(entry=now)])
    assert ([*index.stale], index.bare) == ([], set())
    assert index.freeze().segments[0].rows[0].entry == now
    assert standing(index) == {memory.id}


def test_where_terms_stand_is_the_same_however_much_was_looked_up_before(
    index: OwnerIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ("green tea in Lisbon", "green harbour", "tea after the harbour")
    memories = list(map(Samples().memory, texts))
    rows = [row(memory, n) for n, memory in enumerate(memories, start=1)]
    index.refresh(delta(3, *rows, complete=True))
    (segment,) = index.freeze().segments
    terms = INDEXER.lexical_query("green tea harbour Lisbon piano").term_ids
    fresh = [part.tolist() for part in Segment(segment.rows, 0).postings(terms)[:2]]

    monkeypatch.setattr("simonides.retrieval.index.segment.MAX_RUNS", 2)
    for some in (terms[:1], terms[1:4], terms[3:], terms, terms[::-1], terms):
        places, counts, df = segment.postings(some)

    assert [places.tolist(), counts.tolist()] == fresh
    assert df == [2, 2, 2, 1, 0]
    assert segment.postings(())[2] == []


def test_terms_whose_ids_end_alike_are_told_apart(index: OwnerIndex) -> None:
    ends: dict[int, str] = {}
    for term in map("w{}x".format, range(5000)):
        other = ends.setdefault(term_id(term) % 2**16, term)
        if other != term:
            break
    texts = (f"{term} and {other}", other, f"{term} {term}", "neither")
    rows = [row(memory, n) for n, memory in enumerate(map(Samples().memory, texts), start=1)]
    index.refresh(delta(4, *rows, complete=True))
    (segment,) = index.freeze().segments

    places, counts, df = segment.postings((term_id(term), term_id(other)))

    assert (places.tolist(), counts.tolist(), df) == ([0, 2, 0, 1], [1, 2, 1, 1], [2, 2])
    assert segment.holds((term_id(other),))
    index.refresh(delta(5, row(Samples().memory(other), 5), complete=True))
    (segment,) = index.freeze().segments
    assert segment.postings((term_id(term), term_id(other)))[2] == [0, 1]


def test_what_the_store_has_not_looked_at_is_looked_at(index: OwnerIndex, memory: Record) -> None:
    sound = row(memory, 1)
    read = delta(1, sound._replace(entry=sound.entry[:-1] + b"?"), complete=True)

    index.refresh(replace(read, checked=True))
    trusted = [*index.stale]
    index.refresh(replace(read, head=head(2)))

    assert (trusted, [*index.stale]) == ([], [memory.id])
    assert index.freeze().segments[0].rows[0].entry == sound.entry
    state = sound.state[:-1] + bytes([sound.state[-1] ^ 1])
    with pytest.raises(StoreCorrupt):
        index.refresh(delta(3, sound._replace(state=state), complete=True))
