"""What the outside must supply, as Protocols whose docstrings are the contract.

An adapter implements one of these and imports nothing above it. An optional ability is declared
in ``capabilities``, never found out by trying.
"""

from memstrata.ports.backups import BackupStore, RevertibleStore
from memstrata.ports.capability import Capability
from memstrata.ports.carrying import PortableStore, Portrait
from memstrata.ports.classifiers import Classified, Classifier, Finder
from memstrata.ports.host import Alarm, Aside, Beside, Clock, Ids
from memstrata.ports.keys import (
    KEY_BYTES,
    Anchor,
    Anchored,
    CodedStore,
    DataKey,
    KeyRing,
    KeyVault,
)
from memstrata.ports.knowledge import KnowledgeSource
from memstrata.ports.models import (
    TYPICAL_UNRELATED,
    Embedder,
    LanguageModel,
    ModelAnswer,
    QueryEmbedder,
    Reranker,
    TokenCounter,
)
from memstrata.ports.moving import MovableStore
from memstrata.ports.records import After, RecordStore
from memstrata.ports.sessions import SessionStore
from memstrata.ports.stores import MemoryStore
from memstrata.ports.views import NearTexts, OwnerView

__all__ = [
    "KEY_BYTES",
    "TYPICAL_UNRELATED",
    "After",
    "Alarm",
    "Anchor",
    "Anchored",
    "Aside",
    "BackupStore",
    "Beside",
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
    "TokenCounter",
]
