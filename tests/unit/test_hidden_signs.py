"""Signs that nobody sees do not hide secrets and personal data from their detectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.domain.writing.finding import Severity
from simonides.hygiene.injection.obfuscation import without_invisible
from simonides.hygiene.pii import detect as sensitive

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SIGNS = ["\u200b", "\u00ad", "\u2060", "\ufe0f", "\U000e0041", "\U000e0001", "\u200d", "\ufeff"]


@pytest.mark.parametrize("sign", SIGNS, ids=ascii)
@pytest.mark.parametrize("every", [1, 7, 30])
def test_a_token_with_hidden_signs_inside_is_found_as_a_whole(sign: str, every: int) -> None:
    hidden = sign.join(TOKEN[at : at + every] for at in range(0, len(TOKEN), every))
    text = f"❤️ take {hidden} please"

    found = sensitive.find(text)

    assert [(each.start, each.end) for each in found] == [(8, 8 + len(hidden))]
    assert {(each.mark, each.severity) for each in found} == {
        ("secret:github-token", Severity.HIGH)
    }


def test_a_token_spelt_in_tags_is_found() -> None:
    text = "nice day " + "".join(chr(0xE0000 + ord(char)) for char in TOKEN)

    (found,) = sensitive.find(text)

    assert (found.mark, found.start, found.end) == ("secret:github-token", 9, len(text))


def test_an_address_and_a_number_are_found_as_well() -> None:
    found = sensitive.find("ana\u200b@exam\u00adple.org, 4111 11\u206011 1111 1111")

    assert {each.mark for each in found} == {"personal:email", "personal:card"}


def test_what_is_found_with_and_without_is_told_once() -> None:
    (found,) = sensitive.find(f"❤️ {TOKEN}")

    assert (found.start, found.end) == (3, 3 + len(TOKEN))


@given(st.text(alphabet=st.sampled_from(["a", "Ж", "1", *SIGNS]), max_size=30))
def test_each_letter_that_is_left_stood_where_it_is_said_to(text: str) -> None:
    for bare, places in without_invisible(text)[:1]:
        assert bare == "".join(text[at] for at in places)
        assert not set(bare) & set(SIGNS)
        assert places == sorted(set(places))
    assert bool(without_invisible(text)) == bool(set(text) & set(SIGNS))
