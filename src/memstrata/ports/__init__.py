"""What the outside must supply, as Protocols whose docstrings are the contract.

An adapter implements one of these and imports nothing above it. An optional ability is declared
in ``capabilities``, never found out by trying.
"""

from memstrata.ports.capability import Capability
from memstrata.ports.host import Alarm, Aside, Clock, Ids
from memstrata.ports.models import Embedder, LanguageModel, ModelAnswer, TokenCounter
from memstrata.ports.stores import MemoryStore, MovableStore, OwnerView, SessionStore

__all__ = [
    "Alarm",
    "Aside",
    "Capability",
    "Clock",
    "Embedder",
    "Ids",
    "LanguageModel",
    "MemoryStore",
    "ModelAnswer",
    "MovableStore",
    "OwnerView",
    "SessionStore",
    "TokenCounter",
]
