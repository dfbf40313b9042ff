"""The people and pets that users name: "my wife Olga", "a dog called Rex"."""

from __future__ import annotations

from simonides.capture import lexicon, values
from simonides.capture.clause import Clause
from simonides.capture.findings import Finding, Findings, starts
from simonides.language import patterns

_ALL_RELATIONS = "|".join(
    sorted({*lexicon.ONE_RELATION, *lexicon.MANY_RELATION}, key=lambda word: (-len(word), word))
)

MAX_COMPANIONS = 4
"""Companions named in one clause."""
COMPANION = (
    rf"\b(?:my|our)\s+(?:(?:late|older|younger|elder|little|big|best|new|dear|close|oldest|youngest"
    rf"|good|old)\s+)?(?P<r>{_ALL_RELATIONS})(?:'s\s+(?:name\s+is|called|named)|\s+is\s+(?:called"
    rf"|named)|,?\s+(?:named|called)|,)?\s+(?P<v>.+)"
)
"""A companion and the name, anywhere in a clause: "with my wife Olga"."""
HAS_COMPANION = (
    rf"\b(?:i|we)(?:'ve got|\s+have|\s+got|\s+own|\s+adopted)\s+(?:an?|one)\s+(?:\w+\s+){{0,3}}?"
    rf"(?P<r>{_ALL_RELATIONS})\s+(?:named|called)\s+(?P<v>.+)"
)


def companions(clause: Clause, following: str) -> Findings:
    """Read named relatives, friends and pets anywhere in a clause; also in questions.

    Args:
        clause: Where to look.
        following: The text behind the clause: "my wife, Olga" may go on "and I".
    """
    lower = clause.text.lower()
    if not any(word in lower for word in ("my ", "our ", " named ", " called ")):
        return ()
    found: list[Finding] = []
    for pattern in (COMPANION, HAS_COMPANION):
        offset = 0
        for _ in range(MAX_COMPANIONS):
            match = patterns.compile(pattern, ignore_case=True).search(clause.text[offset:])
            if match is None:
                break
            # Inside a quotation it is somebody else's wife.
            if clause.text.count('"', 0, offset + match.span()[0]) % 2 == 0:
                found += _companion(match, offset, following)
            offset += match.span(1)[1]
    return tuple(found)


# "My wife, Olga, is …"; but "my wife, Olga, and I" may be three people.
_APPOSED = (
    r"\s*(?:$|\)|[.!?]|,\s*(?:who|is|was|has|likes?|loves?|works?|lives?|said|told|just|also)\b)"
)


def _companion(match: patterns.Match, offset: int, following: str) -> Findings:
    relation, said = match.group("r") or "", match.group("v") or ""
    value = values.name(said)
    if value is None or relation != relation.lower() or value.isupper():
        return ()
    start, end = match.span()
    begin = end - len(said)
    joined = (match.group() or "")[: begin - start].rstrip()
    if joined.endswith(",") and not starts(_APPOSED, said[len(value) :] + following):
        return ()
    span = (offset + start, offset + begin + len(value))
    key = lexicon.ONE_RELATION.get(relation)
    content = value if key else f"My {relation} is called {value}"
    return (Finding(category="entity_fact", key=key, value=content, span=span),)
