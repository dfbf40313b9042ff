"""Find secrets in texts: keys, tokens, passwords.

The rules are in ``secrets.toml``. A match must have the entropy of a secret of its kind. If only
the words around it mark it as a secret, it must not look like a path, placeholder or word.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from simonides.domain.entropy import is_drawn
from simonides.domain.writing.finding import Concern, Severity
from simonides.hygiene.pii.rule_matching import Judge, Rule, Table
from simonides.text import patterns

# Chosen: words used for a password in examples, and states that a password may be in.
_PLACEHOLDERS = frozenset(
    "password passwd pass pwd user username token secret key test example none null true false"
    " string str yourpassword mypassword your_password my_password placeholder redacted hidden"
    " required optional unknown empty masked blank undefined".split()
)
_TEMPLATE_MARKS = ("${", "{{", "<", "%(", "$(", "#{", "...", "***", "•••")
_DATE_SHAPES = ([1, 1, 4], [1, 2, 4], [2, 2, 4], [2, 2, 2], [2, 2], [1, 2])
_DESCRIPTIVE_ENDINGS = (
    "ed", "ing", "ly", "tion", "able", "ous", "ful", "ent", "ant", "ive", "ert", "bar", "lich",
)  # fmt: skip
"""Endings of words that describe a password ("expired", "missing")."""


def entropy_bits(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    size = len(text)
    # For short texts, str.count per character takes half the time of a Counter.
    counts = [text.count(char) for char in set(text)] if size < 64 else Counter(text).values()
    return math.log2(size) - sum(n * math.log2(n) for n in counts if n > 1) / size


def is_random(text: str) -> bool:
    """Whether a text looks random: letters and digits, or cases, alternate often."""
    if is_placeholder(text) or "://" in text or text.startswith(("/", "./", "~/")):
        return False
    return not text.isdigit() and is_drawn(text)


def is_placeholder(text: str) -> bool:
    """Whether a text is a placeholder: a template, a run of one character, a word for a value."""
    low = text.lower().strip("\"'`<>[]{}()")
    if not low or low in _PLACEHOLDERS or text.startswith(("$", "%", "{", "[")):
        return True
    if any(mark in text for mark in _TEMPLATE_MARKS):
        return True
    return "xxxx" in low or "example" in low or len(set(low)) < 3


def is_password(text: str) -> bool:
    """Whether a value assigned to a password is one, not a type, call, path or plain word."""
    if is_placeholder(text) or len(text) < 4 or "://" in text:
        return False
    if text[0] in "/.(" or "(" in text[1:] or text.endswith("[") or text.isdigit():
        return False
    if text.replace("_", "").replace(".", "").isalpha():
        # Settings, variables and types have plain names; a password changes case inside.
        return "_" not in text and "." not in text and _changes_case(text)
    return True


def is_spoken_password(text: str) -> bool:
    """Whether the word after "my password is" is the password, not a description ("expired").

    A short everyday word without a digit, sign or inner capital counts as a description.
    """
    said = text.strip(".,;:!?)(")
    if text.rstrip(".,;:!?").endswith("()") or _is_date(said):
        # A function call, or the date of the last change.
        return False
    if len(said) < 4 or is_placeholder(said) or said[0] in "/(" or said[-1] in "[{=":
        return False
    if not said.isalpha():
        # "90-day", "two-factor", "e.g."
        has_digit = any(char.isdigit() for char in said)
        has_sign = any(not char.isalnum() and char not in "-'’./" for char in said)
        return (has_digit or has_sign) and not said.endswith(("-day", "-digit"))
    if _changes_case(said):
        return True
    return len(said) >= 12 and not said.lower().endswith(_DESCRIPTIVE_ENDINGS)


def _is_date(text: str) -> bool:
    parts = next((text.split(sign) for sign in "-/." if sign in text), [])
    return all(map(str.isdigit, parts)) and sorted(map(len, parts)) in _DATE_SHAPES


def is_value(text: str) -> bool:
    """Whether a header's value is a credential, not a word or a template."""
    return not is_placeholder(text) and (
        any(char.isdigit() for char in text) or text.endswith("=") or _changes_case(text)
    )


def is_jwt(text: str) -> bool:
    """Whether a text is a JSON Web Token by its header (RFC 7519, 5), or looks random if cut."""
    head, _, body = text.partition(".")
    if not body:
        return is_random(text)
    try:
        said = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return _is_mixed(head) and _is_mixed(body)
    return isinstance(said, dict) and bool({"alg", "typ", "kid", "enc"} & said.keys())


def _is_mixed(text: str) -> bool:
    return any(char.isdigit() for char in text) and _changes_case(text)


def _changes_case(text: str) -> bool:
    inside = text[1:]
    return any(c.isupper() for c in inside) and any(c.islower() for c in inside)


def _any(text: str) -> bool:
    return True


CHECKS: Mapping[str | None, Callable[[str], bool]] = MappingProxyType(
    {
        None: _any,
        "jwt": is_jwt,
        "no_example": lambda text: "EXAMPLE" not in text,
        "has_digit": lambda text: any(char.isdigit() for char in text),
        "random": is_random,
        "not_placeholder": lambda text: not is_placeholder(text),
        "password": is_password,
        "spoken": is_spoken_password,
        "value": is_value,
    }
)
"""Additional checks that a rule in ``secrets.toml`` may name."""


_PACKAGE = "simonides.hygiene.pii"


def _rules() -> tuple[Rule, ...]:
    table = tomllib.loads((files(_PACKAGE) / "secrets.toml").read_text("utf-8"))
    return tuple(_rule(row) for row in table["rule"])


TABLE = Table(Concern.SECRET, _rules)
"""The rules of ``secrets.toml``."""


def _rule(row: Mapping[str, Any]) -> Rule:
    hint = row.get("hint") or "|".join(map(patterns.escaped, row["keywords"]))
    return Rule(row["name"], Severity.HIGH, hint, row["pattern"], _judge(row))


def _judge(row: Mapping[str, Any]) -> Judge:
    least, check = row["entropy"], CHECKS[row.get("check")]

    def judge(text: str, start: int, end: int) -> bool:
        it = text[start:end]
        return bool(it) and entropy_bits(it) >= least and check(it)

    return judge
