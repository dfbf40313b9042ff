"""Linear-time patterns."""

import pytest

from simonides.text import patterns


def test_case_is_ignored_only_when_asked() -> None:
    assert patterns.compile("call me").search("Call me Ana") is None
    assert patterns.compile("call me", ignore_case=True).match("CALL ME Ana") is not None


def test_groups_and_their_places_are_characters_of_the_text() -> None:
    match = patterns.compile(r"(?P<name>\p{Lu}\p{L}+)$").search("меня зовут Анна")

    assert match is not None
    assert match.groupdict() == {"name": "Анна"}
    assert match.group("name") == "Анна"
    assert match.span(1) == (11, 15)


def test_fullmatch_wants_the_whole_text() -> None:
    pattern = patterns.compile("[a-z]+")

    assert pattern.fullmatch("abc") is not None
    assert pattern.fullmatch("abc1") is None
    assert [match.group() for match in pattern.finditer("ab 1 cd")] == ["ab", "cd"]


@pytest.mark.parametrize("pattern", [r"(?=ahead)", r"(a)\1", "(", "[z-a]"])
def test_what_the_engine_cannot_do_is_a_clear_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not supported: "):
        patterns.compile(pattern)
