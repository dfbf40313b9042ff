"""The figures of a process, as they are asked for: what was counted, and what takes looking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simonides.domain.operations.metrics import THRESHOLDS, Threshold, alerts_of
from simonides.domain.scope import Scope
from simonides.domain.value import plain
from simonides.engine.core.counters import Counters
from simonides.engine.core.runtime import Runtime
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.retrieval.index.segment import Frozen
from simonides.retrieval.ranking.staleness import spread_of


@dataclass(frozen=True, slots=True)
class Monitoring:
    """What status and metrics take from the settings.

    Attributes:
        mode: ``local``, ``incognito`` or ``synced``.
        thresholds: From which figures on metrics raise an alert.
    """

    mode: str = "local"
    thresholds: tuple[Threshold, ...] = THRESHOLDS


def metrics_of(
    runtime: Runtime, owners: Mapping[Scope, OwnerIndex], frozen: Sequence[Frozen]
) -> dict[str, Any]:
    """Return what this process has counted, how some owners stand, and what alerts.

    Args:
        runtime: The open simonides.
        owners: Whose scopes are counted; of several the most that any of them has.
        frozen: Columns of those whose staleness is told.
    """
    spread = spread_of(frozen, runtime.clock.now_us())
    users = [(owner, index) for owner, index in owners.items() if owner.user is not None]
    scopes = max((_scopes(owner, index) for owner, index in users), default=0)
    counters = runtime.part(Counters)
    figures = counters.figures()
    # Nobody's scopes are no figure; a user's own scope is one of them.
    figures["scopes_per_user"] = float(scopes) if users else None
    figures["staleness_p50"], figures["staleness_p95"] = spread.p50, spread.p95
    return {
        **counters.to_dict(),
        "scopes": scopes,
        "staleness": spread._asdict(),
        "rates": figures,
        "alerts": plain(alerts_of(figures, runtime.part(Monitoring).thresholds)),
    }


def warm_metrics(runtime: Runtime) -> dict[str, Any]:
    """Return the figures over all owners whose indexes are warm in this process."""
    cache = runtime.indexes
    found = {owner: index for owner in cache.owners() if (index := cache.warm(owner)) is not None}
    frozen = [index.freeze() for index in found.values() if index.head is not None]
    return metrics_of(runtime, found, frozen)


def _scopes(owner: Scope, index: OwnerIndex) -> int:
    return index.live_scopes(owner) + 1
