"""A language model behind a concurrency limit and a circuit breaker.

Without the breaker, every capture and every agent would wait for its full deadline while a provider
is down. After some questions in a row without an answer the circuit *opens*: questions fail at
once, and memory works by its rules. After a pause one question is let through (*half open*); its
answer *closes* the circuit. A refusal or an unusable answer closes it too: the provider works.

Safe to share between threads, tasks and event loops.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from simonides.domain.errors import ModelError, ModelTimeout
from simonides.domain.writing.decision import NO_USAGE, Usage
from simonides.ports import Capability, LanguageModel, ModelAnswer

FAILURES = 5
"""Questions in a row without an answer that open the circuit; chosen: each has had three retries,
so this is an outage."""
REST_S = 30.0
"""How long the circuit stays open; chosen, as for the other model endpoints."""
AT_ONCE = 8
"""Concurrent questions; chosen: under the lowest known limits of providers."""


@dataclass(frozen=True, slots=True)
class Closed:
    """Questions pass; ``failures`` in a row got no answer."""

    failures: int = 0


@dataclass(frozen=True, slots=True)
class Open:
    """No question passes until then, on the breaker's clock."""

    until: float


@dataclass(frozen=True, slots=True)
class HalfOpen:
    """One probing question is under way."""


Circuit: TypeAlias = Closed | Open | HalfOpen


class Breaker:
    """The circuit breaker; each question enters it and then reports its result. A result of a
    question that began before the last change of state is ignored.
    """

    def __init__(self, *, failures: int, rest_s: float, monotonic: Callable[[], float]) -> None:
        """Begin closed.

        Args:
            failures: Questions in a row without an answer that open it, 1 or more.
            rest_s: How long it stays open, in seconds.
            monotonic: Its clock, in seconds.
        """
        self._failures = failures
        self._rest_s = rest_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._circuit: Circuit = Closed()
        self._generation = 0

    @property
    def circuit(self) -> Circuit:
        """The current state; open until the next question, even if its time has passed."""
        return self._circuit

    def left_s(self) -> float:
        """Return the seconds until a question may pass."""
        circuit = self._circuit
        return max(0.0, circuit.until - self._monotonic()) if isinstance(circuit, Open) else 0.0

    def passes(self) -> bool:
        """Whether a question would pass now, so that it need not wait for a slot in vain."""
        circuit = self._circuit
        return isinstance(circuit, Closed) or (isinstance(circuit, Open) and not self.left_s())

    def enter(self) -> int | None:
        """Let a question pass and return its generation, to report with; None if it may not."""
        with self._lock:
            match self._circuit:
                case Closed():
                    return self._generation
                case Open(until) if self._monotonic() >= until:
                    self._become(HalfOpen())
                    return self._generation
                case Open() | HalfOpen():
                    return None
                case never:
                    assert_never(never)

    def answered(self, generation: int) -> None:
        """Report that the provider answered."""
        with self._lock:
            if generation == self._generation and self._circuit != Closed():
                self._become(Closed())

    def failed(self, generation: int) -> None:
        """Report that a question got no answer."""
        with self._lock:
            if generation != self._generation:
                return
            match self._circuit:
                case Closed(failures) if failures + 1 < self._failures:
                    # The generation stays: questions under way count too.
                    self._circuit = Closed(failures + 1)
                case Closed() | HalfOpen():
                    self._become(Open(self._monotonic() + self._rest_s))
                case Open():
                    return
                case never:
                    assert_never(never)

    def cancelled(self, generation: int) -> None:
        """Report that the caller cancelled a question, which tells nothing of the provider."""
        with self._lock:
            if generation == self._generation and isinstance(self._circuit, HalfOpen):
                self._become(Open(self._monotonic()))

    def _become(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._generation += 1


class Slots:
    """A fair semaphore over threads and event loops: first come, first served."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold one slot, waiting until it is free."""
        await self._take()
        try:
            yield
        finally:
            self._give()

    async def _take(self) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            loop = asyncio.get_running_loop()
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            with self._lock:
                was_waiting = (loop, waiter) in self._waiting
                if was_waiting:
                    self._waiting.remove((loop, waiter))
            if not was_waiting:
                # The slot was granted, or is being granted, to this cancelled waiter.
                self._give()
            raise

    def _give(self) -> None:
        """Give a slot to the longest waiter, or put it back."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, waiter = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(_grant, waiter)
            except RuntimeError:
                continue  # The waiter's loop is closed.
            return


def _grant(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class GuardedModel:
    """A language model behind a breaker and a limit; satisfies the same port.

    Attributes:
        capabilities: Of the model, without :data:`Capability.INLINE`: waiting suspends.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        failures: int = FAILURES,
        rest_s: float = REST_S,
        at_once: int = AT_ONCE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Guard a model; closing the guard closes it.

        Args:
            model: The model.
            failures: Questions in a row without an answer that open the circuit.
            rest_s: How long it stays open, in seconds.
            at_once: Concurrent questions; others wait, within their own deadlines.
            monotonic: Clock of the circuit, in seconds.
        """
        self.model_id = model.model_id
        self.capabilities = model.capabilities - {Capability.INLINE}
        self._model = model
        self._breaker = Breaker(failures=failures, rest_s=rest_s, monotonic=monotonic)
        self._slots = Slots(at_once)
        self._lock = threading.Lock()
        self._spent = NO_USAGE

    def __repr__(self) -> str:
        return f"GuardedModel({self._model!r})"

    @property
    def circuit(self) -> Circuit:
        """State of the breaker."""
        return self._breaker.circuit

    @property
    def spent(self) -> Usage:
        """Usage of all questions, answered or not."""
        return self._spent

    @property
    def left_s(self) -> float:
        """Seconds until a question may pass; 0 if one may now."""
        return self._breaker.left_s()

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """See the port.

        Raises:
            ModelTimeout: At once while the circuit is open; also if no slot came free in time.
        """
        if not self._breaker.passes():
            raise self._resting()
        began = time.monotonic()
        try:
            async with asyncio.timeout(deadline_s) as waiting, self._slots.one():
                waiting.reschedule(None)
                left_s = deadline_s - (time.monotonic() - began)
                return await self._ask(
                    system=system, user=user, schema=schema, name=name, deadline_s=left_s
                )
        except TimeoutError:
            raise ModelTimeout(
                f"{self._model!r} has too many questions: no slot free within {deadline_s:.1f} s",
                usage=NO_USAGE,
            ) from None

    async def _ask(self, **question: Any) -> ModelAnswer:
        """Ask, and report the result to the breaker."""
        generation = self._breaker.enter()
        if generation is None:
            raise self._resting()
        report: Callable[[int], None] = self._breaker.cancelled
        try:
            answer = await self._model.complete_json(**question)
            report = self._breaker.answered
        except ModelError as error:
            # An unsent question tells nothing of the provider.
            was_sent = error.usage is None or error.usage.model_calls > 0
            if not isinstance(error, ModelTimeout):
                report = self._breaker.answered
            elif was_sent:
                report = self._breaker.failed
            self._count(error.usage)
            raise
        finally:
            report(generation)
        self._count(answer.usage)
        return answer

    def _resting(self) -> ModelTimeout:
        when = f"in {self.left_s:.0f} s" if self.left_s else "after one probing question"
        return ModelTimeout(
            f"{self._model!r} did not answer recently; next attempt {when}", usage=NO_USAGE
        )

    def _count(self, usage: Usage | None) -> None:
        with self._lock:
            self._spent += usage or NO_USAGE

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
