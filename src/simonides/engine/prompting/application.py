"""Detects by rules whether an answer applies a memory.

There are two rules, and neither understands the text.

* **Effects.** The value under some keys has a sign that can be checked: a channel is named in the
  text, a concise answer has at most 80 words and 3 sentences. Such a sign decides both ways.
* **Words.** A memory is applied where an answer holds at least half of its distinctive terms, and
  all of those with a digit. A term is distinctive if the question does not hold it. This rule
  only confirms: a paraphrase shows no sign, and may apply the memory all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from simonides.domain.memory import Record
from simonides.text import analyse, patterns

ENGLISH_PREFIX = "Incident update:"
"""First words of the reference agent's answers in English, agreed with the model, so that the
language can be checked.
"""

CONCISE_WORDS = 80
CONCISE_SENTENCES = 3
"""Bounds of a concise answer."""

MAX_VALUE_WORDS = 3
"""Longest value under a key, in characters; chosen. A longer one is a sentence about the value,
which no effect can parse.
"""

TELLING_SHARE = 0.5
"""Share of the distinctive terms that an answer must hold; chosen, to permit a partly repeated
list.
"""

_WORDS = r"\S+"
# An end of a sentence: a stop, then space or the end; "12.5 %" and "us-east-1.db" are none.
_SENTENCE_END = r"[.!?。！？]+(?:[\s\"')\]]|$)"

Effect: TypeAlias = Callable[[str, str], bool | None]
"""Maps a memory's value and the answer to whether it is applied; None where no check is
possible.
"""


def language_shows(value: str, answer: str) -> bool | None:
    """Whether an answer is in the agreed language; only English has an agreed sign."""
    return answer.startswith(ENGLISH_PREFIX) if value.casefold() in ("english", "en") else None


def style_shows(value: str, answer: str) -> bool | None:
    """Whether a concise answer is concise: at most 80 words and 3 sentences."""
    if value.casefold() not in ("concise", "short", "brief"):
        return None
    return _count(_WORDS, answer) <= CONCISE_WORDS and (
        _count(_SENTENCE_END, answer) <= CONCISE_SENTENCES
    )


def channel_shows(value: str, answer: str) -> bool | None:
    """Whether the channel is named in the text."""
    return value.casefold() in answer.casefold()


EFFECTS: Mapping[str, Effect] = {
    "response_style": style_shows,
    "update_channel": channel_shows,
}
"""Effects that can be checked in any answer, by key."""

AGENT_EFFECTS: Mapping[str, Effect] = {"language": language_shows, **EFFECTS}
"""Those, and the signs that the reference agent has agreed with its model."""


def applied(memory: Record, question: str, answer: str) -> bool | None:
    """Return whether an answer applies a memory; None where no rule can tell.

    Args:
        memory: That the answer may have used.
        question: Its words prove nothing.
        answer: A text.
    """
    effect = EFFECTS.get(memory.key or "")
    if effect is not None and len(memory.content.split()) <= MAX_VALUE_WORDS:
        shows = effect(memory.content, answer)
        if shows is not None:
            return shows
    return True if _is_said(memory.content, question, answer) else None


def _is_said(content: str, question: str, answer: str) -> bool:
    telling = set(analyse(content)) - set(analyse(question))
    found = telling & set(analyse(answer))
    numbers = {term for term in telling if any(char.isdigit() for char in term)}
    return bool(telling) and numbers <= found and len(found) >= TELLING_SHARE * len(telling)


def _count(pattern: str, text: str) -> int:
    return sum(1 for _ in patterns.compile(pattern).finditer(text))
