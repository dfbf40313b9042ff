"""Filters: what may be asked, what it means, and that columns and memories agree."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides import (
    Importance,
    InvalidInput,
    Kind,
    Record,
    Status,
)
from simonides.domain.ageing import seen_at
from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.reading.filters import (
    MAX_DEPTH,
    Filter,
    parse_filter,
    spelled,
)
from simonides.domain.trust import Sensitivity, Source, Trust
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index.entry import Indexed, pack
from simonides.retrieval.index.segment import Segment
from simonides.retrieval.query.filtering import (
    Columns,
    decided,
    holds,
    passing,
)
from simonides.types import Origin, Scope

START = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = [START + timedelta(days=days) for days in range(3)]
LATER = [START + timedelta(days=days) for days in (0, 40, 300)]
HOME = Scope.of_user("acme", "ana")
SCOPES = [HOME, Scope.of_org("acme"), Scope.of_task("acme", "ana", "t")]
NAMES = ["a", "A", "ab", "b"]


def parsed(raw: object) -> Filter:
    filter = parse_filter(raw, Scope.parse)
    assert filter is not None
    return filter


def memory(**fields: Any) -> Record:
    base = Record(
        id="m", root="m", version=1, scope=HOME, kind=Kind.SEMANTIC, category="fact",
        content="x", content_hash="0" * 64, source=Source.USER_STATED,
        trust=Source.USER_STATED.trust, created_at=START, updated_at=START, known_from=START,
    )  # fmt: skip
    return replace(base, **fields)


METADATA = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.5, 2, "a", "ab", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
MEMORIES = st.builds(
    memory,
    scope=st.sampled_from(SCOPES),
    kind=st.sampled_from(list(Kind)),
    category=st.sampled_from(NAMES),
    source=st.sampled_from(list(Source)),
    status=st.sampled_from(list(Status)),
    importance=st.sampled_from(list(Importance)),
    sensitivity=st.sampled_from(list(Sensitivity)),
    confidence=st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    key=st.none() | st.sampled_from(NAMES),
    speaker=st.none() | st.sampled_from(NAMES),
    origin=st.builds(Origin, session=st.none() | st.sampled_from(NAMES)),
    tags=st.sets(st.sampled_from(NAMES), max_size=2).map(lambda tags: tuple(sorted(tags))),
    pinned=st.booleans(),
    metadata=st.dictionaries(st.sampled_from("ab"), METADATA, max_size=2),
    created_at=st.sampled_from(TIMES),
    updated_at=st.sampled_from(TIMES),
    valid_from=st.none() | st.sampled_from(TIMES),
    valid_to=st.none() | st.sampled_from(TIMES),
    trust=st.sampled_from(list(Trust)),
    timeless=st.booleans(),
    verified_at=st.none() | st.sampled_from(TIMES),
    last_accessed_at=st.none() | st.sampled_from(TIMES),
    soft_expires_at=st.none() | st.sampled_from(TIMES),
    hard_expires_at=st.none() | st.sampled_from(LATER),
)


def segment_of(memories: list[Record]) -> Segment:
    indexed = Indexed((), b"", 0.0, "", "")
    rows = [
        StoredRow(m.id, 1, encode_body(m), encode_state(m), pack(m, indexed, ()), 0, None)
        for m in memories
    ]
    return Segment(rows, 0)


def of(values: st.SearchStrategy[Any], *operators: str) -> st.SearchStrategy[Any]:
    """A plain value, or operators with operands of its type."""
    lists = st.lists(values, min_size=1, max_size=2)
    operands = {"$in": lists, "$nin": lists, "$exists": st.booleans()}
    named = ("$eq", "$ne", "$in", "$nin", "$exists", *operators)
    one = st.sampled_from(named).flatmap(
        lambda name: st.fixed_dictionaries({name: operands.get(name, values)})
    )
    return values | one | one.map(lambda asked: {"$not": asked})


ORDER = ("$gt", "$gte", "$lt", "$lte")
NAMED = of(st.sampled_from(NAMES), "$contains")
TIMED = of(st.sampled_from(TIMES), *ORDER)
LEAVES: Mapping[str, st.SearchStrategy[Any]] = {
    "kind": of(st.sampled_from(list(Kind))),
    "source": of(st.sampled_from(list(Source))),
    "status": of(st.sampled_from(list(Status))),
    "importance": of(st.sampled_from(list(Importance)), *ORDER),
    "sensitivity": of(st.sampled_from(list(Sensitivity)), *ORDER),
    "confidence": of(st.sampled_from([0, 0.5, 0.6, 1]), *ORDER),
    "pinned": of(st.booleans()),
    "scope": of(st.sampled_from([scope.path for scope in SCOPES])),
    **dict.fromkeys(("category", "key", "speaker", "session", "tags"), NAMED),
    **dict.fromkeys(("created_at", "updated_at", "valid_from", "valid_to", "at"), TIMED),
    "metadata.a": of(st.sampled_from([0, 1, 1.5, "a", "ab"]), *ORDER, "$contains"),
    "metadata.b": METADATA.filter(lambda value: value is not None),
    "metadata.a.b": of(st.sampled_from([0, 1, "a"]), "$contains"),
}
LEAF = st.sampled_from(sorted(LEAVES)).flatmap(lambda f: st.fixed_dictionaries({f: LEAVES[f]}))
FILTERS = st.recursive(
    LEAF,
    lambda inner: (
        st.fixed_dictionaries(
            {"$and": st.lists(inner, min_size=1, max_size=3)},
            optional={"$or": st.lists(inner, min_size=1, max_size=3)},
        )
        | st.fixed_dictionaries({"$not": inner})
        | st.tuples(inner, inner).map(lambda both: both[0] | both[1])
    ),
    max_leaves=6,
)


@given(st.lists(MEMORIES, min_size=1, max_size=6), FILTERS, st.sampled_from([*TIMES, *LATER]))
def test_columns_and_memories_give_the_same_answer(
    memories: list[Record], raw: Any, now: datetime
) -> None:
    filter = parsed(raw)
    segment = segment_of(memories)
    columns = Columns(segment.entry, segment.state, to_us(now))

    passed = passing(filter, columns, segment.rows.__getitem__)

    assert passed.tolist() == [holds(filter, seen_at(memory, now)) for memory in memories]


@given(FILTERS)
def test_a_filter_that_was_written_down_is_read_back_equal(raw: Any) -> None:
    filter = parsed(raw)

    written = json.loads(json.dumps(spelled(filter)))

    assert parse_filter(written, Scope.parse, max_depth=4 * MAX_DEPTH) == filter


@given(MEMORIES, FILTERS)
def test_not_turns_every_answer_round(memory: Record, raw: Any) -> None:
    assert holds(parsed({"$not": raw}), memory) is not holds(parsed(raw), memory)


@pytest.mark.parametrize(
    "field",
    [name for name in LEAVES if not name.startswith(("metadata", "tags", "speaker"))],
)
def test_columns_decide_alone_where_they_can(field: str) -> None:
    segment = segment_of([memory(key="a"), memory(importance=Importance.HIGH)])
    value = {
        **dict.fromkeys(LEAVES, "a"), "kind": "semantic", "source": "external",
        "status": "active", "importance": "high", "sensitivity": "public", "confidence": 1,
        "pinned": False, "scope": HOME.path,
        **dict.fromkeys(("created_at", "updated_at", "valid_from", "valid_to", "at"), START),
    }[field]  # fmt: skip

    columns = Columns(segment.entry, segment.state, to_us(START))
    surely, perhaps = decided(parsed({field: value}), columns)

    assert surely.tolist() == perhaps.tolist()


@pytest.mark.parametrize(
    ("raw", "where", "allowed"),
    [
        ("text", "filter", "mapping"),
        ({"colour": 1}, "filter", "confidence"),
        ({"confidense": 1}, "filter", "did you mean 'confidence'"),
        ({"$xor": []}, "filter", "$or"),
        ({5: 1}, "filter", "no field int"),
        ({"metadata.": 1}, "filter", "metadata.…"),
        ({"metadata.a..b": 1}, "filter", "metadata.…"),
        ({"$and": {}}, "filter.$and", "list"),
        ({"$and": []}, "filter.$and", "at least one"),
        ({"$or": [{}]}, "filter.$or[0]", "at least one field"),
        ({"$or": [{"kind": "fact"}]}, "filter.$or[0].kind", "semantic"),
        ({"$not": {}}, "filter.$not", "at least one field"),
        ({"confidence": {"$gtt": 1}}, "filter.confidence.$gtt", "did you mean '$gt'"),
        ({"confidence": {"$gt": "1"}}, "filter.confidence.$gt", "number"),
        ({"confidence": {"$gt": True}}, "filter.confidence.$gt", "number"),
        ({"confidence": float("nan")}, "filter.confidence", "finite"),
        ({"confidence": 10**400}, "filter.confidence", "finite"),
        ({"confidence": {"$gt": 0, "x": 1}}, "filter.confidence", "'x'"),
        ({"kind": {"$gt": "semantic"}}, "filter.kind.$gt", "$eq"),
        ({"kind": {"$in": "semantic"}}, "filter.kind.$in", "list"),
        ({"kind": {"$in": []}}, "filter.kind.$in", "at least one"),
        ({"kind": {"$in": ["semantic", 5]}}, "filter.kind.$in[1]", "semantic"),
        ({"key": None}, "filter.key", "$exists"),
        ({"key": 5}, "filter.key", "text"),
        ({"key": "\ud800"}, "filter.key", "surrogate"),
        ({"key": "x" * 5000}, "filter.key", "4,096"),
        ({"key": {"$exists": 1}}, "filter.key.$exists", "True or False"),
        ({"key": {"$not": "a"}}, "filter.key.$not", "operators"),
        ({"tags": []}, "filter.tags", "at least one"),
        ({"tags": 5}, "filter.tags", "list"),
        ({"pinned": 1}, "filter.pinned", "True or False"),
        ({"created_at": "soon"}, "filter.created_at", "ISO 8601"),
        ({"scope": "/nowhere/"}, "scope", "level"),
        ({"metadata.a": None}, "filter.metadata.a", "$exists"),
        ({"metadata.a": object()}, "filter.metadata.a", "JSON"),
        ({"metadata.a": {"$gt": [1]}}, "filter.metadata.a.$gt", "number or text"),
        ({"$and": [{"key": {"$in": ["a"] * 300}}]}, "filter.$and[0].key.$in", "256"),
    ],
    # What is asked may show an address, which no two processes have in common.
    ids=map(str, itertools.count()),
)
def test_what_cannot_be_asked_is_refused_with_its_place(
    raw: object, where: str, allowed: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_filter(raw, Scope.parse)

    assert caught.value.field.startswith(where)
    assert allowed in str(caught.value)
    assert len(str(caught.value)) < 500


def test_nesting_is_bounded() -> None:
    deep: dict[str, Any] = {"key": "a"}
    for _ in range(MAX_DEPTH - 1):
        deep = {"$not": deep}
    parsed(deep)
    for asked in ({"$not": deep}, {"$not": {"$and": [deep, deep]}}):
        with pytest.raises(InvalidInput, match="nested deeper"):
            parse_filter(asked, Scope.parse)
    deeper: dict[str, Any] = {"$gt": 1}
    for _ in range(5000):
        deeper = {"$not": deeper}
    with pytest.raises(InvalidInput, match="nested deeper"):
        parse_filter({"confidence": deeper}, Scope.parse)


def test_true_is_not_one_and_null_is_absent() -> None:
    flagged = memory(metadata={"a": True, "b": None})

    assert not holds(parsed({"metadata.a": 1}), flagged)
    assert holds(parsed({"metadata.a": True}), flagged)
    assert not holds(parsed({"metadata.b": {"$exists": True}}), flagged)


def test_times_are_compared_to_the_microsecond() -> None:
    late = memory(created_at=START + timedelta(microseconds=1))

    for moment in (START, START.isoformat()):
        assert holds(parsed({"created_at": {"$gt": moment}}), late)
        assert to_us(late.created_at) == to_us(START) + 1
