"""The only path to a language model: every call is reserved, made and settled.

An open simonides holds a :class:`ModelBudget`, which cannot be called itself. Each operation for an
owner opens a :class:`BudgetAccount` on it. The account is a :class:`~simonides.ports.LanguageModel`
and the only place that calls the model.

Before a call its maximum cost is reserved against the limits of the operation, the owner's day and
the org's day. Afterwards the actual cost replaces it. If the process dies in between, the
reservation counts for the rest of the day: a ceiling overcounts rather than undercounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simonides.domain.canonical_json import canonical_json
from simonides.domain.errors import CeilingReached, ModelError, StoreError
from simonides.domain.policy.ceilings import (
    CALLS,
    EMBEDDED,
    TOKENS,
    Ceilings,
    Limits,
    day_of,
)
from simonides.domain.scope import Scope
from simonides.domain.writing.decision import NO_USAGE, Usage
from simonides.engine.core.counters import Counters
from simonides.ports import (
    Capability,
    Clock,
    LanguageModel,
    MemoryStore,
    ModelAnswer,
    TokenCounter,
)

ANSWER_TOKENS = 1_500
"""Tokens reserved for an answer. Chosen: six items with quotes, or verdicts on 40 pairs."""

REPAIRED = 2
"""Number of times a question and its answer may be charged: an answer that violates the schema is
requested once more.
"""


class _Level(NamedTuple):
    """One level on which a reservation is booked.

    Attributes:
        name: As a ceiling names it.
        owner: Owner of the counts.
        limits: In force.
    """

    name: str
    owner: Scope
    limits: Limits


class ModelBudget:
    """A language model that is called through accounts only.

    Attributes:
        model_id: Id of the wrapped model.
        capabilities: Capabilities of the wrapped model.
    """

    def __init__(
        self,
        model: LanguageModel,
        store: MemoryStore,
        clock: Clock,
        tokens: TokenCounter,
        counters: Counters,
    ) -> None:
        """Create the budget.

        Args:
            model: Language model; closed by :meth:`close`.
            store: Keeps the daily usage.
            clock: Determines the day.
            tokens: Estimates the cost of a question.
            counters: Count every call.
        """
        self._model = model
        self._counters = counters
        self._store = store
        self._clock = clock
        self._tokens = tokens

    @property
    def model_id(self) -> str:
        """Id of the wrapped model."""
        return self._model.model_id

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Capabilities of the wrapped model."""
        return self._model.capabilities

    async def close(self) -> None:
        """Release the model's connections."""
        await self._model.close()

    @classmethod
    def of(
        cls,
        model: LanguageModel | None,
        store: MemoryStore,
        clock: Clock,
        tokens: TokenCounter,
        counters: Counters,
    ) -> ModelBudget | None:
        """Return the budget of a model, or None without a model."""
        return None if model is None else cls(model, store, clock, tokens, counters)

    def account(self, owner: Scope, ceilings: Ceilings) -> BudgetAccount:
        """Open an account for one operation.

        Args:
            owner: Owner whose daily usage is charged.
            ceilings: Of the owner's org.
        """
        booking = Booking(self._store, self._clock, owner, ceilings)
        return BudgetAccount(self._model, booking, self._tokens, self._counters)


class BudgetAccount:
    """A language model for one operation of one owner.

    Attributes:
        model_id: Id of the wrapped model.
        capabilities: Capabilities of the wrapped model.
        usage: Cost of the operation so far.
        reached: Ceilings that prevented a call, each once.
    """

    def __init__(
        self, model: LanguageModel, booking: Booking, tokens: TokenCounter, counters: Counters
    ) -> None:
        self._model = model
        self._counters = counters
        self._booking = booking
        self._tokens = tokens
        self.model_id = model.model_id
        self.capabilities: frozenset[Capability] = model.capabilities
        self.usage = NO_USAGE
        self.reached: tuple[str, ...] = ()

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """Call the model if every ceiling permits it; see :class:`simonides.ports.LanguageModel`.

        Raises:
            CeilingReached: If the call might pass a ceiling; no call was made.
            ModelError: As the port says.
            StoreError: If the reservation cannot be stored; no call was made.
        """
        asked = self._tokens.count(system) + self._tokens.count(user)
        requests = getattr(self._model, "most_requests", 1)
        most = {CALLS: requests, TOKENS: REPAIRED * (asked + ANSWER_TOKENS)}
        try:
            reservation = await self._booking.reserve(most)
        except CeilingReached as refused:
            self.reached = tuple(dict.fromkeys((*self.reached, refused.ceiling)))
            raise
        began = self._counters.now()
        try:
            answer = await self._model.complete_json(
                system=system, user=user, schema=schema, name=name, deadline_s=deadline_s
            )
        except ModelError as error:
            self._counters.asked_model(error.usage or NO_USAGE, began, failed=True)
            await self._settle(reservation, asked, error.usage, None)
            raise
        self._counters.asked_model(answer.usage, began, failed=False)
        await self._settle(reservation, asked, answer.usage, answer.value)
        return answer

    async def close(self) -> None:
        """Do nothing: :class:`ModelBudget` owns the model."""

    async def _settle(
        self, reservation: Reservation, asked: int, usage: Usage | None, value: object
    ) -> None:
        if usage is None:
            return  # Usage unknown: the reservation stays, as the call may have cost all of it.
        self.usage += usage
        reported = usage.input_tokens + usage.output_tokens
        used = {CALLS: usage.model_calls, TOKENS: reported or self._estimated(asked, usage, value)}
        await self._booking.settle(reservation, used)

    def _estimated(self, asked: int, usage: Usage, value: object) -> int:
        """Estimate the tokens charged by a provider that counts none."""
        if not usage.model_calls:
            return 0
        said = (
            0 if value is None else len(canonical_json(_shown(value))) // 4
        )  # four characters a token
        return asked + said


