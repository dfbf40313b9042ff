"""Metrics of a process: its counters, and figures that are computed on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simonides.domain.operations.metrics import THRESHOLDS, Threshold, alerts_of
from simonides.domain.scope import Scope
from simonides.domain.value import plain
from simonides.engine.core import Counters, Runtime
from simonides.retrieval.index import Frozen, OwnerIndex
from simonides.retrieval.ranking import spread_of


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Settings of status and metrics.

    Attributes:
        mode: ``local``, ``incognito`` or ``synced``.
        thresholds: Values from which on a metric raises an alert.
    """

    mode: str = "local"
    thresholds: tuple[Threshold, ...] = THRESHOLDS


def metrics_of(
    runtime: Runtime, owners: Mapping[Scope, OwnerIndex], frozen: Sequence[Frozen]
) -> dict[str, Any]:
    """Return the counters of this process, figures of some owners, and alerts.

    Args:
        runtime: The open simonides.
        owners: Owners whose live scopes are counted; the result is the largest count.
        frozen: Index columns from which staleness is computed.
    """
    spread = spread_of(frozen, runtime.clock.now_us())
    users = [(owner, index) for owner, index in owners.items() if owner.user is not None]
    scopes = max((_scopes(owner, index) for owner, index in users), default=0)
    counters = runtime.part(Counters)
    figures = counters.figures()
    # Without users there is no figure. The count includes the user's own scope.
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
    """Return the metrics over all owners with a warm index in this process."""
    cache = runtime.indexes
    found = {owner: index for owner in cache.owners() if (index := cache.warm(owner)) is not None}
    frozen = [index.freeze() for index in found.values() if index.head is not None]
    return metrics_of(runtime, found, frozen)


def _scopes(owner: Scope, index: OwnerIndex) -> int:
    return index.live_scopes(owner) + 1
