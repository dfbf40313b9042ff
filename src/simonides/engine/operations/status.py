"""The ``status`` report: counts, backend, models, health."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simonides.domain.memory import Record, Status
from simonides.domain.scope import Principal
from simonides.engine.core import Runtime
from simonides.engine.edit import Deliveries
from simonides.engine.operations.metrics import Monitoring
from simonides.engine.write import too_many_tasks


def status_of(
    runtime: Runtime,
    principal: Principal,
    memories: Sequence[Record],
    floors: Mapping[str, Any],
    sessions: int,
) -> dict[str, Any]:
    """Return the report for one principal.

    Args:
        runtime: The open simonides.
        principal: The caller.
        memories: The memories that it may read.
        floors: The relevance thresholds in force, and the rates behind them.
        sessions: Number of the owner's open sessions.
    """
    models, remote = runtime.models, runtime.part(Deliveries).remote
    return {
        "principal": principal.home.path,
        "mode": runtime.part(Monitoring).mode,
        "backend": runtime.store.location,
        "recall": not _is_off(runtime, principal),
        "remote": None if remote is None else remote.location,
        "memories": _counted([memory.kind.value for memory in memories]),
        "review": sum(memory.status is Status.REVIEW for memory in memories),
        "sessions": sessions,
        "embedder": runtime.indexes.indexer.embedder or None,
        "reranker": None if models.reranker is None else models.reranker.model_id,
        "analyser": runtime.indexes.indexer.analyser,
        "stale_entries": _stale(runtime, principal, memories),
        "key": None if runtime.coded is None else runtime.coded.key_id,
        "encrypted": runtime.coded is not None and runtime.coded.is_sealed,
        "model": None if models.meter is None else models.meter.model_id,
        "language_model": {} if models.health is None else models.health.report(),
        "policy": runtime.policies.policy_for(principal.home.org).version,
        "floors": {**floors},
        "problems": [*_problems(runtime), *_crowd(runtime, principal)],
    }


def _is_off(runtime: Runtime, principal: Principal) -> bool:
    """Whether recall is switched off; the caller has just updated the index."""
    index = runtime.indexes.warm(principal.home.owner)
    return index is not None and index.refusals.recall_off


def _crowd(runtime: Runtime, principal: Principal) -> tuple[str, ...]:
    """Return the problem of too many live tasks, to users only: a task must not learn of others."""
    owner = principal.home.owner
    index = runtime.indexes.warm(owner)
    if principal.home != owner or index is None:
        return ()
    return too_many_tasks(index.live_scopes(owner))


def _stale(runtime: Runtime, principal: Principal, memories: Sequence[Record]) -> int:
    """Return how many memories have an index entry of another model or analyser.

    The caller has just updated the indexes, so the store is not read.
    """
    owners = {scope.owner for scope in principal.home.lineage}
    stale = [index.stale for owner in owners if (index := runtime.indexes.warm(owner))]
    return sum(any(memory.id in ids for ids in stale) for memory in memories) if any(stale) else 0


def _problems(runtime: Runtime) -> tuple[str, ...]:
    models = runtime.models
    return (
        *models.problems,
        *(() if models.health is None else models.health.ailments()),
        *(f"{part}: {problem}" for part, problem in sorted(models.ailing.items())),
        *(() if runtime.coded is None else runtime.coded.problems),
        *runtime.parts.problems(),
        *map(str, runtime.policies.problems()),
    )


def _counted(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in sorted(set(names))}
