"""The language model that the user chose: one question at a time, within a budget of time.

Questions run as coroutines on one event loop in a thread of the store, so that they can be asked
from any thread, also inside a running loop. Models come from pydantic-ai. Retries of the SDKs are
off: ours are inside the budget.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from simonides.core.clock import Clock
from simonides.core.errors import ConfigurationError, MissingExtra, SimonidesError
from simonides.core.results import ModelUsage
from simonides.core.settings import Settings, openai_url
from simonides.models.event_loop import EventLoop

if TYPE_CHECKING:
    from pydantic_ai import AgentRunResult
    from pydantic_ai.models import Model

T = TypeVar("T", bound=BaseModel)

AT_ONCE = 4
"""Questions that run at once; more wait their turn. Chosen."""

RETRIES, FIRST_WAIT_S = 3, 0.5
"""Maximum repetitions of a question after a passing failure, and the wait before the first; each
further wait is twice as long, with up to half of it at random. Chosen."""

PASSING = ("unreachable", "busy")
"""Reasons after which the same question may soon be answered."""

PAUSE_AFTER, PAUSE_MS = 3, 60_000
"""Failures in a row after which the model is left alone, and for how long. Chosen."""

_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n?```\s*$", re.DOTALL)
_log = logging.getLogger("simonides.models")

Reason = Literal["timeout", "unreachable", "busy", "unauthorised", "refused", "empty", "invalid"]


class ModelFailed(SimonidesError, RuntimeError):
    """The language model gave no usable answer; what was said is kept and can be read again.

    Attributes:
        reason: ``timeout``; ``unreachable``: no connection, or an error of the server; ``busy``:
            too many requests; ``unauthorised``: key, quota or model name; ``refused``: the request
            is not accepted; ``empty``: no text, or filtered; ``invalid``: not what was asked for.
    """

    retryable = True

    def __init__(self, reason: Reason, problem: str) -> None:
        super().__init__(f"the language model failed ({reason}): {problem[:300]}")
        self.reason = reason
        self.hint = _HINTS.get(reason, "try again later")


_HINTS: dict[Reason, str] = {
    "unauthorised": "check the API key, the quota and the name of the model",
    "invalid": "choose a model that follows a schema",
}


class LanguageModels:
    """The chosen model, its event loop, and what it has cost so far. Thread-safe.

    Attributes:
        name: Such as ``openai:gpt-5-mini``.
        usage: Of it so far.
        summaries: Of conversations that go on, by part, each with the turns that it sums up.
    """

    def __init__(self, model: Model | str, settings: Settings, clock: Clock) -> None:
        """Take a model by name, or one of pydantic-ai.

        Raises:
            ConfigurationError: If the name is unknown, a key is missing, or the extra is.
        """
        self._model, self._clock = model_of(model), clock
        provider, name = self._model.system, self._model.model_name
        self.name = model if isinstance(model, str) else f"{provider}:{name}"
        self.usage = ModelUsage()
        self.summaries: dict[bytes, tuple[list[bytes], str]] = {}
        self._failures, self._paused_until = 0, 0
        self._seconds, self._until = settings.model_timeout_s, math.inf
        self._lock = threading.Lock()
        self._loop = EventLoop(self._model)
        self._turns: asyncio.Semaphore | None = None
        _log.info("the user's turns are sent to %s at %s", self.name, self._model.base_url)

    def ask(
        self,
        instructions: str,
        prompt: str,
        output: type[T] | None = None,
        *,
        seconds: float | None = None,
    ) -> AgentRunResult[Any]:
        """Ask the model, and wait.

        Args:
            instructions: What is to be done.
            prompt: The data.
            output: What the answer must be; one that does not fit is asked for once more. None
                means any text.
            seconds: Time for everything; at most the setting ``model_timeout_s``.

        Returns:
            Its answer as ``output``: a value of that type, or the text.

        Raises:
            ModelFailed: If there is no usable answer in time.
        """
        left = max(self._until - time.monotonic(), 0.0)
        budget = min(seconds or self._seconds, self._seconds, left)
        if self.is_paused:
            raise ModelFailed("unreachable", "it failed several times in a row, and is left alone")
        last = [ModelFailed("timeout", f"no answer in {budget:.1f} s")]
        question = self._tried(instructions, prompt, output, budget, last)
        try:
            answer = self._loop.run(question, budget)
        except (ModelFailed, TimeoutError) as caught:
            error = caught if isinstance(caught, ModelFailed) else last[-1]
            _log.warning("%s", error)
            if error.reason not in ("empty", "invalid", "refused"):
                self._failures += 1
            if self._failures >= PAUSE_AFTER:
                self._failures, self._paused_until = 0, self._clock.now_ms() + PAUSE_MS
            raise error from error.__cause__
        with self._lock:
            self._failures, self.usage = 0, self.usage + usage_of(answer)
        return answer

    @property
    def is_paused(self) -> bool:
        """Whether it is left alone after several failures."""
        return self._clock.now_ms() < self._paused_until

    def status(self) -> dict[str, Any]:
        """Return its name, where it is, and what it has cost."""
        return {
            "model": self.name, "model_url": self._model.base_url, "model_paused": self.is_paused,
            "model_calls": self.usage.calls, "model_tokens": self.usage.tokens,
            "model_usd": self.usage.usd,
        }  # fmt: skip

    def hurry(self, until: float) -> None:
        """Give all further questions time until a moment of the monotonic clock."""
        self._until = until

    def close(self) -> None:
        """Let go of connections and of the thread."""
        self._loop.close()

    def after_fork(self) -> None:
        """Begin anew in a child process: the thread is the parent's."""
        self._lock, self._turns = threading.Lock(), None
        self._loop.after_fork()

    async def _tried(
        self,
        instructions: str,
        prompt: str,
        output: type[T] | None,
        budget: float,
        failures: list[ModelFailed],
    ) -> AgentRunResult[Any]:
        """Ask until there is an answer, or a failure that does not pass; note those that do."""
        from pydantic_ai import Agent
        from pydantic_ai.exceptions import ModelAPIError
        from pydantic_ai.settings import ModelSettings

        self._turns = self._turns or asyncio.Semaphore(AT_ONCE)
        kind: Any = str if output is None else _outputs(output)
        agent = Agent(self._model, instructions=instructions, retries=1, output_type=kind)
        asked = ModelSettings(max_retries=0)
        if not self._model.profile.get("supports_thinking", False):  # these take none
            asked["temperature"] = 0.0
        clock = asyncio.get_running_loop()
        until = clock.time() + budget
        for attempt in range(RETRIES + 1):
            try:
                async with self._turns:
                    answer = await agent.run(prompt, model_settings=asked)
            except Exception as error:  # a model of the caller may raise anything
                failed = _failed(error)
                if output is None and failed.reason == "invalid":  # any text would do
                    failed = ModelFailed("empty", str(error))
                wait = FIRST_WAIT_S * 2**attempt * (1 + _share(prompt, attempt) / 2)
                is_passing = isinstance(error, ModelAPIError) and failed.reason in PASSING
                if not is_passing or attempt == RETRIES or clock.time() + wait >= until:
                    raise failed from error
                failures.append(failed)
                await asyncio.sleep(wait)
                continue
            if not answer.output:
                raise ModelFailed("empty", "it said nothing")
            return answer
        raise AssertionError("unreachable")


