"""The index terms of a text."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.text.analyse import MAX_TERM_CHARS, STOP_WORDS, analyse, is_latin, query_terms

any_text = st.text(st.characters())  # with lone surrogates


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cats were running to Paris!", "cat were run pari"),
        ("I went and bought books for the children", "go buy book child"),
        ("café CAFÉ ｃａｆé cafe\u0301", "cafe cafe cafe cafe"),
        ("Łódź Øre Straße ﬁn", "lodz ore strass fin"),
        ("Машины едут, машина едет", "машин едут машин едет"),
        ("Ёлка елка йод иод", "елк елк йод иод"),
        ("العَرَبِيَّة العربية", "العربية العربية"),
        ("हिन्दी", "हिन्दी"),
        ("金融科", "金 融 科 金融 融科"),
        ("ไทย", "ไท ทย"),
        ("iPhone手机15", "iphon 手 机 手机 15"),
        ("Caroline's friend’s dog", "carolin friend dog"),
        ("don't don’t dont I'm we'll", "dont dont dont im"),
        ("us-east-1 us‑east‑1", "us east 1 us-east-1 us east 1 us-east-1"),
        ("12.3 1.23", "12 3 12.3 1 23 1.23"),
        ("e-mail email user_id", "e mail email email user id userid"),
        ("co\u00adop zero\u200bwidth", "coop zerowidth"),
        ("... --- ❤️ ?!", ""),
    ],
)
def test_text_becomes_terms(text: str, terms: str) -> None:
    assert analyse(text) == terms.split()


def test_a_query_of_stop_words_has_no_terms() -> None:
    assert query_terms(" ".join(STOP_WORDS)) == []


def test_a_query_has_each_term_once_in_order() -> None:
    assert query_terms("new dogs, old dog, NEW tricks") == ["new", "dog", "old", "trick"]


@given(any_text, any_text)
def test_the_terms_of_joined_texts_are_the_terms_of_each(left: str, right: str) -> None:
    terms = analyse(f"{left} {right}")

    assert terms == analyse(left) + analyse(right)
    assert all(terms)


def test_long_words_are_cut() -> None:
    assert analyse("a" * 100_000) == ["a" * MAX_TERM_CHARS]


@pytest.mark.parametrize(
    ("text", "expected"), [("Grüße aus Köln", True), ("Привет, Tom", False), ("123", False)]
)
def test_the_script_of_most_letters_decides_about_latin(text: str, expected: bool) -> None:
    assert is_latin(text) is expected


def test_threads_do_not_share_stemmers() -> None:
    text = " ".join(f"running{chr(97 + n % 26)}{chr(97 + n // 26)}ing" for n in range(600))
    found: list[list[str]] = []

    threads = [threading.Thread(target=lambda: found.append(analyse(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [analyse(text)] * 8
