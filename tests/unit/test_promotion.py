"""The promotion table, row by row, and what counts as support."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.governance.held import Held, Support
from simonides.domain.memory import Kind, Origin, Triple
from simonides.domain.policy.consolidation import ConsolidationRules
from simonides.domain.scope import Scope
from simonides.domain.trust import Label, Source
from simonides.domain.writing.decision import Candidate, Proposer
from simonides.engine.consolidation.promotion_rules import Fate, is_memory_control, verdict
from simonides.text.similarity.support import (
    Said,
    bears_out,
    claim_of,
    is_said_in,
)

RULES = ConsolidationRules()
ANA = Scope.of_user("default", "ana")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
UNPROVEN = frozenset({"unsupported_number"})


def candidate(content="Ana compares hotels in Bolzano", *, session=None, turn=None, **fields):
    return Candidate(
        content=content,
        scope=ANA,
        source=Source.USER_STATED,
        proposer=Proposer.RULES,
        label=Label(Source.USER_STATED.trust),
        origin=Origin(session=session, turn=turn),
        **fields,
    )


def held(*support, reasons=("session_only_category",), **fields):
    found = tuple(Support(session, turns) for session, turns in support)
    return Held(id="h", candidate=candidate(**fields), reasons=reasons, held_at=NOW, support=found)


def fate(*alike, kind="hold", summary=""):
    found = verdict([(kind, one) for one in alike], "now", summary, RULES, unproven=UNPROVEN)
    return found.fate, found.reason.partition(":")[0]


IN_SUMMARY = "They compared hotels in Bolzano at length."
IMPLICIT = {"kind": Kind.PROCEDURAL, "explicit": False, "content": "short replies please"}


@pytest.mark.parametrize(
    ("alike", "how", "expected"),
    [
        ([held()], {}, (Fate.WAIT, "no_news")),
        ([held(("now", (1, 2)))], {}, (Fate.PROMOTE, "said_n_times")),
        ([held(("now", (2,)), session="now", turn=1)], {}, (Fate.PROMOTE, "said_n_times")),
        ([held(session="now", turn=1)], {}, (Fate.WAIT, "too_little_evidence")),
        ([held(session="now", turn=1)], {"summary": IN_SUMMARY}, (Fate.PROMOTE, "in_summary")),
        ([held(session="now", turn=1)], {"summary": "Rain."}, (Fate.WAIT, "too_little_evidence")),
        ([held(("now", (4,)), session="past", turn=1)], {}, (Fate.PROMOTE, "prior_session")),
        ([held(session="past", turn=1)], {"summary": IN_SUMMARY}, (Fate.WAIT, "no_news")),
        (
            [held(session="past", turn=1), held(session="now", turn=0)],
            {},
            (Fate.PROMOTE, "prior_session"),
        ),
        # One that needs repetition: two pieces of evidence, or one now and one before.
        ([held(("now", (1, 2)))], {"kind": "repeat"}, (Fate.PROMOTE, "said_n_times")),
        (
            [held(session="now", turn=1)],
            {"kind": "repeat", "summary": IN_SUMMARY},
            (Fate.WAIT, "too_little_evidence"),
        ),
        (
            [held(("now", (4,)), session="past", turn=1)],
            {"kind": "repeat"},
            (Fate.PROMOTE, "prior_session"),
        ),
        # An implicit procedural one: two turns, and nothing else.
        (
            [held(session="now", turn=1, **IMPLICIT)],
            {"summary": "short replies please"},
            (Fate.WAIT, "too_little_evidence"),
        ),
        (
            [held(("now", (2,)), session="now", turn=1, **IMPLICIT)],
            {},
            (Fate.PROMOTE, "said_n_times"),
        ),
        (
            [held(("now", (2,)), session="past", turn=1, **IMPLICIT)],
            {},
            (Fate.PROMOTE, "two_turns"),
        ),
        # What is meant for the moment, and what asks not to be remembered.
        (
            [held(("now", (1, 2)), marks=("turn_scoped",))],
            {},
            (Fate.LET_GO, "turn_scoped"),
        ),
        (
            [held(("now", (1, 2)), content="Do not remember this about Ana")],
            {},
            (Fate.LET_GO, "memory_control"),
        ),
        # What no words of the user bear out is not borne out by more words.
        (
            [held(("now", (1, 2)), reasons=("unsupported_number",))],
            {},
            (Fate.WAIT, "waits_for_somebody"),
        ),
        (
            [held(("now", (1, 2)), reasons=("hygiene_held:poison:override",))],
            {},
            (Fate.WAIT, "waits_for_somebody"),
        ),
    ],
)
def test_the_table_decides(alike, how, expected):
    assert fate(*alike, **how) == expected


@given(
    turns=st.sets(st.integers(0, 9), max_size=4),
    before=st.sets(st.integers(0, 9), max_size=3),
    kind=st.sampled_from(["hold", "repeat"]),
    implicit=st.booleans(),
    summary=st.sampled_from(["", IN_SUMMARY]),
)
def test_more_evidence_never_promotes_less(turns, before, kind, implicit, summary):
    fields = {"kind": Kind.PROCEDURAL, "explicit": False} if implicit else {}
    one = held(("now", tuple(sorted(turns))), ("past", tuple(sorted(before))), **fields)
    more = one.borne_out("now", {*turns, 10})

    first, then = (fate(each, kind=kind, summary=summary)[0] for each in (one, more))

    assert not (first is Fate.PROMOTE and then is not Fate.PROMOTE)
    if len(turns) + bool(before) < 2 and not summary:
        assert first is Fate.WAIT or len(before) + len(turns) >= 2


@pytest.mark.parametrize(
    ("text", "is_borne_out"),
    [
        ("Which hotels in Bolzano are quiet?", True),
        ("Hotels, then.", False),
        ("BOLZANO HOTEL", True),
        ("I want no hotels in Bolzano.", False),
        ("What is the weather like?", False),
        ("", False),
    ],
)
def test_two_meaningful_words_bear_a_claim_out(text, is_borne_out):
    claim = claim_of(candidate())

    assert bears_out(claim, Turn(text=text, role=Role.USER)) is is_borne_out


def test_the_exact_object_alone_bears_a_claim_out():
    by_key = claim_of(candidate("Bolzano", key="location"))
    by_triple = claim_of(
        candidate("Ana stays there", triple=Triple("user", "stays_in", "Hotel Greif"))
    )

    assert is_said_in(by_key, Said("We are in Bolzano again."))
    assert is_said_in(by_triple, Said("Hotel Greif was lovely."))
    assert not is_said_in(by_triple, Said("Greif's other hotel"))


def test_wanting_and_liking_are_no_support():
    claim = claim_of(candidate("I really like going there"))

    assert not is_said_in(claim, Said("I really like going out, thanks"))


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.TOOL, Role.OTHER])
def test_only_the_user_bears_it_out(role):
    turn = Turn(text="hotels in Bolzano", role=role)

    assert not bears_out(claim_of(candidate()), turn)


def test_another_person_of_the_talk_does_not_bear_it_out():
    claim = claim_of(candidate(speaker="Ana"))

    assert not bears_out(claim, Turn(text="hotels in Bolzano", role=Role.USER, speaker="Ben"))
    assert bears_out(claim, Turn(text="hotels in Bolzano", role=Role.USER, speaker="Ana"))
    assert bears_out(claim, Turn(text="hotels in Bolzano", role=Role.USER))


@pytest.mark.parametrize("text", ["Don't remember this", "Keep it off the record", "forget that"])
def test_a_request_about_memory_is_told(text):
    assert is_memory_control(text)


@pytest.mark.parametrize(
    "text", ["Ana forgets names", "Never stores wine upright", "Ana records jazz"]
)
def test_a_fact_that_sounds_like_one_is_none(text):
    assert not is_memory_control(text)


@given(st.text(max_size=300))
def test_any_text_may_be_asked(text):
    claim = claim_of(candidate(text or "x"))

    is_said_in(claim, Said(text))
    is_memory_control(text)
