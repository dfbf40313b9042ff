"""Secrets in texts: keys, tokens, passwords (HY-1).

Rules are data, ``secrets.toml`` beside this file. What a rule matches must then be as random as a
secret of its kind is, and where only the words around tell what it is it must look like nothing
else: a path, a stand-in, a word.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from simonides.domain.findings import Concern, Finding, Severity
from simonides.hygiene.looks import CHECKS, entropy_of
from simonides.hygiene.ruled import Judge, Rule, Table
from simonides.language.patterns import escaped

_PACKAGE = "simonides.hygiene"


def _rules() -> tuple[Rule, ...]:
    table = tomllib.loads((files(_PACKAGE) / "secrets.toml").read_text("utf-8"))
    return tuple(_rule(row) for row in table["rule"])


TABLE = Table(Concern.SECRET, _rules)
"""The rules of the file."""


def find(text: str) -> tuple[Finding, ...]:
    """Return the secrets in a text; see :meth:`simonides.hygiene.ruled.Table.find`."""
    return TABLE.find(text)


def _rule(row: Mapping[str, Any]) -> Rule:
    hint = row.get("hint") or "|".join(map(escaped, row["keywords"]))
    return Rule(row["name"], Severity.HIGH, hint, row["pattern"], _judge(row))


def _judge(row: Mapping[str, Any]) -> Judge:
    least, check = row["entropy"], CHECKS[row.get("check")]

    def judge(text: str, start: int, end: int) -> bool:
        it = text[start:end]
        return bool(it) and entropy_of(it) >= least and check(it)

    return judge
