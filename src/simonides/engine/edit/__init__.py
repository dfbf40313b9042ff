"""Changing stored memories: correct, undo, promote to another scope."""

from simonides.engine.edit.cascade import cascade_items
from simonides.engine.edit.correct import NOT_FOUND, Changer
from simonides.engine.edit.outbox import Deliveries, Promotion, decoded_item, remote_erasure_item
from simonides.engine.edit.promote import Promoter, deliver
from simonides.engine.edit.undo import Undoer
from simonides.engine.edit.undo_rules import UndoTarget, check_place_free

__all__ = [
    "NOT_FOUND",
    "Changer",
    "Deliveries",
    "Promoter",
    "Promotion",
    "UndoTarget",
    "Undoer",
    "cascade_items",
    "check_place_free",
    "decoded_item",
    "deliver",
    "remote_erasure_item",
]
