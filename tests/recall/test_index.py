"""The index gives the same answers however it came about: appended, refreshed, compacted, split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides import Settings
from simonides.core.policy import RecallRules
from simonides.recall.index import OwnerIndex, analysed, quantise
from simonides.recall.interaction import Token
from simonides.recall.question import read_question
from simonides.recall.rank import Query, Ranking
from simonides.recall.view import View
from simonides.storage.rows import MemoryRow
from simonides.storage.statements import INDEXED
from simonides.testing import ManualClock
from simonides.text.analyse import query_terms

WORDS = "red blue green tea coffee garden music train seat hotel milk".split()


def entry(number: int, words: list[str], session: str = "", position: int = 0) -> MemoryRow:
    text = " ".join(words)
    found = analysed(text, speaker=None, names=(), is_turn=bool(session))
    rng = np.random.default_rng(number)
    vector = rng.normal(size=8).astype(np.float32)
    cells, scale = quantise((vector / np.linalg.norm(vector))[None])
    return dict.fromkeys(INDEXED) | {
        "id": number.to_bytes(16, "big"), "kind": "semantic", "source": "user_stated",
        "category": "turn" if session else "fact", "fingerprint": found.fingerprint,
        "terms": " ".join(found.terms), "marks": found.marks, "vector": cells[0].tobytes(),
        "scale": float(scale[0]),
        "token_ids": np.array(sorted({WORDS.index(w) for w in words}), "<u2").tobytes(),
        "session": session or None,
        "position": position if session else None, "said_at": number * 1000,
        "updated_at": number * 1000, "importance": "normal", "confidence": 1.0, "status": "active",
    }  # fmt: skip


def token_vectors(ids: list[int]) -> np.ndarray:
    """Return a fixed vector for each token."""
    rows = [np.random.default_rng(1_000 + id).normal(size=8) for id in ids]
    return np.array([np.rint(127 * row / np.linalg.norm(row)) for row in rows], np.int8)


def evidence(indexes: list[OwnerIndex], text: str) -> dict[bytes, tuple[float, ...]]:
    """Return score, relevance and reasons of every row for a query by id, rounded."""
    view = View([f"/{n}" for n in range(len(indexes))], indexes)
    vector = np.ones(8, np.float32) / np.float32(8**0.5)
    question = read_question(text, ManualClock().now.date())
    words = [word for word in WORDS if word in text]
    tokens = [Token(WORDS.index(word), word, frozenset([word])) for word in words]
    vectors = token_vectors([token.id for token in tokens])
    query = Query(query_terms(text), vector, tokens, vectors, question)
    for index in indexes:
        index.tokens = {id: token_vectors(index.token_ids(at)) for id, at in index.row_of.items()}
    live = view.column("live")  # nothing is read: the indexes have all vectors
    ranking = Ranking(
        view, query, live, now=0, settings=Settings(), connection=None, rules=RecallRules()
    )
    found = ranking.best(0, len(ranking))
    assert len(found) == len(view)
    return {
        each.id: (
            round(each.score, 4),
            round(each.relevance, 4),
            *np.round([*each.why.values()], 3),
        )
        for each in found
    }


texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=30)


@given(texts, st.data())
def test_an_index_after_removals_equals_one_built_anew(sentences, data):
    entries = [entry(n, words, "sst"[n % 3], n) for n, words in enumerate(sentences, 1)]
    entries += [entry(100 + n, words) for n, words in enumerate(sentences[:3])]
    gone = data.draw(
        st.sets(st.sampled_from([e["id"] for e in entries]), max_size=len(entries) - 1)
    )
    worn = OwnerIndex(8)
    worn.add(entries)
    if data.draw(st.booleans()):
        worn.settle()
    worn.remove(gone)
    if data.draw(st.booleans()):
        worn.compact_if_sparse()
    fresh = OwnerIndex(8)
    fresh.add([each for each in entries if each["id"] not in gone])
    for question in ("where is the red garden?", "I like tea and music"):
        assert evidence([worn], question) == evidence([fresh], question)


@given(texts, st.data())
def test_splitting_rows_over_three_indexes_changes_no_evidence(sentences, data):
    entries = [entry(n, words) for n, words in enumerate(sentences, 1)]
    whole = OwnerIndex(8)
    whole.add(entries)
    parts = [OwnerIndex(8) for _ in range(3)]
    for each in entries:
        parts[data.draw(st.integers(0, 2))].add([each])
    split = [part for part in parts if len(part)]
    for question in ("where is the red garden?", "I like tea and music"):
        assert evidence(split, question) == evidence([whole], question)


def test_a_row_of_the_same_id_is_replaced():
    index = OwnerIndex(8)
    index.add([entry(1, ["red"])])
    index.settle()
    index.add([entry(1, ["blue"])])
    index.settle()
    assert (len(index), index.size) == (1, 2)
    assert len(index.postings(["red"])[0]) == 0
    assert index.postings(["blue"])[0].tolist() == [1]


@pytest.mark.parametrize("count", [0, 1, 100, 3_000])
def test_dot_products_are_those_of_the_vectors(count):
    index = OwnerIndex(8)
    index.add([entry(n, ["red"]) for n in range(1, count + 1)])
    index.settle()
    found = index.dots(np.eye(8, dtype=np.float32)[1])
    expected = index.vectors[:, 1] * index.column("scale")
    assert np.allclose(found, expected)


def test_an_index_forgets_the_sessions_of_removed_rows():
    index = OwnerIndex(8)
    for number in range(500):
        index.add([entry(number, ["tea"]), entry(1_000 + number, ["milk"], "talk", number)])
        index.settle()
        if number:
            index.remove([entry(number - 1, [])["id"], entry(999 + number, [])["id"]])
        index.compact_if_sparse()
    assert len(index.sessions) < 50
    assert set(index.column("session")[index.column("live")]) <= set(index.sessions.values())
