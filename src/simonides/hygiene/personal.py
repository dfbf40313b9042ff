"""Finds personal data in a text: identity numbers, bank accounts, e-mail, phone, postal addresses.

The rules are in ``personal.toml``. A number counts by its check digits, its form, or the words
around it. Digits in dates, versions, ranges and code are not personal data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from simonides.hygiene.rules import Check, Finding, Rules, is_standalone
from simonides.text.patterns import spans

_MIN_DIGITS, _MAX_DIGITS = 7, 15
"""Digits of a phone number: a local one, and the most that ITU-T E.164 allows."""

_MAX_NAME, _MAX_DOMAIN = 64, 255
"""Characters of an e-mail address (RFC 5321, 4.5.3.1)."""


def find_personal(text: str) -> tuple[Finding, ...]:
    """Return the personal data of a text by position, without overlap, in time linear in the text.

    National identity numbers and identity documents are severe. The rest is suspicious.
    """
    return _rules().find(text)


@cache
def _rules() -> Rules:
    return Rules("personal.toml", _check_of)


def _check_of(row: Mapping[str, Any]) -> Check:
    if (module := row.get("stdnum")) is None:
        return _CHECKS[row.get("check")]
    return lambda text, start, end: (
        is_standalone(text, start, end) and _is_valid(module, text[start:end])
    )


def _is_valid(module: str, number: str) -> bool:
    """Whether a number satisfies the rules of a module of python-stdnum such as ``pl.pesel``."""
    checks = import_module(f"stdnum.{module}")  # on first use: few texts need it
    if module == "iban":  # national checks find typing errors; it is an account without them, too
        return bool(checks.is_valid(number, check_country=False))
    try:
        return bool(checks.is_valid(number))
    except KeyError:
        # python-stdnum 2.2 raises it for a Chinese county that its table does not have, after the
        # check digit and the date of birth were right.
        return True


def _is_email(text: str, start: int, end: int) -> bool:
    name, _, domain = text[start:end].rpartition("@")
    if len(name) > _MAX_NAME or len(domain) > _MAX_DOMAIN:
        return False
    # "git@github.com:org/x" is a repository.
    return name != "git" and domain.rpartition(".")[2].lower() not in _rules().table["files"]


def _is_international(text: str, start: int, end: int) -> bool:
    """Whether the numbering plan of its country allows a number with a plus sign."""
    if not _is_phone(text, start, end):
        return False
    import phonenumbers  # on first use: it takes 30 ms, and few texts have such a number

    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(text[start:end], None))
    except phonenumbers.NumberParseException:
        return False


def _is_phone(text: str, start: int, end: int) -> bool:
    """Whether a span is a number by itself, no date, no series, and not named as something else."""
    number = text[start:end]
    digits = sum(map(str.isdigit, number.partition("x")[0]))
    if not _MIN_DIGITS <= digits <= _MAX_DIGITS or not is_standalone(text, start, end):
        return False
    if any(spans(_rules().table["date"], number)) or _is_series(number):
        return False
    return not any(spans(_rules().table["other_number"], text[max(0, start - 40) : start]))


def _is_series(number: str) -> bool:
    """Whether three or more groups differ by the same step, as in a list of numbers."""
    groups = [int(group) for group in number.replace("-", " ").split() if group.isdigit()]
    return len(groups) > 2 and len({after - before for before, after in pairwise(groups)}) == 1


_CHECKS: Mapping[str | None, Check] = {
    None: lambda text, start, end: True,
    "standalone": is_standalone,
    "document": lambda text, start, end: sum(map(str.isdigit, text[start:end])) >= 4,
    "email": _is_email,
    "international": _is_international,
    "phone": _is_phone,
}
