"""The only path into a prompt: digests, their text, receipts and replay.

Digest, push, search tool, task prompt, wrapped clients and adapters get their text from here.
"""

from simonides.engine.prompting.application import (
    AGENT_EFFECTS,
    CONCISE_SENTENCES,
    CONCISE_WORDS,
    ENGLISH_PREFIX,
    Effect,
    style_shows,
)
from simonides.engine.prompting.context_supply import Supplier
from simonides.engine.prompting.digest import DigestBuilder
from simonides.engine.prompting.profile import profile_of
from simonides.engine.prompting.relevance_floor import Floors
from simonides.engine.prompting.render import visible
from simonides.engine.prompting.replay import Replayer
from simonides.engine.prompting.triggers import AsyncTriggers, TriggerMode

__all__ = [
    "AGENT_EFFECTS",
    "CONCISE_SENTENCES",
    "CONCISE_WORDS",
    "ENGLISH_PREFIX",
    "AsyncTriggers",
    "DigestBuilder",
    "Effect",
    "Floors",
    "Replayer",
    "Supplier",
    "TriggerMode",
    "profile_of",
    "style_shows",
    "visible",
]
