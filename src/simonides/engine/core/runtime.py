"""The objects that every operation uses, assembled once by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from simonides.domain.scope import Scope
from simonides.engine.core.model_budget import BudgetAccount, ModelBudget, booked
from simonides.policy import PolicyBook
from simonides.ports import (
    Aside,
    Capability,
    Classifier,
    Clock,
    CodedStore,
    Finder,
    Ids,
    LanguageModel,
    MemoryStore,
    Reranker,
    SessionStore,
    TokenCounter,
)
from simonides.retrieval.index import IndexCache, OwnerIndex
from simonides.text import TokenEstimate

Part = TypeVar("Part")


class ModelHealth(Protocol):
    """Status report of the chosen language model."""

    def report(self) -> dict[str, Any]:
        """Return provider, model, its health, and the skipped models with reasons."""

    def ailments(self) -> tuple[str, ...]:
        """Return the current problems."""


class ReindexQueue:
    """Receives index entries that must be rebuilt; this base class ignores them.

    Reads and writes call it. The maintenance package overrides it, so that they need not import
    that package.
    """

    def notice(self, owner: Scope, index: OwnerIndex) -> None:
        """Queue an index with stale entries; does not block."""

    def wrote(self, owner: Scope, index: OwnerIndex) -> None:
        """Note that this process has written entries; does not block."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a read or a write may call, and their health.

    The embedder is separate, in ``Runtime.indexes``.

    Attributes:
        meter: The language model within its ceilings; None: rules decide.
        health: Reports the language model in use, and skipped ones with reasons.
        classifier: Gives a second opinion on suspicious text, or None.
        second_look: Makes a classifier of the language model if the caller passed none, or None.
        finder: Finds what the built-in detectors may not know, or None.
        reranker: Reranks the best hits, or None.
        rerank_candidates: Number of hits to rerank.
        tokens: Counts tokens for budgets.
        ailing: Error of each model whose last call failed, by name.
        problems: Models in the settings that could not be loaded, for ``status``.
    """

    meter: ModelBudget | None = None
    health: ModelHealth | None = None
    classifier: Classifier | None = None
    second_look: Callable[[LanguageModel], Classifier] | None = None
    finder: Finder | None = None
    reranker: Reranker | None = None
    rerank_candidates: int = 30
    tokens: TokenCounter = field(default_factory=TokenEstimate)
    ailing: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@runtime_checkable
class HasProblems(Protocol):
    """A part that works in the background and may fail there."""

    @property
    def problems(self) -> Sequence[str]:
        """Errors of the last attempt, without content or scope: every user may see ``status``."""


class MissingPart(LookupError):
    """Raised when the composition root did not register the requested part."""


class Parts:
    """State objects and rules of the packages above core, each registered by its class.

    Core imports none of those packages. Each package looks up its own part by class, so the type
    checker knows the result.
    """

    def __init__(self) -> None:
        self._parts: dict[type[object], object] = {}

    def add(self, *parts: object) -> None:
        """Register parts, each under its own class.

        Raises:
            ValueError: If a part of that class is registered already.
        """
        for part in parts:
            self.add_as(type(part), part)

    def add_as(self, kind: type[Part], part: Part) -> None:
        """Register a part under a base class, for packages that cannot import its own class.

        Raises:
            TypeError: If it is not an instance of that class.
            ValueError: If a part of that class is registered already.
        """
        if not isinstance(part, kind):
            raise TypeError(f"a {type(part).__name__} is no {kind.__name__}")
        if kind in self._parts:
            raise ValueError(f"{kind.__name__} is registered already")
        self._parts[kind] = part

    def replacing(self, kind: type[Part], part: Part) -> Parts:
        """Return a copy with one part replaced."""
        found = Parts()
        found._parts = {**self._parts, kind: part}
        return found

    def get(self, kind: type[Part]) -> Part | None:
        """Return the part of a class, or None if there is none."""
        part = self._parts.get(kind)
        return part if isinstance(part, kind) else None

    def problems(self) -> list[str]:
        """Return the last error of each part, for ``status``."""
        parts = {id(part): part for part in self._parts.values()}.values()
        failing = [part for part in parts if isinstance(part, HasProblems)]
        return [problem for part in failing for problem in part.problems]


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of an open simonides.

    Attributes:
        store: Stored rows.
        sessions: Entries of sessions until they are finalised.
        indexes: Warm owner indexes, with their analyser and embedder.
        clock: Time.
        ids: Ids and salts.
        policies: Policy per org.
        models: Models that a read or a write may call.
        aside: Runs work of more than a millisecond off the event loop.
        parts: State of the packages above core.
    """

    store: MemoryStore
    sessions: SessionStore
    indexes: IndexCache
    clock: Clock
    ids: Ids
    policies: PolicyBook
    models: Models
    aside: Aside
    parts: Parts

    def part(self, kind: type[Part]) -> Part:
        """Return the part of a class.

        Raises:
            MissingPart: If none is registered.
        """
        part = self.parts.get(kind)
        if part is None:
            raise MissingPart(
                f"no {kind.__name__} is registered; simonides.api.open.assemble registers parts"
            )
        return part

    @property
    def coded(self) -> CodedStore | None:
        """The store, if it is under a key ring."""
        is_coded = Capability.CODED in self.store.capabilities
        return cast("CodedStore", self.store) if is_coded else None


def account_of(runtime: Runtime, owner: Scope) -> BudgetAccount | None:
    """Open an account for one operation on an owner, or return None without a model."""
    meter = runtime.models.meter
    if meter is None:
        return None
    return meter.account(owner, runtime.policies.policy_for(owner.org).ceilings)


async def may_embed(runtime: Runtime, owner: Scope, texts: int) -> str | None:
    """Book texts for a remote embedder; see :func:`booked`.

    An in-process embedder costs nothing and is not booked.
    """
    if not texts or not runtime.indexes.indexer.is_charged:
        return None
    ceilings = runtime.policies.policy_for(owner.org).ceilings
    return await booked(runtime.store, runtime.clock, owner, ceilings, texts)


def ails(runtime: Runtime, part: str, error: Exception | None) -> None:
    """Record whether a model's last call failed, for ``status``.

    Args:
        runtime: The open simonides.
        part: Name of the model.
        error: The error, or None. Its text may name a host, never content.
    """
    ailing = runtime.models.ailing
    if error is not None:
        ailing[part] = f"{type(error).__name__}: {error}"
    elif ailing:
        ailing.pop(part, None)
