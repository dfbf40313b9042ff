"""What columns tell of collecting is what the rules say of opened memories."""

import dataclasses
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from simonides import Kind, Record, Status
from simonides.domain.ageing import Access
from simonides.domain.codecs.memory import decode, encode_body, encode_state
from simonides.domain.operations.gc import GcRules
from simonides.domain.trust import Source
from simonides.domain.value import to_us
from simonides.domain.writing.change import StoredRow
from simonides.engine.maintenance.gc_rules import FORESEEN, due
from simonides.retrieval.index.entry import Indexed, pack, recipe
from simonides.retrieval.index.gc_candidates import gc_candidates
from simonides.types import Scope

START = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = st.integers(0, 400 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes))
RECIPE, OTHER = recipe("", ""), recipe("other", "")
RULES, NEVER_READ = GcRules(), Access(0, None, 0)


@st.composite
def rows(draw: st.DrawFn) -> StoredRow:
    version, source = draw(st.integers(1, 2)), draw(st.sampled_from(list(Source)))
    memory = Record(
        id="m", root="m" if version == 1 else "r", version=version, kind=Kind.SEMANTIC,
        scope=Scope.of_user("acme", "ana"), content="x", content_hash="0" * 64, source=source,
        category=draw(st.sampled_from(["fact", "preference"])), trust=source.trust,
        confidence=draw(st.sampled_from([0.1, 0.9])), created_at=START, updated_at=draw(TIMES),
        known_from=draw(TIMES), status=draw(st.sampled_from(list(Status))),
        pinned=draw(st.booleans()), soft_expires_at=draw(st.none() | TIMES),
        hard_expires_at=draw(st.none() | TIMES),
    )  # fmt: skip
    entry = pack(memory, Indexed((), b"", 0.0, "", ""), ())
    known_from = to_us(memory.known_from)
    return StoredRow("m", 1, encode_body(memory), encode_state(memory), entry, known_from, None)


@given(st.lists(rows(), min_size=1, max_size=8), TIMES)
def test_what_is_certain_is_what_the_rules_say_and_the_rest_is_opened(
    found: list[StoredRow], now: datetime
) -> None:
    look = gc_candidates(found, RECIPE, now, RULES, FORESEEN)

    for place, row in enumerate(found):
        rule = due(decode(row), now, NEVER_READ, RULES)
        if place in look.certain:
            assert look.certain[place] is rule
            assert not rule.purges or decode(row).root == row.id
        elif rule is not None:
            assert place in look.due
    assert not set(look.certain) & set(look.due)


@given(rows(), TIMES)
def test_an_entry_of_another_recipe_tells_nothing(row: StoredRow, now: datetime) -> None:
    look = gc_candidates([row], OTHER, now, RULES, FORESEEN)

    assert (look.due, dict(look.certain)) == ([0], {})


def test_old_rows_go_at_the_very_end_of_their_time() -> None:
    row = StoredRow("m", 1, b"", b"", b"", to_us(START), None)
    gone = Record(
        id="m", root="m", version=1, kind=Kind.SEMANTIC, scope=Scope.of_user("acme", "ana"),
        content="x", content_hash="0" * 64, source=Source.USER_STATED, category="fact",
        trust=Source.USER_STATED.trust, confidence=1.0, created_at=START, updated_at=START,
        known_from=START, status=Status.SUPERSEDED,
    )  # fmt: skip
    row = row._replace(
        state=encode_state(gone), entry=pack(gone, Indexed((), b"", 0.0, "", ""), ())
    )
    end = START + timedelta(days=RULES.history_days)
    evicted = row._replace(state=encode_state(dataclasses.replace(gone, status=Status.EVICTED)))

    before = gc_candidates([row, evicted], RECIPE, end - timedelta(microseconds=1), RULES, FORESEEN)
    then = gc_candidates([row, evicted], RECIPE, end, RULES, FORESEEN)

    assert dict(before.certain) == {}
    assert [rule.value for rule in then.certain.values()] == ["superseded_old", "evicted_old"]
