"""The index finds every text that may say the same, and no other owner's place."""

from collections.abc import Sequence

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.memory import (
    Kind,
    Origin,
    Place,
    Record,
    Triple,
)
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.domain.writing.decision import TURN_CATEGORY
from simonides.providers.embeddings.static import StaticEmbedder
from simonides.retrieval.index.entry import slot_of
from simonides.retrieval.index.filing import Filing
from simonides.retrieval.index.indexer import Indexer
from simonides.retrieval.index.near_duplicates import MOST, NearTexts, shape_of
from simonides.testing import ALICE, BOB, Samples
from simonides.text.analyser import analyse
from simonides.text.similarity.same_statement import mean_the_same, read

MAKE = Indexer(None)
TEXTS = (
    "I like tea", "I really like tea", "I do not like tea", "I don't like tea", "Tea I like",
    "My mom likes tea", "My mother likes tea", "我喜欢茶", "我喜欢茶啊", "also known as Tea (T.)",
    "In the morning I like tea", "I like tea in the morning", "Thanks", "I like 2 teas",
)  # fmt: skip
PLACES = (Place(ALICE), Place(BOB), Place(ALICE, None, "billing"))


class SafetyRecordStore(RuleBasedStateMachine):
    """Texts come and go; whatever the rule would call the same is found, and only in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.samples, self.rows = Samples(), dict[str, tuple[StoredRow, Place, str]]()
        self.near = NearTexts()

    @rule(
        text=st.sampled_from(TEXTS),
        place=st.sampled_from(PLACES),
        tags=st.sampled_from(((), ("drinks",))),
        speaker=st.sampled_from((None, "Ana")),
    )
    def add(self, text: str, place: Place, tags: tuple[str, ...], speaker: str | None) -> None:
        memory = self.samples.memory(
            text, scope=place.scope, purpose=place.purpose, tags=tags, speaker=speaker
        )
        entry = MAKE.readable([memory])[0]
        since = to_us(memory.known_from)
        body, state = encode_body(memory), encode_state(memory)
        row = StoredRow(memory.id, 1, body, state, entry, since, None)
        self.near.file(row)
        self.rows[memory.id] = row, place, text

    @rule(at=st.integers(0, 20))
    def remove(self, at: int) -> None:
        if at < len(self.rows):
            row, _, _ = self.rows.pop(list(self.rows)[at])
            self.near.remove(row)

    @rule()
    def load_anew(self) -> None:
        self.near = NearTexts([row for row, _, _ in self.rows.values()])

    @invariant()
    def what_may_be_the_same_is_found(self) -> None:
        for asked in TEXTS:
            for place in PLACES:
                shape = shape_of(place, Kind.SEMANTIC, analyse(asked), b"")
                mine = {id: text for id, (_, at, text) in self.rows.items() if at == place}
                found = self.near.near_text(shape)
                same = {id for id, text in mine.items() if mean_the_same(read(asked), read(text))}
                assert set(found) <= set(mine)
                assert found == sorted(found)
                if asked != "Thanks" and len(found) < MOST:
                    assert same <= set(found)
                whole = self.near.containing(shape)
                assert set(whole) <= set(mine)


def _filed(memories: Sequence[Record]) -> list[StoredRow]:
    make = Indexer(StaticEmbedder())
    return [
        StoredRow(m.id, 1, encode_body(m), encode_state(m), entry, to_us(m.known_from), None)
        for m, entry in zip(memories, make.finished(memories), strict=True)
    ]


def test_rows_that_are_filed_at_once_are_found_as_those_that_came_one_by_one() -> None:
    samples, make, place = Samples(), Indexer(StaticEmbedder()), Place(ALICE)
    texts = (*TEXTS, "k8s is short for Kubernetes")
    said = [samples.memory(text, scope=ALICE) for text in texts]
    said += [samples.memory("I like tea", scope=ALICE, tags=("drinks",)) for _ in range(2)]
    said += [samples.memory("My mom likes tea", scope=ALICE, speaker="Ana")]
    said += [samples.memory("I like tea", scope=ALICE, key="drink")]
    said += [samples.memory("!?", scope=ALICE), samples.memory("the", scope=BOB)]
    rows = _filed(said)
    at_once, one_by_one = NearTexts(rows), NearTexts()
    for row in rows:
        one_by_one.file(row)

    for (indexed,) in (make.prepare([text]) for text in texts):
        shape = shape_of(place, Kind.SEMANTIC, indexed.terms, indexed.vector)
        assert at_once.near_text(shape) == one_by_one.near_text(shape)
        assert at_once.nearest(shape, -1.0) == one_by_one.nearest(shape, -1.0)
        assert at_once.containing(shape) == one_by_one.containing(shape)
    assert at_once.nbytes == one_by_one.nbytes
    for row in rows:
        at_once.remove(row)
    assert at_once.nbytes == 0
    assert not at_once.near_text(shape)


def test_what_is_filed_at_once_is_found_by_its_marks_as_what_came_one_by_one() -> None:
    samples, place = Samples(), Place(ALICE)
    triple = Triple("Ana", "drinks", "tea")
    said = [samples.memory(text, scope=ALICE) for text in TEXTS]
    said += [samples.memory("Ana drinks tea", scope=ALICE, triple=triple)]
    said += [samples.memory("I like tea", scope=ALICE, key="drink")]
    turn = samples.memory(
        "Tea?", kind=Kind.EPISODIC, category=TURN_CATEGORY, origin=Origin(session="s", turn=3)
    )
    later = samples.successor(said[0], "I like green tea")
    rows = _filed([*said, turn, later])
    at_once, one_by_one = Filing(rows), Filing([])
    for row in rows:
        one_by_one.add(row)

    assert at_once.scopes == one_by_one.scopes
    for filing in (at_once, one_by_one):
        assert filing.by_key(place, "drink") == said[-1].id
        assert filing.by_slot(place, *slot_of(triple)) == [said[-2].id]
        for memory in said[:-1]:
            assert memory.id in filing.by_hash(place, memory.content_hash)
        assert filing.by_turn(place, "s", 3) == turn.id
        assert filing.by_root(said[0].id) == later.id
        assert list(filing.members(ALICE, turns=True)) == [turn.id]
        assert list(filing.members(ALICE, turns=False)) == [*(m.id for m in said), later.id]


SafetyRecordStore.TestCase.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None
)
TestShelves = SafetyRecordStore.TestCase


def test_the_nearest_are_those_of_the_greatest_cosine() -> None:
    near, place = NearTexts(), Place(ALICE)
    terms = analyse("green tea")
    for id, vector in (("far", b"\x00\x01"), ("near", b"\x05\x01"), ("same", b"\x01\x00")):
        near.add({"role": id, "content": shape_of(place, Kind.SEMANTIC, terms, vector)})
    near.add({"role": "blank", "content": shape_of(place, Kind.SEMANTIC, terms, b"")})

    found = near.nearest(shape_of(place, Kind.SEMANTIC, terms, b"\x01\x00"), 0.5)

    assert [id for id, _ in found] == ["same", "near"]
    assert found[0][1] == 1.0
    assert near.nearest(shape_of(place, Kind.EPISODIC, terms, b"\x01\x00"), 0.5) == []
