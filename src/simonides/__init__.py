"""simonides: a memory system for LLM agents.

```python
import simonides

with simonides.open("memory.db") as store:
    memory = store.memory(user="ana")
    memory.remember("Always deploy to us-east-1", key="deploy_region", category="preference")
    print(memory.recall("where do I deploy?")[0].content)
```

Importing it is cheap: what opens a store is loaded when one is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simonides._version import __version__
from simonides.domain.conversation.add_report import (
    AddReport,
)
from simonides.domain.conversation.message import (
    Message,
)
from simonides.domain.errors import (
    CarryRefused,
    CeilingReached,
    ConfigurationError,
    IdempotencyMismatch,
    InvalidInput,
    InvalidScope,
    KeyDestroyed,
    KeyUnavailable,
    MissingExtra,
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
    MoveRefused,
    NotFound,
    NotReplayable,
    OwnerRequired,
    PhaseError,
    PolicyInvalid,
    QuotaExceeded,
    Refused,
    ScopeDenied,
    SessionEnded,
    SimonidesError,
    SourceUnavailable,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    Tampered,
    TaskUnderWay,
    UndoRefused,
)
from simonides.domain.memory import (
    Draft,
    Importance,
    Kind,
    Record,
    Status,
)
from simonides.domain.policy.working import (
    Constraint,
)
from simonides.domain.reading.digest import (
    Digest,
)
from simonides.domain.reading.page import (
    Page,
)
from simonides.domain.reading.recall import (
    Explanation,
    Hit,
    Recall,
)
from simonides.domain.reading.receipt import (
    Receipt,
)
from simonides.domain.trust import (
    Sensitivity,
    Source,
    Trust,
)
from simonides.domain.writing.decision import (
    Outcome,
    OutcomeKind,
    Outcomes,
)

if TYPE_CHECKING:
    from simonides import types
    from simonides.api import (
        AsyncAdmin,
        AsyncMemory,
        AsyncSession,
        AsyncTask,
    )
    from simonides.api.open.awaited import StoreOpening
    from simonides.api.store import (
        AsyncStore,
    )
    from simonides.api.sync import (
        Admin,
        Memory,
        Session,
        Store,
        Task,
        Tools,
    )
    from simonides.api.tools import (
        AsyncTools,
    )
    from simonides.integrations.wrap import (
        memory_of,
        wrap,
    )
    from simonides.integrations.wrap_memory import (
        WrappedMemory,
    )
    from simonides.ports import (
        Anchor,
        Classifier,
        Clock,
        Embedder,
        Finder,
        KeyRing,
        KeyVault,
        LanguageModel,
        Reranker,
        TokenCounter,
    )
    from simonides.providers.knowledge.folder import (
        FolderSource,
    )
    from simonides.providers.knowledge.http_search import (
        HttpSource,
    )
    from simonides.settings import (
        Settings,
    )

_LAZY = {
    "Admin": "simonides.api.sync",
    "AsyncAdmin": "simonides.api",
    "AsyncMemory": "simonides.api",
    "AsyncSession": "simonides.api",
    "AsyncStore": "simonides.api.store",
    "AsyncTask": "simonides.api",
    "AsyncTools": "simonides.api.tools",
    "FolderSource": "simonides.providers.knowledge.folder",
    "HttpSource": "simonides.providers.knowledge.http_search",
    "Memory": "simonides.api.sync",
    "Session": "simonides.api.sync",
    "Settings": "simonides.settings",
    "Store": "simonides.api.sync",
    "Task": "simonides.api.sync",
    "Tools": "simonides.api.sync",
    "WrappedMemory": "simonides.integrations.wrap_memory",
    "memory_of": "simonides.integrations.wrap",
    "wrap": "simonides.integrations.wrap",
}


def open(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    remote: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    model: LanguageModel | str | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    classifier: Classifier | None = None,
    finder: Finder | None = None,
    key_ring: KeyRing | None = None,
    anchor: Anchor | None = None,
    key_vault: KeyVault | None = None,
    tokens: TokenCounter | Callable[[str], int] | None = None,
    clock: Clock | None = None,
    create: bool = True,
) -> Store:
    """Open a simonides for callers without an event loop.

    Args:
        target: A path, ``sqlite:///path``, ``postgresql://user@host/database`` or ``:memory:``;
            None means what the settings name, or a file in the user's data directory. The first
            write makes a file that is not there, a read never does; a database is prepared by
            ``simonides db init``.
        mode: ``local``; ``incognito`` (``guest``), which keeps everything in memory; or
            ``synced``, a replica of another store that works without it (docs/operations.md). None
            means what the settings name, ``local`` if they do not.
        remote: Mode ``synced``: path or URL of that other store; None means the settings'.
        settings: None reads the environment.
        model: A language model instead of the settings', see
            :class:`simonides.ports.LanguageModel`, or the name of one, ``"openai:gpt-5-mini"``.
        embedder: A model of your own instead of the settings', see
            :class:`simonides.ports.Embedder`; it is yours to close.
        reranker: Likewise, see :class:`simonides.ports.Reranker`.
        classifier: What looks a second time at what seems to be planted instead of the settings',
            see :class:`simonides.ports.Classifier`.
        finder: What finds more personal data in texts, see :class:`simonides.ports.Finder`.
        key_ring: Master keys instead of the settings', see docs/privacy.md.
        anchor: Where it is noted how far owners have come, instead of the settings'; likewise.
        key_vault: The keys by which what is kept is encrypted, instead of the settings'; it is
            yours to close, see docs/privacy.md.
        tokens: What counts tokens for budgets instead of the settings' tokenizer or the estimate:
            see :class:`simonides.ports.TokenCounter`, or a function of a text.
        clock: Time instead of the machine's, see :class:`simonides.ports.Clock`. No timer runs
            with it: periodic work waits for calls.
        create: False raises :class:`StoreUnavailable` where no store is at the path.

    Raises:
        ConfigurationError: If a setting, the mode or the URL is wrong, a store is named where the
            settings alone make it incognito, or an extra is missing.
        PolicyInvalid: If the policy file is broken.
        KeyUnavailable: If the key ring cannot be read, or the store is under one and none is named.
        StoreError: If the store cannot be opened. Where a file cannot be made, the first write
            raises it.
    """
    from simonides.api.open.assemble import assemble
    from simonides.api.sync import Store

    made = assemble(
        target,
        mode=mode,
        remote=remote,
        settings=settings,
        inline=True,
        model=model,
        embedder=embedder,
        reranker=reranker,
        classifier=classifier,
        finder=finder,
        key_ring=key_ring,
        anchor=anchor,
        key_vault=key_vault,
        tokens=tokens,
        clock=clock,
        create=create,
    )
    return Store(made)


def aopen(
    target: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    remote: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    model: LanguageModel | str | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    classifier: Classifier | None = None,
    finder: Finder | None = None,
    key_ring: KeyRing | None = None,
    anchor: Anchor | None = None,
    key_vault: KeyVault | None = None,
    tokens: TokenCounter | Callable[[str], int] | None = None,
    clock: Clock | None = None,
    create: bool = True,
) -> StoreOpening:
    """Open a simonides for an event loop.

    Await the result, ``store = await simonides.aopen("memory.db")``, and close the store by
    ``await store.close()``; or use it as ``async with simonides.aopen("memory.db") as store``.
    Nothing is opened before. The arguments are those of :func:`open`; its errors are raised when
    the result is awaited or entered.
    """
    from simonides.api.open.awaited import StoreOpening

    def assembled() -> AsyncStore:
        from simonides.api.open.assemble import assemble

        return assemble(
            target,
            mode=mode,
            remote=remote,
            settings=settings,
            inline=False,
            model=model,
            embedder=embedder,
            reranker=reranker,
            classifier=classifier,
            finder=finder,
            key_ring=key_ring,
            anchor=anchor,
            key_vault=key_vault,
            tokens=tokens,
            clock=clock,
            create=create,
        )

    return StoreOpening(assembled)


if not TYPE_CHECKING:  # A type checker must see which names there are.

    def __getattr__(name: str) -> Any:
        if name == "types":
            return import_module("simonides.types")
        if name in _LAZY:
            return getattr(import_module(_LAZY[name]), name)
        raise AttributeError(f"module 'simonides' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "AddReport",
    "Admin",
    "AsyncAdmin",
    "AsyncMemory",
    "AsyncSession",
    "AsyncStore",
    "AsyncTask",
    "AsyncTools",
    "CarryRefused",
    "CeilingReached",
    "ConfigurationError",
    "Constraint",
    "Digest",
    "Draft",
    "Explanation",
    "FolderSource",
    "Hit",
    "HttpSource",
    "IdempotencyMismatch",
    "Importance",
    "InvalidInput",
    "InvalidScope",
    "KeyDestroyed",
    "KeyUnavailable",
    "Kind",
    "Memory",
    "Message",
    "MissingExtra",
    "ModelError",
    "ModelGarbled",
    "ModelTimeout",
    "ModelUnavailable",
    "MoveRefused",
    "NotFound",
    "NotReplayable",
    "Outcome",
    "OutcomeKind",
    "Outcomes",
    "OwnerRequired",
    "Page",
    "PhaseError",
    "PolicyInvalid",
    "QuotaExceeded",
    "Recall",
    "Receipt",
    "Record",
    "Refused",
    "ScopeDenied",
    "Sensitivity",
    "Session",
    "SessionEnded",
    "Settings",
    "SimonidesError",
    "Source",
    "SourceUnavailable",
    "Status",
    "Store",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "Tampered",
    "Task",
    "TaskUnderWay",
    "Tools",
    "Trust",
    "UndoRefused",
    "WrappedMemory",
    "__version__",
    "aopen",
    "memory_of",
    "open",
    "types",
    "wrap",
]
