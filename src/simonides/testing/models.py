"""A scripted language model in the process: for tests without a network."""

from __future__ import annotations

import json
import threading
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel


class Question(NamedTuple):
    """A question to a scripted model.

    Attributes:
        instructions: What is to be done.
        prompt: The data.
    """

    instructions: str
    prompt: str


class ScriptedModel(FunctionModel):
    """Answers from a script; a model of pydantic-ai, so that the whole path to one is used.

    Attributes:
        asked: Every question, in order.
    """

    def __init__(self, *answers: Any, name: str = "scripted") -> None:
        """Queue the answers.

        Args:
            answers: One for each question, in order: a JSON value, a text, an exception to raise,
                or a function from the question to one of these.
            name: Of the model.
        """
        self.asked: list[Question] = []
        self._answers = list(answers)
        self._lock = threading.Lock()
        super().__init__(self._answer, model_name=name)

    def then(self, *answers: Any) -> None:
        """Queue more answers."""
        self._answers += answers

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = [each for each in messages if isinstance(each, ModelRequest)]
        said = [str(p.content) for p in messages[0].parts if isinstance(p, UserPromptPart)]
        question = Question(last[-1].instructions or "", "\n".join(said))
        with self._lock:
            self.asked.append(question)
            if not self._answers:
                raise AssertionError("the scripted model has no answer left")
            answer = self._answers.pop(0)
        if callable(answer):
            answer = answer(question)
        if isinstance(answer, BaseException):
            raise answer
        if info.output_tools and not isinstance(answer, str):
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, answer)])
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return ModelResponse(parts=[TextPart(text)])
