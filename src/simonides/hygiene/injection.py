"""Finds prompt injection: texts that were written to command a model.

Three detectors read a text and what is encoded in it: hidden characters, the rules on wording in
``injection.toml``, and a classifier of its sentences. A user's own instruction looks the same as an
attacker's. So only texts of other origin are checked, and their trust label protects the store
where a detector fails.
"""

from __future__ import annotations

import base64
import binascii
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from simonides.hygiene.classifier import MAX_TEXTS, probabilities, threshold
from simonides.hygiene.rules import disguises
from simonides.text.patterns import PatternSet, spans
from simonides.text.words import read_toml

INSTRUCTION = "instruction"
"""The reason for texts that are only suspicious: people also write like that to an assistant."""

_PIECE = 400
"""Characters that the classifier reads at once: it judges an attack in a long page by itself."""

_MIN_SENTENCE = 20
_SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？")
_MAX_DECODED = 16
"""Most encoded parts that are read. Set by judgement."""

# A flag emoji is a black flag, tags and a cancel tag. Other tags are invisible ASCII.
_FLAG = r"\x{1F3F4}[\x{E0020}-\x{E007E}]{1,8}\x{E007F}"
_TAG = r"[\x{E0020}-\x{E007E}]"
# Persian letters and emoji need joiners; ASCII letters do not.
_HIDDEN = (
    r"[\x{202D}\x{202E}]"
    r"|(?:[A-Za-z]+[\x{AD}\x{200B}-\x{200F}\x{2060}-\x{2064}\x{FEFF}]+){2,}[A-Za-z]"
)
_MIXED = r"[A-Za-z][\x{370}-\x{52f}]+[A-Za-z]"
_BASE64 = r"[A-Za-z0-9+/_-]{24,}={0,2}"


def find_injection(text: str, *, classifies: bool = True) -> str | None:
    """Return why a text looks like a command to a model, or None; in time linear in the text.

    Args:
        text: The text.
        classifies: Whether the classifier reads its sentences, too, which takes most of the time.

    Returns:
        ``hidden_characters`` (invisible ones inside words, tags, overrides of the direction,
        look-alike letters), ``tool_call_syntax``, ``prompt_pattern`` or ``instruction``, the most
        certain first.
    """
    if not text.isascii() and _has_hidden(text):
        return "hidden_characters"
    views = [_plain(text), *islice(map(_plain, _decoded(text)), _MAX_DECODED)]
    patterns, reasons, _ = _rules()
    matched = [number for view in views for number in patterns.in_text(view)]
    if matched:
        return reasons[min(matched)]
    return INSTRUCTION if classifies and any(map(_is_instruction, views)) else None


def _has_hidden(text: str) -> bool:
    if len(list(islice(spans(_MIXED, text), 2))) == 2 or any(spans(_HIDDEN, text)):
        return True
    flags = sum(end - start - 2 for start, end in spans(_FLAG, text))
    return sum(1 for _ in spans(_TAG, text)) > flags


def _plain(text: str) -> str:
    """Return a text in lower case without disguises: invisible, confusable and styled letters."""
    if text.isascii():
        return text.lower()
    visible = disguises(text)
    text = (visible[-1][0] if visible else text).lower()
    folded = {ord(char): _folded(char) for char in set(text) if not char.isascii()}
    if folded:
        text = text.translate(folded)
    return text.translate(_rules()[2]) if any(spans(_MIXED, text)) else text


def _folded(char: str) -> str:
    letters = unicodedata.normalize("NFKC", char).lower()
    return letters if len(letters) <= 3 else char  # one sign may stand for a sentence


def _decoded(text: str) -> Iterator[str]:
    """Yield what is written in Base64 in a text, where it is prose."""
    for start, end in spans(_BASE64, text):
        code = text[start:end].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            prose = base64.b64decode(code + "=" * (-len(code) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
        if sum(char.isalpha() or char.isspace() for char in prose[:500]) > 0.8 * len(prose[:500]):
            yield prose


@cache
def _rules() -> tuple[PatternSet, list[str], dict[int, str]]:
    """Return the patterns, the reason of each, and letters with the Latin one they look like."""
    table = read_toml("hygiene", "injection.toml")
    patterns, reasons = [], []
    for rule in table["rule"]:
        for pattern in rule["patterns"]:
            for name, alternatives in table["words"].items():
                pattern = pattern.replace(f"<{name}>", f"(?:{alternatives})")
            patterns.append(pattern)
            reasons.append(rule["reason"])
    letters = {
        ord(other): latin for latin, others in table["confusables"].items() for other in others
    }
    return PatternSet(patterns), reasons, letters


def _is_instruction(text: str) -> bool:
    """Whether the likeliest piece of a text reaches the threshold for texts of its length."""
    pieces = list(dict.fromkeys(_pieces(text)))[:MAX_TEXTS]
    return max(probabilities(pieces)) >= threshold(len(text) / _PIECE)


def _pieces(text: str) -> Iterable[str]:
    """Return the start of a text, and its sentences cut to the length of a piece."""
    yield text[:_PIECE]
    for mark in _SENTENCE_ENDS:
        text = text.replace(mark, f"{mark[0]}\n")
    for line in text.split("\n"):
        for at in range(0, len(line), _PIECE):
            if len(line) - at >= _MIN_SENTENCE:
                yield line[at : at + _PIECE]
