"""What a secret looks like, and what only seems to be one."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

from simonides.domain.secrecy import is_drawn

# Chosen: words that stand in examples in the place of a password, and states that one may be in.
_PLACEHOLDERS = frozenset(
    "password passwd pass pwd user username token secret key test example none null true false"
    " string str yourpassword mypassword your_password my_password placeholder redacted hidden"
    " required optional unknown empty masked blank undefined".split()
)
_MARKS_OF_TEMPLATES = ("${", "{{", "<", "%(", "$(", "#{", "...", "***", "•••")
_OF_DATES = ([1, 1, 4], [1, 2, 4], [2, 2, 4], [2, 2, 2], [2, 2], [1, 2])
_SPOKEN_STATES = (
    "ed", "ing", "ly", "tion", "able", "ous", "ful", "ent", "ant", "ive", "ert", "bar", "lich",
)  # fmt: skip
"""How words end that say of a password what it is like, not what it is."""


def entropy_of(text: str) -> float:
    """Return the Shannon entropy of a text's characters in bits a character."""
    size = len(text)
    # Texts are short: counting one character after the other takes half the time of a Counter.
    counts = [text.count(char) for char in set(text)] if size < 64 else Counter(text).values()
    return math.log2(size) - sum(n * math.log2(n) for n in counts if n > 1) / size


def is_random(text: str) -> bool:
    """Whether a text looks drawn by lot: letters and digits, or cases, change often."""
    if is_placeholder(text) or "://" in text or text.startswith(("/", "./", "~/")):
        return False
    return not text.isdigit() and is_drawn(text)


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value: a template, a run of one character, a word for it."""
    low = text.lower().strip("\"'`<>[]{}()")
    if not low or low in _PLACEHOLDERS or text.startswith(("$", "%", "{", "[")):
        return True
    if any(mark in text for mark in _MARKS_OF_TEMPLATES):
        return True
    return "xxxx" in low or "example" in low or len(set(low)) < 3


def is_password(text: str) -> bool:
    """Whether what is assigned to a password is one: not a type, a call, a path or a word."""
    if is_placeholder(text) or len(text) < 4 or "://" in text:
        return False
    if text[0] in "/.(" or "(" in text[1:] or text.endswith("[") or text.isdigit():
        return False
    if text.replace("_", "").replace(".", "").isalpha():
        # Names of settings, variables and types; what is typed blindly changes its case inside.
        return "_" not in text and "." not in text and _changes_case(text)
    return True


def is_spoken_password(text: str) -> bool:
    """Whether what is said to be a password is one, and not said about it.

    An everyday word without a digit or a capital inside is not told from a word about it.
    """
    said = text.strip(".,;:!?)(")
    if text.rstrip(".,;:!?").endswith("()") or _is_date(said):
        # What a program calls, and the day on which it was changed.
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
    return len(said) >= 12 and not said.lower().endswith(_SPOKEN_STATES)


def _is_date(text: str) -> bool:
    """Whether a text is a date, or what is left of one behind its year."""
    parts = next((text.split(sign) for sign in "-/." if sign in text), [])
    return all(map(str.isdigit, parts)) and sorted(map(len, parts)) in _OF_DATES


def is_value(text: str) -> bool:
    """Whether what a header is given is a credential, not a word or a template."""
    return not is_placeholder(text) and (
        any(char.isdigit() for char in text) or text.endswith("=") or _changes_case(text)
    )


def is_jwt(text: str) -> bool:
    """Whether a text is a JSON Web Token: its head says by what it is signed (RFC 7519, 5).

    What cannot be decoded, as it was cut or comes encoded once more, must look drawn by lot.
    """
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
"""Further looks that a rule may name."""
