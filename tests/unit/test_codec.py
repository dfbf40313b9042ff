"""A memory that is written down reads back equal, field by field."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.canonical_json import canonical_json
from simonides.domain.codecs import memory as codec
from simonides.domain.errors import StoreCorrupt
from simonides.domain.memory import (
    Importance,
    Kind,
    Origin,
    Record,
    Status,
    Triple,
)
from simonides.domain.scope import Scope
from simonides.domain.trust import Sensitivity, Source, Trust
from simonides.domain.value import from_us, to_us
from simonides.domain.writing.change import StoredRow

NOW = datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
FULL = Record(
    id="id-2",
    root="id-1",
    version=2,
    versions=3,
    scope=Scope.of_task("acme", "ana", "t1"),
    kind=Kind.PROCEDURAL,
    category="constraint",
    content="Antworte auf Deutsch — 请用中文",
    content_hash="ab",
    source=Source.TOOL_VERIFIED,
    trust=Trust.TOOL,
    created_at=NOW,
    updated_at=NOW + timedelta(seconds=1),
    known_from=NOW + timedelta(seconds=2),
    known_to=NOW + timedelta(seconds=3),
    key="k",
    triple=Triple("s", "p", "o"),
    quote="q",
    origin=Origin("s1", 4, "call", "model", "m0"),
    speaker="Ana",
    parents=("a", "b"),
    audience=frozenset({"bot"}),
    purpose="support",
    confidence=0.25,
    importance=Importance.CRITICAL,
    sensitivity=Sensitivity.SENSITIVE,
    tags=("x", "y"),
    metadata={"deep": {"list": [1, 2.5, None, True]}},
    pinned=True,
    timeless=True,
    status=Status.SUPERSEDED,
    supersedes="id-1",
    superseded_by="id-3",
    verified_at=NOW,
    valid_from=NOW - timedelta(days=1),
    valid_to=NOW + timedelta(days=1),
    soft_expires_at=NOW + timedelta(days=2),
    hard_expires_at=NOW + timedelta(days=3),
    embedding_model="static",
)


def row_of(memory: Record) -> StoredRow:
    return StoredRow(
        memory.id,
        1,
        codec.encode_body(memory),
        codec.encode_state(memory),
        b"",
        to_us(memory.known_from),
        None if memory.known_to is None else to_us(memory.known_to),
    )


def test_every_field_survives() -> None:
    read = codec.decode(row_of(FULL))

    assert read == FULL
    # Reads of the journal are folded in elsewhere; everything else must have been set here.
    defaulted = {"last_accessed_at", "access_count", "reads_30d"}
    for field in fields(Record):
        changed = getattr(FULL, field.name) != field.default
        assert changed or field.name in defaulted, f"the sample does not exercise {field.name}"


def test_a_memory_read_back_is_still_frozen() -> None:
    read = codec.decode(row_of(FULL))

    with pytest.raises(AttributeError):
        read.content = "other"  # type: ignore[misc]
    assert replace(read, content="other").content == "other"


@given(
    confidence=st.floats(0, 1),
    status=st.sampled_from(Status),
    source=st.sampled_from(Source),
    trust=st.sampled_from(Trust),
    microseconds=st.integers(0, 4_000_000_000_000_000),
    content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
def test_any_state_and_text_survive(
    confidence: float,
    status: Status,
    source: Source,
    trust: Trust,
    microseconds: int,
    content: str,
) -> None:
    memory = replace(
        FULL,
        confidence=confidence,
        status=status,
        source=source,
        trust=trust,
        updated_at=from_us(microseconds),
        content=content,
    )

    assert codec.decode(row_of(memory)) == memory
    assert codec.status_of(codec.encode_state(memory)) is status


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"{\xff}", b'{"root": 1}'])
def test_a_damaged_body_is_reported_with_its_id(body: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="id-2"):
        codec.decode(row_of(FULL)._replace(body=body))


@pytest.mark.parametrize("state", [b"", b"\xff" * 64, b"\x00" * 63])
def test_a_damaged_state_is_reported_with_its_id(state: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="id-2"):
        codec.decode(row_of(FULL)._replace(state=state))


@pytest.mark.parametrize("memory", [FULL, replace(FULL, tags=(), superseded_by=None)])
def test_a_state_that_was_changed_or_lost_its_check_sum_is_refused(memory: Record) -> None:
    state = codec.encode_state(memory)

    for damaged in (b"\xff" + state[1:], state[: -codec.CHECK_BYTES]):
        with pytest.raises(StoreCorrupt, match="not as it was written"):
            codec.decode(row_of(memory)._replace(state=damaged))


def test_a_body_without_its_check_sum_is_refused() -> None:
    row = row_of(FULL)
    told = {name: value for name, value in json.loads(row.body).items() if name}

    with pytest.raises(StoreCorrupt, match="not as it was written"):
        codec.decode(row._replace(body=canonical_json(told)))


def test_canonical_json_has_one_text_and_refuses_what_json_has_not() -> None:
    assert canonical_json({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))
