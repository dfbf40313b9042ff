"""The only way to a language model: every question is reserved, asked and settled.

An open simonides holds a :class:`ModelBudget`, which can be asked nothing. Who works for an owner
opens
an :class:`BudgetAccount` on it, which is a :class:`~simonides.ports.LanguageModel` and the only
place
that asks the model behind. Before a question its most is reserved, of the operation, of the owner's
day and of the org's day; afterwards what was used stands instead. What dies in between stays
reserved for the day: a ceiling errs on the side of who pays.
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
"""What is reserved for an answer. Chosen: six items with quotes, or verdicts on 40 pairs."""

REPAIRED = 2
"""How often a question and its answer may be paid: an answer off the schema is asked for once
more."""


class _Level(NamedTuple):
    """What a reservation is booked on.

    Attributes:
        name: As a ceiling names it.
        owner: Whose counts.
        limits: In force.
    """

    name: str
    owner: Scope
    limits: Limits


class ModelBudget:
    """A language model that is asked through accounts only.

    Attributes:
        model_id: Of the model behind.
        capabilities: Likewise.
    """

    def __init__(
        self,
        model: LanguageModel,
        store: MemoryStore,
        clock: Clock,
        tokens: TokenCounter,
        counters: Counters,
    ) -> None:
        """Build it.

        Args:
            model: To be asked; who calls closes it through :meth:`close`.
            store: Where it is kept what a day has used.
            clock: Tells the day.
            tokens: Estimates what a question costs.
            counters: Told of every question.
        """
        self._model = model
        self._counters = counters
        self._store = store
        self._clock = clock
        self._tokens = tokens

    @property
    def model_id(self) -> str:
        """See the class."""
        return self._model.model_id

    @property
    def capabilities(self) -> frozenset[Capability]:
        """See the class."""
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
        """Return the meter of a model, or None where there is none."""
        return None if model is None else cls(model, store, clock, tokens, counters)

    def account(self, owner: Scope, ceilings: Ceilings) -> BudgetAccount:
        """Open an account for one operation.

        Args:
            owner: Whose day it goes by.
            ceilings: Of the owner's org.
        """
        booking = Booking(self._store, self._clock, owner, ceilings)
        return BudgetAccount(self._model, booking, self._tokens, self._counters)


class BudgetAccount:
    """A language model for one operation of one owner; see :class:`simonides.ports.LanguageModel`.

    Attributes:
        model_id: Of the model behind.
        capabilities: Likewise.
        usage: What the operation has cost so far.
        reached: The ceilings that a question was not asked for, each once.
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
        """Ask, if no ceiling is in the way; see :class:`simonides.ports.LanguageModel`.

        Raises:
            CeilingReached: If the question might pass one; nothing was asked.
            ModelError: As the port says.
            StoreError: If what is used cannot be written down; nothing was asked.
        """
        asked = self._tokens.count(system) + self._tokens.count(user)
        requests = getattr(self._model, "most_requests", 1)
        most = {CALLS: requests, TOKENS: REPAIRED * (asked + ANSWER_TOKENS)}
        try:
            held = await self._booking.reserve(most)
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
            await self._settle(held, asked, error.usage, None)
            raise
        self._counters.asked_model(answer.usage, began, failed=False)
        await self._settle(held, asked, answer.usage, answer.value)
        return answer

    async def close(self) -> None:
        """Nothing: the meter lets go of the model."""

    async def _settle(
        self, held: Reservation, asked: int, usage: Usage | None, value: object
    ) -> None:
        """Book what a question has cost in the place of what it might have."""
        if usage is None:
            return  # Nobody counted: it may have cost all of it.
        self.usage += usage
        told = usage.input_tokens + usage.output_tokens
        used = {CALLS: usage.model_calls, TOKENS: told or self._estimated(asked, usage, value)}
        await self._booking.settle(held, used)

    def _estimated(self, asked: int, usage: Usage, value: object) -> int:
        """Return what a provider that counts no tokens may have charged."""
        if not usage.model_calls:
            return 0
        said = (
            0 if value is None else len(canonical_json(_shown(value))) // 4
        )  # four characters a token
        return asked + said


