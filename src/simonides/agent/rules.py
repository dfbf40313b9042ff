"""The agent without a language model: rules give what a model would, in the same JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simonides.agent.contract import PREFIX, Checks, shows
from simonides.capture.clauses import clauses_of
from simonides.capture.slots import slots_of
from simonides.core.policy import Policy, folded
from simonides.core.record import Trust
from simonides.core.results import Hit

MOST_WORDS = 30
"""Words of the request, and of the context, that an answer repeats; chosen to stay concise."""

_TIER = re.compile(r"\b(?:I am|I'm|we are|we're) (?:an? |on the )?(?P<about>\w+) tier\b", re.I)
_MARKS = re.compile(r'[]["{}]')  # of JSON
_ASKS = re.compile(
    r"^(?:(?:please|can you|could you|draft|write|prepare|compose|send|give|me|an?|the|short|brief)"
    r"\s+)*(?:(?:update|note|message) (?:on|about|for) )?(?:the )?",
    re.IGNORECASE,
)


def propose(own: str, policy: Policy) -> dict[str, Any]:
    """Propose what a user's own words state under keys that may be proposed, as many as may be."""
    slots = [slot for clause in clauses_of(own) for slot in slots_of(clause)]
    pairs = [(folded(slot.key), slot.value) for slot in slots]
    pairs += [("declared_tier", tier["about"].casefold()) for tier in _TIER.finditer(own)]
    known = {key: value for key, value in pairs if policy.proposals.category_of(key)}
    most = min(policy.proposals.max_items, policy.agent.capture_items)
    return {"items": [{"key": key, "value": value} for key, value in known.items()][:most]}


def plan(request: str, policy: Policy) -> dict[str, Any]:
    """Search with the request; a question asks for a fact, a task for the user's preferences."""
    query = " ".join(request.split())[: policy.proposals.max_query_chars]
    is_task = not request.rstrip().endswith("?")
    return {"kind": "retrieve_memory", "query": query, "include_preference_keys": is_task}


def draft(
    request: str, context: str, hits: Sequence[Hit], checks: Checks, most: int
) -> dict[str, Any]:
    """Write an answer from the request and the context that applies language, style and channel."""
    own = {h.key: h.content for h in hits if h.key and h.record.trust is not Trust.EXTERNAL}
    kinds = {folded(key): value for key, value in own.items()}
    subject = _first_words(_ASKS.sub("", request.strip())) or "no details were given"
    said = [subject[0].upper() + subject[1:], _first_words(_MARKS.sub("", context))]
    if "update_channel" in kinds:
        said.append(f"Further updates follow by {kinds['update_channel']}")
    lead = f"{PREFIX} " if kinds.get("language", "").casefold() in ("english", "en") else ""
    answer = (lead + " ".join(f"{part[: most // 4]}." for part in said if part))[:most]
    used = [key for key, value in own.items() if shows(key, value, answer, checks)]
    return {"answer": answer, "used_memory_keys": used}


def _first_words(text: str) -> str:
    """Return the words of the first sentence, without the mark at its end."""
    first = re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
    return " ".join(first.split()[:MOST_WORDS]).rstrip(" .!?;,:")