def usage_of(answer: AgentRunResult[Any]) -> ModelUsage:
    """Return what an answer has cost."""
    from pydantic_ai.messages import ModelResponse

    asked = [each for each in answer.new_messages() if isinstance(each, ModelResponse)]
    try:
        usd = float(sum(each.cost().total_price for each in asked))
    except (LookupError, ValueError):  # no price of this model, or it does not count tokens
        usd = None
    return ModelUsage(calls=answer.usage.requests, tokens=answer.usage.total_tokens, usd=usd)


def _share(prompt: str, attempt: int) -> float:
    """Return a number from 0 to 1 that differs between questions, so that they do not collide."""
    return hash((prompt, attempt)) % 1_000 / 1_000


def _failed(error: Exception) -> ModelFailed:
    """Return our error for one of pydantic-ai."""
    from pydantic_ai import exceptions as e

    reasons: list[tuple[tuple[type[Exception], ...], Reason]] = [
        ((e.ModelTimeoutError,), "timeout"),
        ((e.ModelQuotaExceededError, e.ModelAuthenticationError), "unauthorised"),
        ((e.ModelNotFoundError,), "unauthorised"),
        ((e.ModelRateLimitError,), "busy"),
        ((e.ModelRequestRejectedError, e.UserError), "refused"),
        ((e.ContentFilterError,), "empty"),
        ((e.UnexpectedModelBehavior, e.UsageLimitExceeded), "invalid"),
    ]
    fitting = (name for kinds, name in reasons if isinstance(error, kinds))
    return ModelFailed(next(fitting, "unreachable"), str(error))


def _outputs(output: type[T]) -> Any:
    """Return how a value may be given: by a tool, or as JSON in the text, perhaps fenced."""
    from pydantic_ai import ModelRetry, TextOutput, ToolOutput

    def read(text: str) -> T:
        try:
            return output.model_validate_json(unfenced(text))
        except ValidationError as error:
            raise ModelRetry(f"Answer with JSON of the schema: {error}") from error

    return [ToolOutput(output), TextOutput(read)]


def unfenced(text: str) -> str:
    """Return the text inside a code fence; another text stays as it is."""
    match = _FENCE.match(text)
    return match.group(1) if match else text


def model_of(given: Model | str) -> Model:
    """Return the model of a name; a model of pydantic-ai stays as it is.

    Raises:
        ConfigurationError: If the name is unknown, a key is missing, or the extra is.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import Model, infer_model
    except ImportError as error:
        raise MissingExtra("llm", "a language model") from error
    if isinstance(given, Model):
        return given
    if not isinstance(given, str):
        raise ConfigurationError("model is a name such as openai:gpt-5-mini, or of pydantic-ai")
    provider, _, name = given.partition(":")
    url = openai_url()
    if provider == "openai" and url and not (urlsplit(url).hostname or "").endswith("openai.com"):
        given = f"openai-chat:{name}"  # few servers beside OpenAI's know its newer API
    try:
        return infer_model(given)
    except (UserError, ImportError) as error:
        raise ConfigurationError(f"model {given!r}: {error}") from error
