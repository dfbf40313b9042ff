"""Splits a text into sentences, in any script, for extractive summaries.

Only marks are used: full stops and their equivalents in other scripts, line ends, and the bullets
of lists. A stop within a number, a name or an address does not end a sentence. Text without marks,
such as Thai or a log, is one sentence a line; an overlong line is cut at its spaces.
"""

from __future__ import annotations

from collections.abc import Iterator

from simonides.text import patterns

LONGEST = 600
"""Characters after which a sentence is cut at a space, or at once if there is none. Chosen: longer
than people write, so a longer one is a log, a table or a script without marks."""

_END = (
    r"[\n\r\x0b\x0c\x85\x{2028}\x{2029}]+"  # lines
    r"|[.!?…]+[\"'”’»)\]]*[ \t\x{a0}]+"  # a mark, then a space
    r"|[。！？｡]+[”’」』）]*"  # marks that no space follows
    r"|[।॥።؟۔]+[ \t\x{a0}]*"
)
_BULLET = r"^(?:[-*•·+>#]+|\(?[0-9]{1,3}[.)])[ \t]+"

# Chosen: the most frequent ones before a capital or a number in English, German and French.

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st vs etc e.g i.e cf no fig vol approx dept est inc ltd co corp gen "
    "bzw ca z.b d.h u.a nr str mme mlle".split()
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text in order, each on one line, without the bullets of lists.

    Sentences without a letter or digit are left out. Time is linear in the text, which must not
    hold lone surrogates.
    """
    begun = 0
    for start, end in patterns.spans(_END, text):
        if text[start] == "." and _goes_on(text, begun, start):
            continue
        yield from _cut(text[begun:end])
        begun = end
    yield from _cut(text[begun:])


def _goes_on(text: str, begun: int, stop: int) -> bool:
    """Whether a full stop belongs to an abbreviation, an initial or the number of a list."""
    words = text[max(begun, stop - 12) : stop].split()
    if not words:
        return False
    word = words[-1].strip("(\"'[").lower()
    starts_line = len(words) == 1 and stop - begun <= len(words[0]) + 3
    return word in _ABBREVIATIONS or (
        (len(word) == 1 and word.isalpha() and word != "i") or (starts_line and word.isdecimal())
    )


def _cut(raw: str) -> Iterator[str]:
    said = " ".join(raw.split())
    bullet = patterns.compile(_BULLET).match(said)
    said = said[bullet.span()[1] :] if bullet else said
    while len(said) > LONGEST:
        space = said.rfind(" ", LONGEST // 2, LONGEST)
        cut = LONGEST if space < 0 else space
        yield from _telling(said[:cut])
        said = said[cut:].lstrip()
    yield from _telling(said)


def _telling(said: str) -> Iterator[str]:
    if any(map(str.isalnum, said)):
        yield said
