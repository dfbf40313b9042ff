"""The interfaces that adapters implement, as Protocols whose docstrings are the contract. An
adapter implements one of these and imports nothing above it. An optional ability is declared in
``capabilities``, never found out by trying.
"""

from simonides.ports.host import (
    Alarm,
    Aside,
    Clock,
    Ids,
    StartThread,
)
from simonides.ports.keys import (
    KEY_BYTES,
    Anchor,
    Anchored,
    CodedStore,
    DataKey,
    KeyRing,
    KeyVault,
)
from simonides.ports.knowledge import KnowledgeSource
from simonides.ports.models import (
    TYPICAL_UNRELATED,
    Classified,
    Classifier,
    Embedder,
    Finder,
    LanguageModel,
    ModelAnswer,
    QueryEmbedder,
    Reranker,
    TokenCounter,
)
from simonides.ports.sessions import After, RecordStore, SessionStore
from simonides.ports.store_extras import (
    BackupStore,
    MovableStore,
    PortableStore,
    Portrait,
    RevertibleStore,
)
from simonides.ports.stores import Capability, MemoryStore
from simonides.ports.views import NearTexts, OwnerView

__all__ = [
    "KEY_BYTES",
    "TYPICAL_UNRELATED",
    "After",
    "Alarm",
    "Anchor",
    "Anchored",
    "Aside",
    "BackupStore",
    "Capability",
    "Classified",
    "Classifier",
    "Clock",
    "CodedStore",
    "DataKey",
    "Embedder",
    "Finder",
    "Ids",
    "KeyRing",
    "KeyVault",
    "KnowledgeSource",
    "LanguageModel",
    "MemoryStore",
    "ModelAnswer",
    "MovableStore",
    "NearTexts",
    "OwnerView",
    "PortableStore",
    "Portrait",
    "QueryEmbedder",
    "RecordStore",
    "Reranker",
    "RevertibleStore",
    "SessionStore",
    "StartThread",
    "TokenCounter",
]
