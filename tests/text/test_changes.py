"""Words of change: each line of the data file, and corrections."""

import pytest

from simonides.text.changes import Cue, corrected, cue_of, wordings, wordings_in

CUES = {"ends": Cue.ENDS, "changes": Cue.CHANGES, "hints": Cue.HINTS}
CASES = [
    pytest.param(CUES[name], case, id=f"{name}-{row}")
    for name in CUES
    for row, (_, case) in enumerate(wordings()[name])
]


@pytest.mark.parametrize(("cue", "case"), CASES)
def test_each_wording_is_read(cue: Cue, case: str) -> None:
    assert cue_of(case) is cue


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name, rows in wordings().items() if name not in CUES for _, case in rows],
)
def test_additions_and_attitudes_are_read(name: str, case: str) -> None:
    assert name in wordings_in(case)


def test_a_plain_statement_changes_nothing() -> None:
    assert cue_of("I live in Oslo.") is Cue.NONE


def test_the_strongest_words_of_a_text_count() -> None:
    assert cue_of("We live in Oslo. I don't smoke any more.") is Cue.ENDS
    assert cue_of("I live in Bergen now.") is Cue.CHANGES
    assert cue_of("I finally have a garden.") < Cue.CHANGES


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Sorry, I meant Hull.", "Hull"),
        ("Oops, no, I meant to say Friday!", "Friday"),
        ("Correction: the 12th.", "the 12th"),
        ("Make it 8.", "8"),
        ("Sorry, that was a typo, 45.", "45"),
        ("I meant no harm?", ""),
        ("I live in Hull.", ""),
    ],
)
def test_a_correction_gives_its_value(text: str, value: str) -> None:
    assert corrected(text) == value
