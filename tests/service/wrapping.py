"""Ways to talk to a model through the vendors' SDKs, for the stories of wrapped clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

from simonides.api.sync import Store
from simonides.testing.model_server import ModelServer, Received

STATED = "Call me Ana."
ASKED = "What is my name?"
SECRET = "AKIA" + "IOSFODNN7" + "EXAMPLQ"


@dataclass(frozen=True)
class Face:
    """One way to talk to a model: a client, a call, and what was sent."""

    name: str
    client: Callable[[ModelServer], Any]
    call: Callable[..., Any]
    argument: str = "messages"

    def say(self, client: Any, text: Any, **more: Any) -> Any:
        """Call, and wait where the client is async."""
        conversation = [{"role": "user", "content": text}] if isinstance(text, str) else text
        answer = self.call(client, **{self.argument: conversation}, **more)
        return asyncio.run(_awaited(answer)) if asyncio.iscoroutine(answer) else answer

    def sent(self, received: Received) -> list[Any]:
        conversation = received.body[self.argument]
        return conversation if isinstance(conversation, list) else [conversation]


async def _awaited(answer: Any) -> Any:
    answer = await answer
    if hasattr(type(answer), "__stream__"):
        async for _ in answer:
            pass
    return answer


def openai_client(server: ModelServer) -> Any:
    return openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=0, timeout=20)


def async_openai_client(server: ModelServer) -> Any:
    return openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0, timeout=20)


def anthropic_client(server: ModelServer) -> Any:
    return anthropic.Anthropic(api_key="k", base_url=server.root_url, max_retries=0, timeout=20)


def async_anthropic_client(server: ModelServer) -> Any:
    return anthropic.AsyncAnthropic(
        api_key="k", base_url=server.root_url, max_retries=0, timeout=20
    )


def chat_of(client: Any, **asked: Any) -> Any:
    return client.chat.completions.create(model="m", **asked)


def response_of(client: Any, **asked: Any) -> Any:
    return client.responses.create(model="m", **asked)


def message_of(client: Any, **asked: Any) -> Any:
    return client.messages.create(model="m", max_tokens=100, **asked)


def beta_message_of(client: Any, **asked: Any) -> Any:
    return client.beta.messages.create(model="m", max_tokens=100, **asked)


FACES = [
    Face("openai chat", openai_client, chat_of),
    Face("async openai chat", async_openai_client, chat_of),
    Face("openai responses", openai_client, response_of, "input"),
    Face("async openai responses", async_openai_client, response_of, "input"),
    Face("anthropic", anthropic_client, message_of),
    Face("async anthropic", async_anthropic_client, message_of),
    Face("anthropic beta", anthropic_client, beta_message_of),
]
SYNC = [face for face in FACES if not face.name.startswith("async")]


def facts(store: Store, user: str = "ana") -> dict[str | None, str]:
    return {each.key: each.content for each in store.memory(user=user).list()}


def texts(parts: Any) -> list[str]:
    """The texts of one message, part by part."""
    content = parts["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]
