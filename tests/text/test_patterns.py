"""Linear-time patterns."""

import subprocess
import sys

import pytest

from simonides.text.patterns import PatternSet, spans


def test_spans_count_characters() -> None:
    text = "ключ=абв, 🔑 key=abc"

    assert [text[start:end] for start, end in spans(r"\p{L}+=", text)] == ["ключ=", "key="]
    assert [text[start:end] for start, end in spans(r"y=(\w+)", text, group=1)] == ["abc"]


def test_spans_fall_back_to_the_whole_match_without_the_group() -> None:
    assert list(spans("a(b)|c", "ab c", group=1)) == [(1, 2), (3, 4)]


def test_lone_surrogates_are_one_character() -> None:
    assert list(spans("b", "\ud800é\ud800b")) == [(3, 4)]


def test_a_set_names_the_patterns_that_occur_in_any_case() -> None:
    patterns = PatternSet(["tea", r"a\.b", r"\d{3}"])

    assert patterns.in_text("TEA and 123") == [0, 2]
    assert patterns.in_text("axb") == []


@pytest.mark.parametrize("pattern", ["(?=ahead)", r"(a)\1", "(", "[z-a]"])
def test_unsupported_patterns_are_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not supported: "):
        list(spans(pattern, "text"))
    with pytest.raises(ValueError, match="is not supported: "):
        PatternSet([pattern])


def test_importing_does_not_load_the_engine() -> None:
    code = "import simonides.hygiene.secrets, sys; print({'re2', 'stdnum'} & set(sys.modules))"

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout == "set()\n"
