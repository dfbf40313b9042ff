"""Finds secrets in a text: keys, tokens, passwords and card numbers.

The rules are in ``secrets.toml``. A match must have the entropy of a secret of its kind. If only
the words around a value mark it as a secret, the value must not look like a path, an example or
a word. No value and no error holds the text of a secret.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from simonides.core.errors import InvalidInput
from simonides.hygiene.rules import Check, Finding, Rules, is_standalone
from simonides.text.words import listed

_MIN_TURNS = 4
"""Minimum changes between letters and digits in a random text. Not measured. Random text has one
change in three characters; the name ``report_v2_2024`` has 3 in 14."""

_UNSPEAKABLE = re.compile("[bcdfghjklmnpqrstvwxz]{5}")
"""Five consonants in a row: rare in words, in every third random text of 20 letters."""

# Chosen: words that stand for a password in examples, and states of a password.
_PLACEHOLDERS = frozenset(
    "password passwd pass pwd user username token secret key test example none null true false"
    " string str yourpassword mypassword your_password my_password placeholder redacted hidden"
    " required optional unknown empty masked blank undefined".split()
)
_TEMPLATE_MARKS = ("${", "{{", "<", "%(", "$(", "#{", "...", "***", "•••")
_DATE_SHAPES = ([1, 1, 4], [1, 2, 4], [2, 2, 4], [2, 2, 2], [2, 2], [1, 2])
# Endings of words that describe a password ("expired", "missing").
_DESCRIPTIVE_ENDINGS = tuple(
    "ed ing ly tion able ible ous ful ent ant ive less ic al ar ory ary ert bar lich".split()
)


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Return the secrets of a text by position, without overlap, in time linear in the text.

    Invisible characters do not hide a secret; its span includes them.
    """
    return _rules().find(text)


def no_secret(field: str, said: str) -> str:
    """Return a name or a reason that is stored in clear, as it was given.

    A card number is no secret in a text without spaces: ids of 16 digits are common.

    Args:
        field: Name of the argument.
        said: The text.

    Raises:
        InvalidInput: If it holds a secret, which the error does not repeat.
    """
    if _holds_secret(said):
        raise InvalidInput(field, "holds a secret, such as a key or a password; leave it out")
    return said


@lru_cache(maxsize=8192)
def _holds_secret(said: str) -> bool:
    return any(found.name != "card-number" or " " in said for found in find_secrets(said))


@cache
def _rules() -> Rules:
    return Rules("secrets.toml", _check_of)


def _check_of(row: Mapping[str, Any]) -> Check:
    least, accepts = row["entropy"], _CHECKS[row.get("check")]
    standalone = row.get("standalone", False)

    def check(text: str, start: int, end: int) -> bool:
        value = text[start:end]
        if standalone and not is_standalone(text, start, end):
            return False
        return bool(value) and _entropy(value) >= least and accepts(value)

    return check


def _entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    size = len(text)
    # For short texts, str.count per character takes half the time of a Counter.
    counts = [text.count(char) for char in set(text)] if size < 64 else Counter(text).values()
    return math.log2(size) - sum(n * math.log2(n) for n in counts if n > 1) / size


def _is_random(text: str) -> bool:
    """Whether letters and digits, or cases, change as often as in a random text."""
    if _is_placeholder(text) or "://" in text or text.startswith(("/", "./", "~/")):
        return False
    turns = cases = digits = 0
    before = ""
    for char in "" if text.isdigit() else text[:200]:
        if char.isdigit():
            digits += 1
            turns += before.isalpha()
        elif char.isalpha():
            turns += before.isdigit()
            cases += before.isalpha() and char.isupper() != before.isupper()
        before = char
        if digits and turns >= 2 and ((digits > 1 and turns >= _MIN_TURNS) or cases >= 6):
            return True
    return digits > 1 and turns >= 2 and _UNSPEAKABLE.search(text.lower()) is not None


def _is_placeholder(text: str) -> bool:
    """Whether a text is a template, a run of one character, or a word for a value."""
    low = text.lower().strip("\"'`<>[]{}()")
    if not low or low in _PLACEHOLDERS or text.startswith(("$", "%", "{", "[")):
        return True
    return any(mark in text for mark in _TEMPLATE_MARKS) or (
        "xxxx" in low or "example" in low or len(set(low)) < 3
    )


def _is_password(text: str) -> bool:
    """Whether a value assigned to a password is not a type, call, path or plain word."""
    if _is_placeholder(text) or len(text) < 4 or "://" in text:
        return False
    if text[0] in "/.(" or "(" in text[1:] or text.endswith("[") or text.isdigit():
        return False
    if text.replace("_", "").replace(".", "").isalpha():
        # Settings, variables and types have plain names; a password changes case inside.
        return "_" not in text and "." not in text and _changes_case(text)
    return True


