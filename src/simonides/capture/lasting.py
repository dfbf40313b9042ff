"""What is meant for the conversation and no longer.

"For this session, answer in French", "for now" and "just this once" are all kept out of long-term
memory. The first two hold until the talk is over, the last for one answer.
"""

from __future__ import annotations

from simonides.language import patterns

_TALK = r"(?:chat|session|conversation|talk|discussion|thread)"
_LIMIT = (
    rf"\b(?:(?:just |only )?(?:for|in|during|throughout) (?:the rest of )?(?:this|our|the current)"
    rf" {_TALK}(?: only)?)\b,?"
)
_LASTING = (
    r"\b(?:for now|for the time being|for the moment|temporarily"
    r"|(?:just |only )?(?:for )?(?:today|tonight)(?: only)?"
    r"|until (?:tomorrow|tonight|then|i (?:say|tell)|further notice))\b"
)
_ONCE = (
    r"\b(?:this (?:once|time)|for (?:this|that) (?:one|answer|reply|response|question|message"
    r"|e-?mail|letter)|in this (?:answer|reply|response|message|e-?mail))\b"
)


def within_session(text: str) -> str:
    """Return what a turn says within its session: without the words that limit it to that, blank,
    so that places stay as they are.
    """
    said = text
    for match in patterns.compile(_LIMIT, ignore_case=True).finditer(text):
        start, end = match.span()
        said = f"{said[:start]}{' ' * (end - start)}{said[end:]}"
    return said


def lasts_for_session(text: str) -> bool:
    """Return whether what was said for the moment is meant until the talk is over.

    Args:
        text: The turn that it was read from.
    """
    lasting = patterns.compile(_LASTING, ignore_case=True).search(text) is not None
    return lasting and patterns.compile(_ONCE, ignore_case=True).search(text) is None
