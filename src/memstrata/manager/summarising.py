"""Summaries of what was said: by the model where there is one, else out of its own sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.domain.decision import NO_USAGE, Usage
from memstrata.domain.scope import Scope
from memstrata.domain.turn import Turn
from memstrata.manager.services import Services
from memstrata.policy.rules import Policy


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of turns.

    Attributes:
        text: At most as long as was asked; may be empty where nothing was said.
        by: ``rules`` or the id of the model.
        usage: What it cost.
        diagnostics: Why no model took part though there is one.
    """

    text: str
    by: str
    usage: Usage = NO_USAGE
    diagnostics: tuple[str, ...] = ()


async def summarise(
    services: Services, policy: Policy, turns: Sequence[Turn], *, max_chars: int, owner: Scope
) -> Summary:
    """Summarise turns; secrets are struck out before any model sees them."""
    raise NotImplementedError
