"""Recognises standing rules and dangers among statements that a caller gives without a category.

``remember("Never deploy on Fridays")`` is a constraint, as it is when it is said in a conversation.
"""

from __future__ import annotations

from typing import NamedTuple

from simonides.capture.rules import examine
from simonides.domain.conversation.turn import Role, Turn
from simonides.domain.memory import Importance, Kind
from simonides.domain.scope import Scope
from simonides.text import patterns


class Standing(NamedTuple):
    """How a standing statement is stored.

    Attributes:
        kind: Kind of the memory.
        category: Category of the policy.
        importance: Least importance.
        key: Name of the fact, if the statement is about how to call or to answer the user.
    """

    kind: Kind
    category: str
    importance: Importance = Importance.NORMAL
    key: str | None = None


MANNER_KEYS = ("nickname", "language", "response_style", "response_length", "tone")
"""Keys of commands about how to call and how to answer the user."""


_HINT = (
    r"^\W*(?:please,?\s+|bitte,?\s+|por favor,?\s+)?(?:never|always|do\s+not|don['’]?t|you\s+must|"
    r"from\s+now\s+on|call\s+me|answer|reply|respond|keep|write|speak|be\s|niemals?|nie|immer|"
    r"ab\s+(?:jetzt|sofort)|nunca|siempre|sempre|jamais|toujours|ne\s|mai|"
    r"nooit|altijd|никогда|всегда|永远|总是|绝不|不要|今後|決して|必ず)|"
    r"\b(?:allerg|anaphyla|epipen|intoleran|coeliac|celiac|medication|prescribed|insulin|"
    r"i\s+(?:take|use)|blood\s+thinner|diabet|epilep|asthma)"
)
"""What a text must contain for the rules to read it: reading each would take a millisecond."""

_RULE = (
    r"^\W*(?:please,?\s+)?(?:never|always|do\s+not|don['’]t)\s|^under\s+no\s+circumstances\b|"
    r"\bmust(?:n['’]t|\s+not|\s+never|\s+always)?\s|"
    r"^no\s+(?:\S+\s+){1,3}(?:before|after|on|in|at|during|without|unless|until|to)\b|"
    r"^(?:only|nobody|no one)\s.*\b(?:may|can|should|with|after|before|if)\b"
)
"""Rules in English that are no commands to the agent."""

_DANGER = r"\b(?:allergic\s+to|allergy|allergies|anaphyla\w+|epipen)\b"
_DENIED = r"\b(?:no|not|never|isn['’]?t|aren['’]?t|without|any)\b"


def standing(text: str, scope: Scope) -> Standing | None:
    """Return how a standing rule or a danger is stored; None for every other statement.

    Args:
        text: The statement.
        scope: Where it is to be stored.
    """
    if _has(_HINT, text):
        for each in examine(Turn(text=text, role=Role.USER), scope).candidates:
            is_grave = each.category == "entity_fact" and each.importance is not Importance.NORMAL
            is_manner = each.key in MANNER_KEYS
            if each.retracts is None and (each.kind is Kind.PROCEDURAL or is_grave or is_manner):
                key = each.key if is_manner else None
                return Standing(each.kind, each.category, each.importance, key)
        if _has(_DANGER, text) and not _has(_DENIED, text):
            return Standing(Kind.SEMANTIC, "entity_fact", Importance.HIGH)
    return Standing(Kind.PROCEDURAL, "constraint") if _has(_RULE, text) else None


def _has(pattern: str, text: str) -> bool:
    return patterns.compile(pattern, ignore_case=True).search(text) is not None
