"""Rules that find risky spans of a text: a pattern, and a check of each match.

The rules of a detector are rows of a TOML file. One pass over a text finds the rules whose hint
occurs; most texts have none. Invisible characters hide nothing: a text with some is also read
without them. No value and no error holds the text of a finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from simonides.text.patterns import PatternSet, encoded, spans
from simonides.text.words import read_toml

# Soft hyphen, joiners, direction marks, fillers, variation selectors, combining accents.
_INVISIBLE = frozenset(
    {0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFEFF, 0xFFA0}
    | {*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)}
    | {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x300, 0x370)}
)
_TAGS = range(0xE0000, 0xE0080)
_PRINTABLE_TAGS = range(0xE0020, 0xE007F)


def disguises(text: str) -> list[tuple[str, set[str]]]:
    """Return the readings of a text without invisible characters, each with those that it lacks.

    A text that has none has no readings. Unicode tag characters may pad a token or spell it. A text
    with tags therefore has two readings: without the tags, and with the ASCII characters that they
    encode, which comes last.
    """
    if text.isascii():
        return []
    codes = set(map(ord, set(text)))
    tags = codes.intersection(_TAGS)
    removed = dict.fromkeys(tags | codes & _INVISIBLE, "")
    if not removed:
        return []
    spelled = {code: chr(code - _TAGS.start) for code in tags if code in _PRINTABLE_TAGS}
    readings = []
    for table in [removed, removed | spelled] if spelled else [removed]:
        lacking = {chr(code) for code, replacement in table.items() if not replacement}
        readings.append((_replaced(text, table), lacking))
    return readings


def _replaced(text: str, table: dict[int, str]) -> str:
    # A text has few kinds of them, and then this takes a tenth of the time of str.translate.
    for code, replacement in table.items():
        text = text.replace(chr(code), replacement)
    return text


MAX_MATCHES = 750
"""Maximum matches that are checked in one text. Set by judgement: more than an honest text has. A
hostile text of 64 KiB may have 8,000. A text with more matches is one finding as a whole."""

Check = Callable[[str, int, int], bool]
"""Whether a span is what a rule describes; takes the text, start and end."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The place of risky content in a text.

    Attributes:
        name: What it is, such as ``github-token``; a rule of the detector's file.
        start: Position of the first character.
        end: Position after the last character.
        severe: Whether it must not be stored; otherwise it is only suspicious.
    """

    name: str
    start: int
    end: int
    severe: bool = True


class Rules:
    """The rules of one detector; of two overlapping matches in a text the earlier rule counts."""

    def __init__(self, file: str, check_of: Callable[[Mapping[str, Any]], Check]) -> None:
        """Read the rules from a file beside this module; `table` is the whole file.

        Args:
            file: Name of the TOML file.
            check_of: Gives the check of a row.
        """
        self.table = read_toml("hygiene", file)
        rows = self.table["rule"]
        self._rules = [
            (row["name"], self._spelled(row["pattern"]), row.get("severe", True), check_of(row))
            for row in rows
        ]
        self._hints = PatternSet(
            [
                self._spelled(row.get("hint") or "|".join(map(re.escape, row["keywords"])))
                for row in rows
            ]
        )

    def _spelled(self, pattern: str) -> str:
        """Return a pattern with the file's shared words in place of their names."""
        words = self.table.get("words", {})
        return re.sub(r"<([A-Z]+)>", lambda name: self._spelled(words[name[1]]), pattern)

    def find(self, text: str) -> tuple[Finding, ...]:
        """Return the findings by position, without overlap, in time linear in the text.

        Invisible characters do not hide a finding; its span includes them.
        """
        findings = self._in_reading(text)
        for reading, lacking in disguises(text):
            if inside := self._in_reading(reading):
                at = [position for position, char in enumerate(text) if char not in lacking]
                findings += [replace(f, start=at[f.start], end=at[f.end - 1] + 1) for f in inside]
        return _merged(findings) if findings else ()

    def _in_reading(self, text: str) -> list[Finding]:
        findings: list[Finding] = []
        hinted = self._hints.in_text(text)
        if not hinted:
            return findings
        data = encoded(text)
        covered = bytearray(len(text))
        left = MAX_MATCHES
        for number in hinted:
            name, pattern, severe, check = self._rules[number]
            found_at = spans(pattern, data, group=int("(?P<it>" in pattern))
            places = list(islice(found_at, left + 1))
            if len(places) > left:
                return [Finding(name, 0, len(text), severe)]
            left -= len(places)
            for start, end in places:
                if covered.find(1, start, end) < 0 and check(text, start, end):
                    covered[start:end] = b"\1" * (end - start)
                    findings.append(Finding(name, start, end, severe))
        return findings


def _merged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by position; overlapping ones become one, named by the first severe one."""
    merged: list[Finding] = []
    for each in sorted(findings, key=lambda each: (each.start, not each.severe, -each.end)):
        if merged and each.start < merged[-1].end:
            last = merged[-1]
            name = each.name if each.severe > last.severe else last.name
            end, severe = max(last.end, each.end), last.severe or each.severe
            merged[-1] = Finding(name, last.start, end, severe)
        else:
            merged.append(each)
    return tuple(merged)


def is_standalone(text: str, start: int, end: int) -> bool:
    """Whether a span is not part of a longer word, number, path or identifier."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if _is_word(before) or _is_word(after) or (before and before in "_/@#&%.+-~\\$€£"):
        return False
    continues = bool(after) and after in "-/.:" and text[end + 1 : end + 2].isdigit()
    return not continues and after not in ("_", "@", "%")


def _is_word(char: str) -> bool:
    # Scripts without case put no space between a number and the next word.
    return char.isalnum() and (char.isascii() or char.lower() != char.upper())
