"""The terms of a text."""

import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.text import analyser
from simonides.text.analyser import (
    STOP_WORDS,
    analyse,
    main_script,
    query_terms,
    term_id,
)

any_text = st.text(st.characters())  # lone surrogates included
letters = st.text(st.sampled_from("abcdeéöñžабвгйäç αβγδ "))
kanji_text = st.text(st.sampled_from("金融科技精英论坛我将参加東京"), min_size=1)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cats were running to Paris!", ["cat", "were", "run", "pari"]),
        ("café CAFÉ ｃａｆé cafe\u0301", ["cafe"] * 4),
        ("Łódź Øre Straße ﬁn", ["lodz", "ore", "strass", "fin"]),
        ("Машины едут, машина едет", ["машин", "едут", "машин", "едет"]),
        ("Ёлка елка", ["елк", "елк"]),
        ("йод иод", ["йод", "иод"]),
        ("ΑΘΗΝΑ Αθήνα", ["αθηνα", "αθηνα"]),
        ("العَرَبِيَّة العربية", ["العربية", "العربية"]),
        ("हिन्दी", ["हिन्दी"]),
        ("金融科", ["金", "金融", "融", "融科", "科"]),
        ("한국어", ["한", "한국", "국", "국어", "어"]),
        ("ｶﾞｷﾞ", ["ガ", "ガギ", "ギ"]),
        ("ไทย", ["ไท", "ทย"]),
        ("iPhone手机15", ["iphon", "手", "手机", "机", "15"]),
        ("１２３ ١٢٣ 123", ["123"] * 3),
    ],
)
def test_terms_by_script(text: str, terms: list[str]) -> None:
    assert analyse(text) == tuple(terms)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Caroline's friend’s dog", ["carolin", "friend", "dog"]),
        ("don't don’t dont", ["dont", "dont", "dont"]),
        ("I'm we'll they're she'd", ["im"]),
        ("O'Brien OBrien", ["o", "brien", "obrien", "obrien"]),
        ("us-east-1", ["us", "east", "1", "us-east-1"]),
        ("us‑east‑1", ["us", "east", "1", "us-east-1"]),
        ("user_id userId", ["user", "id", "userid", "userid"]),
        ("v1.2.3", ["v1", "2", "3", "v1.2.3"]),
        ("12.3 1.23", ["12", "3", "12.3", "1", "23", "1.23"]),
        ("ann@example.com", ["ann", "exampl", "com", "annexamplecom"]),
        ("e-mail email", ["e", "mail", "email", "email"]),
        ("co\u00adop zero\u200bwidth", ["coop", "zerowidth"]),
        ("... --- ❤️ ?!", []),
    ],
)
def test_apostrophes_and_compounds(text: str, terms: list[str]) -> None:
    assert analyse(text) == tuple(terms)


def test_a_query_of_stop_words_alone_is_empty() -> None:
    assert query_terms("What did they do with it?") == ()
    assert query_terms(" ".join(sorted(STOP_WORDS))) == ()
    assert query_terms("") == ()


def test_a_query_has_each_term_once_in_order() -> None:
    assert query_terms("new dogs, old dog, NEW tricks") == ("new", "dog", "old", "trick")


@given(any_text)
def test_any_text_has_terms_and_every_time_the_same(text: str) -> None:
    terms = analyse(text)

    assert terms == analyse(text)
    for term in terms:
        assert 0 < len(term) <= 64
        assert 0 <= term_id(term) < 2**64


@given(any_text)
def test_terms_do_not_depend_on_what_was_analysed_before(text: str) -> None:
    analyser._cached_terms.cache_clear()
    fresh = analyse(text)

    analyse("something else, naïve")

    assert analyse(text) == fresh


@given(any_text, any_text)
def test_terms_of_texts_side_by_side_are_those_of_each(left: str, right: str) -> None:
    assert analyse(f"{left} {right}") == analyse(left) + analyse(right)


@given(letters)
def test_case_does_not_matter(text: str) -> None:
    assert analyse(text.upper()) == analyse(text)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
def test_width_does_not_matter(text: str) -> None:
    wide = "".join(chr(ord(char) + 0xFEE0) for char in text)

    assert analyse(wide) == analyse(text)


@given(st.text(st.characters(max_codepoint=0x7E)))
def test_the_short_cut_for_plain_words_gives_what_the_pattern_gives(text: str) -> None:
    # A full-width letter forces the long way round.
    assert analyse(f"{text}".replace("a", "ａ")) == analyse(text)


@given(kanji_text, st.data())
def test_cjk_text_is_found_by_any_of_its_characters(text: str, data: st.DataObject) -> None:
    char = data.draw(st.sampled_from(text))
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : start + 3]

    assert char in analyse(text)
    assert set(query_terms(part)) <= set(analyse(text))


def test_a_word_without_end_is_one_bounded_term() -> None:
    assert analyse("a" * 100_000) == ("a" * 64,)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello", "Latin"),
        ("Ελλάδα", "Greek"),
        ("Привет world, как дела", "Cyrillic"),
        ("我喜欢 tea", "Han"),
        ("ｆｕｌｌ", "Latin"),
        ("ありがとう", "Hiragana"),
        ("한국어", "Hangul"),
        ("123 !?", "Common"),
        ("", "Common"),
        ("\ud800", "Common"),
    ],
)
def test_the_main_script_is_that_of_most_letters(text: str, script: str) -> None:
    assert main_script(text) == script


@given(any_text)
def test_every_text_has_a_main_script(text: str) -> None:
    assert main_script(text)


def test_a_term_has_the_same_number_everywhere() -> None:
    assert term_id("pari") == 0x7D09_8192_4249_9009
    assert term_id("金融") == 0x5D47_2401_C63F_180D


def test_threads_do_not_disturb_each_other() -> None:
    text = " ".join(f"running{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}ing" for n in range(600))
    expected = analyse(text)
    analyser._cached_terms.cache_clear()
    found: list[tuple[str, ...]] = []

    threads = [threading.Thread(target=lambda: found.append(analyse(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 8


def test_importing_loads_no_vendor() -> None:
    check = "import simonides.text.analyser, sys; print({'re2', 'Stemmer'} & set(sys.modules))"

    shown = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )

    assert shown.stdout == "set()\n"
