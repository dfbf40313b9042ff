"""A scripted language model in process: for tests without a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from simonides.domain.writing.decision import Usage
from simonides.ports import Capability, ModelAnswer


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a scripted model."""

    system: str
    user: str
    schema: Mapping[str, Any]
    name: str
    deadline_s: float


Scripted: TypeAlias = Any
"""A JSON value to answer, an exception to raise, or a function from the question to either."""


class ScriptedModel:
    """Answers from a queue; satisfies :class:`simonides.ports.LanguageModel` inline.

    Attributes:
        asked: Every question, in order.
        closed: Whether ``close`` was called.
    """

    capabilities: frozenset[Capability] = frozenset({Capability.INLINE})

    def __init__(
        self,
        *answers: Scripted,
        usage: Usage = Usage(model_calls=1),  # noqa: B008 - a frozen value
        model_id: str = "scripted",
    ) -> None:
        """Queue the answers.

        Args:
            answers: One per question, in order.
            usage: Reported cost of each answer.
            model_id: Its name.
        """
        self.model_id = model_id
        self.asked: list[Question] = []
        self.closed = False
        self._answers = list(answers)
        self._usage = usage

    def then(self, *answers: Scripted) -> None:
        """Queue more answers."""
        self._answers += answers

    async def complete_json(
        self,
        *,
        system: str,
        user: str,
        schema: Mapping[str, Any],
        name: str,
        deadline_s: float,
    ) -> ModelAnswer:
        """Return the next answer, or raise it if it is an exception.

        Raises:
            AssertionError: If the script is over: the test asked more than it expected.
        """
        question = Question(system, user, schema, name, deadline_s)
        self.asked.append(question)
        if not self._answers:
            raise AssertionError(f"the scripted model has no answer left for {name!r}")
        answer = self._answers.pop(0)
        if callable(answer):
            answer = answer(question)
        if isinstance(answer, BaseException):
            raise answer
        return ModelAnswer(answer, self._usage, self.model_id)

    async def close(self) -> None:
        """Record the call."""
        self.closed = True
