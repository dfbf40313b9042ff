"""Bringing the codes of a store under the current key of its ring (FX-7)."""

from __future__ import annotations

from collections.abc import Sequence

from simonides.domain.errors import ConfigurationError, InvalidInput
from simonides.domain.operations.reindex import KeysReport
from simonides.domain.scope import Scope
from simonides.engine.core.runtime import Services
from simonides.engine.operations.safety_records import Shelves
from simonides.engine.recall.warm_sessions import HotSessions


async def rekey(
    services: Services, *, scopes: Sequence[str] | None, adopt: bool, accept: bool
) -> KeysReport:
    """See :meth:`simonides.AsyncStrata.rekey`."""
    store = services.coded
    if store is None:
        raise ConfigurationError(
            "no key ring is set, or the store is in memory, where nobody edits it; name a ring by "
            "the setting keys, keys_file or keys_command (docs/keys.md)"
        )
    if accept and scopes is None:
        raise InvalidInput("accept", "names whose memories were looked at: give scopes")
    if scopes is None:
        owners = await store.owners()
    else:
        owners = tuple(dict.fromkeys(Scope.parse(path).owner for path in scopes))
    coded = [await store.recode(owner, adopt=adopt, accept=accept) for owner in owners]
    if scopes is None:
        await store.rewrap()
        await services.part(Shelves).rewrap()
    return KeysReport(store.key_id, len(owners), sum(coded))


async def sweep(services: Services) -> int:
    """See :meth:`simonides.AsyncStrata.sweep`."""
    store = services.coded
    if store is None or not store.is_sealed:
        raise ConfigurationError(
            "the store is not encrypted, and no key of it was destroyed (docs/encryption.md)"
        )
    lost = await store.sweep()
    if lost:
        services.indexes.clear()
        services.part(HotSessions).clear()
    return len(lost)
