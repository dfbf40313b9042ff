"""Secrets and personal data in one look: most texts have neither, and one pass tells (HY-1)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from simonides.domain.findings import Finding, Severity
from simonides.hygiene import personal, secrets
from simonides.hygiene.disguises import bared
from simonides.hygiene.ruled import Table
from simonides.language.patterns import Hints

_TABLES = (secrets.TABLE, personal.TABLE)

LONGEST = 8_192
"""Characters up to which one pass stands for two. The automaton of all hints at once is large, and
what a long hostile text makes of it takes a tenth of a second, of this length a quarter of that
(measured); two small ones do not."""


def find(text: str) -> tuple[Finding, ...]:
    """Return the secrets in a text, by place, then the personal data, by place.

    A sign that nobody sees inside a token does not hide it: the text is read without such signs as
    well. A place then has them in it, and may overlap one that was found with them.
    """
    readings = bared(text)
    if not readings:
        return tuple(each for table in _tables(text) for each in table.find(text))
    found: tuple[Finding, ...] = ()
    for table in _TABLES:
        told = list(table.find(text))
        for bare, places in readings:
            told += (_back(each, places) for each in table.find(bare))
        found += _widest(told)
    return found


def _tables(text: str) -> tuple[Table, ...]:
    return () if len(text) <= LONGEST and not _hints().in_text(text) else _TABLES


def _back(finding: Finding, places: list[int]) -> Finding:
    return replace(finding, start=places[finding.start], end=places[finding.end - 1] + 1)


def _widest(found: list[Finding]) -> tuple[Finding, ...]:
    """Return findings by place, without those that lie within another as grave."""
    kept: list[Finding] = []
    ends = dict.fromkeys(Severity, 0)
    for finding in sorted(found, key=lambda each: (each.start, -each.end)):
        if finding.end > ends[finding.severity]:
            ends[finding.severity] = finding.end
            kept.append(finding)
    return tuple(kept)


@cache
def _hints() -> Hints:
    return Hints([f"(?:{rule.hint})" for table in _TABLES for rule in table.rules])