class Reservation(NamedTuple):
    """What is held for a question.

    Attributes:
        day: On which.
        counts: Of each.
        levels: On what it is booked.
    """

    day: int
    counts: Mapping[str, int]
    levels: tuple[_Level, ...]


class Booking:
    """Books what one operation of one owner uses.

    What an operation uses is counted here, what days have used in the store.
    """

    def __init__(self, store: MemoryStore, clock: Clock, owner: Scope, ceilings: Ceilings) -> None:
        self._store = store
        self._clock = clock
        self._ceilings = ceilings
        self._written = dict[str, int]()
        of_org = () if owner.org is None else (_Level("org", Scope(owner.org), ceilings.org_day),)
        self._levels = (_Level("owner", owner, ceilings.owner_day), *of_org)

    async def reserve(self, counts: Mapping[str, int]) -> Reservation:
        """Hold the most that something may come to.

        Raises:
            CeilingReached: If that would pass a ceiling; nothing is held then.
            StoreError: If the store could not.
        """
        most = self._ceilings.write.most
        for name, count in counts.items():
            if name in most and self._written.get(name, 0) + count > most[name]:
                raise CeilingReached(f"{name}_per_write")
        # Before the first wait, so that questions asked side by side count each other.
        self._count(counts)
        day = day_of(self._clock.now_us())
        held: list[_Level] = []
        try:
            for level in self._levels:
                if not await self._store.spend(level.owner, day, counts, most=level.limits.most):
                    raise CeilingReached(await self._which(level, day, counts))
                held.append(level)
        except (CeilingReached, StoreError):
            self._count({name: -count for name, count in counts.items()})
            await self._corrected(day, held, {name: -count for name, count in counts.items()})
            raise
        return Reservation(day, counts, tuple(held))

    async def settle(self, held: Reservation, used: Mapping[str, int]) -> None:
        """Put what was used in the place of what was held; a store that fails leaves it held."""
        change = {name: used.get(name, 0) - count for name, count in held.counts.items()}
        self._count(change)
        await self._corrected(held.day, held.levels, change)

    async def _which(self, level: _Level, day: int, counts: Mapping[str, int]) -> str:
        spent = await self._store.spent(level.owner, since=day)
        stood = spent[0].counts if spent and spent[0].day == day else {}
        over = (
            name
            for name, count in counts.items()
            if stood.get(name, 0) + count > level.limits.most.get(name, stood.get(name, 0) + count)
        )
        return f"{next(over, CALLS)}_per_{level.name}_day"

    async def _corrected(
        self, day: int, levels: Sequence[_Level], change: Mapping[str, int]
    ) -> None:
        for level in levels:
            try:
                await self._store.spend(level.owner, day, change)
            except StoreError:
                # What the question brought is not thrown away for want of a smaller count: what
                # was held stays held until the day is over.
                continue

    def _count(self, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            self._written[name] = self._written.get(name, 0) + count


async def booked(
    store: MemoryStore, clock: Clock, owner: Scope, ceilings: Ceilings, texts: int
) -> str | None:
    """Book texts for an embedder outside the process.

    Returns:
        The ceiling that is in the way, or None: they may be embedded.

    Raises:
        StoreError: If the store could not.
    """
    booking = Booking(store, clock, owner, ceilings)
    try:
        await booking.reserve({EMBEDDED: texts})
    except CeilingReached as refused:
        return refused.ceiling
    return None


def _shown(value: object) -> object:
    """Return a model's JSON as canonical JSON can write it; other things by their text."""
    try:
        canonical_json(value)
    except (ValueError, TypeError, RecursionError, OverflowError):
        return str(type(value))
    return value
