"""What a question asks for: intent, answer keys, relations."""

from __future__ import annotations

from simonides.text.questions.answer_keys import AskedKeys
from simonides.text.questions.intent import (
    Ago,
    Form,
    Mark,
    Question,
    SaidDate,
    marks,
    read_question,
    words_of,
)
from simonides.text.questions.relations import NO_OTHERS, RELATIONS, OfOthers, is_somebody

__all__ = [
    "NO_OTHERS",
    "RELATIONS",
    "Ago",
    "AskedKeys",
    "Form",
    "Mark",
    "OfOthers",
    "Question",
    "SaidDate",
    "is_somebody",
    "marks",
    "read_question",
    "words_of",
]
