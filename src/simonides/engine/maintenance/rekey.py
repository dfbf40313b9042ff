"""Recomputes a store's MACs under the current key, and deletes unreadable rows of erased owners."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.errors import ConfigurationError, InvalidInput
from simonides.domain.operations.reindex import KeysReport
from simonides.domain.scope import Scope
from simonides.engine.core import Runtime
from simonides.engine.operations import SafetyRecordStore
from simonides.engine.recall import WarmSessions


async def rekey(
    runtime: Runtime, *, scopes: Sequence[str] | None, adopt: bool, accept: bool
) -> KeysReport:
    """See :meth:`simonides.AsyncStore.rekey`."""
    store = runtime.coded
    if store is None:
        raise ConfigurationError(
            "no key ring is set, or the store is in memory, where rows have no MACs; name a ring "
            "by the setting keys, keys_file or keys_command (docs/privacy.md)"
        )
    if accept and scopes is None:
        raise InvalidInput("accept", "needs scopes: name the owners whose memories were examined")
    if scopes is None:
        owners = await store.owners()
    else:
        owners = tuple(dict.fromkeys(Scope.parse(path).owner for path in scopes))
    coded = [await store.recode(owner, adopt=adopt, accept=accept) for owner in owners]
    if scopes is None:
        await store.rewrap()
        await runtime.part(SafetyRecordStore).rewrap()
    return KeysReport(store.key_id, len(owners), sum(coded))


async def sweep(runtime: Runtime) -> int:
    """See :meth:`simonides.AsyncStore.sweep`."""
    store = runtime.coded
    if store is None or not store.is_sealed:
        raise ConfigurationError(
            "the store is not encrypted, and no key of it was destroyed (docs/privacy.md)"
        )
    lost = await store.sweep()
    if lost:
        runtime.indexes.clear()
        runtime.part(WarmSessions).clear()
    return len(lost)
