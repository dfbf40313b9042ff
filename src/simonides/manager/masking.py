"""What a model is shown of what was said: not what policy would keep nowhere (HY-1)."""

from __future__ import annotations

from simonides.capture.pasted import without_digests
from simonides.domain.hygiene import Action
from simonides.manager.screening import look, strike
from simonides.policy.rules import Policy

_KEPT_OUT = (Action.BLOCK, Action.REDACT)


def masked(text: str, policy: Policy) -> str:
    """Return a text with pasted digests left blank, and what policy blocks or redacts struck out.

    Everything else keeps its place and its characters, so that a quote of it can be found.
    """
    plain = without_digests(text)
    found = (each for each in look(plain) if policy.hygiene.action_on(each) in _KEPT_OUT)
    return strike(plain, found)
