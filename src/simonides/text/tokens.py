"""Estimates the number of tokens of a text without a tokenizer."""

from __future__ import annotations

# 4 characters a token, CJK about 1.5; in twelfths of a token, so that sums are exact.
_TWELFTHS_PER_CHAR = 3
_TWELFTHS_PER_CJK_CHAR = 8


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of ``text``; 0 for the empty text, else at least 1.

    It counts four characters a token, and 1.5 for Han, kana and Hangul, rounded up once at the end.
    The estimate is for prose: code, digits and rare scripts cost more. Longer text never gets a
    smaller estimate.
    """
    cjk = 0 if text.isascii() else sum(map(is_cjk, text))
    twelfths = _TWELFTHS_PER_CHAR * (len(text) - cjk) + _TWELFTHS_PER_CJK_CHAR * cjk
    return -(-twelfths // 12)


class TokenEstimate:
    """The default counter without a tokenizer; a :class:`~simonides.ports.TokenCounter`.

    Attributes:
        counter_id: ``estimate 1``.
    """

    counter_id = "estimate 1"

    def count(self, text: str) -> int:
        """See :func:`estimate_tokens`."""
        return estimate_tokens(text)


def is_cjk(char: str) -> bool:
    """Whether a character belongs to a script of one character a syllable or word."""
    return char >= "\u1100" and any(first <= char <= last for first, last in _CJK_RANGES)


# Hangul jamo; CJK punctuation to the ideographs, kana included; Yi; Hangul syllables;
# compatibility ideographs; full- and half-width forms; the supplementary ideographs.
_CJK_RANGES = (
    ("\u1100", "\u11ff"),
    ("\u2e80", "\u9fff"),
    ("\ua000", "\ua4cf"),
    ("\ua960", "\ua97f"),
    ("\uac00", "\ud7ff"),
    ("\uf900", "\ufaff"),
    ("\uff00", "\uffef"),
    ("\U0001aff0", "\U0001b2ff"),
    ("\U00020000", "\U0003ffff"),
)