class Reservation(NamedTuple):
    """Amounts reserved for one call.

    Attributes:
        day: Day on which they are booked.
        counts: Amount by counter name.
        levels: Levels on which they are booked.
    """

    day: int
    counts: Mapping[str, int]
    levels: tuple[_Level, ...]


class Booking:
    """Books the usage of one operation of one owner.

    The usage of the operation is counted in memory, the daily usage in the store.
    """

    def __init__(self, store: MemoryStore, clock: Clock, owner: Scope, ceilings: Ceilings) -> None:
        self._store = store
        self._clock = clock
        self._ceilings = ceilings
        self._written = dict[str, int]()
        of_org = () if owner.org is None else (_Level("org", Scope(owner.org), ceilings.org_day),)
        self._levels = (_Level("owner", owner, ceilings.owner_day), *of_org)

    async def reserve(self, counts: Mapping[str, int]) -> Reservation:
        """Reserve the maximum that a call may use.

        Raises:
            CeilingReached: If that would pass a ceiling; nothing is reserved then.
            StoreError: If the store failed.
        """
        most = self._ceilings.write.most
        for name, count in counts.items():
            if name in most and self._written.get(name, 0) + count > most[name]:
                raise CeilingReached(f"{name}_per_write")
        # Before the first await, so that concurrent calls count each other.
        self._count(counts)
        day = day_of(self._clock.now_us())
        booked_on: list[_Level] = []
        try:
            for level in self._levels:
                if not await self._store.spend(level.owner, day, counts, most=level.limits.most):
                    raise CeilingReached(await self._exceeded(level, day, counts))
                booked_on.append(level)
        except (CeilingReached, StoreError):
            self._count({name: -count for name, count in counts.items()})
            await self._correct(day, booked_on, {name: -count for name, count in counts.items()})
            raise
        return Reservation(day, counts, tuple(booked_on))

    async def settle(self, reservation: Reservation, used: Mapping[str, int]) -> None:
        """Replace the reserved amounts with the used ones. If the store fails they stay."""
        change = {name: used.get(name, 0) - count for name, count in reservation.counts.items()}
        self._count(change)
        await self._correct(reservation.day, reservation.levels, change)

    async def _exceeded(self, level: _Level, day: int, counts: Mapping[str, int]) -> str:
        spent = await self._store.spent(level.owner, since=day)
        spent_today = spent[0].counts if spent and spent[0].day == day else {}
        over = (
            name
            for name, count in counts.items()
            if spent_today.get(name, 0) + count
            > level.limits.most.get(name, spent_today.get(name, 0) + count)
        )
        return f"{next(over, CALLS)}_per_{level.name}_day"

    async def _correct(self, day: int, levels: Sequence[_Level], change: Mapping[str, int]) -> None:
        for level in levels:
            try:
                await self._store.spend(level.owner, day, change)
            except StoreError:
                # A failed correction must not discard the answer. The reservation stays until the
                # day is over.
                continue

    def _count(self, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            self._written[name] = self._written.get(name, 0) + count


async def booked(
    store: MemoryStore, clock: Clock, owner: Scope, ceilings: Ceilings, texts: int
) -> str | None:
    """Book texts for a remote embedder.

    Returns:
        The ceiling that forbids it, or None if they may be embedded.

    Raises:
        StoreError: If the store failed.
    """
    booking = Booking(store, clock, owner, ceilings)
    try:
        await booking.reserve({EMBEDDED: texts})
    except CeilingReached as refused:
        return refused.ceiling
    return None


def _shown(value: object) -> object:
    """Return a model's JSON if canonical JSON can write it, otherwise its type's name."""
    try:
        canonical_json(value)
    except (ValueError, TypeError, RecursionError, OverflowError):
        return str(type(value))
    return value
