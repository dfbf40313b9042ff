"""What time alone does to a memory: the formulas, and that columns and memories agree on them."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides import Kind, Record, Status
from simonides.domain.ageing import (
    Access,
    confidence_at,
    seen_at,
    stale_from,
    staleness,
)
from simonides.domain.codecs.memory import (
    STATUS_CODES,
    decode,
    encode_body,
    encode_state,
)
from simonides.domain.trust import Source, Trust
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.retrieval.index import ageing
from simonides.retrieval.index.entry import Indexed, pack
from simonides.retrieval.index.segment import Segment
from simonides.retrieval.ranking import staleness as columns
from simonides.types import Scope

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SPANS = st.integers(0, 800 * 24 * 60).map(lambda minutes: timedelta(minutes=minutes))
TIMES = SPANS.map(lambda span: START + span)
READ = Access(3, START, 1)


def memory(**fields: object) -> Record:
    source = fields.pop("source", Source.AGENT_INFERRED)
    assert isinstance(source, Source)
    base = Record(
        id="m", root="m", version=1, scope=Scope.of_user("acme", "ana"), kind=Kind.SEMANTIC,
        category="fact", content="x", content_hash="0" * 64, source=source, trust=source.trust,
        confidence=source.default_confidence, created_at=START, updated_at=START, known_from=START,
    )  # fmt: skip
    return dataclasses.replace(base, **fields)  # type: ignore[arg-type]


MEMORIES = st.builds(
    memory,
    source=st.sampled_from(list(Source)),
    confidence=st.floats(0, 1),
    created_at=TIMES,
    updated_at=TIMES,
    verified_at=st.none() | TIMES,
    soft_expires_at=st.none() | TIMES,
    hard_expires_at=st.none() | TIMES,
    last_accessed_at=st.none() | TIMES,
    timeless=st.booleans(),
    status=st.sampled_from(list(Status)),
    category=st.sampled_from(["fact", "session_summary"]),
)


def row_of(memory: Record) -> StoredRow:
    entry = pack(memory, Indexed((), b"", 0.0, "", ""), ())
    return StoredRow(memory.id, 1, encode_body(memory), encode_state(memory), entry, 0, None)


@given(st.lists(MEMORIES, min_size=1, max_size=8), TIMES)
def test_columns_and_memories_are_equally_stale(memories: list[Record], now: datetime) -> None:
    segment = Segment([row_of(m) for m in memories], 0)

    found = columns.staleness(segment.state, to_us(now)).tolist()

    for each, value in zip(map(decode, map(row_of, memories)), found, strict=True):
        last = each.last_accessed_at
        is_read = last is not None and last > now - timedelta(days=30)
        assert value == pytest.approx(staleness(each, now, Access(0, last, int(is_read))))


@given(st.lists(MEMORIES, min_size=1, max_size=8), TIMES)
def test_columns_and_memories_age_alike(memories: list[Record], now: datetime) -> None:
    segment, clock = Segment([row_of(m) for m in memories], 0), to_us(now)
    seen = [seen_at(memory, now) for memory in memories]

    codes = ageing.status(segment.state, clock).tolist()
    left = ageing.confidence(segment.entry, segment.state, clock).tolist()
    weak = (segment.weak_from <= clock).tolist()

    for place, (memory, shown) in enumerate(zip(memories, seen, strict=True)):
        if memory.status.is_live:
            assert STATUS_CODES[codes[place]] is shown.status
            assert left[place] == shown.confidence
            soft = memory.soft_expires_at is not None and memory.soft_expires_at <= now
            since = stale_from(memory)
            stale = since is not None and since <= clock
            assert weak[place] == (memory.status is Status.STALE or soft or stale)
        assert min(segment.weak_from.tolist()) == segment.ages_at or not weak[place]


@given(MEMORIES)
def test_a_state_is_read_back_as_it_was_written(memory: Record) -> None:
    back = decode(row_of(memory))

    assert dataclasses.replace(back, known_from=memory.known_from) == memory


@given(MEMORIES, TIMES, TIMES)
def test_what_is_left_depends_on_the_clock_alone_and_only_falls(
    memory: Record, first: datetime, second: datetime
) -> None:
    if memory.status.is_live:
        assert seen_at(memory, second).confidence == confidence_at(memory, second)
    earlier, later = sorted((first, second))
    assert confidence_at(memory, later) <= confidence_at(memory, earlier) <= memory.confidence


@pytest.mark.parametrize(
    ("days", "left"), [(0, 0.6), (30, 0.55), (45, 0.525), (180, 0.3), (360, 0.0), (3_000, 0.0)]
)
def test_an_inference_loses_a_twentieth_in_thirty_days(days: int, left: float) -> None:
    assert confidence_at(memory(), START + days * DAY) == pytest.approx(left)


@pytest.mark.parametrize(
    "fields",
    [
        {"source": Source.USER_STATED},
        {"source": Source.TOOL_VERIFIED},
        {"verified_at": START + DAY},
    ],
    ids=["said by the user", "verified by a tool", "confirmed"],
)
def test_what_was_said_or_verified_does_not_decay(fields: dict[str, object]) -> None:
    given = memory(**fields)

    assert confidence_at(given, START + 400 * DAY) == given.confidence


@pytest.mark.parametrize(
    ("fields", "days", "access", "expected"),
    [
        ({}, 0, Access(), 0.3 / 0.7),
        ({}, 0, READ, 0.0),
        ({}, 365, READ, 0.4 / 0.7),
        ({}, 365, Access(), 1.0),
        ({}, 3650, Access(), 1.0),
        ({"hard_expires_at": START + 10 * DAY}, 5, Access(), 0.5 / 0.7),
        ({"timeless": True}, 3650, Access(), 0.3 / 0.7),
        ({"status": Status.REVIEW}, 365, READ, 0.7),
        ({"status": Status.REVIEW}, 365, Access(), 1.0),
    ],
)
def test_staleness_is_age_disuse_and_contradiction(
    fields: dict[str, object], days: int, access: Access, expected: float
) -> None:
    assert staleness(memory(**fields), START + days * DAY, access) == pytest.approx(expected)


@given(MEMORIES, TIMES)
def test_it_is_stale_from_when_staleness_says_so(memory: Record, now: datetime) -> None:
    last, since = memory.last_accessed_at, stale_from(memory)
    read = last is not None and now < last + 30 * DAY
    degree = staleness(memory, now, Access(1, last, int(read)))

    if abs(degree - 0.7) > 1e-9:
        assert (since is not None and since <= to_us(now)) == (degree > 0.7)


def test_past_its_soft_expiry_it_is_seen_in_review_and_kept() -> None:
    given = memory(source=Source.USER_STATED, soft_expires_at=START + DAY)

    assert seen_at(given, START + DAY - timedelta(microseconds=1)).status is Status.ACTIVE
    after = seen_at(given, START + DAY)
    assert after.status is Status.REVIEW
    assert after.warnings(START + DAY) == ("stale?", "in review")
    assert seen_at(given, START + DAY, endures=True).status is Status.ACTIVE


def test_what_does_not_stand_is_seen_as_it_was_left() -> None:
    gone = memory(status=Status.SUPERSEDED, soft_expires_at=START)

    assert seen_at(gone, START + 400 * DAY) is gone
    assert memory().trust is Trust.AGENT


def test_the_flag_asks_for_an_hour_and_stays_until_confirmed() -> None:
    unsure = memory()

    assert unsure.asks_to_be_verified(START + timedelta(minutes=59))
    assert not unsure.asks_to_be_verified(START + timedelta(hours=1))
    assert unsure.needs_verification
    assert not dataclasses.replace(unsure, verified_at=START).needs_verification
