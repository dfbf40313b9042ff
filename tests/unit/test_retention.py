"""What a memory is worth keeping, and in which order rows can be spared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.ageing import Access, confidence_at, staleness
from simonides.domain.codecs.memory import encode_body, encode_state
from simonides.domain.memory import Importance, Record, Status
from simonides.domain.policy.quotas import Eviction, Uses
from simonides.domain.trust import Trust
from simonides.domain.value import from_us
from simonides.domain.writing.change import StoredRow
from simonides.engine.write.rules.retention import retention_value, worth
from simonides.retrieval.index.entry import Indexed, pack
from simonides.retrieval.index.gc_candidates import eviction_candidates
from simonides.testing.samples import Samples

DAY_US = 86_400_000_000
NOW = 1_000 * DAY_US
shares = st.floats(0, 1)
days = st.floats(0, 4_000)
uses = st.builds(Uses, shares, shares, st.sampled_from((0.5, 0.8, 1.0)), days, days, days)


@given(uses)
def test_the_value_lies_between_nothing_and_everything(one: Uses) -> None:
    assert 0 <= retention_value(one) <= 1


@given(uses, st.sampled_from(("confidence", "importance", "staleness", "idle_days")))
def test_what_is_worse_in_one_way_is_worth_less(one: Uses, way: str) -> None:
    worse = {"confidence": 0.0, "importance": 0.0, "staleness": 1.0, "idle_days": 5_000.0}

    assert retention_value(one._replace(**{way: worse[way]})) <= retention_value(one)


@given(st.lists(uses, min_size=1, max_size=5), st.sampled_from(Eviction))
def test_many_are_compared_as_each_alone(some: list[Uses], eviction: Eviction) -> None:
    columns = Uses(*(np.array(column) for column in zip(*some, strict=True)))

    assert worth(columns, eviction).tolist() == [worth(one, eviction) for one in some]


def row(memory: Record, revision: int = 1) -> StoredRow:
    entry = pack(memory, Indexed((), b"", 0.0, "a", ""), [])
    return StoredRow(memory.id, revision, encode_body(memory), encode_state(memory), entry, 1, None)


def ordered(*memories: Record, eviction: Eviction = Eviction.VALUE, most: int = 99) -> list[str]:
    rows = [row(memory) for memory in memories]
    found = eviction_candidates(rows, NOW, lambda each: worth(each, eviction), most)
    return [memory.content for spare in found for memory in memories if memory.id == spare.id]


def test_the_expired_go_first_and_the_kept_last() -> None:
    make = Samples()

    def made(content: str, *, updated_days: int = 999, **fields: object) -> Record:
        at = from_us(updated_days * DAY_US)
        return make.memory(content, created_at=at, updated_at=at, **fields)

    kept = made("pinned", pinned=True, confidence=0.1)
    rule = made("rule", category="constraint", confidence=0.2)
    ended = made("ended", hard_expires_at=from_us(NOW), importance=Importance.CRITICAL)
    gone = made("pinned and ended", hard_expires_at=from_us(NOW), pinned=True)
    unsure, idle = made("unsure", confidence=0.3), made("idle", updated_days=600, confidence=0.9)
    grave = made("grave", importance=Importance.CRITICAL)
    open_ = made("contradicted", status=Status.REVIEW)

    found = ordered(kept, rule, grave, idle, unsure, open_, gone, ended)

    assert set(found[:2]) == {"ended", "pinned and ended"}
    assert found[2:] == ["idle", "unsure", "contradicted", "grave", "pinned", "rule"]
    assert ordered(kept, grave, idle, most=1) == ["idle"]


@pytest.mark.parametrize("eviction", Eviction, ids=str)
def test_what_is_worth_the_same_goes_by_age_then_as_given(eviction: Eviction) -> None:
    make = Samples()
    at = [from_us((990 + n) * DAY_US) for n in range(2)]
    old, new, newer = (
        make.memory(name, created_at=at[place], updated_at=at[1])
        for name, place in (("old", 0), ("new", 1), ("newer", 1))
    )

    assert ordered(new, newer, old, eviction=eviction) == ["old", "new", "newer"]
    assert ordered(eviction=eviction) == []


@given(st.integers(0, 999), st.integers(0, 999), st.booleans(), st.booleans(), st.booleans())
def test_columns_say_of_age_and_confidence_what_is_said_of_memories(
    said: int, read: int, ends: bool, contradicted: bool, timeless: bool
) -> None:
    at, last = from_us(said * DAY_US), from_us(read * DAY_US)
    memory = Samples().memory(
        created_at=at,
        updated_at=at,
        last_accessed_at=last if read else None,
        hard_expires_at=from_us((said + 300) * DAY_US) if ends else None,
        status=Status.REVIEW if contradicted else Status.ACTIVE,
        timeless=timeless,
        trust=Trust.AGENT,
        confidence=0.6,
    )
    told: list[Uses] = []

    eviction_candidates([row(memory)], NOW, lambda each: told.append(each) or each.age_days, 1)

    ((uses,), now) = (told, from_us(NOW))
    access = Access(month=int(bool(read) and 1_000 - read <= 30))
    assert uses.staleness[0] == pytest.approx(staleness(memory, now, access))
    assert uses.confidence[0] == pytest.approx(confidence_at(memory, now))
    assert uses.idle_days[0] == 1_000 - max(said, read)
