"""The summary that nobody had to write: the most telling sentences of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.text.extractive_summary import extract
from simonides.text.sentences import LONGEST, sentences

TALK = [
    "Hi there! The migration of the billing database to PostgreSQL 16 starts on Friday.",
    "Ok. Who is on call?",
    "Lena Fischer is on call for the migration. The weather is nice.",
    "The billing database migration must not touch the invoices table.",
    "Sure, sounds good. Thanks!",
]


def test_what_a_talk_is_about_stays_and_small_talk_goes() -> None:
    said = extract(TALK, max_chars=230)

    assert said == (
        "The migration of the billing database to PostgreSQL 16 starts on Friday."
        " Lena Fischer is on call for the migration."
        " The billing database migration must not touch the invoices table."
    )


def test_what_is_said_twice_stands_once() -> None:
    said = extract([*TALK, "The billing-database migration must NOT touch the invoices table."] * 3,
                   max_chars=2_000)  # fmt: skip

    assert said.lower().count("must not touch the invoices table") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid 3.50 e.g. for tea. He left.",
         ["Dr. Smith paid 3.50 e.g. for tea.", "He left."]),
        ("我住在北京。他住在上海！你呢？", ["我住在北京。", "他住在上海！", "你呢？"]),
        ("मैं दिल्ली में हूँ। वह मुंबई में है।", ["मैं दिल्ली में हूँ।", "वह मुंबई में है।"]),
        ("أين تعيش؟ أعيش في القاهرة.", ["أين تعيش؟", "أعيش في القاهرة."]),
        ("- one thing\n* another\n2) a third\n---\n", ["one thing", "another", "a third"]),
        ("See v1.2.3 at example.com/a.b now", ["See v1.2.3 at example.com/a.b now"]),
        ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien wrote it."]),
        ("", []),
        (" \n … !!! \n", []),
    ],
)  # fmt: skip
def test_sentences_of_many_scripts(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    "talk",
    [
        ["明天我们把数据库迁移到上海机房。", "天气很好。", "数据库迁移之前必须备份数据库。"],
        ["Завтра мы переносим базу данных.", "Погода хорошая.",
         "Перед переносом базы нужна копия базы данных."],
        ["พรุ่งนี้ย้ายฐานข้อมูล\nอากาศดี\nก่อนย้ายฐานข้อมูลต้องสำรองฐานข้อมูล"],
    ],
    ids=["chinese", "russian", "thai"],
)  # fmt: skip
def test_any_language_is_weighed(talk: list[str]) -> None:
    found = list(sentences("\n".join(talk)))
    length = len(found[0]) + len(found[2]) + 1

    said = extract(talk, max_chars=max(length, 40))

    assert found[2] in said


def test_a_sentence_that_alone_is_too_long_is_cut_and_marked() -> None:
    said = extract(["The cluster " + "very " * 40 + "slowly restarts."], max_chars=60)

    assert said.startswith("The cluster very")
    assert said.endswith("very…")
    assert len(said) <= 60


def test_text_without_marks_is_cut_at_spaces() -> None:
    found = list(sentences("word " * 1_000))

    assert all(len(each) <= LONGEST for each in found)
    assert " ".join(found) == ("word " * 1_000).strip()


def test_less_than_a_sentence_cannot_be_asked_for() -> None:
    with pytest.raises(ValueError, match="40"):
        extract(["x"], max_chars=39)


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=200),
        st.lists(st.sampled_from([*"abc XY. 12! ？。\n- ", "Rome ", "paid 7 "])).map("".join),
    ),
    max_size=8,
)


@given(TEXTS, st.integers(40, 300))
def test_a_summary_keeps_its_length_and_makes_nothing_up(texts: list[str], most: int) -> None:
    said = extract(texts, max_chars=most)

    assert len(said) <= most
    assert said == extract(texts, max_chars=most)
    storable = [text.encode("utf-8", "replace").decode() for text in texts]
    found = [each for text in storable for each in sentences(text)]
    assert bool(said) == bool(found)
    assert _readable(said, found) or (said.endswith("…") and len(max(found, key=len)) > most)


def _readable(said: str, found: list[str]) -> bool:
    """Whether a text is some of the sentences, in their order."""
    rests = {said}
    for each in found:
        rests |= {
            rest[len(each) :].removeprefix(" ")
            for rest in rests
            if rest.startswith(each) and rest[len(each) :][:1] in ("", " ")
        }
    return "" in rests


@given(TEXTS)
def test_what_is_brought_twice_is_not_said_twice(texts: list[str]) -> None:
    said = extract([*texts, *texts], max_chars=100_000)

    once = [each for text in texts for each in sentences(text.encode("utf-8", "replace").decode())]
    assert len(said) <= sum(map(len, once)) + len(once)


def test_what_differs_in_a_number_or_a_denial_is_no_repetition() -> None:
    talk = ["Replicas cost 7 euros a day.", "Replicas cost 9 euros a day.",
            "The replicas may be stopped.", "The replicas may not be stopped."]  # fmt: skip

    said = extract(talk, max_chars=1_000)

    assert all(sentence in said for sentence in talk)


def test_a_long_text_is_summed_up_too() -> None:
    text = " ".join(f"Sentence {n} speaks of item {n % 97}." for n in range(1_500))

    said = extract([text], max_chars=2_000)

    assert 1_000 < len(said) <= 2_000
