"""Asks a language model for structured output: retries, output modes, one repair.

Three loops, each bounded and all under one deadline. *Attempts* retry transient failures, with
backoff and jitter. *Output modes* are tried from the strictest that the endpoint supports; a
refused one is not tried again. One *repair* sends a wrong answer back once with its error. Errors
never quote the endpoint: its answer may hold a key.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypedDict

from simonides.domain.errors import (
    ModelError,
    ModelGarbled,
    ModelTimeout,
    ModelUnavailable,
)
from simonides.domain.value import plain
from simonides.domain.writing.decision import Usage
from simonides.ports import Capability, ModelAnswer
from simonides.providers.http.retry_after import longest_wait_s
from simonides.providers.language_models.reply import Reply, checked_json
from simonides.providers.language_models.request import Call, OutputMode, Question


class Transient(Exception):
    """A failure that may pass; ``after_s`` is the wait that the server requests."""

    def __init__(self, what: str, after_s: float | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.after_s = after_s


class OutputModeRefused(Exception):
    """The endpoint does not support this output mode."""


class TemperatureRefused(Exception):
    """The model does not accept a temperature."""


class Endpoint(Protocol):
    """One vendor's API; its ``repr`` names it in errors."""

    def output_modes(self, question: Question) -> tuple[OutputMode, ...]:
        """Return the modes for a question, strictest first, :data:`OutputMode.PROMPT` last."""

    async def ready(self) -> None:
        """Load what sending needs; returns at once from the second time on."""

    async def send(
        self, question: Question, mode: OutputMode, *, limit_s: float, fixed_temperature: bool
    ) -> bytes:
        """Send one request and return the body of its answer.

        Raises:
            Transient: If a retry may succeed.
            OutputModeRefused: If the output mode is refused; never for the last one.
            TemperatureRefused: If the temperature is.
            ModelUnavailable: If it is refused otherwise.
            ModelGarbled: If the answer is too long.
        """

    def read(self, body: bytes) -> tuple[Usage, Callable[[], Reply]]:
        """Return an answer's cost, and a function that returns its text.

        Raises:
            ModelGarbled: If the body is not JSON; the function raises it if it is no answer.
        """

    async def close(self) -> None:
        """Release connections; twice does no harm."""


class Limits(TypedDict, total=False):
    """Time-outs and retries; see :class:`StructuredModel`."""

    timeout_s: float
    max_retries: int
    monotonic: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    jitter: Callable[[], float]


class StructuredModel:
    """A language model behind an endpoint; satisfies :class:`simonides.ports.LanguageModel`. It
    needs an event loop and may be used from several, one after the other. Instances may be shared
    between tasks.
    """

    capabilities: frozenset[Capability] = frozenset()

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str,
        timeout_s: float = 60.0,
        max_retries: int = 3,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Configure the model.

        Args:
            endpoint: The vendor's API; closed with the model.
            model: Its name.
            timeout_s: Longest wait for one request.
            max_retries: Attempts beyond the first after a transient failure.
            monotonic: Clock of the deadline, seconds.
            sleep: Waits between attempts.
            jitter: A number from 0 to 1 for each wait.
        """
        self.model_id = model
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._monotonic = monotonic
        self._sleep = sleep
        self._jitter = jitter
        self._refused: frozenset[OutputMode] = frozenset()
        self._fixed_temperature = True

    def __repr__(self) -> str:
        return repr(self._endpoint)

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """See the port. Retries, output modes and repair share ``deadline_s``. Usage counts every
        request that was sent, and an error carries it too.
        """
        question = Question(system, user, plain(schema), name)
        call = Call(self._monotonic() + deadline_s)
        try:
            return await self._answered(question, call, schema)
        except ModelError as error:
            error.usage = call.usage
            raise

    async def _answered(
        self, question: Question, call: Call, schema: Mapping[str, Any]
    ) -> ModelAnswer:
        """Ask, and repair a wrong answer once."""
        reply = await self._ask(question, call)
        try:
            value = checked_json(reply.text, schema)
        except ModelGarbled as first:
            again = question.repaired(reply.text, str(first))
            reply = await self._ask(again, call)
            value = checked_json(reply.text, schema)
        return ModelAnswer(value, call.usage, reply.model or self.model_id)

    async def close(self) -> None:
        """Release the endpoint; twice does no harm."""
        await self._endpoint.close()

    async def _ask(self, question: Question, call: Call) -> Reply:
        """Ask in the strictest output mode that was not refused yet."""
        while True:
            modes = self._endpoint.output_modes(question)
            mode = next((each for each in modes if each not in self._refused), modes[-1])
            fixed = self._fixed_temperature
            try:
                return await self._attempt(question, mode, call)
            except OutputModeRefused:
                self._refused |= {mode}
            except TemperatureRefused:
                if not fixed:
                    raise ModelUnavailable("the endpoint refuses the request (400)") from None
                self._fixed_temperature = False

    async def _attempt(self, question: Question, mode: OutputMode, call: Call) -> Reply:
        """Ask, retrying transient failures."""
        attempt = 0
        while True:
            try:
                return await self._request(question, mode, call)
            except Transient as failure:
                wait_s = failure.after_s
                if wait_s is None:
                    wait_s = longest_wait_s(attempt) * self._jitter()
                left_s = call.ends_at - self._monotonic()
                if attempt >= self._max_retries or wait_s >= left_s:
                    raise ModelTimeout(
                        f"{failure.what}, after {attempt + 1} attempts at {self!r}"
                    ) from None
            attempt += 1
            await self._sleep(wait_s)

    async def _request(self, question: Question, mode: OutputMode, call: Call) -> Reply:
        await self._ready(call)
        left_s = call.ends_at - self._monotonic()
        if left_s <= 0:
            raise ModelTimeout(f"no time left to ask {self!r}")
        call.usage += Usage(model_calls=1)
        limit_s = min(left_s, self._timeout_s)
        try:
            async with asyncio.timeout(limit_s):
                body = await self._endpoint.send(
                    question, mode, limit_s=limit_s, fixed_temperature=self._fixed_temperature
                )
        except TimeoutError:
            raise Transient(f"no answer within {limit_s:.1f} s") from None
        usage, words = self._endpoint.read(body)
        call.usage += usage
        return words()

    async def _ready(self, call: Call) -> None:
        """Wait until the endpoint is loaded, at most to the deadline."""
        try:
            async with asyncio.timeout(max(call.ends_at - self._monotonic(), 0)):
                await self._endpoint.ready()
        except TimeoutError:
            raise ModelTimeout(f"no time left to ask {self!r}") from None