def _is_spoken_password(text: str) -> bool:
    """Whether the word after "my password is" is the password, not a description ("expired").

    A short everyday word without a digit, sign or inner capital counts as a description.
    """
    said = text.strip(".,;:!?)(")
    if text.rstrip(".,;:!?").endswith("()") or _is_date(said):
        return False  # a function call, or the date of the last change
    if len(said) < 4 or _is_placeholder(said) or said[0] in "/(" or said[-1] in "[{=":
        return False
    if not said.isalpha():
        # "90-day", "two-factor", "e.g."
        has_sign = any(not char.isalnum() and char not in "-'’./" for char in said)
        return (_has_digit(said) or has_sign) and not said.endswith(("-day", "-digit"))
    if _changes_case(said):
        return True
    return len(said) >= 12 and not said.lower().endswith(_DESCRIPTIVE_ENDINGS)


def _is_strong(text: str) -> bool:
    """Whether a text mixes letters with digits or signs as a password does, and no name does."""
    said = text.strip(".,;:!?)(")
    signs = {char for char in text if not char.isalnum() and char not in ".,:;()[]{}/-_'’\"<>"}
    kinds = [_has_digit(said), bool(signs), said.lower() != said, said.upper() != said]
    # Names begin or end with a digit: "1Password", "Prod-DB-2".
    is_name = not signs and said.replace("-", "")[1:-1].isalpha()
    return sum(kinds) > 2 and len(said) > 5 and not is_name and _is_spoken_password(said)


def _is_plain_words(text: str) -> bool:
    """Whether "my password is" leads to words that do not describe a password."""
    words = text.lower().strip("\"'“„«").split()
    said = [word in _states() or word.endswith(_DESCRIPTIVE_ENDINGS) for word in words]
    return sum(said) <= (len(words) > 3) and listed("stop").isdisjoint(words)


@cache
def _states() -> frozenset[str]:
    return frozenset(_rules().table["states"].split()) | _PLACEHOLDERS


def _is_split(text: str) -> bool:
    """Whether the first and the last word of a text are parts of a key."""
    words = text.split()
    return len(words) > 1 and all(map(_is_spoken_password, (words[0], words[-1])))


def _is_spaced(text: str) -> bool:
    """Whether a text without its spaces and signs looks random."""
    joined = "".join(filter(str.isalnum, text))
    return len(joined) > 15 and _is_random(joined)


def _is_seed_phrase(text: str) -> bool:
    """Whether at least 12 words of BIP-39's English list follow each other."""
    run = 0
    for word in re.findall("[a-z]+", text.lower()):
        run = run + 1 if word in _seed_words() else 0
        if run == 12:
            return True
    return False


@cache
def _seed_words() -> frozenset[str]:
    from mnemonic import Mnemonic  # imported on first use: few texts need it

    return frozenset(Mnemonic("english").wordlist)


def _is_date(text: str) -> bool:
    parts = next((text.split(sign) for sign in "-/." if sign in text), [])
    return all(map(str.isdigit, parts)) and sorted(map(len, parts)) in _DATE_SHAPES


def _is_header_value(text: str) -> bool:
    """Whether a header's value is a credential, not a word or a template."""
    has_mark = _has_digit(text) or text.endswith("=") or _changes_case(text)
    return has_mark and not _is_placeholder(text)


def _is_jwt(text: str) -> bool:
    """Whether a text is a JSON Web Token by its header (RFC 7519, 5), or looks random if cut."""
    head, _, body = text.partition(".")
    if not body:
        return _is_random(text)
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return all(_has_digit(part) and _changes_case(part) for part in (head, body))
    return isinstance(header, dict) and bool({"alg", "typ", "kid", "enc"} & header.keys())


def _passes_luhn(text: str) -> bool:
    """Whether the last digit is the right check digit (ISO/IEC 7812-1, annex B)."""
    from stdnum import luhn  # imported on first use: it takes 30 ms and few texts need it

    return bool(luhn.is_valid("".join(filter(str.isdigit, text))))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _changes_case(text: str) -> bool:
    return any(map(str.isupper, text[1:])) and any(map(str.islower, text[1:]))


_CHECKS: Mapping[str | None, Callable[[str], bool]] = {
    None: lambda text: True,
    "jwt": _is_jwt,
    "luhn": _passes_luhn,
    "no_example": lambda text: "EXAMPLE" not in text,
    "has_digit": _has_digit,
    "random": _is_random,
    "not_placeholder": lambda text: not _is_placeholder(text),
    "password": _is_password,
    "spoken": _is_spoken_password,
    "strong": _is_strong,
    "plain_words": _is_plain_words,
    "key_or_password": lambda text: _is_strong(text) or (len(text) > 15 and _is_random(text)),
    "split": _is_split,
    "spaced": _is_spaced,
    "seed_phrase": _is_seed_phrase,
    "value": _is_header_value,
}
