"""Summaries, promotion of held candidates, insights, and undoing them."""

from simonides.engine.consolidation.dream import Consolidator
from simonides.engine.consolidation.model_advice import advised_by_model
from simonides.engine.consolidation.promote_held import Promotion, SessionPromoter
from simonides.engine.consolidation.summarise import (
    SUMMARISED_ROLES,
    Summary,
    is_substantive,
    summarise,
    summary_candidate,
)
from simonides.engine.consolidation.undo_dream import ConsolidationUndoer

__all__ = [
    "SUMMARISED_ROLES",
    "ConsolidationUndoer",
    "Consolidator",
    "Promotion",
    "SessionPromoter",
    "Summary",
    "advised_by_model",
    "is_substantive",
    "summarise",
    "summary_candidate",
]
