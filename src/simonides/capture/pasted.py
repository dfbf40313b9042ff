"""Removes pasted digests from a turn: their content is no statement of the user.

A digest is recognised by its form alone, without a record of past digests. A user who writes such
lines states no fact with them.
"""

from __future__ import annotations

from simonides.domain.reading.digest import CLOSE, NOTE, OPEN, TITLE
from simonides.text import patterns

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_LINE = (
    rf"(?m)^[ \t>*•-]*\[[^\]\n]{{1,200}}\] .*\({_UUID}; [a-z_]+ \d{{4}}-\d\d-\d\d \d\.\d\d[^\n]*$"
)
_BLOCK = rf"(?s){OPEN}.*?{CLOSE}"
_FRAME = rf"(?m)^[ \t>]*(?:{TITLE}|{NOTE})[ \t]*$"


def without_digests(text: str) -> str:
    """Return a text of the same length in which pasted digests, or lines of them, are blank.

    Positions stay the same, so that a quote of the result is a quote of the text. A line without
    its end is not recognised, because the memory's id is there. Linear in the text.
    """
    if "-" not in text and TITLE not in text:
        return text
    # The engine works on UTF-8; a lone surrogate becomes a mark of the same length.
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    spans = [
        match.span()
        for pattern in (_BLOCK, _LINE, _FRAME)
        for match in patterns.compile(pattern).finditer(clean)
    ]
    if not spans or len(clean) != len(text):
        return text
    blank = list(text)
    for start, end in spans:
        blank[start:end] = ["\n" if char == "\n" else " " for char in text[start:end]]
    return "".join(blank)
