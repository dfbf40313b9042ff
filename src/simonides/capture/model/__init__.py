"""Candidates proposed by a model: from one turn, or from the turns of a session in a batch.

``propose`` asks about one turn, ``ask`` about a ``Batch`` of turns for one ``Lane``. ``anchor`` and
``rule`` make candidates of the items; ``merged`` joins the candidates of both lanes.
"""

from __future__ import annotations

from simonides.capture.model.batch import Batch, Lane, ask, may_be_read, merged, rule
from simonides.capture.model.turn import NO_SUCH_SCOPE, anchor, propose

__all__ = [
    "NO_SUCH_SCOPE",
    "Batch",
    "Lane",
    "anchor",
    "ask",
    "may_be_read",
    "merged",
    "propose",
    "rule",
]
