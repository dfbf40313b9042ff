"""Find secrets in texts: keys, tokens, passwords.

The rules are in ``secrets.toml``. A match must have the entropy of a secret of its kind. If only
the words around it mark it as a secret, it must not look like a path, placeholder or word.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from simonides.domain.writing.finding import Concern, Finding, Severity
from simonides.hygiene.pii.rule_matching import Judge, Rule, Table
from simonides.hygiene.pii.secret_shapes import CHECKS, entropy_bits
from simonides.text.patterns import escaped

_PACKAGE = "simonides.hygiene.pii"


def _rules() -> tuple[Rule, ...]:
    table = tomllib.loads((files(_PACKAGE) / "secrets.toml").read_text("utf-8"))
    return tuple(_rule(row) for row in table["rule"])


TABLE = Table(Concern.SECRET, _rules)
"""The rules of ``secrets.toml``."""


def _rule(row: Mapping[str, Any]) -> Rule:
    hint = row.get("hint") or "|".join(map(escaped, row["keywords"]))
    return Rule(row["name"], Severity.HIGH, hint, row["pattern"], _judge(row))


def _judge(row: Mapping[str, Any]) -> Judge:
    least, check = row["entropy"], CHECKS[row.get("check")]

    def judge(text: str, start: int, end: int) -> bool:
        it = text[start:end]
        return bool(it) and entropy_bits(it) >= least and check(it)

    return judge
