"""The index finds every text that may say the same, and no other owner's place (LT-2)."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memstrata.domain.change import StoredRow
from memstrata.domain.codec import encode_body, encode_state
from memstrata.domain.memory import Kind, Place
from memstrata.domain.value import to_us
from memstrata.language.analyser import analyse
from memstrata.language.sameness import mean_the_same, read
from memstrata.retrieval.indexer import Indexer
from memstrata.retrieval.nearness import MOST, NearTexts, shape_of
from memstrata.testing import ALICE, BOB, Samples

MAKE = Indexer(None)
TEXTS = (
    "I like tea", "I really like tea", "I do not like tea", "I don't like tea", "Tea I like",
    "My mom likes tea", "My mother likes tea", "我喜欢茶", "我喜欢茶啊", "also known as Tea (T.)",
    "In the morning I like tea", "I like tea in the morning", "Thanks", "I like 2 teas",
)  # fmt: skip
PLACES = (Place(ALICE), Place(BOB), Place(ALICE, None, "billing"))


class Shelves(RuleBasedStateMachine):
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


Shelves.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestShelves = Shelves.TestCase


def test_the_nearest_are_those_of_the_greatest_cosine() -> None:
    near, place = NearTexts(), Place(ALICE)
    terms = analyse("green tea")
    for id, vector in (("far", b"\x00\x01"), ("near", b"\x05\x01"), ("same", b"\x01\x00")):
        near.add(id, shape_of(place, Kind.SEMANTIC, terms, vector))
    near.add("blank", shape_of(place, Kind.SEMANTIC, terms, b""))

    found = near.nearest(shape_of(place, Kind.SEMANTIC, terms, b"\x01\x00"), 0.5)

    assert [id for id, _ in found] == ["same", "near"]
    assert found[0][1] == 1.0
    assert near.nearest(shape_of(place, Kind.EPISODIC, terms, b"\x01\x00"), 0.5) == []
