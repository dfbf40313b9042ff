"""Whose words a user's message holds: frames of foreign text are found by their structure.

The patterns, in ten languages, are in `frames.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

from simonides.text.patterns import spans

MAX_FRAMES = 100
"""Most frames of one kind in a message; what follows them is foreign too. Chosen: it bounds the
time, and a message with more of them is pasted."""

_TAG = r"</?[A-Za-z][\w.:-]*(?:\s[^<>]{0,300})?>"
_STYLES = frozenset("a b i u s br em strong small sub sup code kbd".split())
"""Tags that a writer puts around own words."""


class Part(NamedTuple):
    """A part of a message.

    Attributes:
        text: The part as it stands in the message.
        is_own: Whether these are the user's own words.
    """

    text: str
    is_own: bool


def parts_of(text: str) -> list[Part]:
    """Cut a user's message into own and foreign parts; joined they are the message.

    Time is linear in the text.
    """
    parts: list[Part] = []
    end = 0
    framed = list(_framed(text))
    for start, stop in sorted([*framed, *_tagged(text, framed)]):
        if start > end:
            parts.append(Part(text[end:start], is_own=True))
        if stop > end:
            last = parts.pop().text if parts and not parts[-1].is_own else ""
            parts.append(Part(last + text[max(start, end) : stop], is_own=False))
            end = stop
    return [*parts, Part(text[end:], is_own=True)] if end < len(text) else parts


def _framed(text: str) -> Iterator[tuple[int, int]]:
    # The engine is slow where it has to find the borders of a group in a long match. So a pattern
    # matches the opening only, if the frame ends with its paragraph or with the message.
    text = text.replace("\r\n", " \n").replace("\n \n", "\n\n\n")  # of the same length
    for until, pattern in _patterns():
        most = 1 if until == "endings" else MAX_FRAMES
        found = list(islice(spans(pattern, text, group=1), most))
        for start, end in found:
            paragraph = text.find("\n\n", end) if until == "paragraphs" else -1
            yield start, end if until == "frames" else paragraph if paragraph >= 0 else len(text)
        if len(found) == MAX_FRAMES:
            yield found[-1][1], len(text)


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, str]]:
    tables = tomllib.loads(files("simonides.capture").joinpath("frames.toml").read_text("utf-8"))
    words = {name: word.replace("\n", "") for name, word in tables.pop("words").items()}
    return [
        (until, f"(?im){_filled(pattern, words)}")
        for until, patterns in tables.items()
        for pattern in patterns.values()
    ]


def _filled(pattern: str, words: dict[str, str]) -> str:
    return re.sub(r"%(\w+)%", lambda found: _filled(words[found[1]], words), pattern)


def _tagged(text: str, framed: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans from an opening tag to the closing tag of its name, outside of frames."""
    opened: dict[str, int] = {}
    inside = bytearray(len(text))
    for start, end in framed:
        inside[start:end] = b"\1" * (end - start)
    tags = list(islice(spans(_TAG, text), 2 * MAX_FRAMES))
    if len(tags) == 2 * MAX_FRAMES:
        yield tags[0][0], len(text)
    for start, end in tags:
        name = text[start:end].strip("</>").split()[0].lower()
        if name in _STYLES or inside[start] or text[start - 1 : start] == "`":
            continue
        if text[start + 1] != "/":
            opened.setdefault(name, start)
        elif name in opened:
            yield opened.pop(name), end
