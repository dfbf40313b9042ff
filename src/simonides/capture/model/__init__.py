"""Candidates proposed by a model: from one turn, or from the turns of a session in a batch.

``propose`` asks about one turn, ``ask`` about a ``Batch`` of turns for one ``Lane``. ``fact`` and
``rule`` make candidates of the items of a batch; ``merged`` joins the candidates of all lanes.
"""

from __future__ import annotations

from simonides.capture.model.batch import Batch, Lane, ask, fact, may_be_read, merged, rule
from simonides.capture.model.turn import NO_SUCH_SCOPE, anchor, propose

__all__ = [
    "NO_SUCH_SCOPE",
    "Batch",
    "Lane",
    "anchor",
    "ask",
    "fact",
    "may_be_read",
    "merged",
    "propose",
    "rule",
]
