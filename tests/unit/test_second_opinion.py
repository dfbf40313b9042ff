"""How far a model's word about a candidate goes: down at will, up one step, never past a guard."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.memory import Kind
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source, Trust
from simonides.domain.writing.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Judgement,
    Proposer,
    Repeat,
)
from simonides.domain.writing.proposal import Advice
from simonides.engine.consolidation.model_advice import advice_in
from simonides.policy.second_opinion import advised, is_open

RULE = Candidate(
    content="shorter tables",
    scope=Scope.of_user("default", "ana"),
    source=Source.USER_STATED,
    proposer=Proposer.MODEL,
    label=Label(Trust.USER),
    kind=Kind.PROCEDURAL,
    category="rule",
    quote="Shorter ones, please",
    explicit=False,
)
ORDER = (Drop, Repeat, Hold, Commit)
RANK = dict(zip(("drop", "repeat", "hold", "commit"), range(4), strict=True))

judgements = st.builds(
    lambda kind, candidate, reasons: kind(candidate, reasons),
    st.sampled_from(ORDER),
    st.builds(
        lambda marks, trust, quote: replace(RULE, marks=marks, label=Label(trust), quote=quote),
        st.sampled_from([(), ("unanchored",), ("fragile",), ("secret:password",)]),
        st.sampled_from(list(Trust)),
        st.sampled_from([None, "Shorter ones, please"]),
    ),
    st.sampled_from(
        [
            ("implicit_preference",),
            ("session_only_category",),
            ("unanchored",),
            ("implicit_preference", "hygiene_held:poison:model"),
            ("needs_repetition",),
        ]
    ),
)


@given(judgements, st.sampled_from(list(Advice)))
def test_a_word_lowers_at_will_and_raises_only_an_unrecognised_instruction(
    judgement: Judgement, advice: Advice
) -> None:
    before, after = ORDER.index(type(judgement)), ORDER.index(type(advised(judgement, advice)))

    if RANK[advice.value] <= before:
        assert after == RANK[advice.value]
    elif after != before:
        assert isinstance(judgement, Hold)
        assert advice is Advice.COMMIT
        assert judgement.reasons == ("implicit_preference",)
        assert not judgement.candidate.marks
        assert judgement.candidate.label.trust is Trust.USER
        assert judgement.candidate.quote


def test_an_instruction_in_words_that_no_table_knows_may_commit() -> None:
    raised = advised(Hold(RULE, ("implicit_preference",)), Advice.COMMIT)

    assert isinstance(raised, Commit)
    assert raised.reasons == ("model:commit", "implicit_preference")


def test_what_was_refused_stays_refused() -> None:
    refused = Drop(RULE, ("would_disable_safety",))

    assert not is_open(refused)
    assert all(advised(refused, each) is refused for each in Advice)


@pytest.mark.parametrize("proposer", [Proposer.CALLER, Proposer.IMPORT])
def test_what_callers_write_is_not_put_to_a_model(proposer: Proposer) -> None:
    assert not is_open(Commit(replace(RULE, proposer=proposer)))


def test_what_is_to_be_forgotten_is_not_put_to_a_model() -> None:
    assert not is_open(Commit(replace(RULE, retracts="name")))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["judgements", "candidate", "judgement", "x"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_answer_raises_or_speaks_of_what_was_not_shown(raw: object) -> None:
    given_, wrong = advice_in(raw, 2)

    assert set(given_) <= {0, 1}
    assert all(isinstance(each, Advice) for each in given_.values())
    assert len(given_) == 2 or wrong


def test_two_words_for_one_candidate_are_none() -> None:
    said = [{"candidate": 0, "judgement": "drop"}, {"candidate": 0, "judgement": "commit"}]

    given_, wrong = advice_in({"judgements": said}, 2)

    assert given_ == {}
    assert wrong == ("invalid_judgements:twice", "invalid_judgements:missing")
