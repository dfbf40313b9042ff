"""Secrets and personal data in one look: most texts have neither, and one pass tells (HY-1)."""

from __future__ import annotations

from functools import cache

from memstrata.domain.findings import Finding
from memstrata.hygiene import personal, secrets
from memstrata.language.patterns import Hints

_TABLES = (secrets.TABLE, personal.TABLE)

LONGEST = 4_096
"""Characters up to which one pass stands for two. The automaton of all hints at once is large, and
what a long hostile text makes of it takes a tenth of a second (measured); two small ones do not."""


def find(text: str) -> tuple[Finding, ...]:
    """Return the secrets in a text, by place, then the personal data, by place."""
    if len(text) <= LONGEST and not _hints().in_text(text):
        return ()
    return secrets.find(text) + personal.find(text)


@cache
def _hints() -> Hints:
    return Hints([f"(?:{rule.hint})" for table in _TABLES for rule in table.rules])
