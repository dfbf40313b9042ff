"""A memory must be borne out by its quote: numbers, dates, names, negation, whose it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.capture.drafts import candidate_of, checked_candidate
from simonides.capture.rules.evidence import (
    MAX_CHARS,
    UNANCHORED,
    UNPROVEN,
    UNSUPPORTED_DATE,
    UNSUPPORTED_NAME,
    UNSUPPORTED_NEGATION,
    UNSUPPORTED_NUMBER,
    UNSUPPORTED_SPEAKER,
    gaps,
)
from simonides.capture.rules.extract import NOT_THE_USER, examine
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Draft
from simonides.domain.scope import Principal, Scope
from simonides.domain.writing.decision import (
    Candidate,
    Commit,
    Drop,
    Hold,
    Proposer,
)
from simonides.engine.screening.judge import judged_under
from simonides.policy.policy import Policy

SAID_AT = datetime(2026, 5, 11, 18, tzinfo=UTC)  # a Monday
ALICE = Principal.resolve(user="alice", org="acme")

BORNE_OUT = (
    # What was said, and a memory of it
    ("I've got three cats and a parrot", "User has 3 cats"),
    ("I paid $1,500 for the bike", "User paid 1500 dollars for the bicycle"),
    ("it took me twenty-five minutes", "It took Alice 25 minutes"),
    ("I ran 10k in under an hour", "User ran 10,000 in less than an hour"),
    ("about 20% of my salary goes into rent", "User spends 20 percent of the salary on rent"),
    ("I usually get up at 5:30", "User gets up at 5:30 am"),
    ("lunch is at 1 pm", "Lunch is at 13:00"),
    ("ich habe einundzwanzig Hühner", "User hat 21 Hühner"),
    ("j'ai vingt-deux ans", "User a 22 ans"),
    ("论坛的规模是三千人", "论坛的规模是3000人"),
    ("I flew home yesterday", "User flew home on 10 May 2026"),
    ("I flew home yesterday", "User flew home in May 2026"),
    ("I started there three years ago", "User started there in 2023"),
    ("we met last Friday", "User met them on 8 May 2026"),
    ("my birthday is on the 3rd of October", "Alice's birthday is 3 October"),
    ("I'm off next week", "Alice is off next week"),
    ("昨天我去了医院", "2026年5月10日用户去了医院"),
    ("I moved to Leeds with Tom", "Alice moved to Leeds with Tom"),
    ("hi Bea, my sister's name is Cleo", "User's sister is called Cleo"),
    ("I don't eat meat", "User does not eat meat"),
    ("I no longer work at Initech", "User used to work at Initech"),
    ("I can't wait to see the sea", "User looks forward to seeing the sea"),
    ("I don't like coffee but I love tea", "User loves tea"),
    ("It's Munich, not Berlin", "Munich"),
    ("我不喜欢咖啡", "用户不喜欢咖啡"),
    ("my brother can't swim", "User's brother cannot swim"),
    ("I love hiking", "Enjoys hiking"),
)
MADE_UP = (
    ("I've got three cats and a parrot", "User has 4 cats", UNSUPPORTED_NUMBER),
    ("I paid $1,500 for the bike", "User paid 1500 euros for the bike", UNSUPPORTED_NUMBER),
    ("I ran 5 km", "User ran 5 miles", UNSUPPORTED_NUMBER),
    ("about 20% of my salary", "User spends 25 percent of the salary", UNSUPPORTED_NUMBER),
    ("ich habe einundzwanzig Hühner", "User hat 22 Hühner", UNSUPPORTED_NUMBER),
    ("论坛的规模是三千人", "论坛的规模是4000人", UNSUPPORTED_NUMBER),
    ("I usually get up at 5:30", "User gets up at 6:30", UNSUPPORTED_DATE),
    ("I flew home yesterday", "User flew home on 9 May 2026", UNSUPPORTED_DATE),
    ("I flew home in May", "User flew home on 10 May 2026", UNSUPPORTED_DATE),
    ("I started there three years ago", "User started there in 2022", UNSUPPORTED_DATE),
    ("we met last Friday", "User met them on Thursday", UNSUPPORTED_DATE),
    ("I'm off next week", "User is off next month", UNSUPPORTED_DATE),
    ("昨天我去了医院", "2026年5月11日用户去了医院", UNSUPPORTED_DATE),
    ("I moved to Leeds with Tom", "User moved to York with Tom", UNSUPPORTED_NAME),
    ("I work for a bank", "User works for Barclays", UNSUPPORTED_NAME),
    ("我的同事李明喜欢茶", "用户的同事王明喜欢茶", UNSUPPORTED_NAME),
    ("スズキを食べました", "ユーザーはマグロを食べました", UNSUPPORTED_NAME),
    ("I don't eat meat", "User eats meat", UNSUPPORTED_NEGATION),
    ("I eat meat", "User does not eat meat", UNSUPPORTED_NEGATION),
    ("I no longer work at Initech", "User works at Initech", UNSUPPORTED_NEGATION),
    ("I don't like tea, coffee or milk", "User likes coffee", UNSUPPORTED_NEGATION),
    ("I love early meetings", "User hates early meetings", UNSUPPORTED_NEGATION),
    ("我喜欢咖啡", "用户不喜欢咖啡", UNSUPPORTED_NEGATION),
    ("Ich mag keinen Kaffee", "Ich mag Kaffee", UNSUPPORTED_NEGATION),
    ("my sister likes sushi", "User likes sushi", UNSUPPORTED_SPEAKER),
    ("she moved to Leeds", "Alice moved to Leeds", UNSUPPORTED_SPEAKER),
    ("you live in Leeds, right", "User lives in Leeds", UNSUPPORTED_SPEAKER),
    ("Tom plays the cello", "User plays the cello", UNSUPPORTED_SPEAKER),
    ("Hey Tom, I bought a cello", "Tom bought a cello", UNSUPPORTED_SPEAKER),
)


@pytest.mark.parametrize(("quote", "claim"), BORNE_OUT)
def test_who_paraphrases_is_believed(quote: str, claim: str) -> None:
    assert gaps(claim, quote, speaker="Alice", said_at=SAID_AT) == ()


@pytest.mark.parametrize(("quote", "claim", "mark"), MADE_UP)
def test_who_adds_is_not(quote: str, claim: str, mark: str) -> None:
    assert mark in gaps(claim, quote, speaker="Alice", said_at=SAID_AT)


def test_of_a_name_every_word_counts_in_capitals_or_not() -> None:
    assert gaps("york", "I live in Leeds", key="location") == (UNSUPPORTED_NAME,)
    assert gaps("leeds", "I live in Leeds", key="location") == ()
    assert gaps("brief", "keep it short", key="response_style") == ()


def test_without_a_clock_the_same_relative_date_is_the_same() -> None:
    assert gaps("User flew home yesterday", "I flew home yesterday") == ()
    assert gaps("User flew home today", "I flew home yesterday") == (UNSUPPORTED_DATE,)


def test_a_quote_is_asked_for_and_has_a_length() -> None:
    long = "I have three cats. " * (MAX_CHARS // 10)

    assert gaps("User has 3 cats", None) == (UNANCHORED,)
    assert gaps("User has 3 cats", long) == (UNANCHORED,)
    assert gaps(long, long) == ()


@pytest.mark.parametrize("quote", ["I have three cats", None])
def test_what_others_extract_is_checked_as_our_own_is(quote: str | None) -> None:
    turn = Turn(text="I love Thai food.", role=Role.USER, speaker="Alice")
    (ours,) = examine(turn, ALICE.home).candidates
    theirs = replace(ours, content="User has 4 cats", quote=quote, proposer=Proposer.MODEL)

    assert isinstance(judged_under(checked_candidate(ours), Policy()), Commit)
    held = judged_under(checked_candidate(theirs), Policy())
    assert isinstance(held, Hold)
    assert held.reasons == ((UNSUPPORTED_NUMBER,) if quote else (UNANCHORED,))


def test_an_agents_draft_is_held_to_the_quote_it_brings() -> None:
    def of(content: str, quote: str | None, source: str = "agent_inferred") -> Candidate:
        return candidate_of(Draft(content, quote=quote, source=source), ALICE)

    def judged(content: str, quote: str | None) -> object:
        return judged_under(of(content, quote), Policy())

    assert isinstance(judged("Ana has 4 cats", None), Commit)
    assert isinstance(judged("Ana has 4 cats", "I've four cats, said Ana"), Commit)
    assert judged("Ana has 4 cats", "I've three cats, said Ana") == Hold(
        of("Ana has 4 cats", "I've three cats, said Ana"), (UNSUPPORTED_NUMBER,)
    )
    said = of("Ana has 4 cats", "I've three cats, said Ana", "user_stated")
    assert isinstance(judged_under(said, Policy()), Commit)


def test_what_is_not_the_users_is_never_stored_as_extracted() -> None:
    turn = Turn(text="I love Thai food.", role=Role.USER)
    (ours,) = examine(turn, Scope.of_user("acme", "alice")).candidates

    judgement = judged_under(replace(ours, marks=(NOT_THE_USER,)), Policy())

    assert isinstance(judgement, (Hold, Drop))
    assert judgement.reasons == (NOT_THE_USER,)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_texts_can_be_compared_and_each_bears_out_itself(claim: str, quote: str) -> None:
    assert {*gaps(claim, quote, said_at=SAID_AT)} <= {*UNPROVEN}
    assert gaps(claim, f"{claim} ") == ()


@pytest.mark.parametrize(
    "said", ["1,", "two ", "7 May ", "not ", "I'm Tom, ", "三千", "¬", "0:00pm ", "Aa ", "last "]
)
def test_long_texts_of_one_kind_are_compared_too(said: str) -> None:
    claim, quote = (said * MAX_CHARS)[: MAX_CHARS - 1], (said * MAX_CHARS)[1:MAX_CHARS]

    assert {*gaps(claim, quote, said_at=SAID_AT)} <= {*UNPROVEN}


@pytest.mark.parametrize("text", ["I live in Ma.", "My name is Mais.", "Vivo en Ma"])
def test_a_value_that_only_turns_sentences_elsewhere_is_borne_out(text: str) -> None:
    value = text.split()[-1].rstrip(".")
    assert gaps(value, text.rstrip("."), key="location") == ()
