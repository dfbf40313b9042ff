"""Whether a memory shows in an answer, as far as rules can tell.

Two rules, and neither understands the text.

* **Effects.** The value under some keys has a sign that can be checked: a channel is named in the
  text, a concise answer has at most 80 words and 3 sentences. Where there is such a sign the rule
  decides both ways.
* **Words.** A memory shows where an answer holds at least half of its telling terms, and all of
  them that have a digit. Telling are the terms that the question did not hold already. This rule
  says only yes: what was put in other words shows nothing, and may have been applied all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from simonides.domain.memory import Memory
from simonides.text import patterns
from simonides.text.analyser import analyse

ENGLISH_PREFIX = "Incident update:"
"""How an answer of the reference agent in English starts, agreed with the model, so that the
language can be checked."""

CONCISE_WORDS = 80
CONCISE_SENTENCES = 3
"""What counts as concise."""

MAX_VALUE_WORDS = 3
"""Longest value under a key; what is longer is a sentence about one, which no effect can read;
chosen.
"""

TELLING_SHARE = 0.5
"""Share of the telling terms that an answer must hold; chosen, to let a list be told in part."""

_WORDS = r"\S+"
# An end of a sentence: a stop, then space or the end; "12.5 %" and "us-east-1.db" are none.
_SENTENCE_END = r"[.!?。！？]+(?:[\s\"')\]]|$)"

Effect: TypeAlias = Callable[[str, str], bool | None]
"""From a memory's value and the answer to whether it shows; None where nothing can be checked."""


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
"""Effects that any answer shows, by key."""

AGENT_EFFECTS: Mapping[str, Effect] = {"language": language_shows, **EFFECTS}
"""Those, and what the reference agent has agreed with its model."""


def applied(memory: Memory, question: str, answer: str) -> bool | None:
    """Return whether a memory shows in an answer; None where no rule can tell.

    Args:
        memory: That the answer may have used.
        question: What was asked; its words prove nothing.
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
