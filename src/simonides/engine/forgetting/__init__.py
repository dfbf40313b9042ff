"""Forgetting memories and erasing a person, with proof."""

from simonides.engine.forgetting.erase import Eraser, PendingErasures
from simonides.engine.forgetting.forget import Forgetter

__all__ = [
    "Eraser",
    "Forgetter",
    "PendingErasures",
]
