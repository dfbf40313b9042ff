"""What every verb works with, put together once by the composition root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from simonides.domain.scope import Scope
from simonides.engine.core.model_budget import BudgetAccount, ModelBudget, booked
from simonides.policy.registry import PolicyBook
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
from simonides.retrieval.index.cache import IndexCache
from simonides.retrieval.index.owner_index import OwnerIndex
from simonides.text.tokens import TokenEstimate

Part = TypeVar("Part")


class ModelHealth(Protocol):
    """What the chosen language model reports of itself."""

    def report(self) -> dict[str, Any]:
        """Return provider, model, which models are left out and why, and how it is."""

    def ailments(self) -> tuple[str, ...]:
        """Return what is wrong with it now."""


class ReindexQueue:
    """Is told of index entries that are to be made anew; this one ignores them.

    Reads and writes tell it. The maintenance that makes the entries derives from it, so that they
    need not import it.
    """

    def notice(self, owner: Scope, index: OwnerIndex) -> None:
        """Remember that an index holds stale entries; returns at once."""

    def wrote(self, owner: Scope, index: OwnerIndex) -> None:
        """Take note that this process has written entries; returns at once."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a read or a write may ask, and how they are.

    The embedder is not among them: ``Runtime.indexes`` holds it.

    Attributes:
        meter: The language model, behind the ceilings of its use; None: rules decide.
        health: Which language model takes part, which do not and why, and how it is.
        classifier: Gives a second opinion on suspicious text, or None.
        second_look: Makes a classifier of the language model where none was handed in, or None.
        finder: Finds in texts what the detectors here may not know, or None.
        reranker: Reads the best hits again, or None.
        rerank_candidates: How many of them.
        tokens: Counts tokens for budgets.
        ailing: Which models failed when they were last asked, and why.
        problems: Models that the settings name and that could not be loaded, for ``status``.
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
    """A part whose work can fail while nobody waits for it."""

    @property
    def problems(self) -> Sequence[str]:
        """What went wrong when last tried; no content, no scope: every user may see ``status``."""


class MissingPart(LookupError):
    """A part was asked for that the composition root did not register."""


class Parts:
    """The state objects and the rules of the packages above core, each under its class.

    Core imports none of them. A package looks its own part up by class, and the type checker knows
    what it gets.
    """

    def __init__(self) -> None:
        self._parts: dict[type[object], object] = {}

    def add(self, *parts: object) -> None:
        """Register parts, each under its own class.

        Raises:
            ValueError: If there is one of a class already.
        """
        for part in parts:
            self.add_as(type(part), part)

    def add_as(self, kind: type[Part], part: Part) -> None:
        """Register a part under a base class, by which packages below its own look it up.

        Raises:
            TypeError: If it is not of that class.
            ValueError: If there is one of that class already.
        """
        if not isinstance(part, kind):
            raise TypeError(f"a {type(part).__name__} is no {kind.__name__}")
        if kind in self._parts:
            raise ValueError(f"{kind.__name__} is registered already")
        self._parts[kind] = part

    def replacing(self, kind: type[Part], part: Part) -> Parts:
        """Return the same parts with another one under a class."""
        found = Parts()
        found._parts = {**self._parts, kind: part}
        return found

    def get(self, kind: type[Part]) -> Part | None:
        """Return the part of a class, or None if there is none."""
        part = self._parts.get(kind)
        return part if isinstance(part, kind) else None

    def problems(self) -> list[str]:
        """Return what went wrong in each part when last tried, for ``status``."""
        parts = {id(part): part for part in self._parts.values()}.values()
        failing = [part for part in parts if isinstance(part, HasProblems)]
        return [problem for part in failing for problem in part.problems]


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of an open simonides.

    Attributes:
        store: Rows.
        sessions: What was observed in sessions, until they are finalised.
        indexes: Warm owner indexes, with the analyser and embedder that make them.
        clock: Time.
        ids: Ids and salts.
        policies: Policy per org.
        models: Models that a read or a write may ask.
        aside: Where work of more than a millisecond is done.
        parts: What the packages above core keep.
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
    """Open an account for one operation on an owner, or return None where there is no model."""
    meter = runtime.models.meter
    if meter is None:
        return None
    return meter.account(owner, runtime.policies.policy_for(owner.org).ceilings)


async def may_embed(runtime: Runtime, owner: Scope, texts: int) -> str | None:
    """Book texts for an embedder outside the process; see :func:`booked`.

    An embedder inside the process costs nothing and is not booked.
    """
    if not texts or not runtime.indexes.indexer.is_charged:
        return None
    ceilings = runtime.policies.policy_for(owner.org).ceilings
    return await booked(runtime.store, runtime.clock, owner, ceilings, texts)


def ails(runtime: Runtime, part: str, error: Exception | None) -> None:
    """Record whether a model failed when it was last asked, for ``status``.

    Args:
        runtime: The open simonides.
        part: Which model.
        error: Why it failed, or None if it did not. Its text may name a host, never content.
    """
    ailing = runtime.models.ailing
    if error is not None:
        ailing[part] = f"{type(error).__name__}: {error}"
    elif ailing:
        ailing.pop(part, None)
