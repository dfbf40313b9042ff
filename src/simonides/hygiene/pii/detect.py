"""Find secrets and personal data; one pass rules out most texts, which have neither."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from simonides.domain.writing.finding import Finding, Severity
from simonides.hygiene.injection.obfuscation import without_invisible
from simonides.hygiene.pii import personal, secrets
from simonides.hygiene.pii.rule_matching import Table
from simonides.text import patterns

_TABLES = (secrets.TABLE, personal.TABLE)

LONGEST = 8_192
"""Longest text in characters for the joint pass. The automaton of all hints is large: a long
hostile text takes 100 ms, one of this length 25 ms (measured). Two small ones do not cost this."""


def find(text: str) -> tuple[Finding, ...]:
    """Return the secrets in a text, then the personal data, each by position.

    The text is also read without invisible characters, so these do not hide a token. Spans found
    so include the invisible characters, and may overlap spans found with them.
    """
    readings = without_invisible(text)
    if not readings:
        return tuple(each for table in _tables(text) for each in table.find(text))
    found: tuple[Finding, ...] = ()
    for table in _TABLES:
        candidates = list(table.find(text))
        for bare, places in readings:
            candidates += (_in_original(each, places) for each in table.find(bare))
        found += _widest(candidates)
    return found


def _tables(text: str) -> tuple[Table, ...]:
    return () if len(text) <= LONGEST and not _hints().in_text(text) else _TABLES


def _in_original(finding: Finding, places: list[int]) -> Finding:
    return replace(finding, start=places[finding.start], end=places[finding.end - 1] + 1)


def _widest(found: list[Finding]) -> tuple[Finding, ...]:
    """Return findings by position, without those inside another of the same severity."""
    kept: list[Finding] = []
    ends = dict.fromkeys(Severity, 0)
    for finding in sorted(found, key=lambda each: (each.start, -each.end)):
        if finding.end > ends[finding.severity]:
            ends[finding.severity] = finding.end
            kept.append(finding)
    return tuple(kept)


@cache
def _hints() -> patterns.Hints:
    return patterns.Hints([f"(?:{rule.hint})" for table in _TABLES for rule in table.rules])
