"""Detect English requests to switch off safety, which never become rules of the agent.

This is a second layer: the guards do not depend on it, and no memory overrides policy or approval.
"""

from __future__ import annotations

from simonides.language import patterns

_SAFEGUARD = (
    r"(?:safety|security|moderation|content|policy|compliance|approval|audit)"
    r"[ -](?:filter|filters|filtering|check|checks|rule|rules|guideline|guidelines|policy|policies"
    r"|setting|settings|feature|features|limit|limits|restriction|restrictions"
    r"|measure|measures|control|controls|log|logs|logging|mode|mechanism|mechanisms|gate|gates)"
    r"|guard ?rails?|safeguards?|safety|moderation"
    r"|(?:system prompt|(?:your|all|previous|prior|safety|system) "
    r"(?:instructions|rules|guidelines|restrictions|policies))"
)
_BETWEEN = r"(?:[ ,]+(?:all|any|of|the|your|its|these|those|every|my|our|out|off|with)){0,4}[ ,]+"
_OFF = (
    r"(?:disabl(?:e|ing)|turn(?:ing)? off|switch(?:ing)? off|deactivat(?:e|ing)|bypass(?:ing)?"
    r"|ignor(?:e|ing)|overrid(?:e|ing)|skip(?:ping)?|disregard(?:ing)?|circumvent(?:ing)?"
    r"|forget|suspend(?:ing)?|remov(?:e|ing))"
)
# Matches the negation as well: "never disable safety" is no request to disable it.
_SWITCHES_OFF = (
    r"(?P<negation>\b(?:never|not|don'?t|dont|cannot|can'?t|mustn'?t|without|avoid)[ ]+"
    r"(?:[a-z]+[ ]+){0,2})?"
    rf"\b(?:{_OFF}{_BETWEEN}(?:{_SAFEGUARD})\b"
    rf"|(?:turn|switch)(?:ing)?{_BETWEEN}(?:{_SAFEGUARD}) off\b)"
)
_REFUSES_TO_APPLY = (
    r"\b(?:never|not|don'?t|dont|stop|without)[ ]+(?:[a-z]+[ ]+)?"
    r"(?:apply|applying|enforce|enforcing|follow|following|obey|obeying|respect|respecting"
    rf"|run|running|use|using){_BETWEEN}(?:{_SAFEGUARD})\b"
)


def would_disable_safety(text: str) -> bool:
    """Whether a text asks to skip safety checks, rules or approval."""
    flat = " ".join(text.replace("\u2019", "'").encode("utf-8", "replace").decode().split())
    switching = patterns.compile(_SWITCHES_OFF, ignore_case=True).finditer(flat)
    if any(match.group("negation") is None for match in switching):
        return True
    return patterns.compile(_REFUSES_TO_APPLY, ignore_case=True).search(flat) is not None
