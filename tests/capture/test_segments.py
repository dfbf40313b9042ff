from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from simonides.capture.segments import Whose, fragments_of


def own_words(text: str) -> str:
    return "".join(part.text if part.is_own else "[…]" for part in fragments_of(text))


CASES = yaml.safe_load(Path(__file__).with_name("segments.yaml").read_text("utf-8"))
HOSTILE = [
    *(">", ">\n", ">\nx\n", "<a", "<a>", "</a>", "<a><b>", '"', '" ', "“a", "«a»", "`", "```\n"),
    *("\n", "---\n", "From: a\n", "From: a@\n", "Subject:\n", "10:31 a: b\n", "[", "{\n", '{"'),
    *(
        '{"a": 1}',
        "User:\n",
        "用户：",
        "translate ",
        "please ",
        "pretend you\n\n",
        "我假装你",
        "。",
    ),
    *(
        "1. a - http://x\n",
        "you said ",
        "ERROR: a\n",
        "[file ",
        "on monday bob wrote:\n>\n",
        "é",
        "a",
        "x\n\n",
        "I said: x\n\n",
        "Is it?\nx\n\n",
    ),
]


def _marked(case: str) -> tuple[str, str]:
    """Return the text, and per character "f" where it is foreign."""
    text, marks, mark = [], [], "o"
    for char in case:
        if char in "⟦⟧":
            mark = "f" if char == "⟦" else "o"
        else:
            text.append(char)
            marks.append(mark)
    return "".join(text), "".join(marks)


@pytest.mark.parametrize("case", [*CASES["known"], *CASES["blind"]])
def test_foreign_parts_are_told_from_the_users_words(case: str) -> None:
    text, expected = _marked(case)
    parts = fragments_of(text)
    assert "".join(part.text for part in parts) == text
    found = [part.whose for part in parts for _ in part.text]
    wrong = [
        char if mark == "o" else char.upper()
        for char, mark, whose in zip(text, expected, found, strict=True)
        if whose is (Whose.OTHER if mark == "o" else Whose.OWN) and char.isalnum()
    ]
    assert not wrong, "".join(wrong)


def test_frames_are_found_whatever_ends_the_lines() -> None:
    text = "You said: I am Otto.\r\n\r\nI am Eve.\r\n> I am Bob.\r\nFrom: a\r\nSubject: b\r\n\r\nHi"
    found = [
        (part.whose.value, part.text.strip()) for part in fragments_of(text) if part.text.strip()
    ]
    assert found[:4] == [
        ("own", "You said:"), ("other", "I am Otto."), ("own", "I am Eve."),
        ("other", "> I am Bob."),
    ]  # fmt: skip
    assert own_words(text).endswith("[…]")


def test_own_words_show_where_something_was_left_out() -> None:
    assert (
        own_words("I like it: <p>Rome</p> and <q>Oslo</q>.\nBye") == "I like it: […] and […].\nBye"
    )


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear_in_hostile_text(unit: str) -> None:
    text = unit * (65_536 // len(unit.encode()))
    fragments_of("the patterns are compiled once")
    begun = time.process_time()
    parts = fragments_of(text)
    assert time.process_time() - begun < 1.0  # 10 ms if it is linear, minutes if it is not
    assert "".join(part.text for part in parts) == text
